"""Measures by simulation what the intervals and tests of the report promise.

  python benchmarks/statistics_check.py              all tables
  python benchmarks/statistics_check.py --runs 200   roughly

Every simulated run has cases that differ in difficulty: each case draws its own chance to pass from
a beta distribution, and each repeat passes with that chance. `likeness` is how much the repeats of
a case resemble each other (their intraclass correlation): 1 means that all repeats of a case agree,
0 that cases do not differ at all.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from pytest_autoweb.results.analysis.statistics import (
    ALPHA,
    Interval,
    detectable_by_mcnemar,
    detectable_mean,
    difference_interval,
    holm,
    mcnemar,
    rate_interval,
    ratio_interval,
    score_interval,
    sign_flip,
    wilson,
)

Floats = Any
"""A NumPy array of floats."""
Intervals = Sequence[Interval | None]

CASES = (10, 20, 50, 200)
REPEATS = (1, 3, 5)
RATES = (0.05, 0.1, 0.3, 0.5, 0.8, 0.95)
LIKENESS = (0.2, 0.5, 0.8, 1.0)
RESAMPLES = 400


class Score(NamedTuple):
    """One method in one setting."""

    covered: float
    width: float


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="coverage of intervals, size and power of tests")
    parser.add_argument("--runs", type=int, default=1000, help="simulated runs per setting")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chance = np.random.default_rng(args.seed)
    for title, table in (
        ("Pass rate: share of 95% intervals that contain the true rate", rates),
        ("Mean score of cases with four checks: the same", scores),
        ("Difference of two pass rates: the same", differences),
        ("Ratio of costs: the same", ratios),
        ("Equal models: share of runs called decisive (5% at most is promised)", sizes),
        ("Equal models: share of runs with any decisive pair", families),
        ("Power at the difference called detectable (80% is promised)", powers),
    ):
        print(f"\n{title}\n", flush=True)
        for line in table(chance, args.runs):
            print(line, flush=True)


def rates(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield the coverage of intervals of one rate."""
    methods: dict[str, Callable[[Floats, int], Intervals]] = {
        "ours": lambda draws, m: [rate_interval(x.tolist(), [m] * len(x)) for x in draws],
        "t": lambda draws, m: t_intervals(draws),
        "bootstrap": lambda draws, m: bootstraps(draws, chance),
        "Wilson over trials": lambda draws, m: [
            wilson(min(x.sum() * m, len(x) * m), len(x) * m) for x in draws
        ],
    }
    yield row("cases", "repeats", *(f"{name}: mean / worst / width" for name in methods))
    for n, m in product(CASES, REPEATS):
        scores: dict[str, list[Score]] = {name: [] for name in methods}
        for rate, likeness in product(RATES, LIKENESS if m > 1 else (1.0,)):
            draws = trials(chance, chance.random((runs, n)), rate, likeness, m)
            for name, method in methods.items():
                scores[name].append(score(method(draws, m), rate))
        yield row(n, m, *map(summary, scores.values()))


