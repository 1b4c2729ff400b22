"""Values as people write them: texts, numbers, money, dates, durations and URLs."""
