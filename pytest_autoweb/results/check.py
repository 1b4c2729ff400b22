"""What one check saw."""

from pydantic import Field

from pytest_autoweb.results.record import Record
from pytest_autoweb.results.usage import Usage


class CheckResult(Record):
    """What one entry of `expect` saw."""

    index: int
    type: str
    passed: bool | None
    """None: it could not be evaluated."""
    expected: str
    actual: str
    where: str = ""
    """Where it was seen: a URL, a frame, a request, a file, a record."""
    message: str = ""
    """The case's own `message`, or why it could not be evaluated."""
    finding: str = ""
    """A named verdict beside holding or not: `CONDITION_IGNORED`, `captcha`, `impossible` …"""
    hint: str = ""
    """What a repair may be told; empty for checks that would give their answer away."""
    weight: float = 1.0
    credit: float | None = None
    """Partial credit from 0 to 1; None: 1 when it holds, 0 when not."""
    advisory: bool = False
    """Reported, but without a part in the verdict."""
    checksum: str = ""
    """SHA-256 of the check as written, so that a later look knows whether it is the same."""
    usage: Usage = Field(default_factory=Usage)
    """Of a model that judged."""
    duration_ms: float = 0.0
