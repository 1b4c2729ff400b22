"""The optional database of runs, for questions over many of them.

A run's own folder stays the source of truth: everything here can be written again from it.
"""
