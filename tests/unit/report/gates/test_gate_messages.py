"""What each gate says, whole: a reader of a pipeline's log has nothing else."""

from types import SimpleNamespace
from typing import Any

import pytest
from made_up_rows import SUMS, cells, run

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.values.flag_texts import LeastRate, Until
from pytest_autoweb.report.gates.case_groups import CaseGroup, groups_file
from pytest_autoweb.report.gates.gate_context import Spending
from pytest_autoweb.report.gates.gate_decision import evaluate_gates, verdict_of
from pytest_autoweb.report.gates.gate_policy import GatePolicy, read_limits, read_policy
from pytest_autoweb.results.analysis.cell_numbers import RunRows, by_model
from pytest_autoweb.results.analysis.counted_outcomes import first_attempt_rate
from pytest_autoweb.results.analysis.past_runs import history_of
from pytest_autoweb.results.runs.side_files import GateResult

NAMES = [f"case{i:02}" for i in range(12)]
GOOD = dict.fromkeys(NAMES, "P")
AGAINST: dict[str, Any] = {"compare": "latest"}


def told(rows: RunRows, policy: GatePolicy, **more: Any) -> list[dict[str, Any]]:
    """What the gates decided, without what is as usual."""
    results = evaluate_gates(rows, policy, **more)
    return [result.model_dump(exclude_defaults=True) for result in results]


def one(rows: RunRows, policy: GatePolicy, name: str, **more: Any) -> dict[str, Any]:
    (found,) = [each for each in told(rows, policy, **more) if each["name"] == name]
    return found


# -- on a run alone --------------------------------------------------------------------


def test_a_model_without_any_verdict_is_told_with_its_counts() -> None:
    rows = run(cells({"a": "BBU", "b": "S"}))

    assert one(rows, GatePolicy(min_pass_rate=0), "infrastructure") == {
        "name": "infrastructure",
        "model": "m",
        "passed": False,
        "message": "none of 4 cells came to a verdict (2 broken, 1 ungraded, 1 skipped); "
        "that is an error, not a pass rate of 0%",
    }
    assert told(rows, GatePolicy()) == []


@pytest.mark.parametrize(
    "asked", [{"min_pass_rate": 0.0}, {"groups": (CaseGroup(name="g", tags=["x"], soft=True),)}]
)
def test_infrastructure_is_looked_at_wherever_something_is_asked(asked: dict[str, Any]) -> None:
    names = [each["name"] for each in told(run(cells({"a": "B"})), GatePolicy(**asked))]

    assert names[0] == "infrastructure"


def test_pinned_cells_are_listed_up_to_twenty() -> None:
    fine = run(cells({"a": "PH"}, must_pass=True))
    bad = run(cells({f"c{n:02}": "F" for n in range(22)}, must_pass=True))

    assert told(fine, GatePolicy()) == [
        {"name": "must pass", "passed": True, "message": "2 of 2 pinned cells passed"}
    ]
    (found,) = told(bad, GatePolicy())
    assert found["message"] == "22 of 22 pinned cells did not pass"
    assert found["details"] == (
        *(f"c{n:02} on m (ARIA_SNAPSHOT): failed" for n in range(20)),
        "and 2 more",
    )
    twenty = run(cells({f"c{n:02}": "F" for n in range(20)}, must_pass=True))
    assert len(told(twenty, GatePolicy())[0]["details"]) == 20


@pytest.mark.parametrize(
    ("least", "message", "details"),
    [
        (50, "first attempt 50% (15–85%), 2 of 4 reaches 50%", ()),
        (
            60.5,
            "first attempt 50% (15–85%), 2 of 4 is below 60.5%",
            (
                "60.5% lies inside the 95% interval: a model that deserves it fails in 52% of "
                "runs; 60.5%@95 decides on the bound",
            ),
        ),
        (90, "first attempt 50% (15–85%), 2 of 4 is below 90%", ()),
    ],
)
def test_a_rate_is_told_with_its_interval(
    least: float, message: str, details: tuple[str, ...]
) -> None:
    rows = run(cells({"a": "P", "b": "P", "c": "F", "d": "H"}))

    found = one(rows, GatePolicy(min_pass_rate=least), "pass rate")

    assert (found["model"], found["message"]) == ("m", message)
    assert found.get("details", ()) == details


