"""Strategy `collect`.

The addresses behind a list, learned with a model once and done again without one. What of a case
file describes the list is read in `cases`.
"""
