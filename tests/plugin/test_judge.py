"""`judge` checks: advice from evidence alone, and verdicts once people's labels vouch for them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_autoweb.judging.human_labels import JudgeVerdict, Label, write_labels
from pytest_autoweb.judging.model_judge import judge_id
from pytest_autoweb.models.model_spec import ModelSpec

FLAGS = (
    *("cases/judged.yaml", "--autoweb-models=fake/good", "--autoweb-max-repairs=0"),
    "--autoweb-models-file=models.yaml",
)


@pytest.mark.long
def test_without_labels_a_judge_gives_advice_from_evidence_that_the_model_did_not_write(
    judged: pytest.Pytester,
) -> None:
    result = judged.runpytest_subprocess(*FLAGS, "--autoweb-judge-model=fake/judge")
    found = cells(judged)

    assert {case: cell["outcome"] for case, cell in found.items()} == {
        "both": "passed",
        "alone": "ungraded",
        "harsh": "passed",
        "walled": "passed",
        "garbled": "passed",
        "claimed": "passed",
        "down": "passed",
        "voted": "passed",
    }
    assert opinions(found) == {
        "both": (True, "pass", True),
        "alone": (True, "pass", True),
        "harsh": (False, "fail", True),
        "walled": (None, "captcha", True),
        "garbled": (None, "no_verdict", True),
        "claimed": (None, "unfounded", True),
        "down": (None, "no_verdict", True),
        "voted": (True, "pass", True),
    }
    assert "no reply in time" in found["down"]["attempts"][0]["checks"][-1]["message"]
    assert "advice only" in found["alone"]["reason"]
    assert found["both"]["usage"]["judge"]["calls"] == 1

    (asked,) = [e for e in found["both"]["attempts"][0]["exchanges"] if e["stage"] == "judge"]
    for shown in ("Welcome, ana", ".click(", "index.html", "Log in as ana.", "<script>"):
        assert shown in asked["prompt"]
    for hidden in ("SECRETLY", "correct-horse-battery"):
        assert hidden not in asked["prompt"]
    _see_the_vote(found["voted"]["attempts"][0])
    result.stdout.fnmatch_lines(
        ["judges fake/eyes*, fake/harsh*, fake/judge* agree with each other on 0 of 1 checks*"]
    )


def _see_the_vote(attempt: dict[str, Any]) -> None:
    """Two of three judges say pass; the one with vision saw the whole way."""
    check = attempt["checks"][-1]
    said = {vote["judge"].partition(" ")[0]: vote["verdict"] for vote in check["votes"]}
    assert said == {"fake/judge": "pass", "fake/eyes": "pass", "fake/harsh": "fail"}
    assert (check["usage"]["calls"], check["where"][:12]) == (3, "majority of ")
    blind, seeing, _ = (e["prompt"] for e in attempt["exchanges"] if e["stage"] == "judge")
    told = ("PICTURES", "1: when the page was opened", "2: after step 1", "3: at the end")
    assert all(text in seeing for text in (*told, "step 1: page."))
    assert not any(text in blind for text in told)
    assert "SECRETLY" not in seeing


def write_twenty_labels(project: pytest.Pytester) -> None:
    judge = judge_id(ModelSpec(name="fake/judge"))
    labels = [
        Label(
            run="20260101_000000_000",
            cell=f"cells/c{number}/m/ARIA-1",
            attempt=1,
            check=0,
            rubric="r",
            rubric_checksum="x",
            human="pass" if number % 2 else "fail",
            judged=(JudgeVerdict(judge=judge, verdict="pass" if number % 2 else "fail"),),
        )
        for number in range(20)
    ]
    write_labels(project.path / "labels.yaml", labels)


@pytest.mark.long
def test_with_labels_the_judge_decides_and_its_agreement_is_printed(
    judged: pytest.Pytester,
) -> None:
    write_twenty_labels(judged)
    result = judged.runpytest_subprocess(
        *FLAGS, "--autoweb-judge-model=fake/judge", "--autoweb-judge-labels=labels.yaml"
    )
    found = cells(judged)
    outcomes = {case: cell["outcome"] for case, cell in found.items()}
    (agreed,) = json.loads((judged.path / "autoweb-report/report.json").read_text())["judges"]

    assert (outcomes["both"], outcomes["alone"], outcomes["harsh"]) == (
        "passed",
        "passed",
        "failed",
    )
    # No verdict is neither a pass nor a fail.
    assert {outcomes[case] for case in ("walled", "garbled", "claimed", "down")} == {"ungraded"}
    assert (agreed["n"], agreed["kappa"], agreed["calibrated"]) == (20, 1.0, True)
    result.stdout.fnmatch_lines(
        ["*judge fake/judge*20 of 20 labels (100%*kappa 1.00*its verdicts count*"]
    )


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("--autoweb-judge-model=fake/good", "*judge fake/good is one of the models compared*"),
        ("--autoweb-judge-labels=absent.yaml", "*--autoweb-judge-labels:*absent.yaml*"),
    ],
)
def test_a_bad_judge_or_labels_file_is_an_error_at_the_start(
    judged: pytest.Pytester, flag: str, says: str
) -> None:
    result = judged.runpytest(*FLAGS, flag)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([says])


def test_a_case_whose_judge_is_compared_is_a_bad_case(judged: pytest.Pytester) -> None:
    path = judged.path / "cases/judged.yaml"
    path.write_text(CASES.replace('{rubric: "Gibberish."}', "{rubric: x, model: fake/good}"))
    result = judged.runpytest(*FLAGS)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*judged.yaml:16: the judge fake/good is one of the models*"])


@pytest.mark.long
def test_without_any_judge_the_check_says_so(judged: pytest.Pytester) -> None:
    judged.runpytest_subprocess(*FLAGS, "-k", "alone")
    (cell,) = cells(judged).values()

    assert cell["outcome"] == "ungraded"
    assert "--autoweb-judge-model" in cell["attempts"][0]["checks"][0]["message"]


CASES = """
version: 1
webserver: {static: ../site}
defaults:
  entry_url: "{{ webserver.url }}index.html"
  user_task: "Log in as ana."
  secrets: {password: {default: correct-horse-battery}}