def test_a_rate_is_reached_but_for_rounding() -> None:
    rows = run(cells({"a": "P", "b": "P", "c": "F"}))

    assert one(rows, GatePolicy(min_pass_rate=200 / 3), "pass rate")["passed"] is True
    assert one(rows, GatePolicy(min_pass_rate=66.6667), "pass rate")["passed"] is False


def test_a_run_of_soft_groups_alone_has_nothing_to_rate() -> None:
    soft = CaseGroup(name="new", cases=["a"], soft=True)

    found = told(run(cells({"a": "FP"})), GatePolicy(min_pass_rate=50, groups=(soft,)))

    assert found == [
        {
            "name": "pass rate",
            "model": "m",
            "passed": None,
            "message": "there are no cells to rate",
            "details": ("2 cells of soft groups left out",),
        },
        {
            "name": "group new",
            "model": "m",
            "passed": None,
            "message": "nothing is demanded of it; first attempt 50% (5–95%), 1 of 2",
            "soft": True,
            "notice": True,
        },
    ]


def test_a_group_is_told_for_each_model() -> None:
    pinned = CaseGroup(name="pay", tags=["pay"], must_pass=True, min_pass_rate=50)
    rows = run(
        cells({"a": "PF"}, tags=("pay",)),
        cells({"a": "PH"}, "n", tags=("pay",)),
        cells({"b": "F"}),
    )

    found = told(rows, GatePolicy(groups=(pinned,)))

    assert [(each["name"], each.get("model"), each["passed"]) for each in found] == [
        ("must pass", None, False),
        ("group pay: must pass", "m", False),
        ("group pay: pass rate", "m", True),
        ("group pay: must pass", "n", True),
        ("group pay: pass rate", "n", True),
    ]
    assert found[1]["message"] == "1 of 2 cells passed"
    assert found[1]["details"] == ("a on m (ARIA_SNAPSHOT, repeat 2): failed",)
    assert found[3]["message"] == "2 of 2 cells passed"


def test_a_soft_group_decides_nothing() -> None:
    soft = CaseGroup(name="new", cases=["a"], must_pass=True, min_pass_rate=100, soft=True)
    missing = CaseGroup(name="none", cases=["z"], min_pass_rate=100, soft=True)

    results = evaluate_gates(run(cells({"a": "F"})), GatePolicy(groups=(soft, missing)))

    assert [result.soft for result in results] == [True, True, True]
    assert [result.failed for result in results] == [True is False, False, False]
    assert results[-1].message == "no case of this run belongs to the group"
    assert verdict_of(results) is None


def test_what_was_spent_is_told() -> None:
    rows = run(cells({"a": "P", "b": "P"}, cost_usd=0.25))

    assert told(rows, GatePolicy(max_cost=0.5)) == [
        {"name": "cost cap", "passed": True, "message": "$0.5000 of $0.5 spent"}
    ]
    refused = told(rows, GatePolicy(max_cost=2), spending=Spending(0.125, 3))
    assert refused == [
        {
            "name": "cost cap",
            "passed": False,
            "message": "$0.1250 of $2 spent",
            "details": ("3 calls not made for fear of exceeding it",),
        }
    ]
    unknown = run(cells({"a": "P"}, cost_usd=None), cells({"b": "P"}, cost_complete=False))
    (found,) = told(unknown, GatePolicy(max_cost=2), spending=Spending(1, 1))
    assert found["details"] == (
        "1 call not made for fear of exceeding it",
        "2 cells made calls without a known price",
    )
    (allowed,) = told(unknown, GatePolicy(max_cost=2, allow_unpriced=True))
    assert (allowed["passed"], allowed["message"]) == (True, "$0.0100 of $2 spent")
    (free,) = told(rows, GatePolicy(max_cost=0), spending=Spending(0, 0))
    assert free["passed"] is True


