"""A lean installation: everything but the other providers' live calls works without litellm."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer

from pytest_autoweb.testing import scripted_plan

SCRIPT = """```python
# Step 1
page.get_by_label("Name").fill("ana")
page.get_by_role("button").click()
```"""
ALL = ("litellm", "httpx", "openai", "tiktoken", "tokenizers", "huggingface_hub", "aiohttp")
PARTS = ("boto3", "botocore", "tokenizers", "huggingface_hub", "hf_xet")
"""What docs/installation.md says that litellm itself does without."""
MODEL = ("--autoweb-models=openai/shop-model", "--autoweb-models-file=models.yaml")


@pytest.fixture
def without(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[[tuple[str, ...]], None]:
    """Takes packages away from every process of a session, the gateway's as well."""

    def block(names: tuple[str, ...]) -> None:
        folder = project.mkdir("blocked")
        (folder / "sitecustomize.py").write_text(
            f"import sys\nsys.modules.update(dict.fromkeys({names}))\n", encoding="utf-8"
        )
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
            monkeypatch.delenv(name, raising=False)

    return block


@pytest.fixture
def server(project: pytest.Pytester) -> Iterator[OpenAIServer]:
    """An OpenAI-compatible server, as the project's only model."""
    with OpenAIServer([Answer(scripted_plan("log in")), Answer(SCRIPT)]) as server:
        (project.path / "models.yaml").write_text(
            f"models: {{openai/shop-model: {{api_base: '{server.api_base}'}}}}", encoding="utf-8"
        )
        yield server


def cells(project: pytest.Pytester) -> list[dict[str, Any]]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text("utf-8"))
    return [cell for case in report["cases"] for cell in case["cells"]]


@pytest.mark.long
def test_controls_run_on_two_workers(
    project: pytest.Pytester, without: Callable[[tuple[str, ...]], None]
) -> None:
    without(ALL)
    project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", "-n", "2")

    assert [cell["outcome"] for cell in cells(project)] == ["passed", "passed"]


@pytest.mark.long
def test_litellm_itself_does_without_its_parts(
    project: pytest.Pytester, without: Callable[[tuple[str, ...]], None], server: OpenAIServer
) -> None:
    without(PARTS)
    asked = {
        "model": "openai/shop-model",
        "api_base": server.api_base,
        "api_key": "none",
        "messages": [{"role": "user", "content": "Log in."}],
    }
    code = f"import litellm; print(litellm.completion(**{asked}).choices[0].message.content)"
    done = project.run(sys.executable, "-c", code)

    assert done.ret == 0, done.stderr.str()
    assert done.stdout.str().strip() == scripted_plan("log in").strip()


@pytest.mark.long
def test_a_server_is_called_and_its_replies_are_recorded_and_replayed(
    project: pytest.Pytester, without: Callable[[tuple[str, ...]], None], server: OpenAIServer
) -> None:
    without(ALL)
    project.runpytest_subprocess("cases", "-k", "login", *MODEL, "--autoweb-record-mode=all")
    (live,) = cells(project)
    calls = len(server.requests)
    project.runpytest_subprocess("cases", "-k", "login", *MODEL, "--autoweb-record-mode=none")
    (replayed,) = cells(project)

    assert (live["outcome"], replayed["outcome"]) == ("passed", "passed")
    assert (calls, len(server.requests)) == (2, 2)
    assert live["usage"]["plan"]["input_tokens"] == 11
    assert live["usage"]["plan"]["unpriced_calls"] == 1
    assert replayed["usage"]["generate"]["replayed_calls"] == 1


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--autoweb-models=anthropic/claude-x",), "'anthropic/claude-x' needs litellm, which is"),
        (("--autoweb-models=ollama_chat/qwen3:8b",), "pip install litellm. Without it, models of"),
        (("--autoweb-models=openai/gpt-5-mini",), "no key for provider openai: set OPENAI_API_KEY"),
        (
            (*MODEL, "--autoweb-max-cost=1"),
            "openai/shop-model: give input_cost_per_mtok*",
        ),
    ],
)
def test_what_needs_litellm_says_so_at_the_start(
    project: pytest.Pytester,
    without: Callable[[tuple[str, ...]], None],
    server: OpenAIServer,
    flags: tuple[str, ...],
    says: str,
) -> None:
    without(ALL)
    result = project.runpytest_subprocess("cases", *flags)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{says}*"])
    result.stderr.no_fnmatch_line("*Traceback*")
    assert server.requests == []


@pytest.mark.long
def test_an_analysis_that_needs_litellm_says_so_and_the_report_is_written(
    project: pytest.Pytester, without: Callable[[tuple[str, ...]], None]
) -> None:
    without(ALL)
    result = project.runpytest_subprocess(
        "cases", "-k", "title", "--autoweb-models=builtin/oracle", "--autoweb-local-analyze"
    )

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["autoweb: no local analysis: qwen3:8b gave no answer*litellm*"])
