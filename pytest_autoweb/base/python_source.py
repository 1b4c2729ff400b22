"""Reads Python that somebody else wrote, such as a model, and that may be no Python at all."""

import ast

NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast` raises for text that is no Python.

A null byte is a ValueError or a SyntaxError, depending on Python's version, and half a surrogate
pair is a ValueError; deep nesting is a RecursionError or a MemoryError. Writing a tree down again
fails with the same ones.
"""


def read_python(code: str) -> ast.Module | None:
    """Return the tree of some code, or None if it is not Python."""
    try:
        return ast.parse(code)
    except NOT_PYTHON:
        return None


def read_expression(text: str) -> ast.expr | None:
    """Return the tree of a single expression, or None if the text is none."""
    try:
        return ast.parse(text, mode="eval").body
    except NOT_PYTHON:
        return None


def is_python(text: str) -> bool:
    return read_python(text) is not None
