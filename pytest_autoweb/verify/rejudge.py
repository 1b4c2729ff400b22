"""Judges one attempt again from its stored evidence."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pytest_autoweb.browser.dom_copy import OpenCopy, open_copy
from pytest_autoweb.checks.attempt_evidence import Evidence, RubricJudge
from pytest_autoweb.checks.check_type import Check
from pytest_autoweb.judge.checks import judge_checks
from pytest_autoweb.judge.score import score
from pytest_autoweb.results import Attempt, CheckResult, Failure, Usage
from pytest_autoweb.verify.stored import MISSING, Stored

if TYPE_CHECKING:
    from playwright.sync_api import Browser

AS_RECORDED = "as recorded, not judged again"
UNDECIDED = "cannot be decided offline: "

_SHOWN = ("page", "address", "opinion")
"""Grounds for which the stored page is opened."""
_HIDDEN = "<hidden>"


@dataclass(frozen=True, slots=True)
class Written:
    """A check as the case file has it now."""

    index: int
    check: Check
    checksum: str


@dataclass(frozen=True, slots=True)
class Bench:
    """What judging again may use."""

    browser: "Callable[[], Browser]"
    """Asked for when a stored page must be shown."""
    changed_only: bool = False
    judge: Callable[[Attempt], RubricJudge] | None = None
    """None: models are not asked."""


def rejudge(attempt: Attempt, checks: Sequence[Written], stored: Stored, bench: Bench) -> Attempt:
    """The attempt with the verdicts of these checks; its other facts stay."""
    results: dict[int, CheckResult] = {}
    again: list[Written] = []
    recorded = _Recorded(attempt.checks)
    for written in checks:
        old = recorded.take(written)
        problem = _problem(written, stored, bench)
        if old is not None and (problem or bench.changed_only):
            results[written.index] = _as_recorded(old, written)
        elif problem:
            results[written.index] = _undecided(written, problem)
        else:
            again.append(written)
    fresh = _judge(again, attempt, stored, bench)
    asked = sum((result.usage for result in fresh.values()), Usage())
    if asked.calls:
        spent = {**attempt.usage, "judge": attempt.usage.get("judge", Usage()) + asked}
        attempt = attempt.model_copy(update={"usage": spent})
    results |= fresh
    return _concluded(attempt, tuple(results[index] for index in sorted(results)))


class _Recorded:
    """The old verdicts, each given out once to the check that is the same."""

    def __init__(self, results: Sequence[CheckResult]) -> None:
        self._left = list(results)

    def take(self, written: Written) -> CheckResult | None:
        same = [r for r in self._left if r.checksum and r.checksum == written.checksum]
        found = next((r for r in same if r.index == written.index), same[0] if same else None)
        if found is not None:
            self._left.remove(found)
        return found


def _problem(written: Written, stored: Stored, bench: Bench) -> str:
    """Why the check cannot be judged from what was kept; empty when it can."""
    ground = written.check.rests_on
    if ground == "live":
        return f"a `{written.check.name}` check needs the live page or its server"
    if ground == "address" and "<secret:" in stored.url:
        return "the page's URL holds a secret"
    if ground == "opinion" and bench.judge is None:
        return "models are asked only with --ask-judge"
    if ground == "requests":
        return "" if stored.wire is not None else MISSING.format(what="record of requests")
    if ground == "downloads":
        return "" if stored.downloads is not None else MISSING.format(what="downloads")
    return "" if ground == "answer" or stored.page is not None else MISSING.format(what="page")


def _judge(
    checks: Sequence[Written], attempt: Attempt, stored: Stored, bench: Bench
) -> dict[int, CheckResult]:
    if not checks:
        return {}
    with _shown(checks, stored, bench) as copy:
        evidence = Evidence(
            # Nothing that is judged without a copy looks at the page.
            page=copy.page if copy else cast(Any, None),
            answered=attempt.answered,
            answer=attempt.answer,
            wire=stored.wire or (),
            downloads=stored.downloads or (),
            actions=attempt.tool_calls,
            rubric_judge=bench.judge(attempt) if bench.judge else None,
            entry_url=attempt.entry_url_used,
        )
        results = judge_checks(
            [written.check for written in checks],
            evidence,
            timeout_s=0.0,
            checksums=[written.checksum for written in checks],
        )
        return {
            written.index: _checked(
                result.model_copy(update={"index": written.index}), written.check, copy
            )
            for written, result in zip(checks, results, strict=True)
        }


@contextmanager
def _shown(checks: Sequence[Written], stored: Stored, bench: Bench) -> Iterator[OpenCopy | None]:
    needed = any(written.check.rests_on in _SHOWN for written in checks)
    if not needed or stored.page is None:
        yield None
        return
    with open_copy(bench.browser(), stored.page, stored.url) as copy:
        yield copy


def _checked(result: CheckResult, check: Check, copy: OpenCopy | None) -> CheckResult:
    """The verdict, unless the copy lacks what it would rest on."""
    if copy is None or result.passed is None:
        return result
    if check.rests_on == "address" and not copy.has_url:
        return _open_again(result, "the page had no web address")
    if check.rests_on == "page" and not copy.complete:
        return _open_again(result, "the page was too large to be kept whole")
    if result.type == "element" and not result.passed and _HIDDEN in result.actual:
        return _open_again(result, "values of password fields are not kept")
    return result


def _open_again(result: CheckResult, problem: str) -> CheckResult:
    message = "; ".join(filter(None, (result.message, UNDECIDED + problem)))
    return result.model_copy(update={"passed": None, "credit": None, "message": message})


def _as_recorded(old: CheckResult, written: Written) -> CheckResult:
    message = old.message
    if AS_RECORDED not in message:
        message = "; ".join(filter(None, (message, AS_RECORDED)))
    fresh = {"index": written.index, "weight": written.check.weight, "message": message}
    return old.model_copy(update=fresh)


def _undecided(written: Written, problem: str) -> CheckResult:
    message = "; ".join(filter(None, (written.check.message, UNDECIDED + problem)))
    return CheckResult(
        index=written.index,
        type=written.check.name,
        passed=None,
        expected=str(written.check.model_dump(mode="json", exclude_unset=True)),
        actual="",
        message=message,
        weight=written.check.weight,
        checksum=written.checksum,
        advisory=written.check.rests_on == "opinion",
    )


def _concluded(attempt: Attempt, results: tuple[CheckResult, ...]) -> Attempt:
    passed, points = score(results)
    failure = None if attempt.failure and attempt.failure.kind == "check" else attempt.failure
    if passed is False and failure is None:
        broken = next(r for r in results if r.passed is False and not r.advisory)
        failure = Failure(
            kind="check",
            message=f"check {broken.index} ({broken.type}) does not hold: expected "
            f"{broken.expected}, saw {broken.actual}",
        )
    return attempt.model_copy(
        update={
            "checks": results,
            "checks_passed": passed,
            "score": points,
            "false_success": attempt.executed and passed is False,
            "failure": failure,
        }
    )
