"""`--autoweb-until`: a run ends when it is decided, or when money or time are over."""

import json
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer
from shop_project import SharedProject

CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: ask
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Question {{ matrix.n }}: what is the heading?"
    matrix: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
    expect:
      - answer: {equals: Shop}
"""
ANSWERS = """{
    f"fake/{name}": {
        "plan": scripted_plan("look"),
        "generate": '```python\\n# Step 1: look\\nanswer("%s")\\n```' % answer,
    }
    for name, answer in (("right", "Shop"), ("wrong", "Pub"))
}"""
FLAGS = ("cases", "--autoweb-models=fake/right,fake/wrong", "--autoweb-max-repairs=0")


def asking(project: pytest.Pytester) -> SharedProject:
    shop = SharedProject.at(project.path)
    shop.script(ANSWERS)
    (shop.path / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    return shop


def report_of(shop: SharedProject) -> dict[str, Any]:
    path = shop.path / "autoweb-report/report.json"
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def cells_of(shop: SharedProject) -> list[dict[str, Any]]:
    return [cell for case in report_of(shop)["cases"] for cell in case["cells"]]


@pytest.mark.long
def test_a_decided_run_leaves_out_the_rest_and_says_why(project: pytest.Pytester) -> None:
    shop = asking(project)

    ran = shop.run(*FLAGS, "--autoweb-until=decided", "--autoweb-min-pass-rate=90")

    report, cells = report_of(shop), cells_of(shop)
    left_out = [cell for cell in cells if cell["not_needed"]]
    why = (
        "fake/wrong was decided worse than fake/right after 7 pairs in 7 cases (e = 27, 20 needed)"
    )
    assert (len(cells), len(left_out)) == (24, 10)
    assert {(cell["outcome"], cell["not_needed"]) for cell in left_out} == {("skipped", "decided")}
    # Neither the file's order nor that of its case ids: neighbours resemble each other.
    asked = [cell["case_id"] for cell in cells if cell["outcome"] == "passed"]
    assert asked != [f"ask-{n}" for n in range(1, 8)]
    ran.stdout.fnmatch_lines(
        [f"*10 of 24 cells were not run (--autoweb-until): 10 because {glob(why)}"]
    )
    assert f"10 of 24 cells were not run (--autoweb-until): 10 because {why}" in report["notes"]
    assert report["summary"]["decisive"] is True
    assert report["summary"]["verdict"].startswith("fake/right passes more: decided early, after 7")
    (decision,) = report["decisions"]
    assert (decision["better"], decision["won"], decision["lost"]) == ("fake/right", 7, 0)
    # The gate asks the cells that were run.
    gates = {
        gate["model"]: gate["passed"] for gate in report["gates"] if gate["name"] == "pass rate"
    }
    assert gates == {"fake/right": True, "fake/wrong": False}


def glob(text: str) -> str:
    return text.replace("[", "[[]")


@pytest.mark.long
def test_workers_and_cells_in_flight_share_the_decision(project: pytest.Pytester) -> None:
    shop = asking(project)

    ran = shop.run(
        *FLAGS, "-n", "2", "--autoweb-concurrency=2", "--autoweb-repeat=3",
        "--autoweb-until=decided", "--autoweb-min-pass-rate=0",
    )  # fmt: skip

    cells = cells_of(shop)
    decided = [cell for cell in cells if cell["not_needed"] == "decided"]
    assert ran.ret == 0
    assert len(cells) == 72
    # Eight pairs decide; a few more were under way in the two processes.
    assert 72 - 16 - 16 <= len(decided) <= 72 - 16
    assert {cell["outcome"] for cell in cells} == {"passed", "failed", "skipped"}
    assert len(report_of(shop)["decisions"]) == 1


@pytest.mark.long
def test_a_resumed_run_goes_on_to_its_decision_and_does_not_ask_again(
    project: pytest.Pytester,
) -> None:
    shop = asking(project)

    shop.run(*FLAGS, "--autoweb-until=decided,0.001s")
    none = {cell["not_needed"] for cell in cells_of(shop)}
    shop.run(*FLAGS, "--autoweb-until=decided", "--autoweb-resume", "--autoweb-concurrency=3")
    first = {cell["folder"]: cell["outcome"] for cell in cells_of(shop)}
    again = shop.run(*FLAGS, "--autoweb-until=decided", "--autoweb-resume")
    second = {cell["folder"]: cell["outcome"] for cell in cells_of(shop)}

    assert none == {"time"}
    assert 14 <= sum(outcome != "skipped" for outcome in first.values()) <= 17
    assert second == first
    assert "Traceback" not in again.stdout.str()


@pytest.mark.long
def test_no_cell_is_begun_that_might_exceed_the_money_and_none_breaks(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    shop = asking(project)
    reply = 'Step 1: look\n```python\n# Step 1: look\nanswer("Shop")\n```'
    with OpenAIServer([Answer(reply)]) as server:
        # A reply costs seven cents, and could have cost ten; a cell has two.
        priced = "max_tokens: 10, input_cost_per_mtok: 0, output_cost_per_mtok: 10000"
        models = f"models: {{openai/first: {{api_base: '{server.api_base}', {priced}}}}}"
        (shop.path / "models.yaml").write_text(models, encoding="utf-8")
        ran = shop.run(
            "cases", "--autoweb-models=openai/first", "--autoweb-models-file=models.yaml",
            "--autoweb-max-repairs=0", "--autoweb-until=$0.50",
        )  # fmt: skip

    outcomes = [(cell["outcome"], cell["not_needed"]) for cell in cells_of(shop)]
    assert ran.ret == 0
    assert outcomes.count(("passed", "")) == 3
    assert outcomes.count(("skipped", "money")) == 9


def test_what_decides_nothing_is_refused(project: pytest.Pytester) -> None:
    shop = asking(project)

    alone = shop.run("cases", "--autoweb-models=fake/right", "--autoweb-until=decided")
    twice = shop.run(*FLAGS, "--autoweb-until=$5", "--autoweb-max-cost=5")

    assert alone.ret == twice.ret == pytest.ExitCode.USAGE_ERROR
    alone.stderr.fnmatch_lines(["*decided compares models, and there is only one*"])
    twice.stderr.fnmatch_lines(["*--autoweb-until and --autoweb-max-cost say the same thing*"])