def test_rows_of_a_model_stay_together_and_controls_are_left_out() -> None:
    rows = run(cells({"a": "P"}), cells({"a": "F"}, "n"), cells({"b": "P"}))

    models = by_model(rows.rows)

    assert {model: [row.case_id for row in own] for model, own in models.items()} == {
        "m": ["a", "b"],
        "n": ["a"],
    }
    assert first_attempt_rate(models["n"]).value == 0
    control = run(cells({"a": "F"}, "builtin/oracle", cost_usd=9.0), cells({"a": "P"}))
    policy = GatePolicy(
        min_pass_rate=100, max_cost=1, groups=(CaseGroup(name="g", cases=["a"], must_pass=True),)
    )
    assert verdict_of(evaluate_gates(control, policy)) is True


@pytest.mark.parametrize(
    ("passed", "verdict"),
    [
        ([], None),
        ([(None, False)], None),
        ([(True, False), (None, False)], True),
        ([(True, False), (False, False)], False),
        ([(True, False), (False, True)], True),
        ([(False, True)], None),
    ],
)
def test_the_verdict_is_that_of_all_gates_with_a_say(
    passed: list[tuple[bool | None, bool]], verdict: bool | None
) -> None:
    results = [GateResult(name="g", passed=p, message="", soft=soft) for p, soft in passed]

    assert verdict_of(results) is verdict
    assert any(result.failed for result in results) == (verdict is False)


def test_a_gate_is_titled_by_its_model() -> None:
    assert GateResult(name="cost", model="m", passed=None, message="").title == "cost (m)"
    assert GateResult(name="cost", passed=None, message="").title == "cost"


# -- what is asked ---------------------------------------------------------------------


def test_a_case_is_soft_when_it_belongs_to_soft_groups_alone() -> None:
    soft = CaseGroup(name="s", tags=["s"], soft=True)
    hard = CaseGroup(name="h", tags=["h"], min_pass_rate=1)
    pinned = CaseGroup(name="p", tags=["p"], must_pass=True)
    soft_pinned = CaseGroup(name="sp", tags=["sp"], must_pass=True, soft=True)
    policy = GatePolicy(groups=(soft, hard, pinned, soft_pinned))

    def row(*tags: str, must_pass: bool = False) -> Any:
        return cells({"a": "P"}, tags=tags, must_pass=must_pass)[0]

    assert [policy.is_soft(row(*tags)) for tags in ((), ("s",), ("s", "h"), ("h",))] == [
        *(False, True, False, False)
    ]
    assert not policy.is_soft(row("s", must_pass=True))
    assert [policy.is_pinned(row(tag)) for tag in ("s", "h", "p", "sp")] == [
        *(False, False, True, False)
    ]
    assert policy.is_pinned(row(must_pass=True))
    assert [policy.decides_on(row(tag)) for tag in ("s", "h", "p", "sp", "x")] == [
        *(True, True, False, True, False)
    ]
    assert [group.name for group in policy.groups_of(row("h", "s"))] == ["s", "h"]


@pytest.mark.parametrize(
    ("asked", "anything"),
    [
        ({}, False),
        ({"min_pass_rate": 0.0}, True),
        ({"groups": (CaseGroup(name="g", tags=["x"], soft=True),)}, True),
        ({"limits": {"cost": 1.0}}, True),
        ({"max_cost": 1.0, "compare": "latest"}, False),
    ],
)
def test_a_policy_may_ask_for_nothing(asked: dict[str, Any], anything: bool) -> None:
    assert GatePolicy(**asked).asks_anything is anything


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("cost:0%", {"cost": 0}),
        ("cost:999999.9%", {"cost": 999999.9}),
        (" , cost : 5% , ", {"cost": 5}),
        ("duration:1e2%", {"duration": 100}),
    ],
)
def test_a_limit_is_a_percentage(text: str, limits: dict[str, float]) -> None:
    assert dict(read_limits(text, "--x")) == limits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cost:1000000%",
            "--x: 'cost:1000000%': needs a percentage, as in 'pass_rate:5%,cost:20%'",
        ),
        ("cost:", "--x: 'cost:': needs a percentage, as in 'pass_rate:5%,cost:20%'"),
        ("cost", "--x: 'cost': needs a percentage, as in 'pass_rate:5%,cost:20%'"),
        ("cost:%", "--x: 'cost:%': needs a percentage, as in 'pass_rate:5%,cost:20%'"),
        ("cost:5", "--x: 'cost:5': needs a percentage, as in 'cost:5%'"),
        ("cost:5:6%", "--x: 'cost:5:6%': needs a percentage, as in 'pass_rate:5%,cost:20%'"),
        ("duration:1%,duration:1%", "--x: 'duration' is given twice"),
        ("speed:1%", "--x: 'speed' cannot be compared"),
        ("5", "--x: '5' cannot be compared; name the metric, as in 'pass_rate:5%'"),
        ("0.05", "--x: '0.05' cannot be compared; name the metric, as in 'pass_rate:5%'"),
        ("1.5", "--x: '1.5' cannot be compared; name the metric, as in 'pass_rate:1.5%'"),
        ("0.5%", "--x: '0.5%' cannot be compared; name the metric, as in 'pass_rate:0.5%'"),
        ("cost:1", "--x: 'cost:1': needs a percentage, as in 'cost:1%'"),
        ("cost:0", "--x: 'cost:0': needs a percentage, as in 'cost:0%'"),
    ],
)
def test_any_other_limit_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read_limits(text, "--x")
    assert str(refused.value).startswith(message)


