"""Who changed between two runs: the site, the model, or the harness around them; pure.

Two runs differ in up to three things at once, so neither of them tells which one made the second
worse. Runs in between do, each of which changes some of the three and keeps the others: the replies
of the earlier run can be replayed, and so can the site's answers. From the earlier run through
those to the later one, the differences add up to the whole difference, and a step in which only one
thing changes is that thing's doing (a difference of differences, as in a factorial experiment).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, get_args

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.analysis.comparison import (
    Comparison,
    compare_runs,
    p_text,
    signed,
    signed_range,
)
from pytest_autoweb.results.analysis.statistics import ALPHA, LEAST_DISCORDANT, Interval, holm
from pytest_autoweb.results.records import Outcome, Record

Factor = Literal["harness", "app", "model"]
"""What may have changed: this package with its settings, versions and browser; the site; or the
model."""
FACTORS: tuple[Factor, ...] = get_args(Factor)

ArmName = Literal["old", "replies_recorded", "model_recorded", "replies_live", "new"]
"""A run of the same cases. `old` and `new` are the two runs that differ; the others are made in
between, with the harness of now: the model's old replies or the model itself, on the recorded site
or on the live one."""

CHANGED: Mapping[ArmName, frozenset[Factor]] = {
    "old": frozenset(),
    "replies_recorded": frozenset({"harness"}),
    "model_recorded": frozenset({"harness", "model"}),
    "replies_live": frozenset({"harness", "app"}),
    "new": frozenset(FACTORS),
}
"""What is of the later time in each arm."""
_PATHS: tuple[tuple[ArmName, ...], ...] = (
    # The first one wins a tie: it looks at both sites with the live model, which unlike old replies
    # can cope with a page that merely looks different.
    ("old", "replies_recorded", "model_recorded", "new"),
    ("old", "replies_recorded", "replies_live", "new"),
    ("old", "model_recorded", "new"),
    ("old", "replies_live", "new"),
    ("old", "replies_recorded", "new"),
    ("old", "new"),
)
_PLAYED: tuple[ArmName, ...] = ("old", "replies_recorded", "replies_live")
"""The arms that play the oracle, in the order of what changes."""
_WORDS: Mapping[Factor, str] = {
    "harness": "the harness",
    "app": "the app",
    "model": "the model",
}
_PLAYER = "the model"
Answer = Literal["named", "cannot tell", "nothing to blame"]


class Effect(Record):
    """One step between two arms: what changes in it, and what that did on the same cases."""

    before: ArmName
    """The arm before the change."""
    after: ArmName
    """The arm after it."""
    changed: tuple[Factor, ...]
    """What changes; empty if nothing does, so that a difference is chance, or the recordings are
    not those of the earlier run."""
    cases: int
    """How many cases have a verdict in both arms."""
    lost: int
    """Cases that pass less often after it."""
    gained: int
    """Cases that pass more often after it."""
    difference: float | None
    """The pass rate after it minus the one before; None without cases."""
    interval: Interval | None
    """Its 95% interval, as in comparisons."""
    p: float | None
    """The p value of the paired test, as in comparisons."""
    p_holm: float | None
    """The p value after Holm's correction over the steps of the way."""
    lost_cases: tuple[str, ...] = ()
    """The ids of the lost cases."""

    @property
    def worse(self) -> bool:
        """Return whether it made the run worse, beyond chance."""
        return self.p_holm is not None and self.p_holm <= ALPHA and (self.difference or 0) < 0


class CaseWay(Record):
    """What became of one case in each arm that has it."""

    case_id: str
    """The id of the case."""
    outcomes: dict[ArmName, tuple[Outcome, ...]]
    """The outcomes of its cells, by arm."""
    oracle: dict[ArmName, tuple[Outcome, ...]]
    """Those of its oracle, which no model takes part in."""


class Blame(Record):
    """Who is to blame for what the later run lost, as far as the arms tell."""

    model: str
    """The model that was compared with itself."""
    total: Effect
    """The whole difference between the two runs."""
    steps: tuple[Effect, ...]
    """The way from the earlier run to the later one that decided."""
    beside: tuple[Effect, ...] = ()
    """The steps of the other way, if there is one."""
    oracle: tuple[Effect, ...] = ()
    """The same steps for the oracle, where its cells ran in two arms."""
    answer: Answer
    """Whether something is named."""
    culprits: tuple[Factor, ...] = ()
    """What is named."""
    verdict: str
    """The answer in a sentence."""
    advice: tuple[str, ...] = ()
    """What to run to find out, if it cannot be told."""
    notes: tuple[str, ...] = ()
    """Sentences with what a reader must know to judge it."""
    lost: tuple[CaseWay, ...] = ()
    """The cases that the later run lost."""


