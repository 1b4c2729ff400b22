"""Judges an attempt by its case's checks, on the live page and server, and sums them up."""

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct
from playwright.sync_api import Error, Page

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import named_line
from pytest_autoweb.judging.checks.check_type import (
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
)
from pytest_autoweb.results.records import CheckResult

GRADER_VERSION = 2
"""The version of the checks' semantics, raised whenever the same check may judge the same attempt
differently."""


def graded(checks_checksum: str) -> str:
    """Return the checksum of a case's checks as this version of the grader reads them."""
    return hashlib.sha256(f"grader {GRADER_VERSION}: {checks_checksum}".encode()).hexdigest()


def score(results: Sequence[CheckResult]) -> tuple[bool | None, float | None]:
    """Return whether the checks hold, and which share of their points they earn.

    One failed check decides. A check that could not be evaluated leaves the verdict open, because
    it might have failed; it earns nothing. Advisory checks count towards neither.

    Returns:
        `(None, None)` if no check counts.
    """
    counted = [result for result in results if not result.advisory]
    evaluated = [result for result in counted if result.passed is not None]
    if not evaluated:
        return None, None
    earned = sum(result.weight * credit_of(result) for result in evaluated)
    share = earned / sum(result.weight for result in counted)
    if any(result.passed is False for result in evaluated):
        return False, share
    return (True if len(evaluated) == len(counted) else None), share


def credit_of(result: CheckResult) -> float:
    if result.credit is None:
        return 1.0 if result.passed else 0.0
    return result.credit


_POLL_S = 0.1
_LEAST_LOOK_S = 3.0
"""Enough for a page that answers, on a machine that has much else to do."""
_SHOWN_CHARS = 500


class _PendingCheck(Struct):
    """One check while it is being judged."""

    index: int
    check: Check
    evidence: Evidence
    started: float
    checksum: str = ""
    probe: CheckProbe | None = None
    verdict: Verdict | None = None
    problem: str = ""
    not_asked: bool = False
    """Whether there was no model to ask, in which case no opinion is expected."""
    ended: float = 0.0

    @property
    def asks_model(self) -> bool:
        """Tell whether a model is asked for this check."""
        return self.check.rests_on == "opinion"

    @property
    def open(self) -> bool:
        """Tell whether evaluating again may change the verdict."""
        if self.probe is None or (self.verdict is not None and self.verdict.passed):
            return False
        return self.probe.retry or (self.verdict is None and not self.problem)

    def look(self, seconds: float) -> None:
        """Evaluate once; an error leaves the check without a verdict."""
        if self.probe is None:
            return
        try:
            self.verdict, self.problem = self.probe.look(seconds), ""
        except Exception as error:
            # A check's own code, or the page, may fail in any way. This must not end the run, and
            # must not count as a pass or a fail.
            self.give_up(error)
        self.ended = waiting.now()

    def give_up(self, error: Exception) -> None:
        """Record why there is no verdict."""
        self.verdict, self.problem = None, _reason(error)
        self.not_asked = self.asks_model and isinstance(error, NotEvaluated)


def judge_checks(
    checks: Sequence[Check],
    evidence: Evidence,
    *,
    timeout_s: float,
    checksums: Sequence[str] = (),
) -> tuple[CheckResult, ...]:
    """Evaluate all checks in turn until each holds or `timeout_s` has passed.

    All share one wait, so the total is about `timeout_s` at most, however many fail; a page that
    hangs adds three for each check that reads it. A model's opinion is requested last, once the
    other checks have waited for the page to settle. A check that could not be evaluated has
    `passed` None and gives the reason.

    Args:
        checks: the checks, with secrets filled in.
        evidence: the end of the attempt.
        timeout_s: how long to keep retrying checks that do not hold.
        checksums: the checksums of the checks as written, in the same order; see
            `LoadedCase.check_checksums`.
    """
    (results,) = judge_together((AskedCase(checks, evidence, checksums),), timeout_s=timeout_s)
    return results


