"""Code that all strategies share within one attempt.

The tools of a stage, asking a model, opening the page, running code, judging. `cell` puts the
stages in order and loops over attempts.
"""
