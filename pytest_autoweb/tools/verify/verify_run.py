"""Judges a saved run again into a new run folder; the old one is only read.

Only `judge` checks need model calls, to models that the user names.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct
from playwright.sync_api import Browser, Error, sync_playwright

from pytest_autoweb.base.errors import BrowserError, SettingsError, first_line
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.cell.cell_outcome import cell_outcome
from pytest_autoweb.cell.mailbox import address_of
from pytest_autoweb.judging.checks.check_type import RubricJudge
from pytest_autoweb.judging.human_labels import read_labels
from pytest_autoweb.judging.model_judge import JudgedAttempt, JudgeSelection, ModelJudge
from pytest_autoweb.judging.verdicts import graded
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.gateway import temporary_gateway
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import load_project_specs
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.judge_agreement import agreements
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    CheckResult,
    Outcome,
    Record,
    total_usage,
)
from pytest_autoweb.results.runs.foreign_run import ForeignCaseFile, NoCaseFile, case_file
from pytest_autoweb.results.runs.inert_copies import copy_inert
from pytest_autoweb.results.runs.run_folder import RecordedRun, read_run, refuse_other_folders
from pytest_autoweb.results.runs.saving import (
    MANIFEST_FILE,
    fresh_run_folder,
    json_text,
    save_cell,
    save_run_info,
    write_text_atomic,
)
from pytest_autoweb.tools.verify.rejudge import (
    UNDECIDED,
    CurrentCheck,
    RejudgeTools,
    read_stored,
    rejudge,
)

VERIFICATION_FILE = "verification.json"

Judge = Callable[[CellResult, Attempt], RubricJudge]


class CheckChange(Record):
    """A check whose verdict has changed, or which cannot be decided from the evidence."""

    attempt: int
    index: int
    type: str
    before: bool | None = None
    """The recorded verdict; None when there was none, or no such check."""
    after: bool | None = None
    """The new verdict; None when it is undecided, or the check no longer exists."""
    expected: str = ""
    actual: str = ""
    note: str = ""
    undecided: bool = False


class CellChange(Record):
    """The old and the new outcome of one cell."""

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
    """The `ts` of the run that was judged again."""
    cells: tuple[CellChange, ...]

    @property
    def changed(self) -> tuple[CellChange, ...]:
        """Return the cells whose outcome has changed."""
        return tuple(cell for cell in self.cells if cell.before != cell.after)


class RejudgeOrder(Struct, frozen=True):
    """The run to judge again, and how to do it."""

    run_folder: Path
    output: Path
    rootdir: Path
    """The folder that the run's case paths are relative to."""
    case_files: tuple[Path, ...] = ()
    """Case files to use instead of those that the run names."""
    changed_only: bool = False
    judge: Judge | None = None
    """Creates the judge for `judge` checks; None if no model is to be asked."""


def verify_run(order: RejudgeOrder) -> Verification:
    """Judge every cell again and write the new run folder with its report.

    Raises:
        SettingsError: the run folder has no cells, or is also the output folder.
        CaseError: a case file cannot be read.
        BrowserError: a stored page must be shown, but no browser can be started.
    """
    if order.output.resolve() == order.run_folder.resolve():
        raise SettingsError("the output folder must not be the run's own folder; choose another")
    refuse_other_folders(order.run_folder)
    run = read_run(order.run_folder)
    if not run.cells:
        raise SettingsError(f"{order.run_folder} is not a run folder: it has no cells")
    base_url = run.info.settings.get("base_url")
    address = base_url.get("value") if isinstance(base_url, dict) else ""
    cases = _Cases(order, Deployment(str(address or "")))
    cells = [(cell, *cases.of(cell)) for cell in run.cells]
    fresh_run_folder(order.output)
    changes: list[CellChange] = []
    with browser_when_needed() as browser:
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
    """The run's cases as they are in their files now."""

    def __init__(self, order: RejudgeOrder, deployment: Deployment) -> None:
        self._rootdir, self._run = order.rootdir, order.run_folder
        self._deployment = deployment
        files = order.case_files
        self._given = {case.id: case for path in files for case in self._load(path)}
        self._only_given = bool(order.case_files)
        self._files: dict[str, dict[str, LoadedCase]] = {}
        self._unread: dict[str, str] = {}

    def of(self, cell: CellResult) -> tuple[LoadedCase | None, str]:
        """Return a cell's case, or None if it is gone, and a note for the report about it."""
        loaded = self._given.get(cell.case_id) if self._only_given else self._by_path(cell)
        if loaded is None:
            why = self._unread.get(cell.case_path, "the case is no longer in the files")
            return None, f"{why}; its recorded verdicts are kept"
        before = cell.checksums.get("case")
        if before and before != loaded.checksum:
            return loaded, "the case has changed since the run (task, setup, server …)"
        return loaded, ""

    def _load(self, path: Path) -> tuple[LoadedCase, ...]:
        return load_case_file(path, self._deployment)

    def _by_path(self, cell: CellResult) -> LoadedCase | None:
        if cell.case_path not in self._files:
            try:
                cases = self._load(case_file(cell.case_path, self._rootdir, self._run))
            except NoCaseFile:
                cases = ()
            except ForeignCaseFile as error:
                cases, self._unread[cell.case_path] = (), str(error)
            self._files[cell.case_path] = {case.id: case for case in cases}
        return self._files[cell.case_path].get(cell.case_id)


