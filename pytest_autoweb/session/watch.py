"""`--autoweb-watch`: reruns the cells affected by a changed file, until Ctrl-C.

Each run is a separate pytest process, so nothing from an earlier one (imported modules, browsers,
servers) can be stale. The watching process itself runs nothing.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from watchfiles import Change, DefaultFilter, watch

from pytest_autoweb.base.interruption import like_ctrl_c, run_pytest
from pytest_autoweb.report.plain_stream import plain_text
from pytest_autoweb.session.case_files import CASE_SUFFIXES, holds_cases
from pytest_autoweb.session.touched_cells import TOUCHED
from pytest_autoweb.settings.options import named_folder

SETTINGS_FILES = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
PROMPTS = "prompts"
OUTPUTS = tuple(
    f"autoweb-{name}" for name in ("controls", "explore", "proof", "record", "rerun", "try")
)
"""The default folders of commands' runs."""

_PARTIAL = ("--autoweb-shard", "--autoweb-preview")
_LOOK_MS = 300
_SHOWN_NAMES = 5


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
    try:
        # Watching begins with the first scan, so a change during the first run is not missed.
        next(changes)
        status = _run(config, "everything", ())
        for files in _changed(changes):
            touched = () if any(_concerns_everything(file) for file in files) else files
            names = _names(files, root)
            what = "their cells" if len(touched) > 1 else "its cells" if touched else "everything"
            status = _run(config, f"{names} changed: {what} again", touched)
    except KeyboardInterrupt:
        print(f"\nwatch: ended; the report is {report / 'index.html'}")
    return status


def _refuse(config: pytest.Config) -> None:
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
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


def _run(config: pytest.Config, why: str, touched: tuple[Path, ...]) -> int:
    """Run pytest with its original arguments on the touched files; the run handles Ctrl-C."""
    print(f"\nwatch: {plain_text(why)}", flush=True)
    environment = {**os.environ}
    environment.pop(TOUCHED, None)
    if touched:
        environment[TOUCHED] = os.pathsep.join(map(str, touched))
    command = [sys.executable, "-m", "pytest", *config.invocation_params.args]
    return run_pytest(
        [*command, "--autoweb-watch=false"], cwd=config.invocation_params.dir, env=environment
    )
