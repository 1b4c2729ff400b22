"""What `autoweb verify` changed, as far as the report shows it."""

from pydantic import ConfigDict

from pytest_autoweb.results import CaptureModeName, Outcome, Record

VERIFICATION_FILE = "verification.json"


class RejudgedCell(Record):
    """A cell that was judged again, offline."""

    model_config = ConfigDict(extra="ignore")

    case_id: str
    case_path: str
    model: str
    capture_mode: CaptureModeName
    repeat: int
    before: Outcome
    """While the run ran."""
    after: Outcome
    notes: tuple[str, ...] = ()
    """What a reader must know of the new verdict."""


class Rejudging(Record):
    """Of a whole run; what else the file holds is for the command line."""

    model_config = ConfigDict(extra="ignore")

    ts: str
    """Of the run that was judged again."""
    cells: tuple[RejudgedCell, ...]
