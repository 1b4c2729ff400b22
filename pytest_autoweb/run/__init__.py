"""One cell from its first attempt to its outcome.

The fold over stages, corrections, what is saved. Cells as pytest items live in `session`.
"""
