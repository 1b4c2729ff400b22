"""Gates against earlier runs: noise passes, a real drop fails, what is missing never helps."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_up_rows import SUMS, cells, run

from pytest_autoweb.report.gates.case_groups import CaseGroup
from pytest_autoweb.report.gates.gate_decision import evaluate_gates, verdict_of
from pytest_autoweb.report.gates.gate_policy import GatePolicy, read_limits
from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.past_runs import history_of
from pytest_autoweb.results.analysis.statistics import ALPHA, all_failures_late
from pytest_autoweb.results.runs.side_files import GateResult

NAMES = [f"case{i}" for i in range(12)]
GOOD = dict.fromkeys(NAMES, "P")


MODEL = "m"


def made_up(outcomes: Mapping[str, str], day: int = 0, **changes: Any) -> RunRows:
    return run(cells(outcomes, **changes), day=day)


def policy(limits: str = "pass_rate:5%", **changes: Any) -> GatePolicy:
    return GatePolicy(limits=read_limits(limits, "x"), compare="latest", **changes)


def compared(
    before: RunRows, after: RunRows, asked: GatePolicy | None = None
) -> dict[str, GateResult]:
    results = evaluate_gates(after, asked or policy(), baseline=before)
    return {result.name: result for result in results}


def after(changed: Mapping[str, str], **changes: Any) -> RunRows:
    return made_up({**GOOD, **changed}, day=1, **changes)


def test_without_a_baseline_there_is_a_notice_and_nothing_fails() -> None:
    results = evaluate_gates(made_up(GOOD), policy(), missing="the folder is empty")

    assert [(r.name, r.passed, r.message) for r in results] == [
        ("baseline", None, "nothing is compared: the folder is empty")
    ]
    assert verdict_of(results) is None


def test_an_old_partial_or_failed_baseline_is_used_and_said() -> None:
    before = made_up(GOOD).model_copy(update={"interrupted": True, "gates": False})

    result = compared(before, made_up(GOOD, day=91))["baseline"]

    assert result.details == (
        "it is 91 days old, more than 90",
        "it is only a part of a run",
        "it failed its own gates",
    )


@pytest.mark.parametrize(("lost", "passed"), [(0, True), (5, True), (6, False), (12, False)])
def test_a_drop_fails_when_it_is_beyond_the_margin_and_significant(lost: int, passed: bool) -> None:
    # Exact McNemar: five cases lost and none gained give p = 0.0625, six 0.03125.
    result = compared(made_up(GOOD), after(dict.fromkeys(NAMES[:lost], "F")))

    assert result["drop of the pass rate"].passed is passed


def test_a_significant_drop_within_the_margin_passes() -> None:
    rows = after(dict.fromkeys(NAMES[:6], "F"))

    result = compared(made_up(GOOD), rows, policy("pass_rate:50%"))["drop of the pass rate"]

    assert result.passed is True
    assert "within the margin" in result.message


@pytest.mark.parametrize("letter", ["B", "U", "S"])
def test_cells_that_lost_their_verdict_count_as_failed(letter: str) -> None:
    result = compared(made_up(GOOD), after(dict.fromkeys(NAMES[:6], letter)))

    drop = result["drop of the pass rate"]
    assert drop.passed is False
    assert drop.details[0].startswith("cells without a verdict count as failed")
    # What had no verdict before cannot be lost.
    before = made_up({**GOOD, **dict.fromkeys(NAMES[:6], "B")})
    again = compared(before, after(dict.fromkeys(NAMES[:6], letter)))
    assert again["drop of the pass rate"].passed is True


def test_cases_that_changed_are_left_out_with_their_names() -> None:
    new = after(dict.fromkeys(NAMES, "F"), checksums={**SUMS, "case": "rewritten"})

    result = compared(made_up(GOOD), new)["drop of the pass rate"]

    assert result.passed is None
    assert result.message == "no case of the two runs can be compared"
    assert "12 cases left out" in result.details


def test_soft_groups_have_no_part_in_the_comparison() -> None:
    soft = CaseGroup(name="new", cases=["case[0-5]"], soft=True)
    rows = after(dict.fromkeys(NAMES[:6], "F"))

    result = compared(made_up(GOOD), rows, policy(groups=(soft,)))

    assert result["drop of the pass rate"].passed is True


@pytest.mark.parametrize(
    ("now", "runs", "alarm"),
    [
        ("FFFFF", 2, True),  # 1 / C(15, 5) over two cases
        ("FFFFF", 0, False),
        ("FFFFP", 2, False),
        ("FFFFH", 2, False),
        ("FFFBU", 2, True),  # the three verdicts there are: 1 / C(13, 3)
        ("BBBBB", 2, False),
        ("F", 3, False),  # 1 / 16 is more than 5 % already for one case
    ],
)
def test_a_steady_case_that_fails_on_every_repeat_is_found_once_history_is_long_enough(
    now: str, runs: int, alarm: bool
) -> None:
    earlier = [made_up({"a": "PPPPP", "b": "PFPFP"}, day=-day) for day in range(1, runs + 1)]
    current = made_up({"a": now, "b": "PFPFP"})
    history = history_of(earlier, current) if earlier else None

    results = evaluate_gates(current, policy(), history=history, missing="none")

    steady = [result for result in results if result.name == "steady cases"]
    assert [result.passed for result in steady] == [not alarm] * bool(runs)
    if alarm:
        assert steady[0].details[0].startswith("a (ARIA_SNAPSHOT): passed 10 of 10 in 2 earlier")


@pytest.mark.parametrize(
    ("now", "others", "p"),
    [("FFFFF", 1, "0.001"), ("F", 1, "0.182"), ("F", 10, "1.000"), ("F", 11, "1.000")],
)
def test_the_surprise_at_a_steady_case_is_told_over_all_cases(
    now: str, others: int, p: str
) -> None:
    mixed = {f"b{number}": "PFPFP" for number in range(others)}
    earlier = [made_up({"a": "PPPPP", **mixed}, day=-day) for day in (1, 2)]
    current = made_up({"a": now, **mixed})

    results = evaluate_gates(current, policy(), history=history_of(earlier, current))

    (steady,) = [result for result in results if result.name == "steady cases"]
    assert steady.details == (
        f"a (ARIA_SNAPSHOT): passed 10 of 10 in 2 earlier runs, now 0 of {len(now)} "
        f"(p = {p} over {others + 1} cases)",
    )


def test_a_steady_case_is_not_judged_by_runs_of_another_version() -> None:
    earlier = [made_up({"a": "PPPPP"}, day=-d, checksums={"case": "old"}) for d in range(1, 5)]
    current = made_up({"a": "FFFFF"})

    results = evaluate_gates(current, policy(), history=history_of(earlier, current))

    assert [r.passed for r in results if r.name == "steady cases"] == [True]


def test_cost_that_grew_for_sure_fails_and_unknown_cost_never_passes() -> None:
    before = made_up(GOOD)
    dearer, dear = after({}, cost_usd=0.015), policy("cost:20%")

    assert compared(before, dearer, dear)["cost"].passed is False
    assert "+50% a cell" in compared(before, dearer, dear)["cost"].message
    assert compared(before, dearer, policy("cost:60%"))["cost"].passed is True
    unknown = after({}, cost_usd=None, cost_complete=False)
    assert compared(before, unknown, dear)["cost"].passed is False
    assert compared(before, unknown, policy("cost:20%", allow_unpriced=True))["cost"].passed is None
    assert compared(unknown, dearer, dear)["cost"].passed is None


def test_where_nothing_costs_anything_before_and_after_the_cost_holds() -> None:
    free = compared(made_up(GOOD, cost_usd=0.0), after({}, cost_usd=0.0), policy("cost:20%"))

    assert (free["cost"].passed, free["cost"].message) == (
        True,
        "no cell costs anything, as before",
    )


def test_a_cost_that_only_one_case_shows_is_not_decided() -> None:
    one = {"a": "P"}

    result = compared(made_up(one), made_up(one, day=1, cost_usd=1.0), policy("cost:20%"))["cost"]

    assert result.passed is None
    assert result.message == "too few cases to tell a change from noise"


def test_time_is_compared_on_the_same_kind_of_machine_only() -> None:
    slow = after({}, duration_ms=4000.0)
    moved = slow.model_copy(update={"workers": 4})

    assert compared(made_up(GOOD), slow, policy("duration:50%"))["duration"].passed is False
    assert compared(made_up(GOOD), moved, policy("duration:50%"))["duration"].passed is None


@pytest.mark.parametrize("workers", [1, 4])
def test_the_time_of_every_model_is_decided_on(workers: int) -> None:
    both = {"a": {"duration_ms": 4000.0}, "b": {}}
    before = run(*(cells(GOOD, model) for model in both), workers=1)
    now = run(*(cells(GOOD, model, **changes) for model, changes in both.items()), day=1)
    now = now.model_copy(update={"workers": workers})

    results = evaluate_gates(now, policy("duration:50%"), baseline=before)

    decided = [(r.model, r.passed) for r in results if r.name == "duration"]
    alike = workers == before.workers
    assert decided == [("a", False if alike else None), ("b", True if alike else None)]


def test_every_model_is_decided_on_and_a_new_one_has_no_baseline() -> None:
    before = run(cells(GOOD), cells(GOOD, "old"))
    now = run(cells(dict.fromkeys(NAMES, "F")), cells(GOOD, "new"), day=1)

    results = evaluate_gates(now, policy(), baseline=before)

    drops = [(r.model, r.passed) for r in results if r.name == "drop of the pass rate"]
    assert drops == [(MODEL, False)]
    assert results[0].details == ("it has no model new, which is therefore not compared",)


def test_the_documentation_says_how_long_a_history_has_to_be() -> None:
    text = (Path(__file__).parents[4] / "docs" / "ci.md").read_text(encoding="utf-8")
    table = text[text.index("| cases | 1 repeat |") :].split("\n\n")[0].splitlines()[2:]
    rows = [[int(cell.replace(",", "")) for cell in row.strip("| ").split("|")] for row in table]

    assert len(rows) == 4
    for looked_at, *trials in rows:
        for repeats, enough in zip((1, 2, 3, 5), trials, strict=True):
            chances = [all_failures_late(n, repeats, repeats) for n in (enough - 1, enough)]
            assert [chance * looked_at <= ALPHA for chance in chances] == [False, True]


def test_the_pipelines_of_the_documentation_are_yaml() -> None:
    docs = Path(__file__).parents[4] / "docs"
    page = (docs / "ci.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((pipelines/[\w-]+\.yml)\)", page)
    texts = re.findall(r"```yaml\n(.*?)```", page, re.S)
    texts += [(docs / path).read_text(encoding="utf-8") for path in linked]

    assert [len(yaml.safe_load(text)) for text in texts] == [1, 1, 3, 4, 5]