def test_a_file_of_groups_that_was_named_has_to_exist(tmp_path: Any) -> None:
    file = tmp_path / "groups.toml"
    with pytest.raises(
        SettingsError, match=r"^there is no file .*groups\.toml to read groups from"
    ):
        groups_file(file)

    file.write_text('[tool.autoweb.groups.g]\ntags = ["x"]\nsoft = true\n', encoding="utf-8")

    assert groups_file(file) == (CaseGroup(name="g", tags=["x"], soft=True),)


@pytest.mark.parametrize(
    ("compare", "fail", "compared"),
    [("", "", ""), ("", "cost:1%", "latest"), ("run1", "cost:1%", "run1"), ("run1", "", "run1")],
)
def test_a_limit_alone_compares_with_the_latest_run(
    tmp_path: Any, compare: str, fail: str, compared: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.autoweb.groups.g]\ntags = ["x"]\nsoft = true\n', encoding="utf-8"
    )
    settings: Any = SimpleNamespace(
        rootdir=tmp_path,
        min_pass_rate=LeastRate(12.5),
        min_score=LeastRate(40.0),
        compare=compare,
        compare_fail=fail,
        baseline_days=3,
        max_cost=2.5,
        until=Until(),
        allow_unpriced=True,
    )

    assert read_policy(settings) == GatePolicy(
        min_pass_rate=12.5,
        min_score=LeastRate(40.0),
        groups=(CaseGroup(name="g", tags=["x"], soft=True),),
        limits={"cost": 1.0} if fail else {},
        compare=compared,
        baseline_days=3,
        max_cost=2.5,
        allow_unpriced=True,
    )
    settings.compare_fail = "speed:1%"
    with pytest.raises(SettingsError, match="--autoweb-compare-fail: 'speed' cannot"):
        read_policy(settings)


# -- against an earlier run ------------------------------------------------------------


def test_a_run_compared_with_is_named_and_its_age_counts_from_ninety_days() -> None:
    before, now = run(cells(GOOD), name="main"), run(cells(GOOD), day=90)

    assert one(now, GatePolicy(**AGAINST), "baseline", baseline=before) == {
        "name": "baseline",
        "passed": None,
        "message": "compared with main",
        "notice": True,
    }
    nameless = run(cells(GOOD), gates=True)
    found = one(now, GatePolicy(baseline_days=89, **AGAINST), "baseline", baseline=nameless)
    assert found["message"] == f"compared with {nameless.ts}"
    assert found["details"] == ("it is 90 days old, more than 89",)
    sharded = run(cells(GOOD), shard=(1, 2))
    partial = one(now, GatePolicy(**AGAINST), "baseline", baseline=sharded)
    assert partial["details"] == ("it is only a part of a run",)
    assert told(now, GatePolicy(), baseline=before) == []


def test_without_a_reason_there_is_no_earlier_run() -> None:
    assert told(run(cells(GOOD)), GatePolicy(**AGAINST)) == [
        {
            "name": "baseline",
            "passed": None,
            "message": "nothing is compared: there is no earlier run",
            "notice": True,
        }
    ]


def drop(before: RunRows, now: RunRows, margin: str = "5%") -> dict[str, Any]:
    policy = GatePolicy(limits=read_limits(f"pass_rate:{margin}", "x"), **AGAINST)
    return one(now, policy, "drop of the pass rate", baseline=before)


