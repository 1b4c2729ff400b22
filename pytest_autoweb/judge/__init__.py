"""Judges whether attempts succeeded, from what can be seen from outside.

Every check is looked at until it holds or time is over, and a model's opinion is weighed. What
single checks look at lives in `checks`.
"""
