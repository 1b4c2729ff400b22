"""Judges whether attempts succeeded, from what can be seen from outside.

Every check is re-evaluated until it holds or time runs out, and a model's opinion is weighed. The
individual checks live in `checks`.
"""
