"""What a run that left cells out may claim: which cells it left out, and verdicts that allow it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_autoweb.results.analysis.cell_numbers import CellSummary
from pytest_autoweb.results.analysis.comparison import Comparison
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.early_decision import PairDecision
from pytest_autoweb.results.records import CellResult

_CAP = re.compile(r"\(cap (cost|time) [^()]*\)$")
"""How the reason of a cell ends that was left out because of a cap by order."""


def left_out_notes(cells: Sequence[CellResult | CellSummary]) -> Iterator[str]:
    """Yield which cells were left out and why, and what that does to the rates."""
    cells = [cell for cell in cells if not is_control(cell.model)]
    steered = [cell for cell in cells if cell.not_needed == "steered"]
    by_flag = [cell for cell in cells if cell.not_needed not in ("", "steered")]
    if by_flag:
        reasons = _reasons(by_flag)
        told = "; ".join(f"{count} because {why}" for why, count in reasons)
        ordered = all(_CAP.search(why) for why, _ in reasons)
        how = "by order" if ordered else "--autoweb-until"
        yield f"{len(by_flag)} of {len(cells)} cells were not run ({how}): {told}"
        yield (
            "rates and intervals are of the cells that were run; a run that stops when it is "
            "decided makes the better model look better than it is, so quote the decision, not "
            "the difference"
        )
    if steered:
        told = "; ".join(f"{count} {why}" for why, count in _reasons(steered))
        of = f"{len(steered)} of {len(cells)} cells"
        yield f"{of} were not run, by order: {told}"
        yield (
            "models are compared on the cells that both ran, and no difference to a model with "
            "cells that were stopped is called decisive, because whoever stopped them may have "
            "seen who was ahead"
        )


def _reasons(cells: Sequence[CellResult | CellSummary]) -> list[tuple[str, int]]:
    """Return why cells were left out, with their numbers, the most frequent reason first."""
    return Counter(
        cell.reason.removeprefix("not run: ") if isinstance(cell, CellResult) else cell.not_needed
        for cell in cells
    ).most_common()


def with_early_verdicts(
    comparisons: Sequence[Comparison],
    rows: Sequence[CellSummary],
    decisions: Sequence[PairDecision],
) -> tuple[Comparison, ...]:
    """Return comparisons of models with verdicts that hold although the run could stop any time.

    Those of models whose cells all ran stay as they are.

    Args:
        comparisons: of one run.
        rows: all of its cells.
        decisions: what was decided while it ran.
    """
    stopped = {row.model for row in rows if row.not_needed}
    decided = {frozenset((each.better, each.worse)): each for each in decisions}
    return tuple(
        _early(each, decided.get(frozenset((each.a.model, each.b.model))))
        if each.kind == "models" and {each.a.model, each.b.model} & stopped
        else each
        for each in comparisons
    )


def _early(comparison: Comparison, decision: PairDecision | None) -> Comparison:
    if decision is not None:
        verdict = (
            f"{decision.better} passes more: decided early, after {decision.pairs} pairs in "
            f"{decision.cases} cases, of which only it passed {decision.won} and only "
            f"{decision.worse} {decision.lost} (e = {decision.e:.0f}, {decision.needed:.0f} "
            "needed)."
        )
        return comparison.model_copy(update={"decisive": True, "verdict": verdict})
    if comparison.decisive:
        verdict = (
            "Not decided: with this many cases fixed beforehand the difference would be decisive, "
            "but a run that may stop at any time needs more."
        )
        return comparison.model_copy(update={"decisive": False, "verdict": verdict})
    return comparison
