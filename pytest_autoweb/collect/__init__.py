"""Gathers the addresses behind a list: what its links have in common, page after page."""
