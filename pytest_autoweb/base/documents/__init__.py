"""YAML and JSON files that people write: read with the line of each field, and errors about it.

What a case file may say is declared in `cases`.
"""
