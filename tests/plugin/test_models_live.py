"""Models over real HTTP: a scripted server in the place of a provider, litellm in between."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ollama_server import OllamaServer
from openai_server import Answer, OpenAIServer

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.testing import scripted_plan

SCRIPT = """```python
# Step 1
page.get_by_label("Name").fill("ana")
page.get_by_label("Password").fill("<secret:password>")
page.get_by_role("button").click()
```"""
SECRET = "correct-horse-battery"


@pytest.fixture
def provider() -> Iterator[OpenAIServer]:
    """Answers a plan, then the script, and so on."""
    answers = [Answer(scripted_plan("log in")), Answer(SCRIPT)]
    with OpenAIServer(answers) as server:
        yield server


def use(project: pytest.Pytester, server: OpenAIServer) -> None:
    """One model on the server, and a case with a secret."""
    (project.path / "models.yaml").write_text(
        f"models: {{openai/shop-model: {{api_base: '{server.api_base}', vision: true}}}}"
    )
    path = project.path / "cases/shop.yaml"
    secret = f"    secrets: {{password: {{default: {SECRET}}}}}\n"
    path.write_text(path.read_text().replace("    tags: [smoke]\n", "    tags: [smoke]\n" + secret))


def run(project: pytest.Pytester, *flags: str) -> dict[str, Any]:
    """The only cell of a run."""
    project.runpytest_subprocess(
        *("cases", "-k", "login", "--autoweb-models=openai/shop-model"),
        "--autoweb-models-file=models.yaml",
        *flags,
    )
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    cell: dict[str, Any] = report["cases"][0]["cells"][0]
    return cell


@pytest.mark.long
def test_a_run_is_recorded_and_replayed_without_the_server(
    project: pytest.Pytester, provider: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(project, provider)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    live = run(project, "--autoweb-record-mode=all")
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    provider.close()
    monkeypatch.delenv("OPENAI_API_KEY")
    replayed = run(project, "--autoweb-record-mode=none")

    assert (live["outcome"], replayed["outcome"]) == ("passed", "passed")
    assert [e["stage"] for e in live["attempts"][0]["exchanges"]] == ["plan", "generate"]
    assert live["usage"]["plan"]["input_tokens"] == 11
    (about,) = report["model_settings"]
    assert about["model"] == "openai/shop-model"
    assert {"name": "vision", "value": "yes", "source": "settings"} in about["settings"]
    assert live["usage"]["plan"]["replayed_calls"] == 0
    assert replayed["usage"]["generate"]["replayed_calls"] == 1
    for path in project.path.rglob("*"):
        if path.is_file() and path.name != "shop.yaml":
            assert SECRET.encode() not in path.read_bytes(), path
            assert b"sk-test-0123456789abcdef" not in path.read_bytes(), path

    # A changed task is a miss that says what changed and how to record.
    path = project.path / "cases/shop.yaml"
    path.write_text(path.read_text().replace("Log in as ana.", "Sign in as ana."))
    missed = run(project, "--autoweb-record-mode=none")

    assert missed["outcome"] == "broken"
    assert missed["failure"]["cause"] == "unavailable"
    assert "Sign in as ana." in missed["failure"]["message"]
    assert "--autoweb-record-mode" in missed["failure"]["message"]


@pytest.mark.long
def test_the_local_analysis_is_in_the_second_report_and_another_model_may_replace_it(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = "Models press buttons by text; use roles."
    with OpenAIServer([Answer(said)]) as server:
        ollama = OllamaServer(server.api_base, models={"qwen3:8b": "served"})
        monkeypatch.setenv("OLLAMA_API_BASE", ollama.origin)
        project.runpytest_subprocess(
            "cases", "-k", "login", "--autoweb-models=builtin/noop", "--autoweb-local-analyze"
        )
        ollama.close()
    report = json.loads((project.path / "autoweb-report/report.json").read_text())

    assert report["local_analysis"] == said
    assert report["local_analysis_model"] == "qwen3:8b"
    assert "CASE login" in json.dumps(server.requests[-1].body)

    # The server is gone, so the model that is asked by default says nothing, and nothing changes.
    monkeypatch.chdir(project.path)
    capsys.readouterr()
    assert main(["run", "analyze", "autoweb-report"]) == 1
    heard = capsys.readouterr()
    assert "Facts" in heard.out
    assert "builtin/noop" in heard.out
    assert "qwen3:8b gave no answer" in heard.err
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with OpenAIServer([Answer("Wait longer.\x1b[31m")]) as server:
        models = {"models": {"wise": {"model": "openai/wise", "api_base": server.api_base}}}
        (project.path / "models.json").write_text(json.dumps(models))
        asked = ["run", "analyze", "autoweb-report", "--model=wise", "--models-file=models.json"]
        assert main(asked) == 0
    said_now = capsys.readouterr().out
    assert said_now.index("Facts") < said_now.index("opinion of") < said_now.index("Wait longer.")
    assert "\x1b" not in said_now
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    assert report["local_analysis"].startswith("Wait longer.")
    assert report["local_analysis_model"] == "wise"


@pytest.mark.long
def test_without_ollama_there_is_a_warning_and_the_report(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", "http://127.0.0.1:9")
    result = project.runpytest_subprocess(
        "cases", "-k", "title", "--autoweb-models=builtin/noop", "--autoweb-local-analyze"
    )

    result.stdout.fnmatch_lines(["autoweb: no local analysis: qwen3:8b gave no answer*"])
    assert (project.path / "autoweb-report/index.html").is_file()


@pytest.mark.long
def test_a_picture_is_described_for_models_that_see(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = "A shop with one button."
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    with OpenAIServer([Answer(scripted_plan("log in")), Answer(seen), Answer(SCRIPT)]) as server:
        use(project, server)
        cell = run(project, "--autoweb-visual-supplement")

    assert cell["attempts"][0]["visual_description"] == seen
    parts = server.requests[1].body["messages"][1]["content"]
    assert parts[1]["image_url"]["url"].startswith("data:image/jpeg;base64,")
    assert seen in json.dumps(server.requests[2].body)
