"""The report pages of runs, the only files that the dashboard serves from run folders."""

from pathlib import Path

from pytest_autoweb.store.history import RunSummary
from pytest_autoweb.store.sync import identify

POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The content security policy of a report, in addition to the report's own.

A report shows text from pages and models. The sandbox gives it an origin of its own, so that even
a script injected there could use neither the dashboard's cookie nor its REST API.
"""


def report_page(run: RunSummary) -> Path | None:
    """Return the path of a run's `index.html`, or None if it is no longer on this machine.

    A later run may have taken the folder that the store names; the earlier one was then renamed
    with a suffix. So every candidate is compared with the run's id.
    """
    named = Path(run.folder)
    for folder in (named, *sorted(named.parent.glob(f"{named.name}.*"))):
        page = folder / "index.html"
        if page.is_file() and not page.is_symlink() and identify(folder) == run.id:
            return page
    return None


def cell_anchor(folder: str) -> str:
    """Return the fragment (the part after `#`) that leads to a cell in the report."""
    return folder.removeprefix("cells/")
