"""Judges whether attempts succeeded, from what can be seen from outside.

Every check is looked at until it holds or time runs out, and a model's opinion is weighed. Check
types live in `judging/checks`, what is recorded of an attempt in `judging/evidence`.
"""
