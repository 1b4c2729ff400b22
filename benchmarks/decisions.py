"""False alarms and power of every decision that a report or a gate draws from cells, by simulation.

    python benchmarks/decisions.py                the table of docs/statistics.md, some minutes
    python benchmarks/decisions.py --runs 100     roughly

As in `statistics_check.py`, cases differ in difficulty: each draws its own chance to pass, and two
models find partly the same cases hard. The decisions are those of the package itself: simulated
cells go in, and what is counted is what a reader would be told.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from statistics_check import (  # type: ignore[import-not-found]
    case_chances,
    row,
    two_models,
)

from pytest_autoweb.base.values.flag_texts import LeastRate
from pytest_autoweb.report.gates.gate_context import GateContext
from pytest_autoweb.report.gates.gate_policy import GatePolicy
from pytest_autoweb.report.gates.outcome_gates import least_scores, pass_rates
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.analysis.chance import above_chance
from pytest_autoweb.results.analysis.comparison import Comparison, compare_models
from pytest_autoweb.results.analysis.scores import score_difference
from pytest_autoweb.results.analysis.switching import switch_of

Floats = Any
"""A NumPy array of floats."""

CASES = (20, 60, 200)
LIKENESS, TIE = 0.5, 0.5
CHECKS = 4
"""Checks of a case with points, each worth one."""


class Decision(NamedTuple):
    """One decision, with a state in which it would be wrong, and one in which it is right."""

    name: str
    wrong: str
    right: str
    told: Callable[[np.random.Generator, int, bool], bool]
    """Whether a simulated run of so many cases is told it; in the wrong state, or in the right."""
    promised: str = "5"
    """The most false alarms in percent; empty if nothing is promised."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="simulated runs per number")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for line in table(np.random.default_rng(args.seed), args.runs):
        print(line, flush=True)


