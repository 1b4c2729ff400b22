"""The session's controlling process: it opens the run, follows it, and writes the report."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_autoweb.base.errors import (
    AutowebError,
    ModelError,
    SandboxError,
    SettingsError,
    first_line,
    named_line,
)
from pytest_autoweb.base.interruption import Interruption
from pytest_autoweb.base.passing_lock import PassingLock
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.gates.gate_context import Spending
from pytest_autoweb.report.gates.gate_decision import (
    GateDecision,
    GateInputs,
    decide,
    gate_lines,
    keep,
    read_gate_inputs,
    rows_of,
)
from pytest_autoweb.report.gates.outcome_gates import fails_by_chance
from pytest_autoweb.report.github_actions import (
    annotations,
    append_summary,
    neutral,
    on_github,
    path_prefix,
)
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.large_report import RunReading, read_for_report
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.plain_stream import PlainStream, plain_text, write_obeyed
from pytest_autoweb.report.terminal import terminal_lines
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.controls import shared_pages_told
from pytest_autoweb.results.analysis.judge_agreement import agreement_line, save_agreements
from pytest_autoweb.results.records import RunInfo
from pytest_autoweb.results.runs.live_session import take_sign_away
from pytest_autoweb.results.runs.run_folder import RecordedRun, read_manifest
from pytest_autoweb.results.runs.saving import (
    check_run_folder,
    hold_run_folder,
    pack,
    save_run_info,
)
from pytest_autoweb.session.case_needs import lacking_in
from pytest_autoweb.session.collection import BAD_CASES
from pytest_autoweb.session.environment import Environment, HeaderPart, short_header
from pytest_autoweb.session.extras import check_places, open_cluster, send_spans, store_run
from pytest_autoweb.session.flights.flights import ALONE_KEY, FLIGHTS
from pytest_autoweb.session.guarded_run import INTERRUPTED
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.local_analysis import analyse, full_name
from pytest_autoweb.session.opened_session import open_session
from pytest_autoweb.session.other_plugins import count_notice, reruns_notice
from pytest_autoweb.session.progress import Display, LastingStream, refuse_with_others
from pytest_autoweb.session.pytest_outcome import is_lost, no_verdicts, policy_of
from pytest_autoweb.session.resuming import EarlierRun, find_earlier_run, read_told
from pytest_autoweb.session.run_session import SESSION, RunSession, end_shared
from pytest_autoweb.session.selection import selection_of
from pytest_autoweb.session.shared_run import SharedRun
from pytest_autoweb.session.single_runs import second_runs_notice
from pytest_autoweb.session.started_view import StartedView
from pytest_autoweb.session.steered_cells import steered_cells
from pytest_autoweb.session.version_notices import version_notices
from pytest_autoweb.session.worker_marks import interrupt_workers
from pytest_autoweb.settings.run_settings import Settings

if TYPE_CHECKING:
    from pytest_autoweb.session.cluster.ray_cluster import RayCluster

UNSOLVED = "unsolved"
"""pytest's category of cells that a model lost."""
TOLD_CELLS = 5
"""The number of lost cells up to which the terminal describes each."""


def _interrupted(session: pytest.Session) -> None:
    session.exitstatus = pytest.ExitCode.INTERRUPTED


