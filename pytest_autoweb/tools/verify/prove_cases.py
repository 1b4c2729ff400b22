"""Validates cases: the controls alone (`autoweb prove --quick`), and `autoweb prove`.

`prove` is mutation testing of a case's checks. Two sessions of pytest do the work: one plays the
controls, three times each; the other plays the oracle of each sound case again and again, every
time without one of its parts or requests.
"""

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pytest_autoweb.base.errors import AutowebError, SettingsError
from pytest_autoweb.base.interruption import run_pytest
from pytest_autoweb.base.redaction import REDACTED
from pytest_autoweb.base.values.url_globs import UrlGlob
from pytest_autoweb.browser.egress.suppression import SUPPRESSED, SuppressedRequest
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cell.mutants import Mutant, Mutants, MutantsFile, parts_of
from pytest_autoweb.judging.evidence.har_file import read_har
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import columns, count_of
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.cell_numbers import CaseKey
from pytest_autoweb.results.analysis.controls import (
    MUTANT,
    NOOP,
    ORACLE,
    ControlRow,
    ControlState,
    control_rows,
    shared_pages_told,
)
from pytest_autoweb.results.records import CaptureModeName, CellResult, Record
from pytest_autoweb.results.runs.foreign_run import NoCaseFile, case_file
from pytest_autoweb.results.runs.run_folder import CONTROLS_FOLDER, RecordedRun, read_run
from pytest_autoweb.results.runs.saving import MANIFEST_FILE, write_text_atomic
from pytest_autoweb.session.case_files import CASE_SUFFIXES, holds_cases

_NEUTRAL = {
    "autosave": "false",
    "cases": "",
    "cases_file": "",
    "compare": "",
    "compare_fail": "",
    "local_analyze": "false",
    "max_cost": "",
    "min_pass_rate": "",
    "min_score": "",
    "mutants": "",
    "preview": "false",
    "save": "",
    "shard": "",
    "store": "",
    "until": "",
}
"""Settings of the project's configuration that must not apply to this run."""
_SAME = ("step_timeout", "check_timeout", "on_step_failure")
"""Settings of the saved run that decide whether a control holds."""


Start = Callable[[Sequence[str], Path], int]
"""Runs a command in a folder and returns its exit code."""

MOST_REQUESTS = 20
"""Limit on the suppressed requests of a case; each costs a run."""
MUTANTS_FILE = "mutants.json"
_LEAST_STEP_S = 5.0
_UNTOLD = {"failure_model": "", "store": ""}
"""The project's settings for runs of models, unsuitable here because failures are intended."""
_READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"})
_NOTHING = "doing nothing"

ChangeState = Literal["noticed", "unnoticed", "no verdict", "not tried"]
"""The outcome of a change; `not tried` means that the request did not occur again."""
ProofVerdict = Literal["proven", "weak", "blind", "refused", "no oracle"]
"""Whether a case is proven. If not: some change went unnoticed (`weak`), every change did
(`blind`), the controls do not hold (`refused`), or there is nothing to change."""


def _in_view(command: Sequence[str], folder: Path) -> int:
    return run_pytest(command, cwd=folder)


def _on_stderr(command: Sequence[str], folder: Path) -> int:
    """Keep standard output free for other output."""
    return run_pytest(command, cwd=folder, stdout=sys.stderr)


class Controlled(NamedTuple):
    """The outcome of the controls."""

    rows: tuple[ControlRow, ...]
    notes: tuple[str, ...]
    failed: bool
    """A control is broken, or has no verdict for a reason outside the case."""


def control_run(run_folder: Path, *, rootdir: Path, words_to_stderr: bool = False) -> Controlled:
    """Run the controls of a saved run's cases into its folder `controls`, and rewrite its report.

    Controls run there earlier are moved aside. Case files are found by the paths recorded in the
    run. pytest's output goes to stderr if stdout is needed for something else.

    Raises:
        SettingsError: a case file is not where it was, or the run has no cases.
        AutowebError: pytest could not run the controls.
    """
    run = read_run(run_folder)
    targets, notes = _targets(run, rootdir)
    folder = run_folder.resolve() / CONTROLS_FOLDER
    modes = run.info.capture_modes[:1]
    start = _on_stderr if words_to_stderr else _in_view
    run_controls(targets, folder, rootdir, modes, _settings_of(run), start)
    chars = _value(run, "report_max_chars")
    write_report(run_folder, max_chars=chars if isinstance(chars, int) else 8_000_000)
    # The run with its new controls, so that a changed case shows as such.
    told = (*notes, *pages_told(folder))
    return Controlled(control_rows(read_run(run_folder).cells), told, _failed(folder))


