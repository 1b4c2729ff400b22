"""Commands that take a run: nothing in the folder of one from elsewhere is started or believed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.results.records import Attempt, CheckResult, StepResult

PWNED = "import pathlib\npathlib.Path({target!r}).touch()\n"
CASES = {
    "conftest": "version: 1\ncases:\n- {{id: price, entry_url: http://x.invalid/, user_task: Do., "
    "expect: [{{text: a}}]}}\n",
    "command": "version: 1\nwebserver: {{command: 'touch {target}; sleep 9', url: "
    "'http://127.0.0.1:{{port}}/'}}\ncases:\n- {{id: price, entry_url: '{{{{ webserver.url }}}}', "
    "user_task: Do., expect: [{{text: a}}]}}\n",
    "check": "version: 1\ncases:\n- {{id: price, entry_url: http://x.invalid/, user_task: Do., "
    "expect: [{{python: evil:check}}]}}\n",
}
WHERE = "autoweb-report/cells/x"

Stranger = Callable[[str, str], Path]


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stranger:
    """Return what unpacks a run whose case, conftest and check lie in its own folder."""

    def unpack(kind: str, path: str = f"{WHERE}/price.yaml") -> Path:
        target = tmp_path / "pwned"
        evil = tmp_path / "project" / WHERE
        evil.mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "project")
        code = PWNED.format(target=str(target))
        (evil / "conftest.py").write_text(code if kind == "conftest" else "")
        (evil / "evil.py").write_text(f"{code}def check(context): return True\n")
        (evil / "price.yaml").write_text(CASES[kind].format(target=target))
        (tmp_path / "project" / "linked.yaml").symlink_to(evil / "price.yaml")
        done = Attempt(
            attempt_index=1,
            code='# Step 1\npage.locator("a").click()\n',
            executed=True,
            checks_passed=True,
            step_results=(StepResult(step_index=1, ok=True, status="ok"),),
            checks=(CheckResult(index=0, type="text", passed=True, expected="a", actual="a"),),
        )
        made = cell(CellKey("price", "a/x"), attempts=(done,), case_path=path)
        save_run(Path("autoweb-report"), [made])
        return target

    return unpack


COMMANDS = (
    ["run", "rerun", "price"],
    ["export", "price"],
    ["export", "autoweb-report"],
    ["prove", "autoweb-report", "--quick"],
    ["run", "rejudge", "autoweb-report"],
    ["run", "labels", "autoweb-report", "--labels", "labels.yaml"],
    ["run", "trace", "price", "--print"],
    ["run", "show", "--no-open"],
)


@pytest.mark.parametrize("path", [f"{WHERE}/price.yaml", "linked.yaml", f"{WHERE}/../x/price.yaml"])
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words))
def test_a_case_in_a_run_folder_is_not_loaded(
    stranger: Stranger, command: list[str], kind: str, path: str,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    target = stranger(kind, path)
    code = main(command)

    told = capfd.readouterr()
    assert not target.exists()
    if command[0] in ("export", "prove") or command[1] == "rerun":
        assert code == 4
        assert "lies in the run folder" in told.err
        assert len(told.err.splitlines()) == 1
    elif command[1] == "rejudge":
        # Its recorded verdicts are kept, and it is said why.
        assert code == 0
        assert "lies in the run folder" in told.out


def test_a_run_does_not_lead_out_of_the_project(
    stranger: Stranger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "else.yaml").write_text("{}")
    stranger("conftest", "../else.yaml")
    assert main(["run", "rerun", "price"]) == 4
    assert "lies outside of" in capsys.readouterr().err
