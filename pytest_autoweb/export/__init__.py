"""Passed cells as plain pytest-playwright tests: code, checks, proof, and mending what broke.

How a cell or a test is found and what is said about it in the terminal is in `commands/export.py`
and `commands/export.py`.
"""
