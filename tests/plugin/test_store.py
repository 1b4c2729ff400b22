"""`--autoweb-store` and `autoweb db`: the rows of a run, and what happens without a store."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pytest_autoweb.cli.command_line import main

LOST = "postgresql://ana:geheim-123@127.0.0.1:1/runs"


@pytest.mark.long
def test_a_run_is_in_the_store_when_it_ends_and_a_password_is_nowhere(
    project: pytest.Pytester,
    workers: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["cases", "--autoweb-models=builtin/oracle", *workers]
    if workers:
        done = project.runpytest_subprocess(*asked, "--autoweb-store=sqlite:///kept/runs.db")

        done.assert_outcomes(passed=2)
        done.stdout.re_match_lines([r"autoweb: stored as \w{8} in sqlite:///.*/kept/runs\.db"])
    else:
        # From the environment, because a command line is seen by every user of a machine.
        monkeypatch.setenv("AUTOWEB_STORE", LOST)
        done = project.runpytest_subprocess(*asked)

        done.assert_outcomes(passed=2)
        assert done.ret == 0
        told = re.sub(r"\s+", " ", done.stdout.str())
        assert "the run is not in the store yet (the store postgresql://ana:***@127.0.0.1:1" in told
        assert "nothing is lost: `autoweb db sync" in told
        assert "geheim" not in told
        written = [path for path in project.path.rglob("*") if path.is_file()]
        assert len(written) > 10
        assert not [path for path in written if b"geheim" in path.read_bytes()]
        monkeypatch.chdir(project.path)
        assert main(["db", "sync", "--database", "sqlite:///kept/runs.db"]) == 0
        assert "autoweb-report: 2 cells, 0 tool calls, as " in capsys.readouterr().out
    with closing(sqlite3.connect(project.path / "kept" / "runs.db")) as store:
        assert store.execute("SELECT outcome FROM cells").fetchall() == [("passed",)] * 2
        assert store.execute("SELECT count(*) FROM checks").fetchone() == (2,)


def test_a_wrong_store_is_said_before_anything_is_run(project: pytest.Pytester) -> None:
    done = project.runpytest(
        "cases", "--autoweb-models=builtin/oracle", "--autoweb-store=mysql://ana:geheim@h/runs"
    )

    assert done.ret == pytest.ExitCode.USAGE_ERROR
    said = done.stderr.str()
    assert "'mysql://ana:***@h/runs': a store is kept in SQLite" in said
    assert "geheim" not in said


@pytest.mark.parametrize("command", [["db", "serve"], ["db", "prune", "--older-than", "90d"]])
def test_a_mistyped_store_is_an_error_and_makes_no_file(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUTOWEB_STORE", raising=False)

    status = main([*command, "--database", "sqlite:///typo/store.db"])

    assert status == 4
    assert "there is no database sqlite:///typo/store.db" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
