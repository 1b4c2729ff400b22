"""Judges a saved run again into a new run folder; the old one is only read."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.browser.chromium import launch_args
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.cases.model import ServerHandle
from pytest_autoweb.checks.attempt_evidence import RubricJudge
from pytest_autoweb.errors import BrowserError, SettingsError
from pytest_autoweb.judge.grader import graded
from pytest_autoweb.report.run_folder import Run, read_run
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results import Attempt, CellResult, CheckResult, Outcome, Record, total_usage
from pytest_autoweb.saving import (
    MANIFEST_FILE,
    fresh_run_folder,
    json_text,
    save_cell,
    save_run_info,
    write_text_atomic,
)
from pytest_autoweb.stages.outcome import settle
from pytest_autoweb.verify.rejudge import UNDECIDED, Bench, Written, rejudge
from pytest_autoweb.verify.stored import read_stored

if TYPE_CHECKING:
    from playwright.sync_api import Browser

VERIFICATION_FILE = "verification.json"

Judge = Callable[[CellResult, Attempt], RubricJudge]


class CheckChange(Record):
    """A check whose verdict is another now, or which cannot be decided."""

    attempt: int
    index: int
    type: str
    before: bool | None = None
    """None: it had no verdict, or there was no such check."""
    after: bool | None = None
    """None: undecided, or there is no such check any more."""
    expected: str = ""
    actual: str = ""
    note: str = ""
    undecided: bool = False


class CellChange(Record):
    """What came of one cell."""

    case_id: str
    case_path: str
    model: str
    capture_mode: str
    repeat: int
    before: Outcome
    after: Outcome
    checks: tuple[CheckChange, ...] = ()
    notes: tuple[str, ...] = ()


class Verification(Record):
    """A run judged again; saved as `verification.json` in its new folder."""

    ts: str
    """Of the run."""
    cells: tuple[CellChange, ...]

    @property
    def changed(self) -> tuple[CellChange, ...]:
        """Cells with another outcome."""
        return tuple(cell for cell in self.cells if cell.before != cell.after)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be judged again, and how."""

    run_folder: Path
    output: Path
    rootdir: Path
    """Where the run's case paths begin."""
    case_files: tuple[Path, ...] = ()
    """Instead of the files the run names."""
    changed_only: bool = False
    judge: Judge | None = None
    """None: no model is asked."""


def verify_run(order: Order) -> Verification:
    """Judge every cell again and write the new run folder with its report.

    Raises:
        SettingsError: the folders do not fit.
        CaseError: a case file cannot be read.
        BrowserError: a stored page must be shown and there is no browser.
    """
    if order.output.resolve() == order.run_folder.resolve():
        raise SettingsError("a run is never judged again into its own folder; choose another")
    run = read_run(order.run_folder)
    if not run.cells:
        raise SettingsError(f"{order.run_folder} is no run folder: it holds no cells")
    cases = _Cases(order)
    cells = [(cell, *cases.of(cell)) for cell in run.cells]
    fresh_run_folder(order.output)
    changes: list[CellChange] = []
    with _browser() as browser:
        for cell, loaded, note in cells:
            again, notes = _rejudge_cell(cell, loaded, order, browser)
            _copy_cell(order, cell)
            if cell.attempts:
                save_cell(order.output, again)
            changes.append(_change(cell, again, tuple(filter(None, (note, *notes)))))
    verification = Verification(ts=run.info.ts, cells=tuple(changes))
    _write_run(order, run, verification)
    return verification


