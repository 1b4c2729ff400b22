"""Gates on a run alone: what fails a run, what only gets a notice, what bad settings say."""

from collections.abc import Iterable, Iterator, Mapping
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_rows import cells, run

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.values.flag_texts import LeastRate, percent
from pytest_autoweb.report.gates.built_in_gates import GATES
from pytest_autoweb.report.gates.case_groups import CaseGroup, read_groups
from pytest_autoweb.report.gates.gate_context import Gate, GateContext, Spending
from pytest_autoweb.report.gates.gate_decision import evaluate_gates, verdict_of
from pytest_autoweb.report.gates.gate_policy import GatePolicy, read_limits
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.analysis.controls import NOOP, ORACLE
from pytest_autoweb.results.runs.side_files import GateResult

MODEL = "m"


def made_up(outcomes: Mapping[str, str], day: int = 0, **changes: Any) -> RunRows:
    return run(cells(outcomes, **changes), day=day)


def gates(rows: RunRows, policy: GatePolicy) -> dict[str, GateResult]:
    return {result.name: result for result in evaluate_gates(rows, policy)}


def test_a_pass_rate_counts_first_attempts_case_by_case() -> None:
    rows = made_up({"a": "PPPP", "b": "F", "c": "H", "d": "PF"})

    result = gates(rows, GatePolicy(min_pass_rate=38))["pass rate"]

    assert result.passed is False
    assert result.message.startswith("first attempt 38% (")  # (1 + 0 + 0 + 0.5) / 4 = 37.5 %
    assert gates(rows, GatePolicy(min_pass_rate=37.5))["pass rate"].passed is True


@pytest.mark.parametrize("letter", "BUS")
def test_a_missing_score_counts_as_not_passed(letter: str) -> None:
    result = gates(made_up({"a": "P", "b": letter}), GatePolicy(min_pass_rate=60))["pass rate"]

    assert result.passed is False
    assert result.details[0] == "1 cell without a verdict, counted as not passed"


def test_infrastructure_that_fails_everything_is_an_error_and_not_a_rate() -> None:
    rows = run(cells({"a": "B", "b": "U"}), cells({"a": "P"}, "other"))

    results = evaluate_gates(rows, GatePolicy(min_pass_rate=0))

    assert [(r.name, r.model, r.passed) for r in results] == [
        ("infrastructure", MODEL, False),
        ("pass rate", MODEL, True),
        ("pass rate", "other", True),
    ]
    assert verdict_of(results) is False


@given(
    letters=st.lists(st.text("PHFBUS", min_size=1, max_size=4), min_size=1, max_size=6),
    least=st.floats(0, 100),
    at=st.integers(0, 5),
)
@settings(deadline=None, max_examples=60)
def test_turning_any_cell_into_a_failure_never_helps(
    letters: list[str], least: float, at: int
) -> None:
    names = [f"case{i}" for i in range(len(letters))]
    policy = GatePolicy(min_pass_rate=least)
    before = verdict_of(evaluate_gates(made_up(dict(zip(names, letters, strict=True))), policy))
    worse = [*letters]
    worse[at % len(worse)] = "B" * len(worse[at % len(worse)])

    after = verdict_of(evaluate_gates(made_up(dict(zip(names, worse, strict=True))), policy))

    assert not (before is False and after is True)


def test_a_rate_with_a_confidence_fails_only_if_its_bound_is_below() -> None:
    usual = made_up({f"c{n}": "P" if n < 7 else "F" for n in range(10)})
    low = made_up({f"c{n}": "P" if n < 3 else "F" for n in range(10)})
    policy = GatePolicy(min_pass_rate=80, confidence=95)

    held = gates(usual, policy)["pass rate"]
    lost = gates(low, policy)["pass rate"]

    assert held.passed is True
    assert held.message == (
        "first attempt 70%, 7 of 10, at most 91% at 95%, one-sided: does not rule out 80%"
    )
    assert lost.passed is False
    assert lost.message.endswith("at most 61% at 95%, one-sided: rules out 80%")
    assert gates(usual, GatePolicy(min_pass_rate=80))["pass rate"].passed is False


