"""`--autoweb-detach`: starts the session in a process of its own, and gives the terminal back."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from shlex import quote

import pytest

from pytest_autoweb.base.errors import SettingsError, first_line
from pytest_autoweb.base.interruption import end_pytest, like_ctrl_c
from pytest_autoweb.base.process_tree import OWN_GROUP
from pytest_autoweb.report.plain_stream import plain_text
from pytest_autoweb.results.runs.live_session import LOG, LOG_FILE
from pytest_autoweb.results.runs.run_signs import ts_of_run
from pytest_autoweb.results.runs.saving import MANIFEST_FILE
from pytest_autoweb.settings.options import is_on, report_folder

_LOOK_S = 0.1
_WITH_TERMINAL = ("--autoweb-watch", "--autoweb-pause", "--autoweb-preview", "--collect-only")
_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
"""Exit statuses of a session that ran its cells before anybody looked."""


def detach(config: pytest.Config) -> int:
    """Start the session, wait until its cells are known, and print how it is reached.

    Returns:
        0 when it runs; its own exit status if it did not come so far, after what it printed.

    Raises:
        SettingsError: the session would need a terminal, or has no cells.
        pytest.UsageError: its output cannot be kept.
    """
    _refuse(config)
    folder = report_folder(config, os.environ)
    began = time.time()
    # Beside the run folder, which does not exist yet, so that it can be moved there.
    log = folder.with_name(f".{folder.name}-{os.getpid()}.log")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        out = log.open("wb")
    except OSError as error:
        raise pytest.UsageError(f"--autoweb-detach: {plain_text(first_line(error))}") from None
    with like_ctrl_c(), out:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pytest",
                *config.invocation_params.args,
                "--autoweb-detach=false",
            ],
            cwd=config.invocation_params.dir,
            env={**os.environ, LOG: str(log)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            **OWN_GROUP,
        )
        try:
            status = _begun(process, folder / MANIFEST_FILE, began)
        except BaseException:
            end_pytest(process)
            raise
    if status is None:
        print(_handle(folder, config.invocation_params.dir))
        return 0
    with suppress(OSError):
        said = log if log.exists() else folder / LOG_FILE
        print(plain_text(said.read_text(encoding="utf-8", errors="replace")), end="")
        log.unlink(missing_ok=True)
    return status


def _refuse(config: pytest.Config) -> None:
    if not is_on(config, os.environ):
        raise SettingsError("--autoweb-detach needs --autoweb-models, which is not set or empty")
    for flag in _WITH_TERMINAL:
        name = flag.removeprefix("--").replace("-", "_")
        if config.getoption(name.replace("collect_only", "collectonly")):
            raise SettingsError(f"--autoweb-detach leaves no terminal for {flag}: leave one out")
    if config.getoption("usepdb"):
        raise SettingsError("--autoweb-detach leaves no terminal for --pdb: leave one out")


def _begun(process: "subprocess.Popen[bytes]", manifest: Path, began: float) -> int | None:
    """Wait until the session has saved which cells it has; return its status if it ended before."""
    while True:
        status = process.poll()
        with suppress(OSError):
            # An earlier run stands there until the session moves it aside.
            if manifest.stat().st_mtime >= began - 1 and status in (None, *_ENDED):
                return None
        if status is not None:
            return status
        time.sleep(_LOOK_S)


def _handle(folder: Path, here: Path) -> str:
    """Return how to reach the session, for the terminal."""
    name = os.path.relpath(folder, here) if folder.is_relative_to(here) else str(folder)
    run = quote(plain_text(name))
    return (
        f"autoweb: run {ts_of_run(folder)} goes on without this terminal; its output is in "
        f"{run}/{LOG_FILE}\n"
        f"  autoweb run wait {run}         wait for its end, with its exit status\n"
        f"  autoweb run view {run}         watch and steer it on a local page\n"
        f"  autoweb run ctl {run} pause    or another order; --help lists them\n"
        f"  autoweb run stop {run}         end it as Ctrl-C does"
    )
