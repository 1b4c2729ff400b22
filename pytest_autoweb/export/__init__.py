"""Passed cells as plain pytest-playwright tests: their code, their checks, and the proof of them.

How a cell is found and what is said about it in the terminal is in `commands/export.py`.
"""
