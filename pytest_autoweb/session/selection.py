"""Whether a session runs all cells of what it was given, or a part that somebody picked."""

import os

import pytest

from pytest_autoweb.session.touched_cells import TOUCHED


def selection_of(config: pytest.Config) -> str:
    """Return what picks a part of the cells, for people; empty if nothing does.

    Marks (`-m`) do not count: with them, projects divide their cases for good.
    """
    if keyword := config.getoption("keyword", ""):
        return f"-k {keyword}"
    if config.getoption("lf", False):
        return "--lf"
    if os.environ.get(TOUCHED):
        return "the case files that changed"
    if config.getoption("deselect", None):
        return "--deselect"
    return next((f"only {name}" for name in map(str, config.args) if "::" in name), "")
