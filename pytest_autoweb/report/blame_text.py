"""Who changed between two runs, as text for a terminal: what differs, the arms, the verdict."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from pytest_autoweb.report.wording import columns, count_of, one_line
from pytest_autoweb.results.analysis.blaming import Blame, CaseWay, Effect
from pytest_autoweb.results.analysis.comparison import p_text, signed
from pytest_autoweb.results.records import Outcome, Record

COLUMNS = 100
LISTED = 25
_LETTERS: dict[Outcome, str] = {"passed": "P", "healed": "H", "failed": "F"}


class ArmShown(Record):
    """One arm, as it is told."""

    name: str
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
    lines = [
        one_line(found.model, COLUMNS),
        *(one_line(f"{name} = {label}", COLUMNS) for name, label in zip("AB", labels, strict=True)),
        "",
        *columns([_head(), *map(_arm, arms)]),
        "",
        *columns([_effect_head(), *_effects(found, {arm.name: arm.title for arm in arms})]),
        "",
        *_wrapped(f"{found.verdict[:1].upper()}{found.verdict[1:]}."),
    ]
    for factor, sentences in differs.items():
        lines += _wrapped(f"{factor}, by the records: {'; '.join(sentences)}")
    for what in found.advice:
        lines += _wrapped(f"to find out: {what}")
    for note in found.notes:
        lines += _wrapped(f"note: {note}")
    lines += _missing(arms)
    return "\n".join([*lines, *_lost(found.lost)])


def _head() -> tuple[str, ...]:
    return "run", "passed", "oracle", ""


def _arm(arm: ArmShown) -> tuple[str, ...]:
    off = f"{arm.off_record} left the recorded site" if arm.off_record else ""
    if not arm.cells and not arm.oracle and not arm.off_record:
        return arm.title, "not run", "", ""
    return arm.title, f"{arm.passed} of {arm.cells}", arm.oracle or "–", off


def _effect_head() -> tuple[str, ...]:
    return "what changes", "lost", "gained", "of", "difference (95%)", "p", "between"


def _effects(found: Blame, titles: dict[str, str]) -> Iterator[tuple[str, ...]]:
    yield _effect("everything", found.total, titles)
    for step in found.steps if len(found.steps) > 1 else ():
        yield _effect(_changed(step), step, titles)
    for step in found.beside:
        yield _effect(f"{_changed(step)}, other way", step, titles)
    for step in found.oracle:
        yield _effect(f"{_changed(step)}, oracle", step, titles)


def _changed(step: Effect) -> str:
    return " or ".join(step.changed) or "nothing"


def _effect(name: str, step: Effect, titles: dict[str, str]) -> tuple[str, ...]:
    numbers = (str(step.lost), str(step.gained), str(step.cases))
    between = f"{titles.get(step.before, step.before)} → {titles.get(step.after, step.after)}"
    if step.difference is None or step.interval is None:
        return name, *numbers, "–", "–", between
    low, high = signed(step.interval.low), signed(step.interval.high)
    said = f"{signed(step.difference)} pts ({low} to {high})"
    return name, *numbers, said, p_text(step.p_holm).removeprefix("= "), between


def _missing(arms: Sequence[ArmShown]) -> Iterator[str]:
    for arm in arms:
        for what in arm.missing:
            yield from _wrapped(f"{arm.title} lacks: {what}")


def _lost(ways: Sequence[CaseWay]) -> Iterator[str]:
    if not ways:
        return
    yield f"{count_of(len(ways), 'lost case')}, outcomes by run:"
    for way in ways[:LISTED]:
        told = [f"{name} {_letters(outcomes)}" for name, outcomes in way.outcomes.items()]
        told += [f"oracle in {name} {_letters(outcomes)}" for name, outcomes in way.oracle.items()]
        yield one_line(f"  {one_line(way.case_id, 40)}  {', '.join(told)}", 2 * COLUMNS)
    if len(ways) > LISTED:
        yield f"  and {len(ways) - LISTED} more; --json has them all"


def _letters(outcomes: Sequence[Outcome]) -> str:
    return "".join(_LETTERS.get(outcome, "–") for outcome in outcomes)


def _wrapped(text: str) -> list[str]:
    return wrap(one_line(text, 2000), COLUMNS, subsequent_indent="  ")