def _rejudge_cell(
    cell: CellResult,
    loaded: LoadedCase | None,
    order: RejudgeOrder,
    browser: Callable[[], Browser],
) -> tuple[CellResult, tuple[str, ...]]:
    if loaded is None or not cell.attempts:
        return cell, ()
    attempts: list[Attempt] = []
    notes: list[str] = []
    judge = partial(order.judge, cell) if order.judge else None
    tools = RejudgeTools(browser, changed_only=order.changed_only, judge=judge)
    for attempt in cell.attempts:
        attempts.append(_rejudge_attempt(cell, attempt, loaded, order, tools, notes))
        if attempts[-1].checks_passed and attempt is not cell.attempts[-1]:
            # The run would have ended here, so later repairs must not count.
            notes.append(f"attempt {attempt.attempt_index} now passes; later ones are left out")
            break
    outcome, reason, failure = cell_outcome(attempts, has_checks=loaded.has_expect)
    again = cell.model_copy(
        update={
            "attempts": tuple(attempts),
            "outcome": outcome,
            "without_checks": not loaded.has_expect,
            "with_points": loaded.has_points,
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
    order: RejudgeOrder,
    tools: RejudgeTools,
    notes: list[str],
) -> Attempt:
    if not attempt.checks and "dom" not in attempt.evidence:
        return attempt  # The cell ended before anything was judged.
    stored = read_stored(order.run_folder / cell.folder, attempt)
    try:
        checks = _checks(loaded, cell, stored.server_url)
    except _NoServer:
        notes.append("the address of the web server is unknown; the recorded verdicts are kept")
        return attempt
    return rejudge(attempt, checks, stored, tools)


class _NoServer(Exception):
    """Raised when a check may contain the address of a server, and the address is unknown."""


def _checks(loaded: LoadedCase, cell: CellResult, server_url: str | None) -> list[CurrentCheck]:
    """Return the case's checks, rendered with the server's address at the time of the run."""
    server = None
    if any(loaded.webservers):
        raise _NoServer
    if loaded.webserver is not None:
        url = server_url or _derived(loaded.entry_url_template, cell.entry_url)
        if url is None:
            raise _NoServer
        # Only `sql` and `file` checks use the data folder, and they are never judged offline.
        address = address_of(cell.case_id, cell.nodeid)
        server = ServerHandle(url=url, data=Path("/data"), address=address)
    return [
        CurrentCheck(index, check, checksum)
        for index, (check, checksum) in enumerate(
            zip(loaded.resolve(server).expect, loaded.check_checksums, strict=True)
        )
    ]


def _derived(template: str, entry_url: str) -> str | None:
    """Return the server's URL, taken from an entry URL that begins with it, else None."""
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
    """Yield pairs of old and new verdicts of a check; a missing partner is None.

    A check's partner is the identical check, or else one of the same type at the same index.
    """
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
    """Return the change of a check, or None if the check and its verdict are the same."""
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
def browser_when_needed() -> Iterator[Callable[[], Browser]]:
    """Provide a function that starts the browser on its first call, and stop it at the end."""
    # Late, because a run whose checks need no page is judged without loading Playwright.
    with ExitStack() as stack:
        started: list[Browser] = []

        def browser() -> Browser:
            if not started:
                kind = stack.enter_context(sync_playwright()).chromium
                arguments = launch_args({}, playwright_executable=kind.executable_path)
                try:
                    started.append(stack.enter_context(kind.launch(**arguments)))
                except Error as error:
                    raise BrowserError(
                        f"the browser could not be started: {first_line(error)}"
                    ) from error
            return started[0]

        yield browser


def _copy_cell(order: RejudgeOrder, cell: CellResult) -> None:
    source, target = order.run_folder / cell.folder, order.output / cell.folder
    if source.is_dir():
        copy_inert(source, target)


def _write_run(order: RejudgeOrder, run: RecordedRun, verification: Verification) -> None:
    if (manifest := order.run_folder / MANIFEST_FILE).is_file():
        shutil.copyfile(manifest, order.output / MANIFEST_FILE)
    environment = {**run.info.environment, "judged again": f"run {run.info.ts}, offline"}
    # Whether the run came to its end stays as it was, for `autoweb run gate`.
    save_run_info(order.output, run.info.model_copy(update={"environment": environment}))
    write_text_atomic(order.output / VERIFICATION_FILE, json_text(verification))
    write_report(order.output, max_chars=_report_chars(run.info.settings))


def _report_chars(settings: Mapping[str, object]) -> int:
    setting = settings.get("report_max_chars")
    value = setting.get("value") if isinstance(setting, Mapping) else None
    return value if isinstance(value, int) else 8_000_000


_WORD = {True: "holds", False: "does not hold", None: "no verdict"}


def verification_lines(verification: Verification) -> Iterator[str]:
    """Yield a line for each cell with its changed checks below it, then all undecided checks."""
    for cell in verification.cells:
        yield f"{_name(cell)}: {_outcomes(cell)}"
        for note in cell.notes:
            yield f"    {one_line(note)}"
        for check in cell.checks:
            if not check.undecided:
                yield f"    {_check_line(check)}"
    undecided = [(c, check) for c in verification.cells for check in c.checks if check.undecided]
    if undecided:
        yield ""
        yield "undecided:"
    for cell, check in undecided:
        was = f" (was: {_WORD[check.before]})" if check.before is not None else ""
        yield f"  {_name(cell)} check {check.index + 1} {check.type}: {one_line(check.note)}{was}"
    yield ""
    changed = len(verification.changed)
    yield (
        f"{len(verification.cells)} cells judged again: {changed} changed outcome, "
        f"{len(undecided)} checks undecided"
    )


def _name(cell: CellChange) -> str:
    return one_line(f"{cell.case_id}[{cell.model}-{cell.capture_mode}-{cell.repeat}]")


def _outcomes(cell: CellChange) -> str:
    return cell.before if cell.before == cell.after else f"{cell.before} -> {cell.after}"


def _check_line(check: CheckChange) -> str:
    verdicts = f"{_WORD[check.before]} -> {_WORD[check.after]}"
    note = f" ({check.note})" if check.note else ""
    seen = f": expected {check.expected}, saw {check.actual}" if check.actual else ""
    what = f"attempt {check.attempt} check {check.index + 1} {check.type}"
    return f"{what}: {verdicts}{note}{one_line(seen)}"


@contextmanager
def asked_judges(
    compared: Sequence[str],
    *,
    default: str,
    labels: Path | None,
    rootdir: Path,
    max_cost: float | None,
) -> Iterator[Judge]:
    """Provide judges of attempts, with a gateway that starts at the first question.

    Args:
        compared: the models of the run, none of which may judge.
        default: the judging model for checks that name none.
        labels: a file of human verdicts; only judges that agree with these decide, others advise.
        rootdir: the folder whose `pyproject.toml` has the settings of models.
        max_cost: limit in US dollars on the cost of all questions together.

    Raises:
        CaseError: the labels cannot be read.
    """
    pairs = read_labels(labels).pairs() if labels else {}
    with temporary_gateway(max_cost) as gateway:

        def spec(model: str) -> ModelSpec:
            return load_project_specs((model,), rootdir, None)[model]

        def client(model: str) -> Client:
            gateway.add(spec(model))
            return gateway

        selection = JudgeSelection(
            spec,
            client,
            default=default,
            compared=compared,
            calibrated={found.judge for found in agreements(pairs) if found.calibrated},
        )

        def judge(cell: CellResult, attempt: Attempt) -> RubricJudge:
            place = JudgedAttempt(
                case_id=cell.case_id,
                user_task=cell.user_task,
                capture_mode=cell.capture_mode,
                repeat=cell.repeat,
                attempt=attempt.attempt_index,
                model=spec(cell.model),
            )
            return ModelJudge(selection, place)

        yield judge