def scores(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield the coverage of intervals of a mean score, each of a share of four equal points."""
    methods: dict[str, Callable[[Floats], Intervals]] = {
        "ours": lambda draws: [score_interval(x.tolist()) for x in draws],
        "t": t_intervals,
        "bootstrap": lambda draws: bootstraps(draws, chance),
    }
    yield row("cases", *(f"{name}: mean / worst / width" for name in methods))
    for n in CASES:
        found: dict[str, list[Score]] = {name: [] for name in methods}
        for rate, likeness in product(RATES, LIKENESS):
            draws = trials(chance, chance.random((runs, n)), rate, likeness, 4)
            for name, method in methods.items():
                found[name].append(score(method(draws), rate))
        yield row(n, *map(summary, found.values()))


def differences(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield the coverage of intervals of a paired difference."""
    methods: dict[str, Callable[[Floats], Intervals]] = {
        "ours": lambda draws: [difference_interval(x.tolist()) for x in draws],
        "t": t_intervals,
        "bootstrap": lambda draws: bootstraps(draws, chance),
    }
    pairs = ((0.5, 0.5), (0.3, 0.6), (0.9, 0.9), (0.9, 0.98), (0.8, 0.65), (0.1, 0.05))
    yield row("cases", "repeats", *(f"{name}: mean / worst / width" for name in methods))
    for n, m in product(CASES, REPEATS):
        scores: dict[str, list[Score]] = {name: [] for name in methods}
        for (a, b), likeness, tie in product(
            pairs, LIKENESS[1:] if m > 1 else (1.0,), (0.0, 0.5, 0.9)
        ):
            before, after = two_models(chance, runs, n, (a, b), likeness, tie, m)
            for name, method in methods.items():
                scores[name].append(score(method(after - before), b - a))
        yield row(n, m, *map(summary, scores.values()))


def ratios(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield the coverage of intervals of a ratio of costs that vary between cases (lognormal)."""
    yield row("cases", "spread", "ours: covered / width", "bootstrap: covered / width")
    for n, spread in product((5, *CASES), (0.5, 1.0)):
        common = chance.normal(0, spread, (runs, n))
        before = np.exp(common + chance.normal(0, spread / 2, (runs, n)))
        after = 1.3 * np.exp(common + chance.normal(0, spread / 2, (runs, n)))
        ours = [ratio_interval(a.tolist(), b.tolist()) for a, b in zip(before, after, strict=True)]
        weights = chance.multinomial(n, np.full(n, 1 / n), RESAMPLES).T
        drawn = (after @ weights) / (before @ weights)
        other = between(*np.quantile(drawn, (0.025, 0.975), axis=1))
        scores = (score(ours, 1.3), score(other, 1.3))
        yield row(n, spread, *(f"{each.covered:.3f} / {each.width:.2f}" for each in scores))


def sizes(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield the false alarms of the tests between two equally good models."""
    yield row("cases", "repeats", *(f"{name}: mean / worst" for name in SIZES))
    for n, m in product(CASES, REPEATS):
        same, other, pooled = [], [], []
        for rate, likeness in product((0.3, 0.5, 0.8, 0.95), (0.2, 0.5, 0.8)):
            chances = case_chances(chance.random((runs, n)), rate, likeness)
            first, second = (chance.binomial(m, chances) / m for _ in range(2))
            same.append(alarms(first, second, m))
            first, second = two_models(chance, runs, n, (rate, rate), likeness, 0.5, m)
            other.append(alarms(first, second, m))
            found = [z_test(a, b, n * m) for a, b in zip(first, second, strict=True)]
            pooled.append(fmean(found))
        yield row(n, m, *(f"{fmean(v):.3f} / {max(v):.3f}" for v in (same, other, pooled)))


SIZES = ("same chances", "other chances", "z test over trials")
"""Models that pass each case with one and the same chance; models that find other cases hard, equal
on average only; these once more, by the unpaired test over all trials that many tools print."""


def families(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield the false alarms among several equal models, with and without Holm's correction."""
    yield row("models", "pairs", "with Holm", "without")
    for models in (2, 3, 5):
        corrected = plain = 0
        for _ in range(runs):
            chances = case_chances(chance.random((1, 50)), 0.6, 0.5)[0]
            passed = [chance.random(50) < chances for _ in range(models)]
            found = [
                mcnemar(int((a & ~b).sum()), int((b & ~a).sum()))
                for a, b in combinations(passed, 2)
            ]
            corrected += min(holm(found)) <= ALPHA
            plain += min(found) <= ALPHA
        pairs = models * (models - 1) // 2
        yield row(models, pairs, f"{corrected / runs:.3f}", f"{plain / runs:.3f}")


def powers(chance: np.random.Generator, runs: int) -> Iterator[str]:
    """Yield how often a true difference is found that a run calls detectable."""
    yield row("cases", "repeats", "detectable, mean", "found")
    for n, m in product((8, *CASES), REPEATS):
        sizes, found = [], []
        for _ in range(20):
            before, after = two_models(chance, 1, n, (0.5, 0.5), 0.6, 0.5, m)
            size = detectable_now((after - before)[0], m)
            if size is not None:
                sizes.append(size)
                pair = (0.5 - size / 2, 0.5 + size / 2)
                before, after = two_models(chance, max(1, runs // 20), n, pair, 0.6, 0.5, m)
                for values in after - before:
                    found.append(p_value(values, m) <= ALPHA and values.mean() > 0)
        yield row(n, m, f"{fmean(sizes):.2f}", f"{fmean(found):.2f}")


def detectable_now(values: Floats, m: int) -> float | None:
    if m == 1:
        return detectable_by_mcnemar(len(values), float((values != 0).mean()))
    return detectable_mean(values.tolist())


def case_chances(hardness: Floats, rate: float, likeness: float) -> Floats:
    """Draw each case's chance to pass: beta distributed, with this mean and correlation."""
    if likeness >= 1:
        return (hardness < rate).astype(float)
    size = 1 / likeness - 1
    grid = np.linspace(0.0005, 0.9995, 1000)
    table = np.clip(stats.beta.ppf(1 - grid, rate * size, (1 - rate) * size), 0, 1)
    chances = np.interp(hardness, grid, table)
    return np.clip(chances + rate - table.mean(), 0, 1)


def trials(
    chance: np.random.Generator, hardness: Floats, rate: float, likeness: float, m: int
) -> Floats:
    """Return the share of passed repeats of each case."""
    return chance.binomial(m, case_chances(hardness, rate, likeness)) / m


def two_models(
    chance: np.random.Generator,
    runs: int,
    n: int,
    pair: tuple[float, float],
    likeness: float,
    tie: float,
    m: int,
) -> tuple[Floats, Floats]:
    """Draw two models on the same cases; `tie` is how far they find the same cases hard."""
    first = chance.standard_normal((runs, n))
    second = tie * first + np.sqrt(1 - tie * tie) * chance.standard_normal((runs, n))
    return (
        trials(chance, special.ndtr(first), pair[0], likeness, m),
        trials(chance, special.ndtr(second), pair[1], likeness, m),
    )


def p_value(values: Floats, m: int) -> float:
    if m == 1:
        return mcnemar(int((values < 0).sum()), int((values > 0).sum()))
    return sign_flip([Fraction(round(value * m), m) for value in values]).p


def alarms(a: Floats, b: Floats, m: int) -> float:
    return fmean(p_value(y - x, m) <= ALPHA for x, y in zip(a, b, strict=True))


def z_test(a: Floats, b: Floats, n: int) -> bool:
    """Tell whether two shares of n trials differ, as if all trials were independent."""
    pooled = (a.mean() + b.mean()) / 2
    error = np.sqrt(2 * pooled * (1 - pooled) / n)
    return bool(error > 0 and abs(a.mean() - b.mean()) / error > 1.96)


def t_intervals(draws: Floats) -> Intervals:
    n = draws.shape[1]
    reach = stats.t.ppf(0.975, n - 1) * draws.std(axis=1, ddof=1) / np.sqrt(n)
    return between(draws.mean(axis=1) - reach, draws.mean(axis=1) + reach)


def bootstraps(draws: Floats, chance: np.random.Generator) -> Intervals:
    """Return percentile bootstrap intervals over cases."""
    n = draws.shape[1]
    drawn = draws @ chance.multinomial(n, np.full(n, 1 / n), RESAMPLES).T / n
    return between(*np.quantile(drawn, (0.025, 0.975), axis=1))


def between(low: Floats, high: Floats) -> Intervals:
    return [Interval(low=a, high=b) for a, b in zip(low, high, strict=True)]


def score(intervals: Intervals, truth: float) -> Score:
    known = [each for each in intervals if each is not None]
    inside = fmean(each.low - 1e-9 <= truth <= each.high + 1e-9 for each in known)
    return Score(inside, fmean(each.high - each.low for each in known))


def summary(scores: Sequence[Score]) -> str:
    covered = [each.covered for each in scores]
    return f"{fmean(covered):.3f} / {min(covered):.3f} / {fmean(s.width for s in scores):.2f}"


def row(*values: object) -> str:
    return "| " + " | ".join(map(str, values)) + " |"


if __name__ == "__main__":
    main()
