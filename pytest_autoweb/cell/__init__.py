"""One cell from its first attempt to its outcome.

Runs the stages of each attempt, corrects failed attempts, and saves the result. Cells as pytest
items live in `session`.
"""
