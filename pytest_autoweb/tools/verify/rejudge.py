"""Judges one attempt again from the evidence stored in its run folder."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from playwright.sync_api import Browser

from pytest_autoweb.agents.attempt.tools import change
from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.judging.checks.check_type import Check, Evidence, RubricJudge, WayPicture
from pytest_autoweb.judging.checks.page_checks import TabCheck
from pytest_autoweb.judging.evidence.appearances import Appearances, read_appearances
from pytest_autoweb.judging.evidence.dom_copy import OpenCopy, open_copy
from pytest_autoweb.judging.evidence.downloads import Download, read_downloads
from pytest_autoweb.judging.evidence.har_file import read_har
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.judging.judge_pictures import END, moment_of
from pytest_autoweb.judging.verdicts import judge_checks, score
from pytest_autoweb.results.records import Attempt, CheckResult, Failure, Usage
from pytest_autoweb.results.runs.inert_copies import stored_file

MISSING = "this run kept no {what}"


class Stored(Struct, frozen=True):
    """The stored evidence; None marks a part that was not kept or cannot be read."""

    page: str | None
    url: str
    wire: tuple[WireEntry, ...] | None
    downloads: tuple[Download, ...] | None
    server_url: str | None
    """The address of the case's web server during the run."""
    way: tuple[WayPicture, ...] = ()
    """The pictures of the way, and last that of the end if there is one."""
    appearances: Appearances | None = None


def read_stored(cell_folder: Path, attempt: Attempt) -> Stored:
    def text(name: str) -> str | None:
        if (path := _inside(cell_folder, attempt.evidence.get(name, ""))) is None:
            return None
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    wire = _wire(text("wire"))
    found = text("downloads")
    attempt_folder = cell_folder / f"attempt-{attempt.attempt_index}"
    # Where requests were recorded, a missing list of downloads means that nothing was downloaded.
    none_made = () if wire is not None and "downloads" not in attempt.evidence else None
    return Stored(
        page=text("dom"),
        url=attempt.final_url,
        wire=wire,
        downloads=none_made if found is None else _downloads(found, attempt_folder),
        appearances=_appearances(text("appearances")),
        server_url=_server_url(text("server")),
        way=_way(cell_folder, attempt),
    )


def _way(folder: Path, attempt: Attempt) -> tuple[WayPicture, ...]:
    """Return the film for a judge, with the last picture of the attempt at its end."""
    taken = [(moment_of(frame), frame.picture) for frame in attempt.film]
    end = attempt.final_screenshot
    if end is None:
        return ()
    way = [*((moment, name) for moment, name in taken if name != end), (END, end)]
    paths = ((moment, _inside(folder, name)) for moment, name in way)
    return tuple(WayPicture(moment, path) for moment, path in paths if path)


def _inside(folder: Path, name: str) -> Path | None:
    """Return the path of a file in the folder, or None for a name that leads out of it."""
    path = stored_file((folder / name).resolve())
    return path if name and path.is_relative_to(folder.resolve()) and path.is_file() else None


def _wire(text: str | None) -> tuple[WireEntry, ...] | None:
    try:
        return None if text is None else read_har(text)
    except ValueError:
        return None


def _appearances(text: str | None) -> Appearances | None:
    try:
        return None if text is None else read_appearances(text)
    except ValueError:
        return None


def _downloads(text: str, folder: Path) -> tuple[Download, ...] | None:
    try:
        return read_downloads(text, folder)
    except ValueError:
        return None


def _server_url(text: str | None) -> str | None:
    try:
        content = json.loads(text or "")
    except ValueError:
        return None
    url = content.get("url") if isinstance(content, dict) else None
    return url if isinstance(url, str) else None


AS_RECORDED = "as recorded, not judged again"
UNDECIDED = "cannot be decided offline: "

_SHOWN = ("page", "address", "opinion")
"""Grounds that require the stored page to be opened."""
_HIDDEN = "<hidden>"


class CurrentCheck(Struct, frozen=True):
    """A check as it is in the case file now, which may differ from the one that was judged."""

    index: int
    check: Check
    checksum: str


class RejudgeTools(Struct, frozen=True):
    """The browser, the judge and the settings for judging again."""

    browser: Callable[[], Browser]
    """Starts the browser when the first stored page must be shown."""
    changed_only: bool = False
    """Keep the recorded verdict of every check that is still the same."""
    judge: Callable[[Attempt], RubricJudge] | None = None
    """Creates the judge for an attempt's `judge` checks; None if no model is to be asked."""


