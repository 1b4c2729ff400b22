"""The result of `autoweb verify`, as far as the report shows it."""

from pydantic import ConfigDict

from pytest_autoweb.results import CaptureModeName, Outcome, Record

VERIFICATION_FILE = "verification.json"


class RejudgedCell(Record):
    """A cell that was judged again, offline."""

    model_config = ConfigDict(extra="ignore")

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    repeat: int
    """Number of the repeat, from 1."""
    before: Outcome
    """The outcome in the run itself."""
    after: Outcome
    """Its outcome now."""
    notes: tuple[str, ...] = ()
    """Sentences with what a reader must know about the new verdict."""


class Rejudging(Record):
    """A run that was judged again; other fields of the file are for the command line."""

    model_config = ConfigDict(extra="ignore")

    ts: str
    """The `ts` of the run that was judged again."""
    cells: tuple[RejudgedCell, ...]
    """All cells that were judged again."""