class RunController:
    """The plugin of a session's controller or only process: it opens the run and ends it.

    It keeps no results. Cells are on disk when they end, whichever process ran them, and the report
    is made of these files; so it has what is there even after a worker died or a run was
    interrupted.

    Order of the calls, and the state that each leaves:

    1. `pytest_sessionstart` reads what the gates need (`_gate_inputs`) and opens this process's
       `RunSession`. Unless the session only looks (`--collect-only`, a preview), it holds the run
       folder against other sessions (`_held`), finds the run to resume (`_earlier`), and checks
       everything that could make the run fail later (`_environment`, models, agents, URLs). What is
       wrong ends the session here, before the folder of the last run is touched.
    2. `pytest_report_header` tells what was found.
    3. While cells run, `pytest_collectreport` notes bad case files (`_bad_cases`),
       `pytest_testnodedown` which cells ran alone (`_alone`), `_notices` collects sentences for the
       end, and `_display` follows the file to which all processes append their progress.
    4. `pytest_sessionfinish` comes after all others' and calls `finish`, whatever they raised. It
       writes how the run ended, reads the whole run once (`_reading`), lets the gates decide
       (`_decision`), writes the report (`_report`), and only then packs, stores and sends it. A
       failure of one of these is a notice and an exit code, never a lost report.
    5. `pytest_unconfigure` prints notices, comparison and gates, after pytest's own summary.

    Whatever happens after step 1 has begun, `_end` stops the gateway and the web servers and
    releases the folder: in `finish`, or in step 1 if that fails, because pytest then calls no
    sessionfinish. In a session without models, `CellHooks` calls `pytest_sessionstart` itself,
    when a test first runs a cell, and `finish` where workers did.

    Args:
        config: pytest's.
        settings: the session's.
        shared: what the processes of the session share; a resumed run adds what was spent.
        interruption: what turns signals to end into Ctrl-C, in force while the report is written.
    """

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        shared: SharedRun,
        interruption: Interruption,
    ) -> None:
        self._config, self._settings, self._interruption = config, settings, interruption
        self._started, self._clock = datetime.now(UTC), time.monotonic()
        self._bad_cases = self._told_lacking = False
        self._environment: Environment | None = None
        self._notices: list[str] = []
        self._reading: RunReading | None = None
        self._report: Report | None = None
        self._alone: Counter[str] = Counter()
        self._earlier: EarlierRun | None = None
        self._held: PassingLock | None = None
        self._cluster: RayCluster | None = None
        self._view: StartedView | None = None
        self._gate_inputs: GateInputs | None = None
        self._decision: GateDecision | None = None
        self.shared = shared
        self._display = Display(
            shared.progress_file,
            verbose=config.getoption("verbose") > 0,
            stream_log=settings.stdout,
            neutral=neutral,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Check the models and start the gateway, before any worker is started."""
        writer = self._config.get_terminal_writer()
        # Colours of pytest's own stay; whatever else would be obeyed comes from others.
        lasting = LastingStream(writer._file)
        writer._file = PlainStream(lasting, colours=writer.hasmarkup, returns=True)
        try:
            self._gate_inputs = self._read_gate_inputs()
            self._config.stash[SESSION] = self._open()
        except (SettingsError, ModelError, SandboxError) as error:
            # pytest calls no sessionfinish when sessionstart raises, so this must tidy up here.
            self._end()
            raise pytest.UsageError(plain_text(str(error))) from None
        except OSError as error:
            self._end()
            why = plain_text(first_line(error))
            raise pytest.UsageError(f"the run cannot begin: {why}") from None
        if self._settings.models:
            self._display.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Any:
        """Clean a usage error, which pytest prints as it is, although names may be of others."""
        try:
            return (yield)
        except pytest.UsageError as error:
            raise pytest.UsageError(*(plain_text(str(why)) for why in error.args)) from None

    def _read_gate_inputs(self) -> GateInputs:
        policy = policy_of(self._config, self._settings)
        storage = self._settings.rootdir / self._settings.storage
        return read_gate_inputs(policy, storage)

    def _open(self) -> RunSession:
        only_looks = self._config.option.collectonly or self._settings.preview
        if self._settings.models and not only_looks:
            self._held = hold_run_folder(Path(self.shared.run_folder))
        if self._settings.resume and not self._config.option.collectonly:
            self._earlier = find_earlier_run(Path(self.shared.run_folder), self.shared.ts)
            self.shared = self.shared._replace(spent_usd=self._earlier.spent_usd)
        session = open_session(self._config, self._settings, self.shared, worker="main")
        if only_looks:
            return session
        if self._settings.view and self._settings.models:
            self._view = StartedView(self.shared)
        self._environment = Environment(self._config, self._settings)
        check_places(self._settings)
        if self._settings.models and self._earlier is None:
            # The folder is created once there is something to run, so that a failed start leaves
            # the last run's report in place.
            check_run_folder(session.run_folder)
        session.check_agents()
        session.check_browsers(self._environment.browsers)
        session.check_models()
        # What the sandbox lacks is said before anything runs.
        self._environment.layers()
        if self._settings.pause:
            refuse_with_others(self._config, session.concurrency(1))
        if self._settings.cluster:
            self._cluster = open_cluster(self._config, self._settings, session)
        return session

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Collect which cells ran alone in the workers."""
        self._alone.update(getattr(node, "workeroutput", {}).get(ALONE_KEY, {}))

    def pytest_report_header(self) -> list[str]:
        """Report the run's environment, in one line without -v, and the run that it resumes."""
        if self._environment is None:
            return []
        parts = list(self._header_parts(self._environment))
        verbose = self._config.get_verbosity() > 0
        lines = [part.detail for part in parts] if verbose else [short_header(parts)]
        if self._earlier is not None:
            lines.append(f"autoweb {self._earlier.told()}")
        if self._view is not None:
            lines.append(self._view.told())
        others = (reruns_notice(self._config), count_notice(self._config))
        notices = (*version_notices(self._config), *others)
        lines += [f"autoweb: {notice}" for notice in notices if notice]
        return lines

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Say what is known once the cases are: what cells may lack, and how far a gate is chance.

        The controller of xdist's workers collects nothing: the first worker tells it what cells may
        lack, and the gate tells the rest at the end.
        """
        cells = [item.cell for item in items if isinstance(item, CellItem)]
        told = [f"autoweb: {sentence}" for sentence in lacking_in(cells)]
        least = self._settings.min_pass_rate
        if least is not None and least.confidence is None:
            cases = {(cell.case.path, cell.case.id) for cell in cells}
            if warning := fails_by_chance(least.percent, len(cases)):
                told.append(f"autoweb: --autoweb-min-pass-rate: {warning}")
        return told

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Say what cells may lack, as the first of the workers tells it."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        worker = str(node.workerinput["workerid"])
        if self._told_lacking or terminal is None:
            return
        self._told_lacking = True
        # There is none if nothing is lacking.
        with suppress(OSError):
            told = self.shared.lacking_file(worker).read_text("utf-8").splitlines()
            for sentence in told:
                terminal.write_line(neutral(one_line(f"autoweb: {sentence}", 1000)))

    def _header_parts(self, environment: Environment) -> Iterator[HeaderPart]:
        session = self._config.stash[SESSION]
        yield from environment.header(session)
        workers = int(self._config.getoption("numprocesses", None) or 1)
        if (most := session.concurrency(workers)) > 1:
            short = f"up to {most} cells in flight"
            yield HeaderPart(f"autoweb: {short} in each process", short)
        if self._cluster is not None:
            told = self._cluster.told()
            yield HeaderPart(f"autoweb cluster: {told}", f"on {told}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that a case file was bad: the exit code is then 4, not 2."""
        self._bad_cases |= report.failed and BAD_CASES in str(report.longrepr)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Iterator[None]:
        """Write the report of everything on disk, even if another plugin's teardown fails.

        Ctrl-C in a terminal also ends the browser, so fixtures that close it raise here.
        """
        try:
            yield
        except KeyboardInterrupt:
            exitstatus = session.exitstatus = pytest.ExitCode.INTERRUPTED
        except Exception as error:
            # A full disk stops other plugins from writing their files, and so does a name of a
            # case file that is no Unicode.
            of_others = isinstance(error, OSError | UnicodeError)
            if exitstatus != pytest.ExitCode.INTERRUPTED and not of_others:
                raise
            self._notices.append(f"at the end of the session: {named_line(error)}")
            exitstatus = session.exitstatus = exitstatus or pytest.ExitCode.INTERNAL_ERROR
        finally:
            # At this late stage pytest itself would end in a traceback, without the whole report.
            with self._interruption.first_waits(partial(_interrupted, session)):
                self.finish(session, exitstatus)

    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt the workers, too; a terminal has done so, whoever sent a signal may not."""
        if sent := self._interruption.sent:
            self._notices.append(f"{sent} interrupted the run, as Ctrl-C does")
        interrupt_workers(self.shared)

    def finish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the report and decide the exit status."""
        if self._display.is_alive():
            self._display.stop()
        if self._cluster is not None:
            self._cluster.close(self._cluster.lost or INTERRUPTED)
        self._tell_alone()
        self._notices += second_runs_notice(self.shared.second_runs_file)
        if self._bad_cases:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif self._settings.shard and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            exitstatus = session.exitstatus = self._empty_shard()
        run = self._config.stash.get(SESSION, None)
        try:
            if run and self.shared.opened_file.exists() and not self._config.option.collectonly:
                steered_cells(self._config).close()
                self._finish(run, session)
        except (AutowebError, OSError) as error:
            where = self._settings.report
            self._notices.append(f"no report is written to {where}: {first_line(error)}")
            session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR
        finally:
            self._end()

    def _end(self) -> None:
        end_shared(self.shared)
        take_sign_away(Path(self.shared.run_folder), self.shared.owner_pid)
        if self._held is not None:
            self._held.release()

    def _tell_alone(self) -> None:
        """Print why cells ran alone although several were to be in flight."""
        if flights := self._config.stash.get(FLIGHTS, None):
            self._alone.update(flights.alone)
        for why, cells in self._alone.items():
            self._notices.append(f"{count_of(cells, 'cell')} ran alone: {why}")

    def _empty_shard(self) -> pytest.ExitCode:
        """Accept a shard without cells, because there may be more shards than cells."""
        if not self.shared.opened_file.exists():
            return pytest.ExitCode.NO_TESTS_COLLECTED
        whole = read_manifest(Path(self.shared.run_folder)).whole
        return pytest.ExitCode.OK if whole else pytest.ExitCode.NO_TESTS_COLLECTED

    def _finish(self, run: RunSession, session: pytest.Session) -> None:
        save_run_info(run.run_folder, self._run_info(run, session.exitstatus))
        # Read once for all later uses, because ten thousand cells take seconds.
        self._reading = read_for_report(run.run_folder)
        if told := shared_pages_told(self._reading.run.cells):
            self._notices.append(told)
        self._report_agreement(run)
        self._decide(run, session, self._reading.run)
        self._fail_without_verdict(run, session, self._reading.run)
        chars = self._settings.report_max_chars
        self._report = write_report(run.run_folder, max_chars=chars, reading=self._reading)
        if self._settings.local_analyze:
            self._analyse(run)
        nothing = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if (shard := self._settings.shard) is not None and not nothing:
            blobs = self._settings.rootdir / self._settings.blobs
            packed = pack(run.run_folder, blobs, ts=self.shared.ts, shard=shard)
            self._notices.append(f"packed as {packed}, for `autoweb run merge`")
        if self._settings.database:
            self._store(run)
        if self._settings.otel:
            self._notices.append(send_spans(run.run_folder, self._reading.run.info))

    def _store(self, run: RunSession) -> None:
        """Copy the run into its database; an error here does not stop the report."""
        if self._settings.shard is not None:
            self._notices.append("the store waits for `autoweb db sync` on the merged report")
            return
        self._notices.append(store_run(self._settings, run.run_folder))

    def _report_agreement(self, run: RunSession) -> None:
        """Print how far the judges of `--autoweb-judge-labels` agree with people."""
        if run.agreements:
            save_agreements(run.run_folder, run.agreements)
            self._notices += [agreement_line(found) for found in run.agreements]

    def _decide(self, run: RunSession, session: pytest.Session, saved: RecordedRun) -> None:
        """Judge the run by its gates; an error here does not stop the report."""
        assert self._gate_inputs is not None
        ended = int(session.exitstatus)
        try:
            if self._settings.shard is None:
                inputs = self._inputs_as_steered()
                self._decision = decide(saved, inputs, _spending(run))
            elif self._gate_inputs.policy.asks_anything:
                self._notices.append("the gates wait for `autoweb run gate` on the merged report")
        except Exception as error:
            # After an internal error or with a full disk, the gates are not known to hold, so the
            # run must not succeed.
            self._notices.append(f"the gates could not be judged: {type(error).__name__}: {error}")
            session.exitstatus = ended or pytest.ExitCode.INTERNAL_ERROR
        self._notices += self._gate_inputs.notices
        if self._decision and self._decision.failed:
            session.exitstatus = ended or pytest.ExitCode.TESTS_FAILED
        if int(session.exitstatus) != ended:
            self._save_new_end(run, session)
        self._keep(saved)

    def _inputs_as_steered(self) -> GateInputs:
        """Return what the gates rest on, without a cap of the cost that an order replaced.

        The gateway has kept to the new one, so that no run exceeds it.
        """
        assert self._gate_inputs is not None
        if steered_cells(self._config).course.cost is None:
            return self._gate_inputs
        policy = replace(self._gate_inputs.policy, max_cost=None)
        return replace(self._gate_inputs, policy=policy)

    def _save_new_end(self, run: RunSession, session: pytest.Session) -> None:
        """Save that the run's exit status differs from pytest's."""
        assert self._reading is not None
        info = self._run_info(run, session.exitstatus)
        save_run_info(run.run_folder, info)
        self._reading = replace(self._reading, run=replace(self._reading.run, info=info))

    def _fail_without_verdict(
        self, run: RunSession, session: pytest.Session, saved: RecordedRun
    ) -> None:
        """Fail a run in which checks were to be judged and a model was never graded."""
        if int(session.exitstatus) != pytest.ExitCode.OK:
            return
        if ungraded := no_verdicts(saved.cells):
            self._notices += ungraded
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._save_new_end(run, session)

    def _keep(self, saved: RecordedRun) -> None:
        rows = self._decision.rows if self._decision else rows_of(saved)
        storage = self._settings.rootdir / self._settings.storage
        try:
            path, why = keep(
                rows, storage, name=self._settings.save, autosave=self._settings.autosave
            )
        except OSError as error:
            path, why = None, f"the run could not be saved in {storage}: {error.strerror or error}"
        if path or why:
            self._notices.append(f"saved as {path}" if path else why)

    def _analyse(self, run: RunSession) -> None:
        assert self._report is not None
        model = full_name(self._settings.local_model)
        analysis = analyse(self._report, model, run.model(model))
        if analysis.error:
            self._notices.append(f"no local analysis: {analysis.error}")
        chars = self._settings.report_max_chars
        self._report = write_report(
            run.run_folder, max_chars=chars, analysis=analysis, reading=self._reading
        )

    def _selection(self) -> str:
        """Return what picked a part of the cells; a resumed run is whole if either part was."""
        picked = selection_of(self._config)
        return self._earlier.info.selection if picked and self._earlier else picked

    def _run_info(self, run: RunSession, exitstatus: int | pytest.ExitCode) -> RunInfo:
        workers = self._config.getoption("numprocesses", None)
        duration_s = time.monotonic() - self._clock
        before = self._earlier.info if self._earlier else None
        cluster = {"cluster": self._cluster.told()} if self._cluster else {}
        return RunInfo(
            ts=self.shared.ts,
            started=before.started if before else self._started,
            duration_s=duration_s + (before.duration_s if before else 0.0),
            exit_status=int(exitstatus),
            models=_joined(before.models if before else (), self._settings.models),
            capture_modes=_joined(
                before.capture_modes if before else (), self._settings.capture_modes
            ),
            settings=self._settings.describe(),
            model_settings=run.model_settings(),
            environment=(self._environment.facts(run) if self._environment else {}) | cluster,
            workers=int(workers or 0),
            shard=self._settings.shard,
            interrupted=int(exitstatus) == pytest.ExitCode.INTERRUPTED,
            selection=self._selection(),
            resumed=(*before.resumed, read_told(self.shared.resumed_file, self._started))
            if before
            else (),
        )

    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport, config: pytest.Config
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Count a cell that its model lost separately, to avoid a wall of red.

        Its test has still failed; `-rf` lists it like any other.
        """
        if not isinstance(report, pytest.TestReport) or not is_lost(report):
            return None
        chosen = config.getoption("reportchars", "fE")
        if chosen != "fE" and set(chosen) & set("faA"):
            return None
        return UNSOLVED, "F", ("UNSOLVED", {"yellow": True})

    def pytest_unconfigure(self) -> None:
        """Print the comparison in pytest's style, the gates, and finally the report's location."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            self._print(terminal)

    def _print(self, terminalreporter: pytest.TerminalReporter) -> None:
        for notice in self._notices:
            terminalreporter.write_line(neutral(one_line(f"autoweb: {notice}", 1000)), yellow=True)
        if self._report is None or self._report.summary is None or self._reading is None:
            return
        run = self._reading.run
        terminalreporter.section("autoweb")
        lost = terminalreporter.stats.get(UNSOLVED, [])
        for lines in (str(report.longrepr) for report in lost if len(lost) <= TOLD_CELLS):
            terminalreporter.write_line(lines)
        for line, markup in terminal_lines(self._report, self._config.getoption("verbose")):
            terminalreporter.write_line(neutral(line), **markup)
        for line, markup in gate_lines(self._decision.gates if self._decision else ()):
            terminalreporter.write_line(line, **markup)
        self._tell_github(run, terminalreporter)
        terminalreporter.write_line(f"report: {run.folder / 'index.html'}", bold=True)

    def _tell_github(self, run: RecordedRun, terminalreporter: pytest.TerminalReporter) -> None:
        if not on_github(os.environ) or self._report is None or self._gate_inputs is None:
            return
        gates = self._decision.gates if self._decision else ()
        prefix = path_prefix(self._settings.rootdir, os.environ)
        for line in annotations(run.cells, gates, self._gate_inputs.policy, prefix=prefix):
            terminalreporter.ensure_newline()
            write_obeyed(f"{line}\n", self._config.get_terminal_writer()._file)
        try:
            append_summary(os.environ, render_markdown(self._report))
        except OSError as error:
            why = error.strerror or str(error)
            terminalreporter.write_line(f"autoweb: no job summary: {why}", yellow=True)


def _joined(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *now)))


def _spending(run: RunSession) -> Spending | None:
    if run.settings.max_cost is None:
        return None
    stats = run.gateway.stats()
    return Spending(stats.spent_usd, stats.refused_calls)
