"""Code that all strategies share within one attempt.

The tools of a stage, asking a model, opening the page, running code, judging. A strategy orders the
stages, and `run` loops over attempts.
"""
