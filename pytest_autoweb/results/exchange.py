"""One model call."""

from pytest_autoweb.results.record import Record
from pytest_autoweb.results.usage import Usage
from pytest_autoweb.results.words import StageName


class Exchange(Record):
    """One model call: what was asked and what came back, redacted."""

    stage: StageName
    turn: int = 0
    prompt: str
    reply: str
    usage: Usage
    model_served: str = ""
    error: str | None = None
