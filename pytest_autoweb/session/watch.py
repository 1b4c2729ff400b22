"""`--autoweb-watch`: reruns the cells affected by a changed file, until Ctrl-C.

Each run is a separate pytest process, so nothing from an earlier one (imported modules, browsers,
servers) can be stale. It is started ahead, when the run before has ended: by the time a case
changes, it has loaded what every run loads, and its browser is running. The watching process itself
runs nothing.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from watchfiles import Change, DefaultFilter, watch

from pytest_autoweb.base.interruption import like_ctrl_c, run_pytest
from pytest_autoweb.report.plain_stream import plain_text
from pytest_autoweb.session.case_files import CASE_SUFFIXES, holds_cases
from pytest_autoweb.session.cells_on_demand import STARTED_AHEAD
from pytest_autoweb.session.touched_cells import TOUCHED
from pytest_autoweb.settings.options import named_folder
from pytest_autoweb.settings.run_settings import in_ci

SETTINGS_FILES = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
PROMPTS = "prompts"
OUTPUTS = tuple(
    f"autoweb-{name}" for name in ("controls", "explore", "proof", "record", "rerun", "try")
)
"""The default folders of commands' runs."""

_PARTIAL = ("--autoweb-shard", "--autoweb-preview")
_LOOK_MS = 300
_SHOWN_NAMES = 5
_END_S = 10.0
_REPORT_S = 60.0
"""How long an interrupted run may take for its report."""
# Elsewhere a process inherits no pipe by its number.
_CAN_WAIT = os.name == "posix"


class _Sources(DefaultFilter):
    """Files that people write, without the output of runs."""

    def __init__(self, root: Path, report: Path, ignored: Iterable[Path]) -> None:
        super().__init__(ignore_paths=tuple(ignored))
        self._root = root
        # Runs that were moved aside have the same name followed by a time.
        self._outputs = (report.name, *OUTPUTS)

    def __call__(self, change: Change, path: str) -> bool:
        if change is Change.deleted or not super().__call__(change, path):
            return False
        file = Path(path)
        # Above the root a folder may have any name.
        if any(part.startswith(self._outputs) for part in file.relative_to(self._root).parts):
            return False
        return _is_case_file(file) or _concerns_everything(file)


def _is_case_file(file: Path) -> bool:
    return file.suffix in CASE_SUFFIXES and holds_cases(file)


def _concerns_everything(file: Path) -> bool:
    """Tell whether any case may depend on it: Python (checks, conftests), prompts, settings."""
    return file.suffix == ".py" or file.name in SETTINGS_FILES or PROMPTS in file.parts[:-1]


@like_ctrl_c()
def watch_and_run(config: pytest.Config) -> int:
    """Run everything, then the cells that each change affects; return the last run's exit code.

    Raises:
        pytest.UsageError: nobody could end the watching, or the run would not be complete.
    """
    _refuse(config)
    root = config.rootpath
    report, *written = (
        named_folder(config, os.environ, name) for name in ("report", "storage", "cassettes")
    )
    only = _Sources(root, report, written)
    changes = watch(
        root, watch_filter=only, rust_timeout=_LOOK_MS, yield_on_timeout=True, recursive=True
    )
    status = 0
    with tempfile.TemporaryDirectory(prefix="autoweb-watch-") as folder:
        runs = _Runs(config, folder)
        try:
            # Watching begins with the first scan, so a change during the first run is not missed.
            next(changes)
            status = runs.run("everything", ())
            for files in _changed(changes):
                touched = () if any(_concerns_everything(file) for file in files) else files
                names = _names(files, root)
                many = "their cells" if len(touched) > 1 else "its cells"
                what = many if touched else "everything"
                status = runs.run(f"{names} changed: {what} again", touched)
        except KeyboardInterrupt:
            print(f"\nwatch: ended; the report is {report / 'index.html'}")
        finally:
            runs.end()
    return status


def _refuse(config: pytest.Config) -> None:
    if in_ci(os.environ):
        raise pytest.UsageError(
            "--autoweb-watch never ends by itself, so it is refused in CI (the environment sets CI)"
        )
    for flag in _PARTIAL:
        if config.getoption(flag.removeprefix("--").replace("-", "_")):
            raise pytest.UsageError(f"--autoweb-watch runs cells again: leave {flag} out")


def _changed(changes: Iterator[set[tuple[Change, str]]]) -> Iterator[tuple[Path, ...]]:
    """Yield the files of each change, printing first that changes are awaited."""
    waiting = False
    for found in changes:
        if found:
            waiting = False
            yield tuple(sorted({Path(path) for _, path in found}))
        elif not waiting:
            waiting = True
            print("watch: waiting for a change of a case, check or prompt file; Ctrl-C ends")
            sys.stdout.flush()