def control_files(
    named: Sequence[str], output: Path, *, rootdir: Path, words_to_stderr: bool = False
) -> Controlled:
    """Run the controls of all cases in files or folders, or of FILE::CASE, into a separate run.

    Raises:
        SettingsError: a path does not exist.
        AutowebError: pytest could not run the controls.
    """
    targets = [_absolute(target) for target in named]
    start = _on_stderr if words_to_stderr else _in_view
    run_controls(targets, output.resolve(), rootdir, start=start)
    told = pages_told(output.resolve())
    return Controlled(control_rows(read_run(output).cells), told, _failed(output))


def pages_told(folder: Path) -> tuple[str, ...]:
    """Return a sentence on the pages that controls of a run had together, if any had."""
    told = shared_pages_told(read_run(folder).cells)
    return (told,) if told else ()


def control_lines(rows: Sequence[ControlRow]) -> list[str]:
    """Return the table with one line per case, broken ones first."""
    head = ["case", "oracle", "doing nothing", "random actions", ""]
    lines = [
        [
            one_line(row.case_id, 48),
            _state(row.oracle, row.oracle_held, row.oracle_runs),
            _state(row.noop, row.noop_held, row.noop_runs),
            f"passed {row.random_passed} of {row.random_runs}" if row.random_runs else "–",
            one_line(row.reason),
        ]
        for row in rows
    ]
    return columns([head, *lines])


def _state(state: ControlState | None, held: int, runs: int) -> str:
    return "–" if state is None else f"{state} ({held} of {runs})"


