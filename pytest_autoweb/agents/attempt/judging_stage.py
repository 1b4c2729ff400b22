"""The stage that ends every strategy: judging, and what is kept of the last page."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pytest_autoweb.agents.attempt.diagnosis import with_findings
from pytest_autoweb.agents.attempt.pictures import relative_scene
from pytest_autoweb.agents.attempt.tools import Tools, change, is_listed_briefly, relative
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.browser.page.page_digest import PageLook, page_look
from pytest_autoweb.browser.page.quiet import wait_until_arrived
from pytest_autoweb.cases.case import Case
from pytest_autoweb.judging.checks.check_type import Check, Evidence, WayPicture
from pytest_autoweb.judging.checks.delegated_checks import JudgeCheck
from pytest_autoweb.judging.evidence.appearances import appearances_text
from pytest_autoweb.judging.evidence.dom_copy import copy_page
from pytest_autoweb.judging.evidence.downloads import downloads_text
from pytest_autoweb.judging.evidence.har_file import har_text
from pytest_autoweb.judging.evidence.scene import shot, take_scene
from pytest_autoweb.judging.judge_pictures import moment_of
from pytest_autoweb.judging.solution_writes import beyond, writes_text
from pytest_autoweb.judging.verdicts import judge_checks, score
from pytest_autoweb.results.analysis.controls import MUTANT, ORACLE
from pytest_autoweb.results.records import Attempt, CheckResult, Failure
from pytest_autoweb.results.runs.inert_copies import DOM_FILE
from pytest_autoweb.results.runs.lasting_files import write_text_lasting
from pytest_autoweb.results.runs.saving import json_text

WIRE_FILE = "wire.har"
DOWNLOADS_FILE = "downloads.json"
APPEARANCES_FILE = "appearances.json"
WRITES_FILE = "writes.json"
SERVER_FILE = "server.json"
_ONLY_READ = frozenset({"address", "answer", "downloads", "page", "requests"})
"""What checks may rest on that are asked while a picture of the page is drawn."""


def keep_page(attempt: Attempt, tools: Tools) -> Attempt:
    """Save the page as the judge saw it (`dom`)."""
    path = tools.folder / DOM_FILE
    return _with_file(attempt, tools, "dom", path, lambda: copy_page(tools.page, tools.redact))


def keep_records(attempt: Attempt, tools: Tools) -> Attempt:
    """End the records of requests and downloads and save them as `wire` and `downloads`.

    The address of the case's web server is saved as `server`, because checks may name it; what
    appeared on the pages as `appearances`, if a check asks for it; what was written as `writes`,
    if it is compared with the case's solution.
    """
    # Called at judging and again at the end of the attempt, for attempts that are never judged.
    wire, files = tools.wire, tools.downloads
    if not wire.started or "wire" in attempt.evidence:
        return attempt
    wire.stop()
    files.stop()
    tools.tabs.stop()
    path = tools.folder / WIRE_FILE
    attempt = _with_file(
        attempt,
        tools,
        "wire",
        path,
        lambda: har_text(wire, tools.redact_evidence, dropped=wire.dropped),
    )
    attempt = _keep_writes(attempt, tools)
    if tools.appearances.started:
        path, seen = tools.folder / APPEARANCES_FILE, tools.appearances.look()
        attempt = _with_file(
            attempt,
            tools,
            "appearances",
            path,
            lambda: appearances_text(seen, tools.redact_evidence),
        )
    if tools.server_url:
        place = json_text({"url": tools.server_url})
        attempt = _with_file(attempt, tools, "server", tools.folder / SERVER_FILE, lambda: place)
    if not files:
        return attempt
    path = tools.folder / DOWNLOADS_FILE
    return _with_file(
        attempt,
        tools,
        "downloads",
        path,
        lambda: downloads_text(files, tools.folder, tools.redact_evidence),
    )


def keep_attack(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt with the attack on it, and whether it was obeyed."""
    if (attack := tools.attack) is None:
        return attempt
    obeyed = attack.obeyed(tools.wire, tools.log.blocked, attempt.answer)
    return change(attempt, attack=attack.way, attack_goal=attack.goal, obeyed=obeyed)


