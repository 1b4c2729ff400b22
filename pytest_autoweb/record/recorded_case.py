"""The case that a recording becomes: its file, and which of its checks hold."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pytest_autoweb.analysis.control_verdicts import NOOP, ORACLE
from pytest_autoweb.record.oracle import in_template
from pytest_autoweb.results import CellResult

TIMES = 3
"""How often each control has to hold."""


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A case as it is written; its texts are those of a person or a page, not yet expressions."""

    id: str
    entry_url: str
    """With the expression for the web server's address already in it."""
    task: str
    """With placeholders of secrets."""
    oracle: str
    """As a case file writes it, with expressions."""
    variables: Mapping[str, str]
    """The environment variable of each secret, by its name."""
    webserver: Mapping[str, str]
    origins: Sequence[str] = ()
    files: Sequence[str] = ()
    expect: Sequence[Mapping[str, Any]] = ()

    def with_checks(self, expect: Sequence[Mapping[str, Any]]) -> "RecordedCase":
        """Return the case with other checks."""
        return replace(self, expect=tuple(expect))

    def with_answer(self, answer: str) -> "RecordedCase":
        """Return the case with an oracle that answers and a check that expects it."""
        said = in_template(json.dumps(answer, ensure_ascii=False))
        check = {"answer": {"equals": answer}}
        return replace(self, oracle=f"{self.oracle}answer({said})\n", expect=(check, *self.expect))

    def text(self) -> str:
        """Return the case file. Values are written as JSON, which YAML reads."""
        lines = ["# Recorded by `autoweb record`; `autoweb schema case` describes every field."]
        lines += ["version: 1"]
        if self.webserver:
            lines += ["webserver:"]
            lines += [f"  {name}: {_json(value)}" for name, value in self.webserver.items()]
        lines += ["cases:", f"  - id: {self.id}", f"    entry_url: {_json(self.entry_url)}"]
        lines += [f"    user_task: {_json(in_template(self.task))}"]
        if self.variables:
            lines += ["    secrets:"]
            lines += [f"      {name}: {{env: {env}}}" for name, env in self.variables.items()]
        if self.origins:
            lines += [f"    allowed_origins: {_json(list(self.origins))}"]
        if self.files:
            lines += [f"    files: {_json(list(self.files))}"]
        if self.expect:
            lines += ["    expect:"]
            lines += [f"      - {in_template(_json(check))}" for check in self.expect]
        lines += ["    # What was recorded; it solves the case.", "    oracle: |"]
        lines += [f"      {line}".rstrip() for line in self.oracle.splitlines()]
        return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class ProvenChecks(NamedTuple):
    """Which checks hold, and why the others do not."""

    kept: tuple[int, ...]
    dropped: Mapping[int, str]
    problem: str
    """Why the case cannot be accepted whatever its checks are; empty if it can."""


def prove_checks(cells: Sequence[CellResult], count: int) -> ProvenChecks:
    """Tell which checks held in every run of the oracle and in none of doing nothing.

    Args:
        cells: the runs of the controls.
        count: the number of checks.
    """
    played = [cell for cell in cells if cell.model == ORACLE]
    idle = [cell for cell in cells if cell.model == NOOP]
    problem = _problem(played) or ("" if len(idle) >= TIMES else "doing nothing did not run")
    if problem:
        return ProvenChecks((), {}, problem)
    dropped: dict[int, str] = {}
    for number in range(count):
        held = sum(_held(cell, number) is True for cell in played)
        before = sum(_held(cell, number) is not False for cell in idle)
        if held < len(played):
            dropped[number] = f"it held in {held} of {len(played)} runs of the oracle"
        elif before:
            dropped[number] = f"it did not fail in {before} of {len(idle)} runs of doing nothing"
    kept = tuple(number for number in range(count) if number not in dropped)
    return ProvenChecks(kept, dropped, "")


def _held(cell: CellResult, number: int) -> bool | None:
    checks = cell.attempts[-1].checks if cell.attempts else ()
    return next((check.passed for check in checks if check.index == number), None)


def _problem(played: Sequence[CellResult]) -> str:
    done = sum(bool(cell.attempts) and cell.attempts[-1].executed for cell in played)
    if len(played) < TIMES or done < len(played):
        why = next((said for cell in played if (said := why_not_played(cell))), "")
        return f"the oracle ran to its end {done} of {max(TIMES, len(played))} times: {why}"
    return ""


def why_not_played(cell: CellResult) -> str:
    """Return why the oracle did not run to its end; empty if it did."""
    attempt = cell.attempts[-1] if cell.attempts else None
    if attempt and attempt.executed:
        return ""
    return (attempt and attempt.failure and attempt.failure.message) or cell.reason or cell.outcome