class _Cases:
    """Finds a cell's case in the files as they are now."""

    def __init__(self, order: Order) -> None:
        self._rootdir = order.rootdir
        self._given = {case.id: case for path in order.case_files for case in load_case_file(path)}
        self._only_given = bool(order.case_files)
        self._files: dict[str, dict[str, LoadedCase]] = {}

    def of(self, cell: CellResult) -> tuple[LoadedCase | None, str]:
        """The case, and what is to be said of it."""
        loaded = self._given.get(cell.case_id) if self._only_given else self._by_path(cell)
        if loaded is None:
            return None, "the case is gone from the files; its verdicts are those recorded"
        before = cell.checksums.get("case")
        if before and before != loaded.checksum:
            return loaded, "the case itself has changed since (task, setup, server …)"
        return loaded, ""

    def _by_path(self, cell: CellResult) -> LoadedCase | None:
        if cell.case_path not in self._files:
            path = self._rootdir / cell.case_path
            there = cell.case_path not in ("", "inline") and path.is_file()
            cases = load_case_file(path) if there else ()
            self._files[cell.case_path] = {case.id: case for case in cases}
        return self._files[cell.case_path].get(cell.case_id)


def _rejudge_cell(
    cell: CellResult,
    loaded: LoadedCase | None,
    order: Order,
    browser: "Callable[[], Browser]",
) -> tuple[CellResult, tuple[str, ...]]:
    if loaded is None or not cell.attempts:
        return cell, ()
    attempts: list[Attempt] = []
    notes: list[str] = []
    judge = partial(order.judge, cell) if order.judge else None
    bench = Bench(browser, changed_only=order.changed_only, judge=judge)
    for attempt in cell.attempts:
        attempts.append(_rejudge_attempt(cell, attempt, loaded, order, bench, notes))
        if attempts[-1].checks_passed and attempt is not cell.attempts[-1]:
            notes.append(f"attempt {attempt.attempt_index} now passes; later ones are left out")
            break
    outcome, reason, failure = settle(attempts, has_checks=loaded.has_expect)
    again = cell.model_copy(
        update={
            "attempts": tuple(attempts),
            "outcome": outcome,
            "reason": reason,
            "failure": failure,
            "slow": cell.slow and outcome in ("passed", "healed"),
            "usage": total_usage(tuple(attempts)),
            "checksums": {**cell.checksums, "checks": graded(loaded.checks_checksum)},
        }
    )
    return again, tuple(dict.fromkeys(notes))


def _rejudge_attempt(
    cell: CellResult,
    attempt: Attempt,
    loaded: LoadedCase,
    order: Order,
    bench: Bench,
    notes: list[str],
) -> Attempt:
    if not attempt.checks and "dom" not in attempt.evidence:
        return attempt  # it ended before the judge
    stored = read_stored(order.run_folder / cell.folder, attempt)
    try:
        checks = _checks(loaded, cell, stored.server_url)
    except _NoServer:
        notes.append("where the case's web server was is not known; verdicts are those recorded")
        return attempt
    return rejudge(attempt, checks, stored, bench)


class _NoServer(Exception):
    """Raised when a check may name the address of a server of which nothing is known."""


def _checks(loaded: LoadedCase, cell: CellResult, server_url: str | None) -> list[Written]:
    """The case's checks with the values that the server had then."""
    server = None
    if loaded.webserver is not None:
        url = server_url or _derived(loaded.entry_url_template, cell.entry_url)
        if url is None:
            raise _NoServer
        # Only checks of files name the data folder, and none of them is decided here.
        server = ServerHandle(url=url, data=Path("/data"))
    return [
        Written(index, check, checksum)
        for index, (check, checksum) in enumerate(
            zip(loaded.resolve(server).expect, loaded.check_checksums, strict=True)
        )
    ]


def _derived(template: str, entry_url: str) -> str | None:
    """The server's URL, from an entry URL that begins with it."""
    start, tail = "{{ webserver.url }}", template.removeprefix("{{ webserver.url }}")
    if not template.startswith(start) or "{{" in tail or not entry_url.endswith(tail):
        return None
    return entry_url.removesuffix(tail) if tail else entry_url


def _change(before: CellResult, after: CellResult, notes: tuple[str, ...]) -> CellChange:
    return CellChange(
        **{name: getattr(before, name) for name in _NAMES},
        before=before.outcome,
        after=after.outcome,
        checks=tuple(_check_changes(before, after)),
        notes=notes,
    )