def after(changed: dict[str, str], **more: Any) -> RunRows:
    return run(cells({**GOOD, **changed}, **more), day=1)


@pytest.mark.parametrize(
    ("lost", "margin", "message", "passed"),
    [
        (6, "5%", "−50.0 points over 12 cases (margin 5, p = 0.031): a significant drop", False),
        (5, "5%", "−41.7 points over 12 cases (margin 5, p = 0.062): not significant", True),
        (6, "50%", "−50.0 points over 12 cases (margin 50, p = 0.031): within the margin", True),
        (6, "49.9%", "−50.0 points over 12 cases (margin 49.9, p = 0.031): a sig", False),
        (0, "0%", "+0.0 points over 12 cases (margin 0, p = 1.000): within the margin", True),
    ],
)
def test_a_drop_is_told_with_its_margin_and_chance(
    lost: int, margin: str, message: str, passed: bool
) -> None:
    found = drop(run(cells(GOOD)), after(dict.fromkeys(NAMES[:lost], "F")), margin)

    assert found["message"].startswith(message)
    assert (found["passed"], found["model"]) == (passed, "m")
    assert len(found["details"]) >= 1


def test_a_rise_is_no_drop() -> None:
    before = run(cells({**GOOD, **dict.fromkeys(NAMES[:7], "F")}))

    assert drop(before, after({}))["message"].startswith("+58.3 points over 12 cases")
    assert drop(before, after({}))["passed"] is True


def test_cases_that_are_left_out_of_a_comparison_are_listed_up_to_twenty() -> None:
    many = {f"x{n:02}": "P" for n in range(25)}
    before = run(cells({**GOOD, **many}))
    now = run(cells(GOOD), cells(many, checksums={**SUMS, "case": "new"}), day=1)

    details = drop(before, now)["details"]

    at = details.index("25 cases left out")
    assert details[at + 1] == "x00: changed between the sides: case"
    assert len(details) == at + 21


def test_a_gate_that_only_missing_verdicts_break_says_so() -> None:
    found = drop(run(cells(GOOD)), after(dict.fromkeys(NAMES[:6], "B")))

    note = "cells without a verdict count as failed; without them the gate would hold"
    assert found["details"][0] == note
    assert found["message"].startswith("−50.0 points over 12 cases")
    plain = drop(run(cells(GOOD)), after(dict.fromkeys(NAMES[:6], "F") | {NAMES[7]: "B"}))
    assert note not in plain["details"]
    assert plain["message"].startswith("−54.5 points over 11 cases")


def test_verdicts_that_are_missing_in_places_the_earlier_run_did_not_have_are_not_filled_in() -> (
    None
):
    now = run(cells(GOOD), cells({f"new{n}": "B" for n in range(8)}), day=1)

    assert drop(run(cells(GOOD)), now)["message"].startswith("+0.0 points over 12 cases")


def growth(kind: str, margin: str, before: RunRows, now: RunRows, **more: Any) -> dict[str, Any]:
    policy = GatePolicy(limits=read_limits(f"{kind}:{margin}", "x"), **AGAINST, **more)
    return one(now, policy, kind, baseline=before)


def test_money_and_time_that_grew_are_told_with_their_interval() -> None:
    before = run(cells(GOOD))
    dear, slow = after({}, cost_usd=0.015), after({}, duration_ms=3000.0)

    assert growth("cost", "49%", before, dear) == {
        "name": "cost",
        "model": "m",
        "passed": False,
        "message": "+50% a cell (95%: +50% to +50%; margin 49%)",
    }
    assert growth("cost", "50.2%", before, dear)["passed"] is True
    assert growth("cost", "49.8%", before, dear)["passed"] is False
    assert growth("duration", "49%", before, slow)["passed"] is False
    assert growth("duration", "51%", before, slow)["passed"] is True
    assert growth("cost", "51%", before, dear)["passed"] is True
    assert growth("cost", "0%", dear, before)["message"].startswith("-33% a cell (95%: -33% to -33")
    assert growth("cost", "0%", dear, before)["passed"] is True


