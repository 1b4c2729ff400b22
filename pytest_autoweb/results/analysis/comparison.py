"""Comparison of two sides on the same cases, and the claims it supports; pure."""

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil
from typing import Literal

from msgspec import Struct

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, CellSummary, RunRows
from pytest_autoweb.results.analysis.chance import passed_by_chance
from pytest_autoweb.results.analysis.comparison_sides import (
    Change,
    Half,
    Side,
    change_of,
    costs,
    side_of,
    times,
)
from pytest_autoweb.results.analysis.controls import broken_controls, control_rows, is_control
from pytest_autoweb.results.analysis.counted_outcomes import GOOD, Metric
from pytest_autoweb.results.analysis.fair_changes import fair_cells, page_change
from pytest_autoweb.results.analysis.pairing import (
    QUESTION,
    LeftOut,
    Pair,
    PairingRules,
    case_mean,
    pair_cases,
)
from pytest_autoweb.results.analysis.scores import ScoreDifference, score_difference
from pytest_autoweb.results.analysis.served import changes_between, changes_within, served_of
from pytest_autoweb.results.analysis.statistics import (
    ALPHA,
    LEAST_DISCORDANT,
    Interval,
    detectable_by_mcnemar,
    detectable_mean,
    difference_interval,
    holm,
    mcnemar,
    sign_flip,
)
from pytest_autoweb.results.records import Outcome, Record


def verdict_on(comparison: "Comparison", *, executed: bool = False) -> str:
    """Return the verdict on a comparison.

    Args:
        comparison: the comparison.
        executed: whether it is one of cases without checks, by whether every step ran.
    """
    if comparison.decisive is None:
        left_out = len({(each.case_path, each.case_id) for each in comparison.left_out})
        told = "ran" if executed else "has a verdict"
        return f"Nothing to compare: no case {told} on both sides ({left_out} left out)."
    if not comparison.decisive:
        verdict = _not_decisive(comparison)
    else:
        verdict = _decisive(comparison, "runs every step more often" if executed else "passes more")
    return f"Execution only, no proof: {verdict}" if executed else verdict


def points(difference: float | None) -> str:
    """Return a difference of rates in points, such as `+18 points`."""
    return "–" if difference is None else f"{signed(difference)} points"


def signed(difference: float) -> str:
    """Return a share in hundredths with its sign, such as `+18`."""
    rounded = round(difference * 100)
    return f"{rounded:+d}".replace("-", "−") if rounded else "0"


def signed_range(interval: Interval) -> str:
    """Return an interval of differences in hundredths, such as `+2 to +21`."""
    return f"{signed(interval.low)} to {signed(interval.high)}"