def blame(
    model: str, arms: Mapping[ArmName, RunRows], oracle: str, same: Collection[Factor] = ()
) -> Blame:
    """Name what made the later run worse.

    Args:
        model: the model that is compared with itself.
        arms: the runs by what they hold on to; `old` and `new` are among them.
        oracle: the name of the oracle's cells.
        same: what cannot have changed, because both runs replayed it or record the same of it.
    """
    own = {name: of for name, rows in arms.items() if (of := _of(rows, model)).rows}
    (total,) = _steps(("old", "new"), own, same)
    ways = [_steps(path, own, same) for path in _PATHS if own.keys() >= {*path}]
    steps = max(ways, key=_tells)
    others = (way for way in ways if len(way) == len(steps) > 1 and way != steps)
    beside = next((way for way in others if all(step.cases for step in way)), ())
    played = _oracle_steps(arms, oracle, same)
    answer, culprits, verdict = _decided(total, steps, played)
    return Blame(
        model=model,
        total=total,
        steps=steps,
        beside=beside,
        oracle=played,
        answer=answer,
        culprits=culprits,
        verdict=verdict,
        advice=tuple(_advice(steps)) if answer == "cannot tell" else (),
        notes=tuple(_notes(steps, beside, played)),
        lost=tuple(_ways(total, arms, model, oracle)),
    )


def _of(rows: RunRows, model: str) -> RunRows:
    """Return the cells of one model alone, without what tells a replayed site from a live one."""
    # Under a name that is no control's: comparisons leave out the cases whose oracle fails, and
    # these are the ones to look at here.
    own = tuple(
        row.model_copy(
            update={
                "model": _PLAYER,
                "checksums": {k: v for k, v in row.checksums.items() if k != "traffic"},
            }
        )
        for row in rows.rows
        if row.model == model
    )
    return rows.model_copy(update={"rows": own, "models": (_PLAYER,)})


def _steps(
    path: Sequence[ArmName], arms: Mapping[ArmName, RunRows], same: Collection[Factor]
) -> tuple[Effect, ...]:
    pairs = list(pairwise(path))
    found = [_compared(arms[before], arms[after]) for before, after in pairs]
    known = [each.p for each in found if each.p is not None]
    adjusted = iter(holm(known))
    return tuple(
        Effect(
            before=before,
            after=after,
            changed=tuple(f for f in FACTORS if f in CHANGED[after] - CHANGED[before] - {*same}),
            cases=len(each.cases),
            lost=each.lost,
            gained=each.gained,
            difference=each.difference,
            interval=each.interval,
            p=each.p,
            p_holm=None if each.p is None else next(adjusted),
            lost_cases=tuple(case.case_id for case in each.cases if case.flip == "lost"),
        )
        for (before, after), each in zip(pairs, found, strict=True)
    )


def _compared(before: RunRows, after: RunRows) -> Comparison:
    (comparison,) = compare_runs(before, after, models=((_PLAYER, _PLAYER),))
    return comparison


def _tells(steps: Sequence[Effect]) -> tuple[int, int]:
    """Return how much a way tells: by its steps with cases, then by the fewest cases of one."""
    return sum(step.cases > 0 for step in steps), min(step.cases for step in steps)


def _oracle_steps(
    arms: Mapping[ArmName, RunRows], oracle: str, same: Collection[Factor]
) -> tuple[Effect, ...]:
    """Return what became of the oracle: it needs no replies, so two arms tell of the site."""
    own: dict[ArmName, RunRows] = {
        name: _of(rows, oracle) for name, rows in arms.items() if name != "new"
    }
    ran = [name for name in _PLAYED if name in own and own[name].rows]
    return _steps(ran, own, same) if len(ran) > 1 else ()


def _decided(
    total: Effect, steps: Sequence[Effect], oracle: Sequence[Effect]
) -> tuple[Answer, tuple[Factor, ...], str]:
    if not total.cases:
        return "cannot tell", (), "cannot tell: no case has a verdict in both runs"
    if total.lost <= total.gained:
        return "nothing to blame", (), f"nothing to blame: {_seen(total)}"
    worse = [step for step in steps if step.worse]
    if any(not step.changed for step in worse):
        why = "the old replies on the recorded site fail where the earlier run passed, and the "
        why += "harness is the same: they are not the recordings of that run"
        return "cannot tell", (), f"cannot tell: {why}"
    named = {step.changed[0] for step in worse if len(step.changed) == 1}
    named |= {s.changed[0] for s in oracle if s.worse and len(s.changed) == 1}
    if culprits := tuple(factor for factor in FACTORS if factor in named):
        return "named", culprits, _named(culprits, steps, oracle)
    if worse:
        suspects = _either(worse[0].changed)
        return "cannot tell", (), f"cannot tell: {suspects} ({_seen(worse[0])})"
    return "cannot tell", (), f"cannot tell: {_too_little(total, steps)}"


def _either(factors: Sequence[Factor]) -> str:
    words = [_WORDS[factor] for factor in factors]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _advice(steps: Sequence[Effect]) -> Iterator[str]:
    """Yield what would tell apart the things that change in the step where most is lost."""
    suspects = max(steps, key=lambda step: step.lost - step.gained).changed
    if len(suspects) < 2:
        yield "run more cases or repeats, in OLD and NEW alike"
        return
    if "app" in suspects:
        yield "run the cases on the earlier version of the app: where they pass, the app changed"
    if "harness" in suspects:
        yield (
            "run the cases with the earlier versions and settings: where they pass, the harness "
            "changed"
        )
    yield (
        "record the next run that is good, for the next time: --autoweb-record-mode=record "
        "--autoweb-traffic=record"
    )


