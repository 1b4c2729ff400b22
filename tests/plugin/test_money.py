"""The run-wide cap on what live calls may cost, and what a terminal shows of it."""

import json
import re
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer
from session_server import session_command
from terminal import on_a_terminal

from pytest_autoweb.testing import scripted_plan

CENTS = "max_tokens: 10, input_cost_per_mtok: 0, output_cost_per_mtok: 10000"
"""A reply of seven tokens costs seven cents, and could have cost ten."""

IN_PYTHON = """
def test_named_in_python_only(autoweb):
    autoweb.run("cases/shop.yaml::title", model="openai/second")
"""


def cells(project: pytest.Pytester) -> list[dict[str, Any]]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    return [cell for case in report["cases"] for cell in case["cells"]]


@pytest.mark.long
def test_the_cap_holds_over_all_workers_and_models_and_breaks_only_the_cells_after_it(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    project.makepyfile(test_python=IN_PYTHON)
    with OpenAIServer([Answer(scripted_plan("look"), delay=0.05)]) as server:
        settings = f"{{api_base: '{server.api_base}', {CENTS}}}"
        (project.path / "models.yaml").write_text(
            f"models: {{openai/first: {settings}, openai/second: {settings}}}"
        )
        result = project.runpytest_subprocess(
            *("cases", "test_python.py", "-n", "2", "--autoweb-models=openai/first"),
            *("--autoweb-models-file=models.yaml", "--autoweb-max-cost=0.40"),
            *("--autoweb-concurrency=3", "--autoweb-max-repairs=0"),
        )
        asked = {seen.body["model"] for seen in server.requests}
        billed = 0.07 * len(server.requests)

    found = cells(project)
    told = sum(u["cost_usd"] or 0 for cell in found for u in cell["usage"].values())
    refused = [cell for cell in found if (cell["failure"] or {}).get("cause") == "budget"]

    # Three cells would make six calls; a sixth might cost ten cents more.
    assert asked == {"first", "second"}
    assert billed == pytest.approx(0.35)
    assert told == pytest.approx(billed)
    assert [cell["outcome"] for cell in refused] == ["broken"]
    assert "cap is 0.400000 USD, spent" in refused[0]["failure"]["message"]
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*cost cap*0.35*"])


def test_a_live_model_without_a_price_is_an_error_at_the_start_that_says_what_to_do(
    project: pytest.Pytester,
) -> None:
    flags = ("cases", "--autoweb-models=ollama_chat/x", "--autoweb-record-mode=once")
    refused = project.runpytest(*flags, "--autoweb-max-cost=1")
    allowed = project.runpytest(
        *flags, "--autoweb-max-cost=1", "--autoweb-allow-unpriced", "--collect-only"
    )

    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*price of these models is not known*", "*ollama_chat/x: give input_cost_per_mtok*"]
    )
    assert allowed.ret == pytest.ExitCode.OK


@pytest.mark.long
def test_a_terminal_shows_what_is_done_what_it_cost_and_ends_with_one_screen(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    monkeypatch.setenv("NO_COLOR", "1")
    script = "```python\n# Step 1: look\nprint(page.title())\n```"
    answers = [Answer(scripted_plan("look"), delay=0.6), Answer(script, delay=0.6)]
    with OpenAIServer(answers * 2) as server:
        settings = f"{{api_base: '{server.api_base}', {CENTS}}}"
        (project.path / "models.yaml").write_text(f"models: {{openai/first: {settings}}}")
        said = on_a_terminal(
            *(*session_command(), "cases", "-q", "--autoweb-models=openai/first"),
            *("--autoweb-models-file=models.yaml", "--autoweb-max-repairs=0"),
        )

    assert re.search(r"\[0 of 2 done, 1 running\] \S+\[openai/first\] · plan", said)
    assert re.search(r"\[1 of 2 done, 1 running, \$0\.14, about \d+ s left\]", said)
    # The line that shows what is running is redrawn, but nothing is coloured.
    assert not re.search(r"\x1b\[[0-9;]*m", said)
    shown = said[said.index("= autoweb =") :]
    # Quiet: no line of a single cell, but the table, the verdict and where the report is.
    assert "first=" not in shown
    assert re.search(r"openai/first\s+\d+%", shown)
    assert "report: " in shown.rstrip().splitlines()[-1]
