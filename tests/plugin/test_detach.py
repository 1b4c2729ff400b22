"""`--autoweb-detach`, `autoweb run wait` and `autoweb run stop`."""

import json
import os
import time
from pathlib import Path

import psutil
import pytest
from steered_session import (
    FLAGS,
    PATIENCE_S,
    asking,
    autoweb,
    cells_of,
    ended_in,
    report_of,
)


def sign_in(folder: Path) -> dict[str, int | str]:
    text = (folder / "autoweb-report/session.json").read_text(encoding="utf-8")
    sign: dict[str, int | str] = json.loads(text)
    return sign


@pytest.mark.long
def test_a_detached_session_is_waited_for_and_ends_as_any_other(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    shop = asking(project)

    detached = shop.run(*FLAGS, *workers, "--autoweb-detach")
    early = autoweb(shop.path, "run", "wait", "--timeout", "1s")
    (shop.path / "gate").touch()
    waited = autoweb(shop.path, "run", "wait", "autoweb-report")
    again = autoweb(shop.path, "run", "stop")

    assert detached.ret == 0
    detached.stdout.fnmatch_lines(
        [
            "autoweb: run * goes on without this terminal; * autoweb-report/session.log",
            "  autoweb run wait autoweb-report *",
            "  autoweb run view autoweb-report *",
            "  autoweb run stop autoweb-report *",
        ]
    )
    assert (early.returncode, early.stderr) == (124, "autoweb: autoweb-report still goes on\n")
    assert waited.returncode == 0
    assert "report: " in waited.stdout
    assert [cell["outcome"] for cell in cells_of(report_of(shop.path))] == ["passed"] * 8
    assert again.returncode == 4
    assert "does not go on any more: it ended with exit status 0" in again.stderr
    assert not list(shop.path.glob(".autoweb-report-*"))


@pytest.mark.long
def test_a_detached_session_is_stopped_and_the_second_time_killed(
    project: pytest.Pytester,
) -> None:
    shop = asking(project)

    shop.run(*FLAGS, "--autoweb-detach")
    (shop.path / "gate").touch()
    while not ended_in(shop.path):
        time.sleep(0.05)
    (shop.path / "gate").unlink()
    stopped = autoweb(shop.path, "run", "stop", "autoweb-report")
    waited = autoweb(shop.path, "run", "wait", "autoweb-report")
    report = report_of(shop.path)

    assert stopped.returncode == 0
    assert "ended with exit status 2" in stopped.stdout
    assert waited.returncode == pytest.ExitCode.INTERRUPTED
    assert report["interrupted"]
    assert any("SIGTERM interrupted the run" in line for line in waited.stdout.splitlines())
    assert report["steered"][-1]["kind"] == "stop"

    shop.run(*FLAGS, "--autoweb-detach")
    process = psutil.Process(int(sign_in(shop.path)["pid"]))
    killed = autoweb(shop.path, "run", "stop", "--now")
    after = autoweb(shop.path, "run", "wait")

    assert killed.returncode == 0
    process.wait(PATIENCE_S)
    assert after.returncode == 3
    assert "was killed, or the machine went down, when 0 of 8 cells had ended" in after.stderr
    assert "with --autoweb-resume" in after.stderr


@pytest.mark.long
def test_what_fails_at_the_start_is_said_at_once(project: pytest.Pytester) -> None:
    shop = asking(project)
    (shop.path / "cases/shop.yaml").write_text("version: 1\ncases: [{id: x}]", encoding="utf-8")

    bad = shop.run(*FLAGS, "--autoweb-detach")
    none = shop.run("cases", "--autoweb-detach")
    both = shop.run(*FLAGS, "--autoweb-detach", "--autoweb-pause")

    assert bad.ret == pytest.ExitCode.USAGE_ERROR
    bad.stdout.fnmatch_lines(["*shop.yaml*entry_url*"])
    assert "goes on without this terminal" not in bad.stdout.str()
    assert not list(shop.path.glob(".autoweb-report-*"))
    assert none.ret == both.ret == pytest.ExitCode.USAGE_ERROR
    none.stderr.fnmatch_lines(["*--autoweb-detach needs --autoweb-models*"])
    both.stderr.fnmatch_lines(["*--autoweb-detach leaves no terminal for --autoweb-pause*"])


def test_a_process_that_only_has_the_id_of_the_session_is_left_alone(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "cells").mkdir(parents=True)
    sign = {"pid": os.getpid(), "mark": "1", "host": os.uname().nodename, "started": 0.0}
    (run / "session.json").write_text(json.dumps(sign), encoding="utf-8")

    stopped = autoweb(tmp_path, "run", "stop", "run", "--now")

    assert stopped.returncode == 4
    assert "does not go on any more: its session was killed" in stopped.stderr
