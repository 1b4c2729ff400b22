"""One page for many controls that do nothing, where their cases begin alike.

Doing nothing leaves the entry page as it is, so the checks of all cases that begin with the same
page, server, set-up and login can be asked of one. That takes seconds where a cell for each case
takes hours. Whatever a check might need or change beyond that page keeps its case out: it then has
a cell of its own, and so have all of them if the page did not stay the same while it was looked at.
"""

import json
import os
import shutil
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from pytest_autoweb.agents.attempt.judging_stage import (
    checks_of,
    evidence_of,
    for_readers,
    settled,
    verdict_lines,
)
from pytest_autoweb.agents.attempt.tools import Tools, change, fail
from pytest_autoweb.agents.codegen.plan import task_text
from pytest_autoweb.browser.page.page_digest import page_look
from pytest_autoweb.browser.page.quiet import wait_until_arrived
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cell.attempt_setting import AttemptOrder, AttemptSetting
from pytest_autoweb.cell.cell_inputs import Cell, CellResources, SeenElsewhere, Sharing
from pytest_autoweb.cell.cell_recording import recording_of
from pytest_autoweb.cell.cell_setting import CellSetting
from pytest_autoweb.cell.control_clients import NOOP
from pytest_autoweb.cell.one_attempt import run_attempt
from pytest_autoweb.judging.checks.answer_checks import AnswerCheck, InfeasibleCheck
from pytest_autoweb.judging.checks.assertion_checks import AssertionCheck
from pytest_autoweb.judging.checks.check_type import Check
from pytest_autoweb.judging.checks.delegated_checks import PythonCheck
from pytest_autoweb.judging.checks.page_checks import ElementCheck, JsCheck, TextCheck, UrlCheck
from pytest_autoweb.judging.checks.server_checks import FileCheck, HttpCheck, SqlCheck
from pytest_autoweb.judging.solution_writes import known_writes
from pytest_autoweb.judging.verdicts import AskedCase, judge_together, score
from pytest_autoweb.results.records import BROKEN, Attempt, CheckResult, Failure
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.settings.run_settings import Settings

_LOOKS = (
    *(UrlCheck, TextCheck, ElementCheck, AssertionCheck, AnswerCheck, InfeasibleCheck),
    *(SqlCheck, FileCheck),
)
"""Checks that look at the page, the answer, a database or a file, and change nothing."""
_RUNS_CODE = (JsCheck, PythonCheck)
"""Checks that run code of the case, which is trusted only if the page is the same afterwards."""
_READING = ("GET", "HEAD")
_ALIKE = {"entry_url", "setup", "secrets", "allowed_origins", "traffic", "pictures"}
_NOT_SHARED = ("exchanges.json", "run.log")
"""Files of an attempt that are about its own case alone."""
_Seen = tuple[Case, str, tuple[CheckResult, ...]]
"""A case with its final texts, its task as attempts keep it, and what its checks saw."""
_CHANGED = "the page did not stay the same while the checks of several cases were asked of it"


def page_key(cell: Cell, settings: Settings) -> str:
    """Return what cells have in common that may share a page; empty if a cell needs its own."""
    case, shape = cell.case, cell.case.shape
    if cell.spec.name != NOOP or cell.called or cell.mutant or not shape.expect:
        return ""
    if settings.attack or settings.pause or recording_of(cell, settings).mode != "off":
        return ""
    if shape.traffic.hold or shape.setup.passkeys is not None:
        return ""
    if not all(map(_may_share, shape.expect)):
        return ""
    # What it writes is compared with its own solution.
    if known_writes(case.path, case.id, case.checksum).writes is not None:
        return ""
    servers = {name: server.model_dump(mode="json") for name, server in case.webservers.items()}
    alike = shape.model_dump(mode="json", include=_ALIKE)
    return json.dumps([str(case.path), servers, alike, cell.mode, cell.repeat], sort_keys=True)


def _may_share(check: Check) -> bool:
    if isinstance(check, HttpCheck):
        return check.http.method.upper() in _READING
    # A type of a user's own may rest on anything.
    return type(check) in (*_LOOKS, *_RUNS_CODE)