def table(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield for each decision how often it is told when it is wrong, and when it is right."""
    sizes = ", ".join(map(str, CASES))
    yield row(
        "what is told",
        f"wrong when, and then told in % of runs ({sizes} cases)",
        f"right when, and then told ({sizes})",
        "promised",
    )
    yield row("---", "---", "---", "---")
    for each in DECISIONS:
        often = [
            " / ".join(f"{_share(each, chance, runs, n, right=right):.1f}" for n in CASES)
            for right in (False, True)
        ]
        states = zip((each.wrong, each.right), often, strict=True)
        yield row(each.name, *(f"{state}: {found}" for state, found in states), each.promised)


def _share(
    decision: Decision, chance: np.random.Generator, runs: int, n: int, *, right: bool
) -> float:
    return 100 * fmean(decision.told(chance, n, right) for _ in range(runs))


def _is_decisive(chance: np.random.Generator, n: int, right: bool, *, repeats: int) -> bool:
    pair = (0.5, 0.7) if right else (0.6, 0.6)
    a, b = two_models(chance, 1, n, pair, LIKENESS, TIE, repeats)
    found = compared(a, b, repeats)
    return found.decisive is True


def _is_safe(chance: np.random.Generator, n: int, right: bool, *, margin: float) -> bool:
    pair = (0.6, 0.6) if right else (0.6, 0.6 - margin)
    a, b = two_models(chance, 1, n, pair, LIKENESS, TIE, 1)
    found = compared(a, b, 1)
    return switch_of(found, margin).answer == "safe"


def _is_not_safe(chance: np.random.Generator, n: int, right: bool, *, margin: float) -> bool:
    pair = (0.6, 0.4) if right else (0.6, 0.6 - margin)
    a, b = two_models(chance, 1, n, pair, LIKENESS, TIE, 1)
    found = compared(a, b, 1)
    return switch_of(found, margin).answer == "not safe"


def _rate_fails(
    chance: np.random.Generator, n: int, right: bool, *, confidence: float | None
) -> bool:
    chances = case_chances(chance.random((1, n)), 0.65 if right else 0.8, LIKENESS)
    rows = cells("m", _drawn(chance, 1, chances), 1)
    policy = GatePolicy(min_pass_rate=80, confidence=confidence)
    return any(gate.failed for gate in pass_rates(GateContext(run_of(rows), policy)))


def _score_fails(chance: np.random.Generator, n: int, right: bool) -> bool:
    chances = case_chances(chance.random((1, n)), 0.6 if right else 0.7, LIKENESS)
    rows = scored("m", _drawn(chance, CHECKS, chances) / CHECKS)
    policy = GatePolicy(min_score=LeastRate(70, 95))
    return any(gate.failed for gate in least_scores(GateContext(run_of(rows), policy)))


def _scores_differ(chance: np.random.Generator, n: int, right: bool) -> bool:
    pair = (0.55, 0.65) if right else (0.6, 0.6)
    a, b = two_models(chance, 1, n, pair, LIKENESS, TIE, CHECKS)
    pairs = zip(scored("a", a[0]), scored("b", b[0]), strict=True)
    found = score_difference((((x,), (y,)) for x, y in pairs), "first_attempt")
    return found is not None and not found.interval.low <= 0 <= found.interval.high


def _drawn(chance: np.random.Generator, tries: int, chances: Floats) -> Floats:
    """Return how many tries of each case succeed."""
    drawn: Floats = chance.binomial(tries, chances)
    return drawn[0]


def _is_above_chance(chance: np.random.Generator, n: int, right: bool) -> bool:
    # Each case is played three times at random; a model that is no better has the same chances.
    hardness = chance.random((1, n))
    floor = case_chances(hardness, 0.3, LIKENESS)
    model = case_chances(hardness, 0.5, LIKENESS) if right else floor
    plays = _drawn(chance, 3, floor) / 3
    rows = cells("m", _drawn(chance, 1, model), 1)
    found = above_chance(
        rows, {(r.case_path, r.case_id): p for r, p in zip(rows, plays, strict=True)}
    )
    return found is not None and found.interval is not None and found.interval.low > 0


DECISIONS = (
    Decision(
        "compare: one model passes more, one cell a case",
        "equal at 60 %",
        "50 % and 70 %",
        partial(_is_decisive, repeats=1),
    ),
    Decision(
        "the same, three repeats",
        "equal at 60 %",
        "50 % and 70 %",
        partial(_is_decisive, repeats=3),
    ),
    *(
        Decision(
            f"`switch:{margin:.0%}`: safe",
            f"{margin * 100:.0f} points worse",
            "equal at 60 %",
            partial(_is_safe, margin=margin),
        )
        for margin in (0.05, 0.1)
    ),
    Decision(
        "`switch:5%`: not safe",
        "5 points worse",
        "20 points worse",
        partial(_is_not_safe, margin=0.05),
    ),
    Decision(
        "`min-pass-rate: 80%` fails",
        "80 % in the long run",
        "65 %",
        partial(_rate_fails, confidence=None),
        "",
    ),
    Decision(
        "`min-pass-rate: 80%@95` fails",
        "80 % in the long run",
        "65 %",
        partial(_rate_fails, confidence=95),
    ),
    Decision("`min-score: 70%@95` fails", "70 % in the long run", "60 %", _score_fails),
    Decision("compare: the scores differ", "equal at 60 %", "55 % and 65 %", _scores_differ),
    Decision("above chance", "as good as random, 30 %", "50 %", _is_above_chance, "2.5"),
)
"""Those of an early stop (`--autoweb-until`) are simulated by a script of their own."""


def compared(a: Floats, b: Floats, repeats: int) -> Comparison:
    """Return what the package says of two models with these shares of passed repeats."""
    rows = [
        *cells("a", np.rint(a[0] * repeats), repeats),
        *cells("b", np.rint(b[0] * repeats), repeats),
    ]
    (found,) = compare_models(run_of(rows))
    return found


def cells(model: str, passed: Floats, repeats: int) -> list[CellSummary]:
    """Return cells of which so many pass in each case."""
    return [
        _cell(model, case, repeat, "passed" if repeat <= count else "failed")
        for case, count in enumerate(passed)
        for repeat in range(1, repeats + 1)
    ]


def scored(model: str, scores: Sequence[float]) -> list[CellSummary]:
    """Return a cell with points for each score."""
    return [
        _cell(model, case, 1, "passed" if score == 1 else "failed", float(score))
        for case, score in enumerate(scores)
    ]


def _cell(
    model: str, case: int, repeat: int, outcome: Any, score: float | None = None
) -> CellSummary:
    return CellSummary(
        case_id=f"c{case}",
        case_path="cases.yaml",
        model=model,
        capture_mode="ARIA",
        repeat=repeat,
        outcome=outcome,
        checksums={},
        with_points=score is not None,
        score=score,
        first_score=score,
    )


def run_of(rows: Sequence[CellSummary]) -> RunRows:
    """Return a run of these cells."""
    return RunRows(
        ts="20260101_000000_000",
        started=datetime(2026, 1, 1, tzinfo=UTC),
        models=tuple(dict.fromkeys(each.model for each in rows)),
        environment={},
        rows=tuple(rows),
    )


if __name__ == "__main__":
    main()
