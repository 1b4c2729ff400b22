"""Finds the report of a run on this machine, and serves nothing else from its folder."""

from pathlib import Path

from pytest_autoweb.store.history import RunSummary
from pytest_autoweb.store.sync import identify

POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of a report, beside its own policy, which allows only its own script: its text comes from pages
and models, so it gets an origin of its own, without the dashboard's cookie and REST."""


def report_page(run: RunSummary) -> Path | None:
    """`index.html` of a run; None: it is not here any more.

    The folder that the store names may hold a later run by now; this one was then moved aside,
    beside it. Only a folder that is this very run counts, whatever the store says.
    """
    named = Path(run.folder)
    for folder in (named, *sorted(named.parent.glob(f"{named.name}.*"))):
        page = folder / "index.html"
        if page.is_file() and not page.is_symlink() and identify(folder) == run.id:
            return page
    return None


def cell_anchor(folder: str) -> str:
    """What the report calls a cell, after `#`."""
    return folder.removeprefix("cells/")
