"""`autoweb run labels`: people first, then judges, on the same saved cells."""

from collections.abc import Callable

import pytest
import yaml
from openai_server import Answer, OpenAIServer
from session_server import autoweb_command

from pytest_autoweb.judging.human_labels import Label, read_labels

CASES = """
version: 1
webserver: {static: ../site}
defaults: {entry_url: "{{ webserver.url }}index.html", user_task: "Log in as ana."}
cases:
  - {id: ana, expect: [{judge: {rubric: "Ana is greeted."}}]}
  - {id: bob, expect: [{judge: {rubric: "Bob is greeted."}}]}
"""
ANSWERS = '''{
    "fake/good": {
        "plan": scripted_plan("log in"),
        "generate": """```python
# Step 1
page.get_by_label("Name").fill("ana")
page.get_by_role("button").click()
```""",
    },
    "fake/judge": {"judge": '{"quotes": ["Welcome, ana"], "reason": "greeted", "verdict": "pass"}'},
}'''


def labels(project: pytest.Pytester, *flags: str) -> tuple[list[str], tuple[Label, ...]]:
    """Run the command; its output and the file."""
    result = project.run(
        *(*autoweb_command(), "run", "labels", "autoweb-report"),
        *("--labels", "labels.yaml", *flags),
    )
    assert result.ret == 0, result.stderr.str()
    return result.outlines, read_labels(project.path / "labels.yaml").labels


@pytest.mark.long
def test_a_judges_words_are_written_only_beside_human_ones_and_other_judges_can_be_asked(
    project: pytest.Pytester, scripted: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    (project.path / "cases/judged.yaml").write_text(CASES)
    scripted(ANSWERS)
    project.runpytest_subprocess(
        *("cases/judged.yaml", "--autoweb-models=fake/good", "--autoweb-max-repairs=0"),
        "--autoweb-judge-model=fake/judge",
    )
    said, fresh = labels(project)

    assert [(label.human, label.judged) for label in fresh] == [(None, ())] * 2
    assert "2 need a human verdict: fill in `human: pass` or `human: fail`" in said

    path = project.path / "labels.yaml"
    content = yaml.safe_load(path.read_text())
    ana, bob = content["labels"]
    ana["human"] = "pass"
    path.write_text(yaml.safe_dump(content))
    said, labelled = labels(project)

    assert [[j.verdict for j in label.judged] for label in labelled] == [["pass"], []]
    assert any("judge fake/judge" in line and "1 of 1 labels" in line for line in said)

    bob["human"] = "fail"
    path.write_text(yaml.safe_dump(content))
    verdict = '{"quotes": ["Welcome, ana"], "reason": "no bob", "verdict": "fail"}'
    with OpenAIServer([Answer(verdict)]) as server:
        (project.path / "pyproject.toml").write_text(
            f'[tool.autoweb.models."openai/other"]\napi_base = "{server.api_base}"\n'
        )
        _, capped = labels(project, "--ask-judge", "--judge-model=openai/other", "--max-cost=0.5")
        assert server.requests == []
        said, asked = labels(project, "--ask-judge", "--judge-model=openai/other")
        shown = [seen.body["messages"][1]["content"] for seen in server.requests]

    # Nobody knows what this model costs, so a capped question is not asked.
    assert [[j.verdict for j in label.judged] for label in capped] == [["pass", "no_verdict"]] * 2
    assert [[j.verdict for j in label.judged] for label in asked] == [
        ["pass", "fail"],
        ["pass", "fail"],
    ]
    # The page that was kept, without a server of the case.
    assert all("Welcome, ana" in prompt and ".click(" in prompt for prompt in shown)
    assert any("judge openai/other" in line and "1 of 2 labels" in line for line in said)