def _targets(run: RecordedRun, rootdir: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return a node id for each case of the run, as pytest accepts it from the rootdir."""
    cases: dict[str, list[str]] = {}
    for cell in run.cells:
        ids = cases.setdefault(cell.case_path, [])
        if cell.case_id not in ids:
            ids.append(cell.case_id)
    cases.pop("inline", None)
    if not cases:
        raise SettingsError(f"{run.folder} has no cases of case files, so there is no control")
    try:
        files = {path: case_file(path, rootdir, run.folder) for path in cases}
    except NoCaseFile as error:
        raise SettingsError(
            f"{error}, or say with --rootdir where the run's cases are (now: {rootdir})"
        ) from None
    notes, targets = [], []
    for path, ids in cases.items():
        there = {case.id for case in load_case_file(files[path])}
        targets += [f"{files[path]}::{case_id}" for case_id in ids if case_id in there]
        notes += [
            f"{path} has no case {case_id} any more" for case_id in ids if case_id not in there
        ]
    if not targets:
        raise SettingsError("; ".join(notes))
    return targets, tuple(notes)


def _failed(folder: Path) -> bool:
    cells = read_run(folder).cells
    broken = any("broken" in (row.oracle, row.noop) for row in control_rows(cells))
    return broken or any(cell.outcome == "broken" for cell in cells)


def _settings_of(run: RecordedRun) -> dict[str, str]:
    values = ((name, _value(run, name)) for name in _SAME)
    return {name: str(value) for name, value in values if isinstance(value, str | int | float)}


def _value(run: RecordedRun, name: str) -> Any:
    setting = run.info.settings.get(name)
    return setting.get("value") if isinstance(setting, dict) else None


def run_controls(
    targets: Iterable[str],
    folder: Path,
    rootdir: Path,
    modes: Sequence[CaptureModeName] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
    start: Start = _in_view,
) -> None:
    """Run the controls in a separate session.

    Raises:
        AutowebError: pytest could not run them.
    """
    capture = {"capture": modes[0]} if modes else {}
    own = {**settings, "models": "builtin/oracle,builtin/noop", "controls": "true", **capture}
    run_session(targets, folder, rootdir, own, start)


def run_session(
    targets: Iterable[str],
    folder: Path,
    rootdir: Path,
    settings: Mapping[str, str],
    start: Start,
    more: Sequence[str] = (),
) -> None:
    """Run cases in a separate session, shielded from the project's own settings.

    Args:
        targets: the cases, as pytest takes them.
        folder: the folder of the run.
        rootdir: pytest's.
        settings: settings by name, which win over those of the project.
        start: runs the session.
        more: further arguments of pytest, which win over the settings.

    Raises:
        AutowebError: pytest could not run them.
    """
    options = {**_NEUTRAL, **settings, "report": str(folder)}
    flags = [f"--autoweb-{name.replace('_', '-')}={value}" for name, value in options.items()]
    with tempfile.TemporaryDirectory(prefix="autoweb-") as scratch:
        # A file of arguments, because a run may have more cases than fit on a command line.
        listing = Path(scratch, "cases.txt")
        listing.write_bytes(os.fsencode("\n".join(targets)))
        # Even if a project's `addopts` has `-x`, all controls must be reported.
        own = ("--maxfail=0", f"--rootdir={rootdir}")
        command = [sys.executable, "-m", "pytest", *own, *flags, *more, f"@{listing}"]
        status = start(command, rootdir)
    if status not in (0, 1):
        raise AutowebError(f"the cases could not be run: pytest ended with exit code {status}")


class ChangeResult(Record):
    """What the checks of a case said to one change of its oracle."""

    name: str
    """The change, such as `without step 2: press` or `POST /order suppressed`."""
    state: ChangeState
    noticed_by: tuple[int, ...] = ()
    """The numbers of the checks that did not hold."""
    why: str = ""
    """Why there is no verdict, or what to do about it."""
    folder: str = ""
    """The folder of its run, below that of the proof."""


class CaseProof(Record):
    """What is proven of one case."""

    case_id: str
    case_path: str
    verdict: ProofVerdict
    reason: str
    """The verdict in a sentence."""
    checks: tuple[str, ...] = ()
    """The type of each check, in their order."""
    changes: tuple[ChangeResult, ...] = ()
    """Doing nothing, and each change that was made."""
    notes: tuple[str, ...] = ()
    """What was left out of the proof."""


class ProofOrder(NamedTuple):
    """What to prove, and how."""

    targets: tuple[str, ...]
    """Case files, folders of them, or `FILE::CASE`."""
    output: Path
    rootdir: Path
    ignored: tuple[UrlGlob, ...] = ()
    """Addresses of requests that decide nothing, such as statistics."""
    concurrency: int = 1
    """The most plays at once."""

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings that all sessions of the proof share."""
        return {**_UNTOLD, "concurrency": str(self.concurrency)}


def prove_cases(order: ProofOrder, start: Start) -> Iterator[CaseProof]:
    """Prove cases by their controls and by mutation of their oracles.

    Two sessions play all cases. If the second one is interrupted, the cases of which everything
    was played are yielded before the interruption is passed on.

    Args:
        order: what to prove.
        start: runs a session of pytest.

    Raises:
        SettingsError: a path does not exist.
        AutowebError: pytest could not run the cases.
    """
    targets = [_absolute(target) for target in order.targets]
    controls, mutated = order.output.resolve() / "controls", order.output.resolve() / "mutants"
    run_controls(targets, controls, order.rootdir, settings=order.settings, start=start)
    played = read_run(controls)
    cells = _by_case(played.cells)
    rows = {(row.case_path, row.case_id): row for row in control_rows(played.cells)}
    sound = {key: row for key, row in rows.items() if (row.oracle, row.noop) == ("holds", "holds")}
    planned = {key: _Plan.of(controls, cells[key], order.ignored) for key in sound}
    mutants = {"::".join(key): plan.mutants for key, plan in planned.items() if plan.mutants}
    yield from (_refused(row) for key, row in rows.items() if key not in planned)
    done: dict[CaseKey, list[CellResult]] = {}
    interruption: KeyboardInterrupt | None = None
    if mutants:
        file = order.output / MUTANTS_FILE
        write_text_atomic(file, MutantsFile(cases=mutants).model_dump_json(indent=1))
        targets = [one for one in targets if _has_mutants(one, mutants, order.rootdir)]
        # The steps after a failed one run as well: otherwise their absence would be all that is
        # noticed.
        settings = {
            **order.settings,
            "models": ORACLE,
            "mutants": str(file.resolve()),
            "on_step_failure": "continue",
            "step_timeout": f"{_step_timeout(played)}",
        }
        before = _saved_at(mutated)
        try:
            run_session(targets, mutated, order.rootdir, settings, start)
        except KeyboardInterrupt as error:
            interruption = error
        if _saved_at(mutated) != before:
            done = _by_case(read_run(mutated).cells)
    for key, plan in planned.items():
        ended = done.get(key, [])
        if not interruption or {cell.model for cell in ended if cell.attempts} >= set(plan.mutants):
            proof = _judged(key, plan, cells[key], ended, order.output)
            yield proof.model_copy(update={"notes": (*proof.notes, *_by_chance(sound[key]))})
    if interruption:
        raise interruption


def _by_chance(row: ControlRow) -> Iterator[str]:
    if row.random_passed:
        times = f"{row.random_passed} of {row.random_runs} times"
        more = ", so it tells no models apart" if row.by_chance else ""
        yield f"random actions pass it {times}{more}"


def _saved_at(folder: Path) -> int:
    """Return when a run's manifest was written; 0 if there is none."""
    manifest = folder / MANIFEST_FILE
    return manifest.stat().st_mtime_ns if manifest.exists() else 0


def each_has_own_state(targets: Sequence[str]) -> bool:
    """Tell whether cases can be played at once, because none sees what another play has done.

    That is so if their servers serve files, or are reset for each attempt. Files that cannot be
    read are for pytest to refuse.
    """
    files: list[Path] = []
    for path in (Path(target.partition("::")[0]) for target in targets):
        inside = (file for file in path.rglob("*") if file.suffix in CASE_SUFFIXES)
        files += filter(holds_cases, inside) if path.is_dir() else [path]
    with suppress(AutowebError, OSError):
        cases = [case for file in files for case in load_case_file(file)]
        return all(
            case.webservers
            and all(server.static or server.reset for server in case.webservers.values())
            for case in cases
        )
    return False


def screen_cases(order: ProofOrder, start: Start) -> tuple[CaseProof, ...]:
    """Play the controls of cases once, and return the cases that are already refused.

    Proving many cases of which few are sound takes less time if this is done first.

    Args:
        order: what to prove later.
        start: runs a session of pytest.

    Raises:
        SettingsError: a path does not exist.
        AutowebError: pytest could not run the cases.
    """
    folder = order.output.resolve() / "once"
    targets = [_absolute(target) for target in order.targets]
    settings = {**order.settings, "models": f"{ORACLE},{NOOP}", "controls": "false"}
    run_session(targets, folder, order.rootdir, settings, start)
    rows = control_rows(read_run(folder).cells)
    return tuple(_refused(row) for row in rows if "broken" in (row.oracle, row.noop))


def _absolute(target: str) -> str:
    path, separator, case = target.partition("::")
    if not Path(path).exists():
        raise SettingsError(f"there is no case file or folder {path}")
    return f"{Path(path).resolve()}{separator}{case}"


def _step_timeout(played: RecordedRun) -> float:
    """Return the seconds for a step, slightly above the oracles', because many steps will fail."""
    took = (
        step.duration_ms / 1000
        for cell in played.cells
        if cell.model == ORACLE
        for attempt in cell.attempts
        for step in attempt.step_results
    )
    usual = played.info.settings.get("step_timeout")
    most = float(usual["value"]) if isinstance(usual, dict) else _LEAST_STEP_S
    return min(most, max(_LEAST_STEP_S, 3 * max(took, default=0.0)))


def _has_mutants(target: str, mutants: Mutants, rootdir: Path) -> bool:
    """Tell whether a named case has any mutants, because pytest refuses names without a test."""
    return "::" not in target or any(str(rootdir / key) == target for key in mutants)


def _by_case(cells: Sequence[CellResult]) -> dict[CaseKey, list[CellResult]]:
    found: dict[CaseKey, list[CellResult]] = {}
    for cell in cells:
        found.setdefault((cell.case_path, cell.case_id), []).append(cell)
    return found


def _refused(row: ControlRow) -> CaseProof:
    """Return why a case is not worth mutating."""
    verdict: ProofVerdict = "refused"
    if row.noop == "broken":
        reason = "doing nothing passes every check"
    elif row.oracle_runs == 1 and row.oracle == "unproven":
        verdict, reason = "no oracle", row.reason.partition(": ")[2] or row.reason
    elif 0 < row.oracle_held < row.oracle_runs:
        reason = (
            f"the oracle is flaky: it passed {row.oracle_held} of {row.oracle_runs} times "
            f"({row.reason})"
        )
    elif row.oracle != "holds":
        reason = f"the oracle does not pass: {row.reason}"
    else:
        reason = f"doing nothing did not come to a verdict: {row.reason}"
    return CaseProof(
        case_id=row.case_id, case_path=row.case_path, verdict=verdict, reason=one_line(reason)
    )


class _Plan(NamedTuple):
    """The changes to make in a case."""

    mutants: dict[str, Mutant]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path, cells: Sequence[CellResult], ignored: Sequence[UrlGlob]) -> "_Plan":
        """Find the oracle's actions in its first run."""
        cell = next(cell for cell in cells if cell.model == ORACLE)
        attempt = cell.attempts[-1]
        parts = [
            Mutant(name=one_line(f"without {part.name}", 60), without=position)
            for position, part in enumerate(parts_of(attempt.code))
        ]
        wire = attempt.evidence.get("wire")
        entries = read_har((folder / cell.folder / wire).read_text("utf-8")) if wire else ()
        writing = [
            entry for entry in entries if entry.counted and entry.method.upper() not in _READING
        ]
        deciding = [e for e in writing if not any(glob.fits(e.url) for glob in ignored)]
        notes = []
        if skipped := len(writing) - len(deciding):
            notes.append(f"{count_of(skipped, 'request')} ignored (--ignore)")
        if len(deciding) > MOST_REQUESTS:
            notes.append(f"only the first {MOST_REQUESTS} of {len(deciding)} requests were tried")
        requests = list(_suppressing(deciding))[:MOST_REQUESTS]
        numbered = enumerate([*parts, *requests], start=1)
        return cls({f"{MUTANT}{n}": mutant for n, mutant in numbered}, tuple(notes))