_NAMES = ("case_id", "case_path", "model", "capture_mode", "repeat")


def _check_changes(before: CellResult, after: CellResult) -> Iterator[CheckChange]:
    for old, new in zip(before.attempts, after.attempts, strict=False):
        for was, now in _pairs(old.checks, new.checks):
            change = _check_change(new.attempt_index, was, now)
            if change is not None:
                yield change


def _pairs(
    old: Sequence[CheckResult], new: Sequence[CheckResult]
) -> Iterator[tuple[CheckResult | None, CheckResult | None]]:
    """Each check with its old verdict: the same check, else one of its type at its place."""
    left = list(old)
    partners: dict[int, CheckResult] = {}
    for fits in (_is_same, _is_in_place):
        for check in new:
            found = next((other for other in left if fits(other, check)), None)
            if check.index not in partners and found is not None:
                partners[check.index] = found
                left.remove(found)
    yield from ((partners.get(check.index), check) for check in new)
    yield from ((gone, None) for gone in left)


def _is_same(old: CheckResult, new: CheckResult) -> bool:
    return bool(old.checksum) and old.checksum == new.checksum


def _is_in_place(old: CheckResult, new: CheckResult) -> bool:
    return (old.index, old.type) == (new.index, new.type)


def _check_change(
    attempt: int, was: CheckResult | None, now: CheckResult | None
) -> CheckChange | None:
    """What is to be told of a check; None when it is the same with the same verdict."""
    shown = now or was
    assert shown is not None
    undecided = now is not None and UNDECIDED in now.message
    note = "changed" if was and now else "new" if now else "gone"
    if was and now and _is_same(was, now):
        told = now.passed is None and now.message != was.message
        if was.passed == now.passed and not told:
            return None
        note = now.message if told else ""
    return CheckChange(
        attempt=attempt,
        index=shown.index,
        type=shown.type,
        before=was.passed if was else None,
        after=now.passed if now else None,
        expected=shown.expected,
        actual=now.actual if now else "",
        note=note if not undecided or now is None else now.message,
        undecided=undecided,
    )


@contextmanager
def _browser() -> "Iterator[Callable[[], Browser]]":
    """A browser that is started when it is asked for, and stopped at the end."""
    from playwright.sync_api import Error, sync_playwright

    with ExitStack() as stack:
        started: list[Browser] = []

        def browser() -> "Browser":
            if not started:
                kind = stack.enter_context(sync_playwright()).chromium
                arguments = launch_args({}, playwright_executable=kind.executable_path)
                try:
                    started.append(stack.enter_context(kind.launch(**arguments)))
                except Error as error:
                    line = str(error).strip().splitlines()[0]
                    raise BrowserError(f"the browser could not be started: {line}") from error
            return started[0]

        yield browser


def _copy_cell(order: Order, cell: CellResult) -> None:
    source, target = order.run_folder / cell.folder, order.output / cell.folder
    if source.is_dir():
        shutil.copytree(source, target, ignore=_links)


def _links(folder: str, names: list[str]) -> list[str]:
    """Links may lead out of the run folder."""
    return [name for name in names if (Path(folder) / name).is_symlink()]


def _write_run(order: Order, run: Run, verification: Verification) -> None:
    if (manifest := order.run_folder / MANIFEST_FILE).is_file():
        shutil.copyfile(manifest, order.output / MANIFEST_FILE)
    environment = {**run.info.environment, "judged again": f"run {run.info.ts}, offline"}
    save_run_info(
        order.output, run.info.model_copy(update={"environment": environment, "exit_status": None})
    )
    write_text_atomic(order.output / VERIFICATION_FILE, json_text(verification))
    write_report(order.output, max_chars=_report_chars(run.info.settings))


def _report_chars(settings: Mapping[str, object]) -> int:
    setting = settings.get("report_max_chars")
    value = setting.get("value") if isinstance(setting, Mapping) else None
    return value if isinstance(value, int) else 8_000_000
