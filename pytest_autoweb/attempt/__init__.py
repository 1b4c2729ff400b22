"""What all strategies share within one attempt.

The tools of a stage, asking a model, opening the page, running code, judging. The order of the
stages is the strategy's, the loop over attempts lives in `run`.
"""
