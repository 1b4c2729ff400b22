"""Orders that are misspelt are named as what they were meant to be."""

from pathlib import Path

import pytest

from pytest_autoweb.cli.command_line import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["agian", "login[a]"], "there is no order 'agian'; did you mean 'again'?"),
        (["run", "agian"], "there is no order 'agian'; did you mean 'again'?"),
        (["fly"], "there is no order 'fly' (allowed: pause, "),
    ],
)
def test_the_misspelt_word_is_named(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path)

    assert main(["run", "ctl", *words]) == 4
    assert said in capsys.readouterr().err