def first_attempt(setting: CellSetting, resources: CellResources) -> tuple[Attempt, Case | None]:
    """Return the first attempt at a cell, made on a page of its own or on one that others share.

    Returns:
        As `run_attempt`.
    """
    folder, sharing = setting.cell.folder, resources.sharing
    if sharing is not None:
        if sharing.others and folder not in sharing.seen:
            _look_for_all(setting, resources, sharing)
        if (seen := sharing.seen.pop(folder, None)) is not None:
            return _taken(seen, resources.run_folder, folder), seen.case
    return run_attempt(setting, resources, AttemptOrder(1))


def _look_for_all(setting: CellSetting, resources: CellResources, sharing: Sharing) -> None:
    """Open the page, ask the checks of all cells of it, and keep what they saw."""
    own, seen = setting.cell, dict[str, _Seen]()
    order = AttemptOrder(
        1, judge=lambda made: partial(_judge_all, made, (own, *sharing.others), seen)
    )
    attempt, _ = run_attempt(setting, resources, order)
    attempt = change(attempt, page_of=own.folder)
    if seen and (attempt.failure is None or attempt.failure.kind not in BROKEN):
        for folder, found in seen.items():
            sharing.seen[folder] = SeenElsewhere(own.folder, attempt, *found)
    else:
        # The cell makes its attempt anew, alone.
        shutil.rmtree(resources.run_folder / own.folder / "attempt-1", ignore_errors=True)


def _judge_all(
    setting: AttemptSetting,
    cells: tuple[Cell, ...],
    seen: dict[str, _Seen],
    attempt: Attempt,
    tools: Tools,
) -> Attempt:
    """Evaluate the checks of all cells on the page of the first one: a stage of its attempt."""
    wait_until_arrived(tools.page)
    cases = {cell.folder: (cell, cell.case.resolve(setting.server)) for cell in cells}
    resets = [_resets(cell, setting) for cell in cells]
    evidence = evidence_of(attempt, tools)
    asked = {
        folder: AskedCase(
            checks_of(case, tools.reveal),
            replace(evidence, case_id=case.id, entry_url=case.entry_url, user_task=case.user_task),
            cell.case.check_checksums,
        )
        for (folder, (cell, case)), reset in zip(cases.items(), resets, strict=True)
        # A request may reset the server for one case in another way.
        if reset == resets[0] and case.entry_url == tools.case.entry_url
    }
    code = any(isinstance(check, _RUNS_CODE) for one in asked.values() for check in one.checks)
    before = page_look(tools.page) if code else None
    found = judge_together(tuple(asked.values()), timeout_s=tools.settings.check_timeout)
    if code:
        after = page_look(tools.page)
        if before is None or after is None or before.digest != after.digest:
            return fail(attempt, Failure(kind="internal", message=_CHANGED))
    results = dict(zip(asked, found, strict=True))
    attempt = settled(attempt, tools, results[cells[0].folder])
    for folder, checks in results.items():
        case = cases[folder][1]
        kept = for_readers(checks, tools.redact_evidence)
        seen[folder] = (case, task_text(case, tools), kept)
    return attempt


def _resets(cell: Cell, setting: AttemptSetting) -> list[object]:
    """Return the requests that reset the cell's servers."""
    server = setting.server
    return (
        [cell.case.resolve_reset(server, name) for name in cell.case.webservers] if server else []
    )


def _taken(seen: SeenElsewhere, run_folder: Path, folder: str) -> Attempt:
    """Return a cell's attempt from what was seen on another's page, with that page's files."""
    if folder == seen.page_of:
        return seen.attempt
    kept = run_folder / folder / "attempt-1"
    shutil.copytree(
        run_folder / seen.page_of / "attempt-1",
        kept,
        copy_function=_linked,
        ignore=shutil.ignore_patterns(*_NOT_SHARED),
        dirs_exist_ok=True,
    )
    passed, points = score(seen.checks)
    told = f"its checks were asked of the page of {seen.page_of}"
    log = "\n".join((told, *verdict_lines(seen.checks)))
    write_text_atomic(kept / "run.log", log, lasting=False)
    return change(
        seen.attempt,
        prompt=seen.prompt,
        exchanges=(),
        usage={},
        checks=seen.checks,
        checks_passed=passed,
        score=points,
        false_success=seen.attempt.executed and passed is False,
        run_log_head=log,
        run_log_tail="",
        stage_ms={},
        stage_started={},
        duration_ms=0.0,
    )


def _linked(source: str, target: str) -> None:
    """Give a file a second name, or copy it where that is not possible."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