def _names(files: tuple[Path, ...], root: Path) -> str:
    names = [file.relative_to(root).as_posix() for file in files]
    if len(names) > _SHOWN_NAMES:
        return f"{', '.join(names[:_SHOWN_NAMES])} and {len(names) - _SHOWN_NAMES} more"
    return ", ".join(names)


class _Runs:
    """Runs pytest with its original arguments, in processes that are started ahead.

    Args:
        config: pytest's.
        folder: where runs leave how they started their browser.
    """

    def __init__(self, config: pytest.Config, folder: str) -> None:
        self._dir, self._folder = config.invocation_params.dir, folder
        arguments = config.invocation_params.args
        self._command = [sys.executable, "-m", "pytest", *arguments, "--autoweb-watch=false"]
        self._environment = {n: value for n, value in os.environ.items() if n != TOUCHED}
        self._ahead: _Ahead | None = None

    def run(self, why: str, touched: tuple[Path, ...]) -> int:
        """Run the cells of the touched files, or everything; the run handles Ctrl-C.

        What has changed may be a part of the process that was started ahead, unless it is a case.
        """
        print(f"\nwatch: {plain_text(why)}", flush=True)
        if not _CAN_WAIT:
            more = {TOUCHED: os.pathsep.join(map(str, touched))} if touched else {}
            return run_pytest(self._command, cwd=self._dir, env={**self._environment, **more})
        if not touched:
            self.end()
        self._ahead = self._ahead or self._started()
        status = self._ahead.run(touched)
        if self._ahead.ended:
            self.end()
            self._ahead = self._started()
        return status

    def _started(self) -> "_Ahead":
        return _Ahead(self._command, self._dir, self._environment, self._folder)

    def end(self) -> None:
        """End the process that waits, if there is one."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            ahead.close()


class _Ahead:
    """A process that gets ready, waits to be told which files were touched, and runs their cells.

    It may be able to do so again and again, in forks. It tells the id of the process of each run,
    and then its exit status (`started_ahead`).

    Args:
        command: runs pytest.
        working: the folder to run it in.
        environment: the variables of the runs.
        folder: where runs leave how they started their browser.
    """

    def __init__(
        self, command: Sequence[str], working: Path, environment: dict[str, str], folder: str
    ) -> None:
        reads, self._writes = os.pipe()
        self._reads, tells = os.pipe()
        self._said = b""
        self._run = 0
        """The id of the process of a run that is under way, else 0."""
        try:
            self._process = subprocess.Popen(
                command,
                cwd=working,
                env={**environment, STARTED_AHEAD: f"{reads}:{tells}:{folder}"},
                pass_fds=(reads, tells),
            )
        finally:
            os.close(reads)
            os.close(tells)

    @property
    def ended(self) -> bool:
        """Tell whether it cannot be told of another run."""
        return self._process.poll() is not None

    def run(self, touched: tuple[Path, ...]) -> int:
        """Run the cells of these files, or of all if there are none; return pytest's exit status.

        If this process is interrupted, so is the run, which first writes its report.
        """
        try:
            if (run := self._number()) is None:
                # It has found something wrong with the command, and said so.
                return self._process.wait()
            self._run = run
            # If it has gone since, its exit status says so.
            with suppress(BrokenPipeError):
                os.write(self._writes, json.dumps([str(one) for one in touched]).encode() + b"\n")
            status = self._number()
        except BaseException:
            self._interrupt()
            raise
        finally:
            self._run = 0
        return self._process.wait() if status is None else status

    def _number(self, timeout: float | None = None) -> int | None:
        """Return what is told next; None if the process has ended, or the time is over."""
        while b"\n" not in self._said:
            if not select.select([self._reads], [], [], timeout)[0]:
                return None
            if not (more := os.read(self._reads, 1024)):
                return None
            self._said += more
        line, _, self._said = self._said.partition(b"\n")
        return int(line)

    def _interrupt(self) -> None:
        """Interrupt the run that is under way; kill it if it takes too long to end."""
        if not self._run:
            return
        with suppress(ProcessLookupError):
            os.kill(self._run, signal.SIGTERM)
            if self._number(_REPORT_S) is None:
                os.kill(self._run, signal.SIGKILL)

    def close(self) -> None:
        """End the process, which is not running any cells; it needs nothing but this to notice."""
        os.close(self._writes)
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._reads)
