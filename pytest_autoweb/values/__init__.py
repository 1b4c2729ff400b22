"""Values as people write them.

Texts, numbers, money, dates, durations and URLs, and whether two of them mean the same. Which
values a check compares is decided in `checks`.
"""
