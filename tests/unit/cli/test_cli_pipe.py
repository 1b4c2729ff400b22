import subprocess
import sys
from pathlib import Path

import pytest

from pytest_autoweb.cli.command_line import main


@pytest.mark.long
def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    ran = subprocess.Popen(
        [sys.executable, "-m", "pytest_autoweb.cli", "debug", "schema", "report"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.stdout is not None
    assert ran.stderr is not None
    # More than a pipe holds is still to come.
    assert ran.stdout.readline() == "{\n"
    ran.stdout.close()

    said = ran.stderr.read()
    ran.stderr.close()
    assert (ran.wait(30), said) == (1, "")


@pytest.mark.parametrize("words", [("x", "--model=m", "--"), ("--model=m", "x", "--"), ("x", "--")])
def test_flags_of_pytest_stand_behind_two_dashes_wherever_options_stand(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    # There is no run, so the command gets as far as looking for it.
    assert main(["run", "rerun", *words, "--tracing=on"]) == 4
    assert "autoweb-report" in capsys.readouterr().err


def test_what_no_command_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["run", "show", "--colour"], ["run", "rerun", "x", "--colour", "--", "-q"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "unrecognized arguments: --colour" in capsys.readouterr().err
