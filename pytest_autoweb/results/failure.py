"""What went wrong, and why code was refused."""

from typing import Any

from pydantic import Field

from pytest_autoweb.errors import ModelCause
from pytest_autoweb.results.record import Record
from pytest_autoweb.results.words import FailureKind


class Failure(Record):
    """Something a page, a model or the infrastructure did wrong."""

    kind: FailureKind
    message: str
    """A plain sentence."""
    cause: ModelCause | None = None
    """Of kind `model` only."""
    rule: str | None = None
    """The rule id of the lint or the sandbox that refused."""
    step_index: int | None = None
    line: int | None = None
    """1-based line in the attempt's code."""
    evidence: dict[str, Any] = Field(default_factory=dict)


class LintFinding(Record):
    """One reason why code is refused before it runs."""

    line: int
    col: int
    """1-based."""
    code: str
    """The rule id, e.g. `AW102`."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        return f"{self.line}:{self.col} {self.code} {self.message}{tail}"