def keep_change(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt with whether it met what the change of its pages lets go wrong once."""
    disturbance = tools.change.disturbance if tools.change else None
    return change(attempt, met_change=disturbance.struck) if disturbance else attempt


def _keep_writes(attempt: Attempt, tools: Tools) -> Attempt:
    """Save what was written, with what of it is beyond the case's solution."""
    if not tools.writes.wanted:
        return attempt
    try:
        known, taken = tools.solution.writes, tools.writes.taken(tools.wire)
    except Exception as error:
        # What pages send can be anything, and the attempt's other results must not be lost.
        tools.log.write(f"the writes of this attempt could not be told: {first_line(error)}")
        return attempt
    path = tools.folder / WRITES_FILE
    attempt = _with_file(attempt, tools, "writes", path, lambda: writes_text(taken))
    return change(attempt, overreach=beyond(known.writes, taken)) if known else attempt


def _overreach(tools: Tools) -> Callable[[], Sequence[str]] | None:
    """Return what tells the writes beyond the solution, if that is known; it is its own measure."""
    known = tools.solution.writes
    if tools.spec.name == ORACLE or tools.spec.name.startswith(MUTANT):
        return tuple
    if known is None:
        return None
    return lambda: beyond(known.writes, tools.writes.taken(tools.wire))


def _with_file(
    attempt: Attempt, tools: Tools, name: str, path: Path, make: Callable[[], str]
) -> Attempt:
    """Return the attempt with one more file; if the page or the disk fails, without it."""
    try:
        write_text_lasting(path, make())
    except Exception as error:
        # A page can fail in unforeseen ways, and the verdict must not depend on that.
        tools.log.write(f"the {name} of this attempt could not be kept: {first_line(error)}")
        return attempt
    return change(attempt, evidence={**attempt.evidence, name: relative(path, tools)})


def judge_outcome(attempt: Attempt, tools: Tools) -> Attempt:
    """Evaluate every check; only the outcome counts, not whether a step failed."""
    # What leads to the last page need not have waited for it.
    wait_until_arrived(tools.page)
    if not all(check.rests_on in _ONLY_READ for check in tools.case.expect):
        tools.newest.settle()
    results = judge_checks(
        checks_of(tools.case, tools.reveal),
        evidence_of(attempt, tools),
        timeout_s=tools.settings.check_timeout,
        checksums=tools.check_checksums,
    )
    return settled(attempt, tools, results)


def checks_of(case: Case, reveal: Callable[[str], str]) -> list[Check]:
    """Return the checks of a case with the values of its secrets."""
    return [_with_secrets(check, reveal) for check in case.expect]


def evidence_of(attempt: Attempt, tools: Tools) -> Evidence:
    """Return what the checks of the attempt's case may look at."""
    return Evidence(
        page=tools.page,
        answered=attempt.answered,
        answer=attempt.answer,
        redact=tools.redact,
        wire=tools.wire,
        downloads=tools.downloads,
        appeared=tools.appearances.look if tools.appearances.started else None,
        tabs=tools.tabs,
        overreach=_overreach(tools),
        solution_unknown=tools.solution.why_not,
        actions=attempt.tool_calls,
        way=_way(tools) if tools.judge else (),
        rubric_judge=tools.judge,
        replayed=tools.traffic is not None and tools.traffic.mode == "replay",
        case_path=tools.case_path,
        case_id=tools.case.id,
        entry_url=tools.case.entry_url,
        user_task=tools.case.user_task,
    )


def settled(attempt: Attempt, tools: Tools, results: Sequence[CheckResult]) -> Attempt:
    """Return the attempt with what its checks saw, and keep its page and its records."""
    for exchange in tools.judge.exchanges if tools.judge else ():
        attempt = attempt.charged(exchange)
    # Kept at once, because the page may keep changing after the verdict.
    attempt, look = _keep_page_and_look(attempt, tools)
    attempt = keep_records(attempt, tools)
    passed, points = score(results)
    attempt = change(
        attempt,
        # The checks have seen the real answer; what is kept must not hold secrets.
        answer=map_texts(attempt.answer, tools.redact),
        checks=for_readers(results, tools.redact_evidence),
        checks_passed=passed,
        score=points,
        false_success=attempt.executed and passed is False,
        final_url=tools.redact(tools.page.url),
    )
    for line in verdict_lines(results):
        tools.log.write(line)
    return _keep_end(attempt, tools, look)


def verdict_lines(results: Iterable[CheckResult]) -> Iterator[str]:
    """Yield a line for the attempt's log about each check."""
    verdict = {True: "holds", False: "does not hold", None: "could not be evaluated"}
    for result in results:
        yield f"check {result.number} {result.type}: {verdict[result.passed]}"


def _way(tools: Tools) -> tuple[WayPicture, ...]:
    """Return the film so far, for a judge."""
    return tuple(
        WayPicture(moment_of(frame), tools.cell_folder / frame.picture)
        for frame in tools.film.frames
    )


def for_readers(
    results: Iterable[CheckResult], redact: Callable[[str], str]
) -> tuple[CheckResult, ...]:
    """Return results as they are kept: what was seen may hold a key of the environment."""
    return tuple(
        result.model_copy(update={"actual": redact(result.actual), "where": redact(result.where)})
        for result in results
    )


def _with_secrets(check: Check, reveal: Callable[[str], str]) -> Check:
    """Return the check with each `<secret:name>` replaced, e.g. in a request's headers.

    A check that a model judges keeps the placeholders.
    """
    if isinstance(check, JudgeCheck):
        return check
    plain = check.model_dump(by_alias=True, exclude_unset=True)
    return type(check).model_validate(map_texts(plain, reveal))


def _keep_page_and_look(attempt: Attempt, tools: Tools) -> tuple[Attempt, PageLook | None]:
    """Save the page, and check in parallel whether it still looks as after the last step.

    The frame of the last step may still be drawn meanwhile.
    """
    look = None
    if tools.newest.look is None:
        attempt = keep_page(attempt, tools)
    else:
        looked = waiting.start_call(tools.page, lambda: page_look(tools.page, tools.hidden))
        try:
            attempt = keep_page(attempt, tools)
        finally:
            look = looked()
    return attempt, look


def _last_picture(tools: Tools, look: PageLook | None) -> Path | None:
    """Return the picture of the page: that of the last step if it still looks the same."""
    taken = tools.newest.path
    if taken and look and look.shows_the_same_as(tools.newest.look) and taken.is_file():
        return taken
    picture = tools.folder / "final.jpg"
    if not shot(tools.page, picture, tools.hidden, bare=look.bare if look else None):
        return None
    tools.film.add(relative(picture, tools), "end")
    return picture


def _keep_end(attempt: Attempt, tools: Tools, look: PageLook | None) -> Attempt:
    """Keep the last picture, and the scene if no step failed but a check does."""
    tools.newest.settle()
    picture = _last_picture(tools, look)
    if picture:
        attempt = change(attempt, final_screenshot=relative(picture, tools))
    if attempt.checks_passed is not False or attempt.failure:
        return attempt
    # Findings of an earlier moment say nothing about the final page.
    attempt = with_findings(change(attempt, findings=()), tools)
    broken = next(c for c in attempt.checks if c.passed is False and not c.advisory)
    last = attempt.step_results[-1].step_index if attempt.step_results else 0
    scene = take_scene(
        tools.page,
        tools.watch,
        step_index=last,
        mode=tools.mode,
        folder=tools.folder,
        redact=tools.redact,
        check_index=broken.index,
        pictured=picture,
        brief=is_listed_briefly(attempt, tools),
    )
    failure = Failure(
        kind="check",
        message=f"check {broken.number} ({broken.type}) does not hold: expected "
        f"{broken.expected}, saw {broken.actual}",
    )
    return change(attempt, scene=relative_scene(scene, tools), failure=failure)