@pytest.mark.parametrize("cases", [5, 13, 20, 60])
def test_a_rate_with_a_confidence_fails_who_deserves_it_as_seldom_as_it_says(cases: int) -> None:
    policy = GatePolicy(min_pass_rate=80, confidence=95)
    failing = [
        passed
        for passed in range(cases + 1)
        if gates(made_up({f"c{n}": "P" if n < passed else "F" for n in range(cases)}), policy)[
            "pass rate"
        ].passed
        is False
    ]

    # The chance of each number of passes, of a model whose rate is the one that is asked for.
    assert 0 < sum(comb(cases, k) * 0.8**k * 0.2 ** (cases - k) for k in failing) <= 0.05


def test_a_score_is_asked_over_the_cases_with_points_and_may_be_asked_on_its_bound() -> None:
    points = cells({"a": "P", "b": "F", "c": "B"}, with_points=True)
    rows = [
        *(
            row.model_copy(update={"first_score": score})
            for row, score in zip(points, (1.0, 0.5, None), strict=True)
        ),
        *cells({"d": "F"}),
    ]

    missed = gates(run(rows), GatePolicy(min_score=LeastRate(60)))["score"]
    bound = gates(run(rows), GatePolicy(min_score=LeastRate(60, 95)))["score"]
    lost = gates(run(rows), GatePolicy(min_score=LeastRate(95, 95)))["score"]

    assert missed.passed is False
    assert missed.message.startswith("50% of the points in 3 cases (95% ")
    assert missed.message.endswith(" is below 60%")
    assert gates(run(rows), GatePolicy(min_score=LeastRate(50)))["score"].passed is True
    assert bound.passed is True
    assert bound.message.endswith("at 95%, one-sided: does not rule out 60%")
    assert lost.passed is False


def test_a_score_without_points_is_not_decided() -> None:
    result = gates(made_up({"a": "P"}), GatePolicy(min_score=LeastRate(60)))["score"]

    assert (result.passed, result.message) == (None, "no check of its cases carries `points`")


def test_a_least_score_leaves_failed_cells_of_cases_with_points_to_the_gate() -> None:
    asked = GatePolicy(min_score=LeastRate(60))
    (plain,), (graded,) = cells({"a": "F"}), cells({"a": "F"}, with_points=True)

    assert asked.asks_anything
    assert (asked.decides_on(plain), asked.decides_on(graded)) == (False, True)


def test_a_plain_rate_that_is_missed_says_how_often_that_is_chance() -> None:
    rows = made_up({f"c{n}": "P" if n < 7 else "F" for n in range(10)})

    (detail,) = gates(rows, GatePolicy(min_pass_rate=80))["pass rate"].details

    assert detail == (
        "80% lies inside the 95% interval: a model that deserves it fails in 32% of runs; 80%@95 "
        "decides on the bound"
    )


def test_a_switch_needs_a_proof_and_cells_without_a_verdict_are_none() -> None:
    known = {f"c{n:03}": "P" for n in range(120)}
    both = run(cells(known, model="in-use"), cells(known, model="cheaper"))
    few = run(cells({"a": "P"}, model="in-use"), cells({"a": "P"}, model="cheaper"))
    broke = {**known, **{f"c{n:03}": "B" for n in range(20)}}
    broken = run(cells(known, model="in-use"), cells(broke, model="cheaper"))
    policy = GatePolicy(limits={"switch": 5.0})

    proof, no_proof, lost = (gates(rows, policy)["switch"] for rows in (both, few, broken))

    assert (proof.model, proof.passed) == ("cheaper", True)
    assert proof.message.startswith("in-use → cheaper: safe, not worse by more than 5 points")
    assert no_proof.passed is False
    assert "cannot tell whether" in no_proof.message
    assert lost.passed is False
    assert "not safe, worse by more than 5 points" in lost.message


def test_one_model_alone_has_nothing_to_switch_from() -> None:
    policy = GatePolicy(limits={"switch": 5.0})
    rows = made_up({"a": "P"})

    assert gates(rows, policy)["switch"].passed is None


def test_a_single_model_is_compared_with_that_of_the_baseline() -> None:
    known = {f"c{n:03}": "P" for n in range(120)}
    before, now = run(cells(known, model="old")), run(cells(known, model="new"), day=1)

    (found,) = evaluate_gates(now, GatePolicy(limits={"switch": 5.0}), baseline=before)

    assert (found.model, found.passed) == ("new", True)
    assert found.message.startswith("old in ")


