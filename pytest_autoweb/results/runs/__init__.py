"""Run folders and saved runs: writing results atomically, and reading a run back.

Databases over many runs live in `store`, the documents for readers in `report`.
"""
