"""The result of `autoweb verify`, as far as the report shows it."""

from pydantic import ConfigDict

from pytest_autoweb.results import CaptureMode, Outcome, Record

VERIFICATION_FILE = "verification.json"


class RejudgedCell(Record):
    """A cell that was judged again, offline."""

    model_config = ConfigDict(extra="ignore")

    case_id: str
    case_path: str
    model: str
    capture_mode: CaptureMode
    repeat: int
    before: Outcome
    """The outcome in the run itself."""
    after: Outcome
    notes: tuple[str, ...] = ()
    """Sentences with what a reader must know about the new verdict."""


class Rejudging(Record):
    """A run that was judged again; other fields of the file are for the command line."""

    model_config = ConfigDict(extra="ignore")

    ts: str
    """The `ts` of the run that was judged again."""
    cells: tuple[RejudgedCell, ...]
