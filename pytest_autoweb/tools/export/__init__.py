"""Passed cells as plain pytest-playwright tests: code, checks, proof, and repair of broken ones.

Finding cells and tests and reporting on them in the terminal is up to `cli/commands/export.py`.
"""