def test_every_cell_of_a_pinned_case_has_to_pass_without_any_flag() -> None:
    rows = run(cells({"pay": "PHU"}, must_pass=True), cells({"rest": "F"}))

    results = evaluate_gates(rows, GatePolicy())

    assert [result.name for result in results] == ["must pass"]
    assert results[0].message == "1 of 3 pinned cells did not pass"
    assert results[0].details == (f"pay on {MODEL} (ARIA_SNAPSHOT, repeat 3): ungraded",)
    assert evaluate_gates(made_up({"rest": "F"}), GatePolicy()) == ()


def test_controls_are_not_gated() -> None:
    noop = cells({"a": "FFF"}, model="builtin/noop", must_pass=True)

    assert evaluate_gates(run(noop), GatePolicy(min_pass_rate=100)) == ()


SMOKE = CaseGroup(name="smoke", tags=["smoke"], min_pass_rate=100)
NEW = CaseGroup(name="new", cases=["beta-*"], min_pass_rate=100, soft=True)


def test_a_group_has_a_rate_of_its_own_and_a_soft_one_only_warns() -> None:
    rows = run(
        cells({"login": "P"}, tags=("smoke",)), cells({"beta-x": "F", "beta-y": "P", "z": "P"})
    )
    policy = GatePolicy(min_pass_rate=100, groups=(SMOKE, NEW))

    results = gates(rows, policy)

    assert results["group smoke: pass rate"].passed is True
    beta = results["group new: pass rate"]
    assert (beta.passed, beta.soft, beta.failed) == (False, True, False)
    assert results["pass rate"].passed is True
    assert results["pass rate"].details == ("2 cells of soft groups left out",)
    assert verdict_of(results.values()) is True


def test_a_pinned_group_fails_for_one_cell_and_an_empty_one_says_what_tag_was_meant() -> None:
    pinned = CaseGroup(name="pinned", tags=["smoke"], must_pass=True)
    empty = CaseGroup(name="empty", tags=["smok"], min_pass_rate=50)
    rows = run(cells({"a": "PF", "b": "P"}, tags=("smoke",)))

    results = gates(rows, GatePolicy(groups=(pinned, empty)))

    assert results["must pass"].passed is False
    assert results["group pinned: must pass"].message == "2 of 3 cells passed"
    assert results["group empty"].passed is None
    assert "did you mean 'smoke'?" in results["group empty"].message
    by_name = CaseGroup(name="named", cases=["zzz*"], min_pass_rate=50)
    told = gates(rows, GatePolicy(groups=(by_name,)))["group named"].message
    assert told == "no case of this run belongs to the group"


def test_only_a_gate_on_success_decides_on_a_failed_cell() -> None:
    plain, pinned = made_up({"a": "F"}).rows[0], made_up({"a": "F"}, must_pass=True).rows[0]
    smoke = made_up({"a": "F"}, tags=("smoke",)).rows[0]
    of_cost = GatePolicy(limits=read_limits("cost:20%", "x"), max_cost=3.0, compare="latest")

    assert not GatePolicy().decides_on(plain)
    assert not of_cost.decides_on(plain)
    assert GatePolicy(min_pass_rate=0).decides_on(plain)
    assert GatePolicy(limits=read_limits("pass_rate:5%", "x")).decides_on(plain)
    assert not GatePolicy(min_pass_rate=0).decides_on(pinned)
    assert GatePolicy(groups=(SMOKE,)).decides_on(smoke)
    assert not GatePolicy(groups=(SMOKE,)).decides_on(plain)
    assert not GatePolicy(
        min_pass_rate=0, groups=(CaseGroup(name="p", tags=["smoke"], must_pass=True),)
    ).decides_on(smoke)


@pytest.mark.parametrize(
    ("spending", "cost", "passed"),
    [
        (Spending(0.9, 0), 0.5, True),
        (Spending(0.9, 2), 0.5, False),
        (None, 0.5, True),
        (None, 0.6, False),
        (None, None, False),
    ],
)
def test_the_cost_cap_fails_when_calls_were_refused_or_money_is_unknown(
    spending: Spending | None, cost: float | None, passed: bool
) -> None:
    rows = made_up({"a": "P", "b": "P"}, cost_usd=cost, cost_complete=cost is not None)

    results = evaluate_gates(rows, GatePolicy(max_cost=1.0), spending=spending)

    assert [(result.name, result.passed) for result in results] == [("cost cap", passed)]


