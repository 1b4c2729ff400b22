"""Runs in a database, for queries over many of them; the run's own files stay authoritative.

Its web pages live in `store/dashboard`.
"""
