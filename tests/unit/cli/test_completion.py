"""`autoweb completion`: the script comes from the command line itself."""

import subprocess

import pytest

from pytest_autoweb.base import installation
from pytest_autoweb.cli.command_line import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_script_names_commands_and_options(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0

    script = capsys.readouterr().out
    assert "export" in script
    assert "--ci" in script or "ci" in script


def test_bash_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0

    asked = "COMP_WORDS=(autoweb rec); COMP_CWORD=1; _shtab_autoweb; echo ${COMPREPLY[@]}"
    said = subprocess.run(
        ["bash", "--norc", "-c", f"{capsys.readouterr().out}\n{asked}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["record"]


def test_without_its_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda _name: None)

    assert main(["completion", "bash"]) == 4
    assert "pip install 'pytest-autoweb[completion]'" in capsys.readouterr().err