def _suppressing(entries: Sequence[WireEntry]) -> Iterator[Mutant]:
    """Yield a mutant for each request, with the answer that it got."""
    seen: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        request = SuppressedRequest(
            method=entry.method,
            url=entry.url,
            # A request without an answer, such as a closed page's beacon, needs no text.
            status=entry.status or 204,
            headers={
                name: value for name, value in entry.response_headers.items() if value != REDACTED
            },
            body=entry.response_body or "",
        )
        key = (request.method, request.path)
        seen[key] += 1
        request = request.model_copy(update={"nth": seen[key]})
        again = f" ({seen[key]})" if seen[key] > 1 else ""
        name = one_line(f"{request.method} {request.path}", 46)
        yield Mutant(name=f"{name}{again} suppressed", suppressed=request)


def _judged(
    key: CaseKey,
    plan: _Plan,
    controls: Sequence[CellResult],
    done: Sequence[CellResult],
    output: Path,
) -> CaseProof:
    ran = {cell.model: cell for cell in done}
    nothing = [cell for cell in controls if cell.model == NOOP]
    # A check that fails only now and then is not reliable.
    steady = set.intersection(*(set(_failed_checks(cell)) for cell in nothing))
    changes = (
        ChangeResult(name=_NOTHING, state="noticed", noticed_by=tuple(sorted(steady))),
        *(
            _change(mutant, ran.get(model), output / "mutants")
            for model, mutant in plan.mutants.items()
        ),
    )
    verdict, reason = _verdict(changes[1:])
    checks = tuple(check.type for check in nothing[0].attempts[-1].checks)
    return CaseProof(
        case_path=key[0],
        case_id=key[1],
        verdict=verdict,
        reason=reason,
        checks=checks,
        changes=changes,
        notes=plan.notes,
    )