def p_text(p: float | None) -> str:
    """Return the text that follows the letter p, such as `= 0.031` or `< 0.001`."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"= {p:.2f}" if p >= 0.1 else f"= {p:.3f}"


def _decisive(comparison: "Comparison", does: str) -> str:
    a, b = comparison.a, comparison.b
    better, worse = (a, b) if (comparison.difference or 0) < 0 else (b, a)
    return (
        f"{better.label} {does}: {better.compared.value or 0:.0%} against "
        f"{worse.compared.value or 0:.0%} for {worse.label} on the same {len(comparison.cases)} "
        f"cases ({_numbers(comparison)})."
    )


def _not_decisive(comparison: "Comparison") -> str:
    cases, differing = len(comparison.cases), comparison.gained + comparison.lost
    if cases < LEAST_DISCORDANT:
        return f"Too few cases to compare: {cases} ({LEAST_DISCORDANT} needed)."
    if differing < LEAST_DISCORDANT:
        differ = f"differ in {differing}" if differing else "differ in none"
        why = (
            f"the sides {differ} of {_count(cases)}, and with fewer than {LEAST_DISCORDANT} "
            "no result could be significant"
        )
    else:
        why = f"{points(comparison.difference)} over {_count(cases)} ({_numbers(comparison)})"
    return f"Not decisive: {why}; {_detectable(comparison.detectable)}."


def _detectable(detectable: float | None) -> str:
    if detectable is None:
        return "with so few cases no difference would reliably have shown"
    return f"a difference of {_up(detectable)} points or more would probably have shown"


def _numbers(comparison: "Comparison") -> str:
    interval, p = comparison.interval, comparison.p
    between = f"{signed_range(interval)}, " if interval else ""
    text = f"95% {between}p {p_text(p)}"
    if comparison.family > 1:
        text += f", p {p_text(comparison.p_holm)} corrected for {comparison.family} comparisons"
    return text


def _up(difference: float) -> int:
    """Return a difference in whole points, rounded up so that the claim stays true."""
    # Rounded first: 0.29 * 100 is a little more than 29 in binary and would become 30.
    return ceil(round(difference * 100, 6))


def _count(cases: int) -> str:
    return "1 case" if cases == 1 else f"{cases} cases"


ComparisonKind = Literal["models", "modes", "runs"]

Test = Literal["exact McNemar", "exact sign-flip", "Monte Carlo sign-flip"]

FEW_CASES = 10
"""The number of cases below which a note warns that the numbers are rough."""


class CasePair(Record):
    """The results of both sides on one compared case."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    mean_a: float
    """Side a's share of passed cells, averaged over repeats, then over capture modes."""
    mean_b: float
    """The same for side B."""
    flip: Literal["gained", "lost", "same"]
    """Whether b passes the case more often than a, less often, or as often."""
    outcomes_a: tuple[Outcome, ...]
    """The outcomes of side a's graded cells, by capture mode and repeat."""
    outcomes_b: tuple[Outcome, ...]
    """The same for side B."""
    folders_a: tuple[str, ...] = ()
    """The folders of these cells, in the order of `outcomes_a`."""
    folders_b: tuple[str, ...] = ()
    """The same for side B."""
    changed: tuple[str, ...] = ()
    """The checksums that differ: `prompts`, `capture` and, where allowed, `case` and `checks`."""


class Comparison(Record):
    """Two sides on the same cases; differences are b minus a, so positive means b is better."""

    kind: ComparisonKind
    """Whether two models of a run are compared, two capture modes of a model, or a model of two
    runs."""
    metric: Metric
    """What counts as a pass."""
    a: Side
    """The first side; with `runs`, the earlier run."""
    b: Side
    """The second side; with `runs`, this run."""
    cases: tuple[CasePair, ...]
    """All compared cases; flips come first, lost ones before gained ones."""
    left_out: tuple[LeftOut, ...]
    """Cases without a part in the comparison, with the reason."""
    gained: int
    """The number of compared cases that b passes more often than a."""
    lost: int
    """Cases on which B is worse."""
    same: int
    """Cases on which both sides are equal."""
    test: Test
    """McNemar's test if every case has one cell on each side, else a sign-flip test."""
    p: float | None
    """The two-sided p value; None when no case could be compared."""
    p_holm: float | None
    """The p value after Holm's correction over the comparisons made together."""
    family: int
    """The number of comparisons made together."""
    difference: float | None
    """The difference of the compared rates, b minus a."""
    interval: Interval | None
    """The 95% interval of the difference (`statistics.difference_interval`)."""
    detectable: float | None
    """The smallest difference that a comparison of this size would have shown in 80% of runs; None
    if not even the largest one would."""
    decisive: bool | None
    """Whether `p_holm` is at most 0.05; None when no case could be compared."""
    verdict: str
    """One sentence that claims no more than the numbers support."""
    score: ScoreDifference | None = None
    """How the earned points differ; None where no compared case has checks with points."""
    cost_change: Change
    """How the cost of a cell differs between the sides."""
    time_change: Change
    """How the time for a cell differs between the sides."""
    changed: tuple[str, ...] = ()
    """The checksums that differ in at least one compared case and may explain the difference."""
    notes: tuple[str, ...] = ()
    """Sentences with what a reader must know to judge the comparison."""


