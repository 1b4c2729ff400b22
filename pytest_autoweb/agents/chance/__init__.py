"""The control that plays at random, without a model and without the task.

What it passes shows how much of a pass rate is chance.
"""