def test_money_that_may_not_have_grown_passes() -> None:
    before = run(cells(GOOD))
    now = run(
        cells(dict.fromkeys(NAMES[:11], "P"), cost_usd=0.009),
        cells({NAMES[11]: "P"}, cost_usd=0.1),
        day=1,
    )

    found = growth("cost", "20%", before, now)

    assert found["message"].startswith("+66% a cell (95%: -")
    assert found["passed"] is True


def test_money_that_is_unknown_is_told() -> None:
    before = run(cells(GOOD))
    unknown = run(
        cells(dict.fromkeys(NAMES[:10], "P")),
        cells(dict.fromkeys(NAMES[10:], "P"), cost_complete=False),
        cells(GOOD, "n", cost_usd=None),
        day=1,
    )

    found = growth("cost", "20%", before, unknown)

    assert found == {
        "name": "cost",
        "model": "m",
        "passed": False,
        "message": "the cost of 2 of 12 cells is unknown",
        "details": ("give the model prices: input_cost_per_mtok, output_cost_per_mtok",),
    }
    assert growth("cost", "20%", before, unknown, allow_unpriced=True)["passed"] is None
    both = run(cells(GOOD), cells(GOOD, "n", cost_usd=None), cells(GOOD, "o"), day=1)
    policy = GatePolicy(limits=read_limits("cost:20%", "x"), **AGAINST)
    told_of = told(both, policy, baseline=run(*(cells(GOOD, each) for each in "mno")))
    assert [(each["model"], each["passed"]) for each in told_of if each["name"] == "cost"] == [
        ("m", True),
        ("n", False),
        ("o", True),
    ]
    dear = after({}, cost_usd=0.015)
    nothing = growth("cost", "20%", run(cells(GOOD, cost_usd=None)), dear)
    assert nothing["message"] == "unknown in the run compared with, or no case can be compared"


@pytest.mark.parametrize(
    "other",
    [
        {"workers": 4},
        {"environment": {"platform": "Linux", "cpus": "8"}},
        {"environment": {"platform": "Darwin", "cpus": "2"}},
    ],
)
def test_time_on_another_machine_is_not_compared(other: dict[str, Any]) -> None:
    here: dict[str, Any] = {"environment": {"platform": "Linux", "cpus": "2"}, "workers": 1}
    before, now = run(cells(GOOD), **here), run(cells(GOOD), day=1, **{**here, **other})

    found = growth("duration", "50%", before, now)

    assert found["passed"] is None
    assert found["message"].startswith("not comparable: Linux, 2 CPUs, 1 workers before, ")
    assert found["model"] == "m"
    unknown = growth("duration", "50%", run(cells(GOOD), environment={}), now)
    assert unknown["message"].startswith("not comparable: ?, ? CPUs, ")


def test_steady_cases_are_told() -> None:
    earlier = [run(cells({"a": "PPPPP", "b": "PPPPP"}), day=-day) for day in (1, 2)]
    policy = GatePolicy(limits=read_limits("pass_rate:5%", "x"), **AGAINST)

    def steady(now: RunRows) -> dict[str, Any]:
        return one(now, policy, "steady cases", history=history_of(earlier, now))

    fine = steady(run(cells({"a": "PPPPP", "b": "P"})))
    broke = steady(run(cells({"a": "FFFFF", "b": "P"})))
    perhaps = steady(run(cells({"a": "F", "b": "P"})))

    assert fine == {
        "name": "steady cases",
        "model": "m",
        "passed": True,
        "message": "none of 2 cases that never failed before is shown to be broken",
    }
    assert (broke["passed"], broke["message"]) == (
        False,
        "1 of 2 cases that never failed before failed on every repeat",
    )
    assert broke["details"] == (
        "a (ARIA_SNAPSHOT): passed 10 of 10 in 2 earlier runs, now 0 of 5 (p = 0.001 over 2 cases)",
    )
    assert perhaps["passed"] is True
    assert perhaps["details"] == (
        "a (ARIA_SNAPSHOT): passed 10 of 10 in 2 earlier runs, now 0 of 1 (p = 0.182 over 2 cases)",
    )
    no_gate = told(run(cells({"a": "FFFFF"})), GatePolicy(**AGAINST), history=None)
    assert [each["name"] for each in no_gate] == ["baseline"]