class _Contest(Struct, frozen=True, dict=True):
    """Two sides with the cases on which they are compared."""

    kind: ComparisonKind
    metric: Metric
    a: Half
    b: Half
    pairs: tuple[Pair, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    by_chance: frozenset[CaseKey] = frozenset()
    """Cases that random actions always pass, which no comparison could decide by."""

    @cached_property
    def differences(self) -> list[Fraction]:
        """Return the difference of each pair, b minus a."""
        # Fractions, because the tests must tell equal means from almost equal ones.
        good = GOOD[self.metric]
        return [case_mean(pair.b, good) - case_mean(pair.a, good) for pair in self.pairs]

    @property
    def single(self) -> bool:
        """Return whether every case has exactly one cell on each side."""
        return all(len(pair.a) == len(pair.b) == 1 for pair in self.pairs)


STOPPED_EARLY = (
    "The run stopped early (--autoweb-until): p and the interval are those of a number of cases "
    "that was fixed beforehand, and claim too much here."
)


def compare_models(
    rows: RunRows,
    *,
    left_out: Collection[CaseKey] = (),
    metric: Metric = "first_attempt",
    models: Sequence[str] | None = None,
) -> tuple[Comparison, ...]:
    """Compare all pairs of models of a run, with Holm's correction over the pairs.

    Args:
        rows: the run, including its control cells.
        left_out: further cases to leave out because their controls are broken.
        metric: what counts as a pass.
        models: the models to compare; all but the controls by default.
    """
    names = contestants(rows) if models is None else models
    rules = PairingRules(doubtful=_doubtful(left_out, rows))
    halves = [Half(name, name, rows.ts, _rows_of(rows, name), rules.doubtful) for name in names]
    chance = _by_chance(rows)
    notes = (STOPPED_EARLY,) if rows.stopped_early else ()
    return _decide(
        [
            _contest("models", metric, pair, rules, notes, by_chance=chance)
            for pair in combinations(halves, 2)
        ]
    )


def compare_modes(
    rows: RunRows,
    *,
    left_out: Collection[CaseKey] = (),
    metric: Metric = "first_attempt",
    models: Sequence[str] | None = None,
) -> tuple[Comparison, ...]:
    """Compare the capture modes of each model, with Holm's correction over these comparisons.

    Args:
        rows: the run, including its control cells.
        left_out: further cases to leave out because their controls are broken.
        metric: what counts as a pass.
        models: the models whose modes are compared; all but the controls by default.
    """
    rules = PairingRules(doubtful=_doubtful(left_out, rows), across_captures=True)
    contests, chance = [], _by_chance(rows)
    for name in contestants(rows) if models is None else models:
        own = [row for row in _rows_of(rows, name) if not row.any_capture]
        modes = dict.fromkeys(row.capture_mode for row in own)
        halves = [
            Half(
                f"{name} in {mode}",
                name,
                rows.ts,
                [row for row in own if row.capture_mode == mode],
                rules.doubtful,
                mode,
            )
            for mode in modes
        ]
        contests += [
            _contest("modes", metric, pair, rules, by_chance=chance)
            for pair in combinations(halves, 2)
        ]
    return _decide(contests)


def compare_runs(
    before: RunRows,
    after: RunRows,
    *,
    left_out: Collection[CaseKey] = (),
    metric: Metric = "first_attempt",
    models: Sequence[tuple[str, str]] | None = None,
    allow_changed: bool = False,
) -> tuple[Comparison, ...]:
    """Compare each model that both runs have, with Holm's correction over the models.

    Args:
        before: side a.
        after: side b.
        left_out: further cases to leave out because their controls are broken.
        metric: what counts as a pass.
        models: pairs of a model of `before` and one of `after`; common models by default.
        allow_changed: also compare cases whose `case` or `checks` checksum changed, marked as such.
    """
    if models is None:
        known = contestants(before)
        models = [(name, name) for name in contestants(after) if name in known]
    doubtful = _doubtful(left_out, before, after)
    rules = PairingRules(doubtful, allow_changed=allow_changed, across_captures=True)
    notes = tuple(_about_runs(before, after))
    chance = _by_chance(before, after)
    contests = []
    for first, second in models:
        pair = (
            _half(before, after, first, second, doubtful),
            _half(after, before, second, first, doubtful),
        )
        contests.append(_contest("runs", metric, pair, rules, notes, by_chance=chance))
    return _decide(contests)


def _doubtful(left_out: Collection[CaseKey], *runs: RunRows) -> set[CaseKey]:
    """Return the cases to leave out: the given ones, and those with broken controls in a run."""
    return {*left_out}.union(*(broken_controls(control_rows(run.rows)) for run in runs))


def _by_chance(*runs: RunRows) -> frozenset[CaseKey]:
    return frozenset().union(*(passed_by_chance(control_rows(run.rows)) for run in runs))


def contestants(rows: RunRows) -> tuple[str, ...]:
    """Return the models of a run in its order, without the controls."""
    every = dict.fromkeys((*rows.models, *(row.model for row in rows.rows)))
    return tuple(model for model in every if not is_control(model))


def _rows_of(rows: RunRows, model: str) -> list[CellSummary]:
    own = [row for row in rows.rows if row.model == model]
    if not any(map(page_change, own)):
        return own
    return [row for row in fair_cells(rows.rows) if row.model == model]


def _half(
    run: RunRows, other: RunRows, model: str, other_model: str, doubtful: Collection[CaseKey]
) -> Half:
    name, other_name = run.name or run.ts, other.name or other.ts
    label = name if name != other_name else run.ts
    if model != other_model:
        label = f"{model} in {label}"
    return Half(label, model, run.ts, _rows_of(run, model), doubtful)


def _contest(
    kind: ComparisonKind,
    metric: Metric,
    halves: tuple[Half, Half],
    rules: PairingRules,
    notes: tuple[str, ...] = (),
    *,
    by_chance: frozenset[CaseKey] = frozenset(),
) -> _Contest:
    a, b = halves
    pairs, left_out = pair_cases(a.rows, b.rows, rules, names=(a.label, b.label))
    return _Contest(kind, metric, a, b, pairs, left_out, notes, by_chance)


def _decide(contests: Sequence[_Contest]) -> tuple[Comparison, ...]:
    """Test every contest, then correct the p values for the number of tests."""
    tested = [(contest, *_test(contest)) for contest in contests]
    # A contest without cases is not a test, so it must not make the correction of the others
    # stricter.
    known = [p for _, _, p in tested if p is not None]
    adjusted = iter(holm(known))
    return tuple(
        _comparison(contest, test, p, None if p is None else next(adjusted), len(known))
        for contest, test, p in tested
    )


def _test(contest: _Contest) -> tuple[Test, float | None]:
    differences = contest.differences
    if contest.single:
        lost, gained = sum(d < 0 for d in differences), sum(d > 0 for d in differences)
        return "exact McNemar", mcnemar(lost, gained) if differences else None
    found = sign_flip(differences)
    return "exact sign-flip" if found.exact else "Monte Carlo sign-flip", found.p


def _comparison(
    contest: _Contest, test: Test, p: float | None, p_holm: float | None, family: int
) -> Comparison:
    differences = contest.differences
    cells_a, cells_b = [pair.a for pair in contest.pairs], [pair.b for pair in contest.pairs]
    cases = [_case_pair(pair, GOOD[contest.metric]) for pair in contest.pairs]
    cases.sort(key=lambda case: ("lost", "gained", "same").index(case.flip))
    unjudged = Comparison(
        kind=contest.kind,
        metric=contest.metric,
        a=side_of(contest.a, cells_a, contest.metric),
        b=side_of(contest.b, cells_b, contest.metric),
        cases=tuple(cases),
        left_out=contest.left_out,
        gained=sum(d > 0 for d in differences),
        lost=sum(d < 0 for d in differences),
        same=sum(d == 0 for d in differences),
        test=test,
        p=p,
        p_holm=p_holm,
        family=family,
        difference=float(sum(differences) / len(differences)) if differences else None,
        interval=difference_interval([float(d) for d in differences]),
        detectable=_comparison_detectable(contest, family),
        decisive=None if p_holm is None else p_holm <= ALPHA,
        verdict="",
        score=_score(contest),
        cost_change=change_of(costs(cells_a), costs(cells_b)),
        time_change=change_of(times(cells_a), times(cells_b)),
        changed=tuple(dict.fromkeys(name for pair in contest.pairs for name in pair.changed)),
        notes=(*contest.notes, *_about_served(contest), *_about_cases(contest)),
    )
    verdict = verdict_on(unjudged, executed=contest.metric == "executed")
    return unjudged.model_copy(update={"verdict": verdict})


def _score(contest: _Contest) -> ScoreDifference | None:
    if contest.metric == "executed":
        return None
    return score_difference([(pair.a, pair.b) for pair in contest.pairs], contest.metric)


def _comparison_detectable(contest: _Contest, family: int) -> float | None:
    told = zip(contest.pairs, contest.differences, strict=True)
    differences = [each for pair, each in told if pair.key not in contest.by_chance]
    if not differences:
        return None
    # The level that the smallest of several p values has to reach by Holm's correction.
    alpha = ALPHA / max(1, family)
    if contest.single:
        differing = sum(d != 0 for d in differences) / len(differences)
        return detectable_by_mcnemar(len(differences), differing, alpha)
    return detectable_mean([float(d) for d in differences], alpha)


def _case_pair(pair: Pair, good: Collection[Outcome]) -> CasePair:
    mean_a, mean_b = case_mean(pair.a, good), case_mean(pair.b, good)
    return CasePair(
        case_path=pair.key[0],
        case_id=pair.key[1],
        mean_a=float(mean_a),
        mean_b=float(mean_b),
        flip="same" if mean_a == mean_b else "gained" if mean_b > mean_a else "lost",
        outcomes_a=tuple(row.outcome for row in pair.a),
        outcomes_b=tuple(row.outcome for row in pair.b),
        folders_a=tuple(row.folder for row in pair.a),
        folders_b=tuple(row.folder for row in pair.b),
        changed=pair.changed,
    )


def _about_served(contest: _Contest) -> Iterator[str]:
    a, b = contest.a, contest.b
    before, after = served_of(a.rows), served_of(b.rows)
    for half, served in ((a, before), (b, after)):
        yield from (f"{half.label}: {told}." for told in changes_within(served))
    if contest.kind == "runs" and a.model == b.model:
        yield from (f"{b.model}: {told}." for told in changes_between(before, after))


def _about_cases(contest: _Contest) -> Iterator[str]:
    n = len(contest.pairs)
    # Of fewer cases the verdict says it.
    if LEAST_DISCORDANT <= n < FEW_CASES:
        yield f"Only {n} cases are compared; below {FEW_CASES} the numbers are rough."
    if chance := sum(pair.key in contest.by_chance for pair in contest.pairs):
        yield (
            f"Random actions pass {chance} of {n} cases every time; what would have shown is "
            "computed without them."
        )
    for name in dict.fromkeys(name for pair in contest.pairs for name in pair.changed):
        count = sum(name in pair.changed for pair in contest.pairs)
        if name in QUESTION:
            yield f"`{name}` changed in {count} of {n} cases: there it is not the same question."
        else:
            yield f"`{name}` differs in {count} of {n} cases: that may be what is compared."


def _about_runs(before: RunRows, after: RunRows) -> Iterator[str]:
    if before.ts == after.ts:
        yield "Both sides are the same run."
    for run in (before, after):
        if run.interrupted or run.shard or run.stopped_early:
            yield f"{run.name or run.ts} is only a part of a run."
    if before.workers != after.workers:
        yield (
            f"Times are not comparable: {before.workers} xdist workers on one side, "
            f"{after.workers} on the other."
        )
    names = [name for name in before.environment if name in after.environment and name != "git"]
    differing = [name for name in names if before.environment[name] != after.environment[name]]
    if differing:
        yield (
            "The environment differs: "
            + ", ".join(
                f"{name} {before.environment[name]} and {after.environment[name]}"
                for name in differing
            )
            + "."
        )
