"""Runs in a database, for questions over many of them; the run's own files stay the truth.

The pages over it live in `dashboard`.
"""
