"""One cell from its first attempt to its outcome.

Binds the stages of each strategy, runs them, corrects failed attempts, and saves the result. The
stages themselves live in `agents`, cells as pytest items in `session`.
"""