def test_limits_are_read_and_bad_ones_say_what_is_allowed() -> None:
    limits = read_limits(" pass_rate:5%, cost:20% ,duration:0.5%", "--x")

    assert dict(limits) == {"pass_rate": 5.0, "cost": 20.0, "duration": 0.5}
    assert dict(read_limits("", "--x")) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("passrate:5%", "'passrate' cannot be compared; did you mean 'pass_rate'? (allowed: "),
        ("pass_rate", "'pass_rate': needs a percentage, as in 'pass_rate:5%,cost:20%'"),
        ("cost:20", "'cost:20': needs a percentage, as in 'cost:20%'"),
        ("pass_rate:0.05", "'pass_rate:0.05': needs a percentage, as in 'pass_rate:5%'"),
        ("5%", "'5%' cannot be compared; name the metric, as in 'pass_rate:5%' (allowed: "),
        ("cost:-1%", "'cost:-1%': needs a percentage"),
        ("cost:nan%", "'cost:nan%': needs a percentage"),
        ("cost:1%,cost:2%", "'cost' is given twice"),
    ],
)
def test_a_bad_limit_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_limits(text, "--x")

    assert str(caught.value).startswith(f"--x: {message}")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('tag = ["a"]', "unknown key 'tag'; did you mean 'tags'?"),
        ('tags = "a"', "tags: Input should be a valid list"),
        ('tags = ["a"]\nmin_pass_rate = 120', "min_pass_rate: Input should be less than"),
        ('tags = ["a"]\nmin_pass_rate = 0.9', "min_pass_rate: 0.9 can be read as a share or"),
        ('tags = ["a"]\nmin_pass_rate = 1', "min_pass_rate: 1 can be read as a share or as"),
        (
            'tags = ["a"]\nmin_pass_rate = "80%@40"',
            "min_pass_rate: '80%@40': the confidence",
        ),
        ('tags = ["a"]\nmin_pass_rate = "9x"', "min_pass_rate: '9x' is not a percentage"),
        ("must_pass = true", "no case can belong to it"),
        ('cases = ["a*"]', "asks for nothing"),
    ],
)
def test_a_bad_group_is_one_sentence_with_its_table(
    tmp_path: Path, table: str, message: str
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.autoweb.groups.smoke]\n{table}\n", encoding="utf-8")

    with pytest.raises(SettingsError) as caught:
        read_groups(file)

    assert str(caught.value).startswith(f"{file}: [tool.autoweb.groups.smoke]: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[tool.autoweb]\ngroups = 1", "[tool.autoweb.groups] has to hold one table per group"),
        (
            "[tool.autoweb.groups]\nsmoke = 1",
            "[tool.autoweb.groups.smoke]: has to be a table of `tags`, `cases`, ",
        ),
        ("groups = ", "not valid TOML: "),
    ],
)
def test_what_holds_no_tables_of_groups_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(content, encoding="utf-8")

    with pytest.raises(SettingsError) as caught:
        read_groups(file)
    assert str(caught.value).startswith(f"{file}: {message}")
    with pytest.raises(SettingsError) as caught:
        read_groups(tmp_path)
    assert str(caught.value) == f"{tmp_path}: Is a directory"


