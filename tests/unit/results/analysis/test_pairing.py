"""Which cases are compared, why the others are not, and the one sentence that sums it up."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest
from made_up_rows import SUMS, cells

from pytest_autoweb.results.analysis.cell_numbers import CellSummary
from pytest_autoweb.results.analysis.comparison import (
    Comparison,
    p_text,
    points,
    signed,
    verdict_on,
)
from pytest_autoweb.results.analysis.pairing import (
    LeftOut,
    Pair,
    PairingRules,
    case_mean,
    mean_over_modes,
    pair_cases,
)
from pytest_autoweb.results.analysis.statistics import Interval

ARIA: dict[str, Any] = {"capture_mode": "ARIA"}
RAW: dict[str, Any] = {"capture_mode": "RAW_HTML"}


def paired(
    a: list[CellSummary], b: list[CellSummary], **rules: Any
) -> tuple[tuple[Pair, ...], tuple[LeftOut, ...]]:
    return pair_cases(a, b, PairingRules(**rules), ("old", "new"))


def left_out(a: list[CellSummary], b: list[CellSummary], **rules: Any) -> list[dict[str, Any]]:
    return [each.model_dump(exclude_defaults=True) for each in paired(a, b, **rules)[1]]


def reason(mode: str | None, why: str, side: str, message: str) -> dict[str, Any]:
    return {
        "case_id": "x",
        "case_path": "cases/shop.yaml",
        "capture_mode": mode,
        "reason": why,
        "side": side,
        "message": message,
    }


BROKEN = "no verdict on {}: infrastructure failed"
LEFT = "no verdict on {}: it left the recording of the site"
OPEN = "no verdict on {}: its checks could not be evaluated"

WHY = [
    ("P", "", reason(None, "missing", "b", "no such case on new")),
    ("", "P", reason(None, "missing", "a", "no such case on old")),
    ("B", "P", reason(None, "broken", "a", BROKEN.format("old"))),
    ("P", "BU", reason(None, "broken", "b", BROKEN.format("new"))),
    ("P", "US", reason(None, "ungraded", "b", OPEN.format("new"))),
    ("U", "U", reason(None, "ungraded", "both", OPEN.format("both sides"))),
    ("P", "OS", reason(None, "off_record", "b", LEFT.format("new"))),
    ("U", "B", reason(None, "broken", "both", BROKEN.format("both sides"))),
    ("B", "PB", reason(None, "broken", "a", BROKEN.format("old"))),
    ("S", "PU", reason(None, "not_run", "a", "not run on old")),
    ("S", "S", reason(None, "not_run", "both", "not run on both sides")),
]


@pytest.mark.parametrize(("a", "b", "why"), WHY)
def test_a_case_that_is_left_out_says_why(a: str, b: str, why: dict[str, Any]) -> None:
    ours, theirs = cells({"x": a}), cells({"x": b})

    assert left_out(ours, theirs) == [why]
    assert paired(ours, theirs)[0] == ()


def test_cases_are_paired_in_the_order_in_which_they_come() -> None:
    a = cells({"y": "P", "x": "F"})
    b = [*cells({"z": "P"}), *cells({"x": "H"}), *cells({"y": "F"})]

    pairs, out = paired(a, b)

    assert [pair.key for pair in pairs] == [("cases/shop.yaml", "y"), ("cases/shop.yaml", "x")]
    assert [each.case_id for each in out] == ["z"]
    assert pairs[1] == Pair(("cases/shop.yaml", "x"), (a[1],), (b[1],), ())


def test_a_case_is_known_by_its_file_and_its_id() -> None:
    _, out = paired(cells({"x": "P"}), cells({"x": "P"}, case_path="cases/other.yaml"))

    assert [(each.case_path, each.reason) for each in out] == [
        ("cases/shop.yaml", "missing"),
        ("cases/other.yaml", "missing"),
    ]


def test_graded_cells_are_sorted_by_mode_and_repeat() -> None:
    a = [*cells({"x": "FPBH"}), *cells({"x": "P"}, **ARIA)]

    ((pair,), _) = paired([*reversed(a)], a)

    assert [(cell.capture_mode, cell.repeat) for cell in pair.a] == [
        ("ARIA", 1),
        *(("ARIA_SNAPSHOT", repeat) for repeat in (1, 2, 4)),
    ]
    assert pair.a == pair.b


def test_a_case_with_broken_controls_is_left_out() -> None:
    why = reason(None, "controls", "both", "its controls are broken: its verdicts prove nothing")
    a, b = cells({"x": "P", "y": "P"}), cells({"x": "F", "y": "F"})

    pairs, _ = paired(a, b, doubtful=[("cases/shop.yaml", "x")])

    assert left_out(a, b, doubtful=[("cases/shop.yaml", "x")]) == [why]
    assert [pair.key[1] for pair in pairs] == ["y"]


@pytest.mark.parametrize("names", [("case",), ("checks",), ("case", "checks"), ("traffic",)])
def test_a_case_that_changed_is_left_out_unless_that_is_allowed(names: tuple[str, ...]) -> None:
    a = cells({"x": "P"})
    b = cells({"x": "F"}, checksums={**SUMS, **dict.fromkeys(names, "new")})

    message = f"changed between the sides: {' and '.join(names)}"
    assert left_out(a, b) == [{**reason(None, "changed", "both", message), "changed": names}]
    ((pair,), out) = paired(a, b, allow_changed=True)
    assert (pair.changed, out) == (names, ())


def test_what_is_asked_in_another_way_is_marked() -> None:
    other = {**SUMS, "prompts": "p2", "capture": "ARIA/1"}

    ((pair,), _) = paired(cells({"x": "P"}), cells({"x": "F"}, checksums=other))

    assert pair.changed == ("prompts", "capture")


def test_what_only_one_repeat_was_asked_in_another_way_is_marked_too() -> None:
    other = {**SUMS, "prompts": "p2"}
    twice = [*cells({"x": "P"}), *cells({"x": "P"}, checksums=other)]

    assert paired(twice, twice)[0][0].changed == ()
    assert paired(twice, cells({"x": "PP"}))[0][0].changed == ("prompts",)
    assert paired(cells({"x": "P"}), twice)[0][0].changed == ("prompts",)


def test_a_capture_is_compared_with_that_of_its_mode_and_the_rest_in_any() -> None:
    own = {**SUMS, "capture": "ARIA/1"}
    a = [*cells({"x": "P"}), *cells({"x": "P"}, checksums=own, **ARIA)]
    swapped = [*cells({"x": "P"}, checksums=own), *cells({"x": "P"}, **ARIA)]

    assert paired(a, a)[0][0].changed == ()
    assert paired(a, swapped)[0][0].changed == ("capture",)
    missing = cells({"x": "P"}, checksums={"case": "c1", "checks": "k1", "prompts": "p1"})
    assert paired(cells({"x": "P"}), missing)[0][0].changed == ("capture",)


def test_only_modes_that_both_ran_are_compared() -> None:
    a = [*cells({"x": "P"}), *cells({"x": "F"}, **ARIA)]
    b = [*cells({"x": "P"}), *cells({"x": "P"}, **RAW)]

    ((pair,), _) = paired(a, b)

    assert [cell.capture_mode for cell in (*pair.a, *pair.b)] == ["ARIA_SNAPSHOT"] * 2
    assert left_out(a, b) == [
        reason("ARIA", "missing", "b", "not run in ARIA on new"),
        reason("RAW_HTML", "missing", "a", "not run in RAW_HTML on old"),
    ]


def test_a_mode_without_a_verdict_is_left_out_and_the_others_are_compared() -> None:
    a = [*cells({"x": "P"}), *cells({"x": "B"}, **ARIA), *cells({"x": "H"}, **RAW)]
    b = [*cells({"x": "F"}), *cells({"x": "P"}, **ARIA), *cells({"x": "F"}, **RAW)]

    ((pair,), _) = paired(a, b)

    assert [cell.capture_mode for cell in pair.a] == ["ARIA_SNAPSHOT", "RAW_HTML"]
    assert [cell.capture_mode for cell in pair.b] == ["ARIA_SNAPSHOT", "RAW_HTML"]
    assert left_out(a, b) == [reason("ARIA", "broken", "a", BROKEN.format("old"))]


def test_runs_in_other_modes_are_compared_only_where_that_is_wanted() -> None:
    a, b = cells({"x": "P"}), cells({"x": "F"}, **ARIA)

    ((pair,), out) = paired(a, b, across_captures=True)

    assert (pair.a, pair.b, out) == (tuple(a), tuple(b), ())
    assert [each["side"] for each in left_out(a, b)] == ["b", "a"]
    both = [*b, *cells({"x": "P"})]
    assert len(paired(a, both, across_captures=True)[0][0].b) == 1
    changed = cells({"x": "F"}, checksums={**SUMS, "case": "new"}, **ARIA)
    ((pair,), _) = paired(a, changed, across_captures=True, allow_changed=True)
    assert pair.changed[0] == "case"


def test_a_mean_is_over_repeats_then_over_modes() -> None:
    own = [*cells({"x": "PPF"}), *cells({"x": "H"}, **ARIA)]

    assert case_mean(own, {"passed"}) == Fraction(1, 3)
    assert case_mean(own, {"passed", "healed"}) == Fraction(5, 6)
    values = [Fraction(3), Fraction(0), Fraction(0), Fraction(5)]
    assert mean_over_modes(own, values) == 3
    with pytest.raises(ValueError, match="shorter"):
        mean_over_modes(own, values[:3])


# -- the sentence ----------------------------------------------------------------------


def side(label: str, value: float | None) -> Any:
    return SimpleNamespace(label=label, compared=SimpleNamespace(value=value))


def comparison(**fields: Any) -> Comparison:
    usual: dict[str, Any] = {
        "a": side("old", 0.5),
        "b": side("new", 0.75),
        "cases": [None] * 12,
        "left_out": (),
        "gained": 6,
        "lost": 1,
        "decisive": True,
        "difference": 0.25,
        "interval": Interval(low=0.1, high=0.404),
        "p": 0.0312,
        "p_holm": 0.0936,
        "family": 1,
        "detectable": 0.3661,
    }
    return cast(Comparison, SimpleNamespace(**{**usual, **fields}))


VERDICTS = [
    (
        {},
        "new passes more: 75% against 50% for old on the same 12 cases (95% +10 to +40, "
        "p = 0.031).",
    ),
    (
        {"difference": -0.25, "a": side("old", 0.75), "b": side("new", None)},
        "old passes more: 75% against 0% for new on the same 12 cases (95% +10 to +40, p = 0.031).",
    ),
    (
        {"difference": 0.0, "a": side("old", None)},
        "new passes more: 75% against 0% for old on the same 12 cases (95% +10 to +40, p = 0.031).",
    ),
    (
        {"difference": None, "interval": None},
        "new passes more: 75% against 50% for old on the same 12 cases (95% p = 0.031).",
    ),
    (
        {"family": 3},
        "new passes more: 75% against 50% for old on the same 12 cases (95% +10 to +40, "
        "p = 0.031, p = 0.094 corrected for 3 comparisons).",
    ),
    (
        {"difference": -0.25, "a": side("old", None), "family": 2},
        "old passes more: 0% against 75% for new on the same 12 cases (95% +10 to +40, "
        "p = 0.031, p = 0.094 corrected for 2 comparisons).",
    ),
    (
        {"decisive": False, "interval": None, "detectable": 0.360000001},
        "Not decisive: +25 points over 12 cases (95% p = 0.031); a difference of 36 "
        "points or more would probably have shown.",
    ),
    (
        {"decisive": False},
        "Not decisive: +25 points over 12 cases (95% +10 to +40, p = 0.031); a difference of 37 "
        "points or more would probably have shown.",
    ),
    (
        {"decisive": False, "gained": 5, "lost": 1, "detectable": 0.36},
        "Not decisive: +25 points over 12 cases (95% +10 to +40, p = 0.031); a difference of 36 "
        "points or more would probably have shown.",
    ),
    (
        {"decisive": False, "gained": 5, "lost": 0, "detectable": 0.3600001},
        "Not decisive: the sides differ in 5 of 12 cases, and with fewer than 6 no result could "
        "be significant; a difference of 37 points or more would probably have shown.",
    ),
    (
        {"decisive": False, "gained": 0, "lost": 0, "cases": [None], "detectable": None},
        "Too few cases to compare: 1 (6 needed).",
    ),
    (
        {"decisive": False, "gained": 0, "lost": 0, "cases": [None] * 6, "detectable": None},
        "Not decisive: the sides differ in none of 6 cases, and with fewer than 6 no result could "
        "be significant; with so few cases no difference would reliably have shown.",
    ),
    (
        {
            "decisive": None,
            "left_out": [
                SimpleNamespace(case_path="p", case_id=case) for case in ("x", "x", "y", "z")
            ],
        },
        "Nothing to compare: no case has a verdict on both sides (3 left out).",
    ),
]


@pytest.mark.parametrize(("fields", "sentence"), VERDICTS)
def test_the_verdict_on_a_comparison_is_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    assert verdict_on(comparison(**fields)) == sentence


@pytest.mark.parametrize(
    ("difference", "text"),
    [(0.184, "+18"), (-0.184, "−18"), (0.004, "0"), (-0.004, "0"), (0.0, "0"), (1.0, "+100")],
)
def test_a_difference_has_its_sign(difference: float, text: str) -> None:
    assert signed(difference) == text
    assert points(difference) == f"{text} points"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (None, "–"),
        (0.0, "< 0.001"),
        (0.00099, "< 0.001"),
        (0.001, "= 0.001"),
        (0.0312, "= 0.031"),
        (0.0999, "= 0.100"),
        (0.1, "= 0.10"),
        (0.456, "= 0.46"),
        (1.0, "= 1.00"),
    ],
)
def test_a_p_value_has_as_many_digits_as_it_needs(p: float | None, text: str) -> None:
    assert p_text(p) == text
    assert points(None) == "–"