def _named(culprits: Sequence[Factor], steps: Sequence[Effect], oracle: Sequence[Effect]) -> str:
    parts = []
    for factor in culprits:
        step = next((s for s in steps if s.worse and s.changed == (factor,)), None)
        if step is not None:
            parts.append(f"{_WORDS[factor]} changed ({_seen(step)})")
        else:
            played = next(s for s in oracle if s.worse and s.changed == (factor,))
            parts.append(f"{_WORDS[factor]} changed (by the oracle: {_seen(played)})")
    return " and ".join(parts)


def _too_little(total: Effect, steps: Sequence[Effect]) -> str:
    suspect = max(steps, key=lambda step: step.lost - step.gained)
    named = _either(suspect.changed) or "chance"
    if total.lost + total.gained < LEAST_DISCORDANT:
        differ = f"{total.lost + total.gained} of {total.cases} cases differ"
        why = f"{differ} between the runs, and fewer than {LEAST_DISCORDANT} decide nothing"
    else:
        why = f"no step is beyond chance ({_seen(suspect)})"
    return f"{why}; most is lost where {named} changed"


def _seen(step: Effect) -> str:
    if step.difference is None:
        return "no case has a verdict on both sides"
    between = ""
    if step.interval is not None:
        between = f", 95% {signed_range(step.interval)}"
    p = "" if step.p_holm is None else f", p {p_text(step.p_holm)}"
    return (
        f"{step.lost} lost and {step.gained} gained of {step.cases} cases, "
        f"{signed(step.difference)} points{between}{p}"
    )


def _notes(
    steps: Sequence[Effect], beside: Sequence[Effect], oracle: Sequence[Effect]
) -> Iterator[str]:
    for step in beside:
        own = next((s for s in steps if s.changed == step.changed), None)
        if not step.changed or own is None or own.worse == step.worse or not step.worse:
            continue
        yield (
            f"The other way also shows a loss where {_WORDS[step.changed[0]]} changes "
            f"({_seen(step)}): old replies fail on any page that changed, also on one that the "
            "model itself could cope with."
        )
    for step in oracle:
        if step.lost and step.changed:
            what = _either(step.changed)
            yield (
                f"The oracle fails in {step.lost} of {step.cases} cases since {what} changed: "
                f"{', '.join(step.lost_cases[:10])}. Either the case has to follow, or that broke "
                "it."
            )
        elif step.cases and "app" in step.changed:
            yield (
                f"The oracle passes {step.cases} cases on the live app as before: it still does "
                "what they ask for."
            )


def _ways(
    total: Effect, arms: Mapping[ArmName, RunRows], model: str, oracle: str
) -> Iterator[CaseWay]:
    for case_id in total.lost_cases:
        yield CaseWay(
            case_id=case_id,
            outcomes=_outcomes(arms, model, case_id),
            oracle=_outcomes(arms, oracle, case_id),
        )


def _outcomes(
    arms: Mapping[ArmName, RunRows], model: str, case_id: str
) -> dict[ArmName, tuple[Outcome, ...]]:
    found = {
        name: tuple(
            row.outcome for row in rows.rows if (row.model, row.case_id) == (model, case_id)
        )
        for name, rows in arms.items()
    }
    return {name: outcomes for name, outcomes in found.items() if outcomes}


_HARNESS = ("prompts", "settings", "versions", "model", "capture", "agent")
_HARNESS_WORDS = {"model": "settings of the model", "versions": "package versions"}
_VERSIONS = (
    *("pytest-autoweb", "pytest-playwright", "playwright", "browser", "browser_sandbox"),
    *("litellm", "python", "platform", "sandbox"),
)


def harness_differences(old: RunRows, new: RunRows, model: str) -> tuple[str, ...]:
    """Return in words what differs in the harness of two runs, as their records tell."""
    before = {(r.case_path, r.case_id, r.capture_mode, r.repeat): r for r in _rows(old, model)}
    differing: dict[str, int] = {}
    for row in _rows(new, model):
        other = before.get((row.case_path, row.case_id, row.capture_mode, row.repeat))
        for name in _HARNESS if other else ():
            if other and other.checksums.get(name) != row.checksums.get(name):
                differing[name] = differing.get(name, 0) + 1
    told = [
        f"{name} {old.environment[name]} → {new.environment[name]}"
        for name in _VERSIONS
        if name in old.environment
        and name in new.environment
        and old.environment[name] != new.environment[name]
    ]
    return (
        *told,
        *(
            f"{_HARNESS_WORDS.get(name, name)} of {count} cell{'s' * (count != 1)}"
            for name, count in differing.items()
        ),
    )


def _rows(run: RunRows, model: str) -> Iterator[CellSummary]:
    return (row for row in run.rows if row.model == model)
