"""Who changed between two runs, as text for a terminal: what differs, the arms, the verdict."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import columns, count_of
from pytest_autoweb.results.analysis.blaming import ArmName, Blame, CaseWay, Effect
from pytest_autoweb.results.analysis.comparison import p_text, signed, signed_range
from pytest_autoweb.results.records import OUTCOME_LETTERS, Outcome, Record

COLUMNS = 100
LISTED = 25
_LABEL_COLUMNS = 40
_SIGNS: Mapping[ArmName, str] = {
    "old": "A",
    "replies_recorded": "1",
    "model_recorded": "2",
    "replies_live": "3",
    "new": "B",
}
_EFFECT_HEAD = ("what changes", "runs", "lost", "gained", "of", "difference (95%)", "p")


class ArmShown(Record):
    """One arm, as it is told."""

    name: ArmName
    """Its name in the effects."""
    title: str
    """What it is, in words."""
    passed: int
    """How many of its cells passed at the first attempt."""
    cells: int
    """How many cells it has with a verdict."""
    off_record: int = 0
    """Cells that left the recorded site, so that they have no verdict."""
    oracle: str = ""
    """What its oracle did, such as `5 of 6`; empty if it has none."""
    folder: str = ""
    """The folder of its run; empty if it was not run for this."""
    missing: tuple[str, ...] = ()
    """What it lacks, for some or all cases, and how that is made."""


def blame_text(
    found: Blame,
    labels: tuple[str, str],
    differs: dict[str, tuple[str, ...]],
    arms: Sequence[ArmShown],
) -> str:
    """Return the verdict with all that it rests on.

    Args:
        found: the verdict.
        labels: the names of the earlier and the later run.
        differs: what the records say of app, model and harness, by name.
        arms: the arms in the order of the way.
    """
    old, new = (one_line(label, _LABEL_COLUMNS) for label in labels)
    lines = [
        one_line(found.model, COLUMNS),
        "",
        *columns([("", "run", "passed", "oracle", ""), *(_arm(arm, old, new) for arm in arms)]),
        "",
        *columns([_EFFECT_HEAD, *_effects(found)]),
        "",
        *_wrapped(f"{found.verdict[:1].upper()}{found.verdict[1:]}."),
    ]
    for what in found.advice:
        lines += _wrapped(f"to find out: {what}")
    for factor, sentences in differs.items():
        lines += _wrapped(f"{factor}, by the records: {'; '.join(sentences)}")
    for note in found.notes:
        lines += _wrapped(f"note: {note}")
    lines += _missing(arms)
    return "\n".join([*lines, *_lost(found.lost, arms)])


def _arm(arm: ArmShown, old: str, new: str) -> tuple[str, ...]:
    named = {"old": f": {old}", "new": f": {new}"}.get(arm.name, "")
    sign, title = _SIGNS[arm.name], f"{arm.title}{named}"
    off = f"{arm.off_record} left the recorded site" if arm.off_record else ""
    if not arm.cells and not arm.oracle and not arm.off_record:
        return sign, title, "not run", "–", ""
    passed = f"{arm.passed} of {arm.cells}" if arm.cells or arm.off_record else "–"
    return sign, title, passed, arm.oracle or "–", off


def _effects(found: Blame) -> Iterator[tuple[str, ...]]:
    yield _effect("everything", found.total)
    known = {(found.total.before, found.total.after)}
    for step in (*found.steps, *found.beside):
        if (step.before, step.after) not in known:
            known.add((step.before, step.after))
            yield _effect(" or ".join(step.changed) or "nothing", step)
    for step in found.oracle:
        yield _effect(f"{' or '.join(step.changed) or 'nothing'}, for the oracle", step)


def _effect(name: str, step: Effect) -> tuple[str, ...]:
    between = f"{_SIGNS[step.before]} → {_SIGNS[step.after]}"
    numbers = (between, str(step.lost), str(step.gained), str(step.cases))
    if step.difference is None or step.interval is None:
        return name, *numbers, "–", "–"
    said = f"{signed(step.difference)} pts ({signed_range(step.interval)})"
    return name, *numbers, said, p_text(step.p_holm).removeprefix("= ")


def _missing(arms: Sequence[ArmShown]) -> Iterator[str]:
    for arm in arms:
        for what in arm.missing:
            yield from _wrapped(f"{arm.title} lacks: {what}")


def _lost(ways: Sequence[CaseWay], arms: Sequence[ArmShown]) -> Iterator[str]:
    if not ways:
        return
    yield f"{count_of(len(ways), 'lost case')}, outcomes by run:"
    names = [arm.name for arm in arms]
    played = [name for name in names if any(name in way.oracle for way in ways)]
    head = ("", *(_SIGNS[name] for name in names), *(f"oracle {_SIGNS[name]}" for name in played))
    rows = [
        (
            one_line(way.case_id, 40),
            *(_letters(way.outcomes.get(name, ())) for name in names),
            *(_letters(way.oracle.get(name, ())) for name in played),
        )
        for way in ways[:LISTED]
    ]
    yield from (f"  {line}" for line in columns([head, *rows]))
    if len(ways) > LISTED:
        yield f"  and {len(ways) - LISTED} more; --json has them all"


def _letters(outcomes: Sequence[Outcome]) -> str:
    return "".join(OUTCOME_LETTERS[outcome] for outcome in outcomes) or "–"


def _wrapped(text: str) -> list[str]:
    return wrap(one_line(text, 2000), COLUMNS, subsequent_indent="  ")