def test_groups_are_read_from_pyproject_and_a_project_without_any_has_none(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"

    assert read_groups(file) == ()
    for without in ("", "[tool.other]", "[tool.autoweb]\nstore = 'x'", "tool = 1"):
        file.write_text(without, encoding="utf-8")
        assert read_groups(file) == ()

    file.write_text(
        '[tool.autoweb.groups.smoke]\ntags = ["smoke"]\nmin_pass_rate = 100\n'
        '[tool.autoweb.groups."new ones"]\ncases = ["beta-*"]\nsoft = true\n',
        encoding="utf-8",
    )

    assert read_groups(file) == (SMOKE, CaseGroup(name="new ones", cases=["beta-*"], soft=True))


def test_a_gate_that_raises_has_failed_and_the_others_still_decide() -> None:
    def torn(context: GateContext) -> Iterator[GateResult]:
        yield GateResult(name="torn", passed=True, message="")
        raise LookupError("no such file")

    def talking(context: GateContext) -> Any:
        return ["fine"]

    def quiet(context: GateContext) -> tuple[GateResult, ...]:
        return ()

    def weighing(context: GateContext) -> tuple[GateResult, ...]:
        return (GateResult(name="weighing", passed=len(context.hard) == 1, message=""),)

    made = [
        Gate("weighing", "weighs", weighing),
        Gate("torn", "tears", torn, order=2),
        Gate("talking", "talks", talking, order=1),
        Gate("quiet", "is quiet", quiet, order=0),
    ]
    try:
        for gate in made:
            GATES.register(gate)
        results = evaluate_gates(run(cells({"a": "P"}), cells({"a": "P"}, NOOP)), GatePolicy())
    finally:
        for gate in made:
            GATES.remove(gate.name)

    told = [result for result in results if result.name in {gate.name for gate in made}]
    assert [(each.name, each.passed) for each in told] == [
        ("talking", False),
        ("torn", False),
        ("weighing", True),
    ]
    assert "TypeError: it returned 'fine'" in told[0].message
    assert "LookupError: no such file" in told[1].message
    assert verdict_of(told) is False


@pytest.mark.parametrize(
    ("passed", "verdict"),
    [
        ([], None),
        ([(None, False)], None),
        ([(False, True)], None),
        ([(True, False), (None, False), (False, True)], True),
        ([(True, False), (False, False)], False),
    ],
)
def test_a_run_is_good_when_no_gate_that_counts_failed(
    passed: list[tuple[bool | None, bool]], verdict: bool | None
) -> None:
    results = [GateResult(name="g", passed=each, message="", soft=soft) for each, soft in passed]

    assert verdict_of(results) is verdict


def test_what_gates_look_at_leaves_the_controls_and_soft_groups_to_whom_they_concern() -> None:
    rows = run(cells({"a": "P", "new": "F"}), cells({"a": "F"}, NOOP), cells({"a": "P"}, ORACLE))
    soft = GatePolicy(groups=(CaseGroup(name="new", cases=["new"], soft=True),))
    context = GateContext(rows, soft)

    def seen(kept: Iterable[CellSummary]) -> list[tuple[str, str]]:
        return [(each.case_id, each.model) for each in kept]

    assert seen(context.contestants) == [("a", "m"), ("new", "m")]
    assert seen(context.hard) == [("a", "m")]
    assert seen(context.compared.rows) == [("a", "m"), ("a", NOOP), ("a", ORACLE)]
    assert context.pairs == ()
    (pair,) = GateContext(rows, soft, baseline=run(cells({"a": "F", "new": "P"}))).pairs
    assert (pair.gained, pair.lost, len(pair.cases)) == (1, 0, 1)


@pytest.mark.parametrize(
    ("text", "meant"), [("0.9", "90% or 0.9%"), ("1", "100% or 1%"), (" .005", "0.5% or 0.005%")]
)
def test_a_rate_that_may_be_a_share_is_refused_with_both_ways_to_write_it(
    text: str, meant: str
) -> None:
    with pytest.raises(ValueError, match=f"write {meant}"):
        percent(text)


def test_a_rate_with_its_sign_is_what_it_says(tmp_path: Path) -> None:
    table = '[tool.autoweb.groups.a]\ntags = ["a"]\nmin_pass_rate = "0.9%"\n'
    (tmp_path / "pyproject.toml").write_text(table)

    assert (percent("0.9%"), percent("1%"), percent("0"), percent("90"), percent("1.5")) == (
        *(0.9, 1.0, 0.0),
        *(90.0, 1.5),
    )
    (group,) = read_groups(tmp_path / "pyproject.toml")
    assert group.min_pass_rate == 0.9


def test_cells_that_were_stopped_are_not_shown_to_pass() -> None:
    stopped: dict[str, Any] = {"not_needed": "steered"}
    rows = run(
        cells({"a": "P"}),
        cells({"b": "S"}, must_pass=True, **stopped),
        cells({"a": "S", "c": "S"}, "other", **stopped),
    )

    found = {(gate.name, gate.model): gate for gate in evaluate_gates(rows, GatePolicy())}
    asked = {
        (gate.name, gate.model): gate for gate in evaluate_gates(rows, GatePolicy(min_pass_rate=90))
    }

    assert found["must pass", ""].passed is False
    # The rate is that of the cells that ran, and a model without any has none.
    assert asked["pass rate", MODEL].passed is True
    assert asked["stopped", "other"].passed is False
    assert "all its cells (2) were stopped" in asked["stopped", "other"].message
