"""Values as people write them.

Texts, numbers, money, dates, durations and URLs, and whether two of them mean the same.
`judging/checks` decides which values a check compares.
"""
