"""Turns a person's work in a browser into a case (`autoweb record`): oracle, secrets, checks, file.

As for any other case, pytest plays the oracle and proves the case; `autoweb record` starts it.
"""