def rejudge(
    attempt: Attempt, checks: Sequence[CurrentCheck], stored: Stored, tools: RejudgeTools
) -> Attempt:
    """Return the attempt with the verdicts of these checks; nothing else in it changes."""
    results: dict[int, CheckResult] = {}
    again: list[CurrentCheck] = []
    recorded = _Recorded(attempt.checks)
    taken = {written.index: recorded.take(written) for written in checks}

    def kept(written: CurrentCheck, problem: str) -> CheckResult:
        old = taken[written.index]
        return _as_recorded(old, written) if old is not None else _undecided(written, problem)

    for written in checks:
        problem = _problem(written, stored, tools)
        if problem or (tools.changed_only and taken[written.index] is not None):
            results[written.index] = kept(written, problem)
        else:
            again.append(written)
    try:
        fresh = _judge(again, attempt, stored, tools)
    except BrowserError as error:
        lost = [written for written in again if written.check.rests_on in _SHOWN]
        results |= {written.index: kept(written, str(error)) for written in lost}
        others = [written for written in again if written not in lost]
        fresh = _judge(others, attempt, stored, tools)
    asked = sum((result.usage for result in fresh.values()), Usage())
    if asked.calls:
        spent = {**attempt.usage, "judge": attempt.usage.get("judge", Usage()) + asked}
        attempt = change(attempt, usage=spent)
    results |= fresh
    return _concluded(attempt, tuple(results[index] for index in sorted(results)))


class _Recorded:
    """The recorded verdicts, each of which belongs to at most one current check."""

    def __init__(self, results: Sequence[CheckResult]) -> None:
        self._left = list(results)

    def take(self, written: CurrentCheck) -> CheckResult | None:
        same = [r for r in self._left if r.checksum and r.checksum == written.checksum]
        found = next((r for r in same if r.index == written.index), same[0] if same else None)
        if found is not None:
            self._left.remove(found)
        return found


def _problem(written: CurrentCheck, stored: Stored, tools: RejudgeTools) -> str:
    """Return why the check cannot be judged from the stored evidence; empty if it can."""
    ground = written.check.rests_on
    if ground == "live":
        return f"a `{written.check.name}` check needs the live page or its server"
    if ground == "address" and "<secret:" in stored.url:
        return "the page's URL holds a secret"
    if ground == "opinion" and tools.judge is None:
        return "models are asked only with --ask-judge"
    if ground == "appearances":
        return "" if stored.appearances is not None else MISSING.format(what="record of what came")
    if isinstance(written.check, TabCheck) and written.check.tab not in (None, 1):
        return "of the tabs, only the first one is kept"
    if ground == "requests":
        return "" if stored.wire is not None else MISSING.format(what="record of requests")
    if ground == "downloads":
        return "" if stored.downloads is not None else MISSING.format(what="downloads")
    return "" if ground == "answer" or stored.page is not None else MISSING.format(what="page")


def _judge(
    checks: Sequence[CurrentCheck], attempt: Attempt, stored: Stored, tools: RejudgeTools
) -> dict[int, CheckResult]:
    if not checks:
        return {}
    with _shown(checks, stored, tools) as copy:
        evidence = Evidence(
            # The checks that are judged without a copy of the page never use this field.
            page=copy.page if copy else cast(Any, None),
            answered=attempt.answered,
            answer=attempt.answer,
            wire=stored.wire or (),
            downloads=stored.downloads or (),
            appeared=(lambda: seen) if (seen := stored.appearances) else None,
            actions=attempt.tool_calls,
            way=stored.way,
            stored=True,
            rubric_judge=tools.judge(attempt) if tools.judge else None,
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
def _shown(
    checks: Sequence[CurrentCheck], stored: Stored, tools: RejudgeTools
) -> Iterator[OpenCopy | None]:
    needed = any(written.check.rests_on in _SHOWN for written in checks)
    if not needed or stored.page is None:
        yield None
        return
    with open_copy(tools.browser(), stored.page, stored.url) as copy:
        yield copy


def _checked(result: CheckResult, check: Check, copy: OpenCopy | None) -> CheckResult:
    """Return the verdict, unless the copy lacks its basis."""
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


def _as_recorded(old: CheckResult, written: CurrentCheck) -> CheckResult:
    message = old.message
    if AS_RECORDED not in message:
        message = "; ".join(filter(None, (message, AS_RECORDED)))
    fresh = {"index": written.index, "weight": written.check.own_points or 1.0, "message": message}
    return old.model_copy(update=fresh)


def _undecided(written: CurrentCheck, problem: str) -> CheckResult:
    message = "; ".join(filter(None, (written.check.message, UNDECIDED + problem)))
    return CheckResult(
        index=written.index,
        type=written.check.name,
        passed=None,
        expected=str(written.check.model_dump(mode="json", exclude_unset=True)),
        actual="",
        message=message,
        weight=written.check.own_points or 1.0,
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
            message=f"check {broken.number} ({broken.type}) does not hold: expected "
            f"{broken.expected}, saw {broken.actual}",
        )
    return change(
        attempt,
        checks=results,
        checks_passed=passed,
        score=points,
        false_success=attempt.executed and passed is False,
        failure=failure,
    )
