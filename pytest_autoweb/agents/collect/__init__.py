"""Strategy `collect`.

It collects the addresses behind a list, learning how with a model once and repeating it without
one. `cases` reads the part of a case file that describes the list.
"""