class AskedCase(NamedTuple):
    """The checks of a case, and what they are asked of; see `judge_checks`."""

    checks: Sequence[Check]
    evidence: Evidence
    checksums: Sequence[str] = ()


def judge_together(
    asked: Sequence[AskedCase], *, timeout_s: float
) -> tuple[tuple[CheckResult, ...], ...]:
    """Evaluate the checks of several cases on one page, as `judge_checks` does those of one.

    All checks share one wait. With several cases a look at all of them may take longer than that,
    so there is one more look when the time is over.
    """
    pending = [
        [_prepared(index, check, case.evidence) for index, check in enumerate(case.checks)]
        for case in asked
    ]
    for entries, case in zip(pending, asked, strict=True):
        for entry, checksum in zip(entries, case.checksums, strict=False):
            entry.checksum = checksum
    every = [entry for entries in pending for entry in entries]
    several = len(asked) > 1
    _look([entry for entry in every if not entry.asks_model], timeout_s, to_the_end=several)
    _look([entry for entry in every if entry.asks_model], timeout_s)
    return tuple(tuple(map(_result, entries)) for entries in pending)


def _look(pending: Sequence[_PendingCheck], timeout_s: float, *, to_the_end: bool = False) -> None:
    deadline = waiting.now() + timeout_s
    while unsettled := [entry for entry in pending if entry.open]:
        begun = waiting.now()
        for position, entry in enumerate(unsettled):
            left = max(0.0, deadline - waiting.now())
            # Each check gets its share of the remaining time, which leaves some for the others if
            # it is slow, but at least a few seconds, so that the last evaluation still sees the
            # final state.
            entry.look(max(_LEAST_LOOK_S, left / (len(unsettled) - position)))
        last = (begun if to_the_end else waiting.now()) >= deadline
        if last or not any(entry.open for entry in pending):
            break
        _pause(pending[0].evidence.page)


def _prepared(index: int, check: Check, evidence: Evidence) -> _PendingCheck:
    now = waiting.now()
    entry = _PendingCheck(index=index, check=check, evidence=evidence, started=now, ended=now)
    try:
        entry.probe = check.probe(evidence)
    except Exception as error:
        # A check that cannot be prepared reports this in its result; the others are still judged.
        entry.give_up(error)
    return entry


def _pause(page: Page) -> None:
    """Wait in the browser's own loop, so that routed requests are still answered."""
    try:
        page.wait_for_timeout(_POLL_S * 1000)
    except Error:
        waiting.sleep(_POLL_S)


def _reason(error: Exception) -> str:
    if isinstance(error, NotEvaluated):
        return str(error)
    return named_line(error)


def _as_written(check: Check) -> str:
    """Return a check that could not be prepared as written in its case file."""
    written = check.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(written.get(check.name), ensure_ascii=False)


def _result(entry: _PendingCheck) -> CheckResult:
    def shown(text: str) -> str:
        text = entry.evidence.redact(text)
        return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"

    verdict = entry.verdict or Verdict(None, "", reason=entry.problem, advisory=entry.not_asked)
    expected = entry.probe.expected if entry.probe else _as_written(entry.check)
    open_question = (
        "" if verdict.passed is not None else f"could not be evaluated: {verdict.reason}"
    )
    return CheckResult(
        index=entry.index,
        type=entry.check.name,
        passed=verdict.passed,
        expected=shown(expected),
        actual=shown(verdict.actual),
        where=shown(verdict.where),
        message=shown("; ".join(filter(None, (entry.check.message, open_question)))),
        finding=verdict.finding,
        hint=shown(verdict.hint),
        weight=entry.check.own_points or 1.0,
        credit=verdict.credit,
        advisory=verdict.advisory,
        checksum=entry.checksum,
        votes=tuple(
            vote.model_copy(update={"reason": shown(vote.reason)}) for vote in verdict.votes
        ),
        usage=verdict.usage,
        duration_ms=(entry.ended - entry.started) * 1000,
    )