cases:
  - id: both
    expect:
      - text: "Welcome, ana"
      - judge: {rubric: "Ana is greeted."}
  - {id: alone, expect: [{judge: {rubric: "Ana is greeted."}}]}
  - {id: harsh, expect: [{text: Shop}, {judge: {rubric: "Bob is greeted."}}]}
  - {id: walled, expect: [{text: Shop}, {judge: {rubric: "Past the captcha."}}]}
  - {id: garbled, expect: [{text: Shop}, {judge: {rubric: "Gibberish."}}]}
  - {id: claimed, expect: [{text: Shop}, {judge: {rubric: "The moon is full."}}]}
  - {id: down, expect: [{text: Shop}, {judge: {rubric: "Nobody answers."}}]}
  - id: voted
    expect:
      - {text: Shop}
      - judge: {rubric: "Ana is greeted.", models: [fake/judge, fake/eyes, fake/harsh]}
"""

ANSWERS = '''{
    "fake/good": {
        "plan": scripted_plan("PLANNED-SECRETLY"),
        "generate": """```python
# Step 1: COMMENTED-SECRETLY
log("LOGGED-SECRETLY")
page.get_by_label("Name").fill("ana")
page.get_by_label("Password").fill("<secret:password>")
page.evaluate("() => { /* SCRIPTED-SECRETLY */ }")
page.get_by_role("button", name="Log in").click()
answer("ANSWERED-SECRETLY")
```""",
    },
    "fake/judge": {"judge": lambda request: (
        '{"quotes": ["Welcome, ana"], "reason": "greeted", "verdict": "pass"}'
        if "RUBRIC: Ana" in request.messages[1].content
        else '{"quotes": ["Welcome, ana"], "reason": "it is ana", "verdict": "fail"}'
        if "RUBRIC: Bob" in request.messages[1].content
        else "结论：验证码" if "captcha." in request.messages[1].content
        else "I would say so." if "Gibberish" in request.messages[1].content
        else '{"quotes": ["a full moon"], "reason": "look", "verdict": "pass"}'
        if "moon" in request.messages[1].content
        else fail(request)
    )},
    "fake/eyes": {"judge": lambda request: see(request)},
    "fake/harsh": {"judge": '{"quotes": [], "reason": "no", "verdict": "fail"}'},
}

def see(request):
    shown = request.messages[1].images
    whole_way = len(shown) == 3 and all(uri.startswith("data:image/jpeg") for uri in shown)
    return '{"reason": "seen", "verdict": "%s"}' % ("pass" if whole_way else "fail")

def fail(request):
    raise ModelError("timeout", request.model, "no reply in time")
'''


@pytest.fixture
def judged(project: pytest.Pytester, scripted: Callable[[str], None]) -> pytest.Pytester:
    (project.path / "cases/judged.yaml").write_text(CASES)
    (project.path / "models.yaml").write_text("fake/eyes: {vision: true}")
    scripted(ANSWERS)
    return project


def cells(project: pytest.Pytester) -> dict[str, dict[str, Any]]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    return {case["id"]: case["cells"][0] for case in report["cases"]}


def opinions(found: dict[str, dict[str, Any]]) -> dict[str, tuple[Any, str, bool]]:
    """Per case, what became of its `judge` check."""
    checks = {case: cell["attempts"][0]["checks"][-1] for case, cell in found.items()}
    return {case: (c["passed"], c["finding"], c["advisory"]) for case, c in checks.items()}
