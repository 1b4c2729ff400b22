"""Readers of values as people write them: texts, numbers, money, dates, durations and URLs.

Nothing here looks at a page or a case; the check types in `judge` compare with these readings.
"""
