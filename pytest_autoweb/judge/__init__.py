"""Success, judged from outside.

Every check is looked at until it holds or time is over, and a model's opinion is weighed. What
single checks look at lives in `checks`.
"""
