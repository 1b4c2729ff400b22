import io
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.cli.commands import models
from pytest_autoweb.cli.commands.models import ProgressLine
from pytest_autoweb.models import model_facts
from pytest_autoweb.models.local_models import CATALOGUE


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOWEB_MODELS_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def autoweb(*arguments: str) -> int:
    return main(["models", *arguments])


def test_list_names_every_model_and_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert autoweb("list") == 0

    out = capsys.readouterr().out

    assert [model.name for model in CATALOGUE if f"pull {model.full_name}]" not in out] == []
    assert "builtin/oracle" in out
    assert "Apache-2.0" in out


def test_list_says_what_is_here(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = CATALOGUE[0]
    with (cache / model.file_name).open("wb") as file:
        file.truncate(model.size)

    autoweb("list")

    assert "[here]" in capsys.readouterr().out.splitlines()[0]


def test_check_ends_with_one_if_a_model_cannot_be_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert autoweb("check", "builtin/noop", "local/smollm2-135m") == 1

    good, bad, *_ = capsys.readouterr().out.splitlines()

    assert good == "ok   builtin/noop: built in"
    assert bad.startswith("FAIL local/smollm2-135m: ")


def test_check_shows_what_each_model_is_and_who_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.autoweb.models."openai/mine"]\napi_base = "http://127.0.0.1:9/v1"\n'
        "context_tokens = 9000\n",
        encoding="utf-8",
    )

    assert autoweb("check", "openai/mine") == 1

    told = " ".join(capsys.readouterr().out.split())
    assert "FAIL openai/mine: nothing answers" in told
    assert "context 9,000 tokens (settings)" in told
    assert "longest reply 2,048 tokens (default)" in told
    assert "litellm's registry does not know it" in told or "litellm is not installed" in told


@pytest.mark.long
def test_check_says_that_nothing_is_known_of_models_without_litellm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (models, model_facts):
        monkeypatch.setattr(module, "installed_litellm", lambda: None)

    autoweb("check", "openai/gpt-5-mini")

    told = " ".join(capsys.readouterr().out.split())
    assert "context 32,768 tokens (default)" in told
    assert "litellm is not installed, so nothing is known but these settings" in told


def test_check_ends_with_zero_if_all_can_be_called() -> None:
    assert autoweb("check", "builtin/noop", "builtin/oracle") == 0


def test_pull_reports_a_source_that_does_not_have_it(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert autoweb("pull", "smollm2-135m", "--from", str(cache / "gone.gguf")) == 1
    assert "local/smollm2-135m could not be fetched" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["list", "-h"], ["check", "-h"], ["pull", "-h"]])
def test_help_is_there_for_every_command(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        autoweb(*words)

    assert ended.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) >= 5


def test_progress_in_a_log_is_a_line_per_tenth() -> None:
    stream = io.StringIO()
    line = ProgressLine("local/x", stream)
    for done in range(1001):
        line.update("hub", done, 1000)
    line.end()

    lines = stream.getvalue().splitlines()

    assert len(lines) == 11
    assert lines[-1] == "local/x: 100 % of 0 MB from hub"


def test_nothing_heavy_is_imported_for_the_command() -> None:
    script = "import pytest_autoweb.cli.commands.models, sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert {"litellm", "xllamacpp", "playwright"} & set(ran.stdout.split()) == set()