def _change(mutant: Mutant, cell: CellResult | None, folder: Path) -> ChangeResult:
    """Return which checks noticed a change."""
    if cell is None:
        return ChangeResult(name=mutant.name, state="no verdict", why="it was not run")
    where = f"mutants/{cell.folder}"
    judged = cell.attempts[-1].checks if cell.attempts else ()
    state: ChangeState = "noticed"
    why = ""
    if mutant.suppressed and not _was_suppressed(cell, folder):
        state, why = "not tried", "the request did not come again"
    elif not judged or cell.outcome not in ("passed", "failed"):
        state, why = "no verdict", one_line(f"{cell.outcome}: {cell.reason}")
    elif cell.outcome == "passed":
        state = "unnoticed"
    noticed = tuple(_failed_checks(cell)) if state == "noticed" else ()
    return ChangeResult(name=mutant.name, state=state, noticed_by=noticed, why=why, folder=where)


def _failed_checks(cell: CellResult) -> Iterator[int]:
    for check in cell.attempts[-1].checks if cell.attempts else ():
        if check.passed is False and not check.advisory:
            yield check.index


def _was_suppressed(cell: CellResult, folder: Path) -> bool:
    wire = cell.attempts[-1].evidence.get("wire") if cell.attempts else None
    if not wire:
        return False
    entries = read_har((folder / cell.folder / wire).read_text("utf-8"))
    return any(name.lower() == SUPPRESSED.lower() for e in entries for name in e.response_headers)


def _verdict(changes: Sequence[ChangeResult]) -> tuple[ProofVerdict, str]:
    """Return the verdict on a case whose controls hold."""
    tried = [change for change in changes if change.state != "not tried"]
    noticed = [change for change in tried if change.state == "noticed"]
    if not tried:
        return "proven", "the oracle passes and doing nothing fails; there was no change to try"
    of = f"{len(noticed)} of {count_of(len(tried), 'change')}"
    if len(noticed) == len(tried):
        return "proven", f"the checks notice {of}"
    if not noticed:
        return "blind", f"the checks notice none of {count_of(len(tried), 'change')}"
    return "weak", f"the checks notice {of}"
