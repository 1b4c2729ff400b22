"""Correction arms: the ways in which a failed attempt is tried again.

The stages that write the second try live in `codegen`, the rules for retries in `correct`.
"""
