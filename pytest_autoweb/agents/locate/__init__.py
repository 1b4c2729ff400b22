"""The vision locator: finding an element by asking a vision model on which side of lines it lies.

How the lines are drawn lives in `browser/marks`.
"""
