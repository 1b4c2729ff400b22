"""An estimate of what a run would take: calls, tokens and money for each cell.

It comes from earlier runs if there are any, else from the size of the prompts. Only earlier runs
include repairs; an estimate from prompts covers the first attempt only.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Literal, NamedTuple

from pytest_autoweb.llm.price import Price
from pytest_autoweb.report.numbers import Cost
from pytest_autoweb.report.rows import CellSummary, RunRows
from pytest_autoweb.report.wording import columns, count_of, money, one_line

Basis = Literal["case", "model", "prompts", "control"]
"""What an estimate is based on: earlier cells of the same case and model (`case`) or of the model's
other cases (`model`), the size of the prompts, or nothing for a control."""

NEWEST = 50
"""The most earlier cells that a mean is taken over; the newest ones are."""


class RepeatGroup(NamedTuple):
    """Cells that differ only in their repeat."""

    case_path: str
    case_id: str
    model: str
    mode: str
    cells: int
    checksum: str
    """The checksum of the case as it is now."""


class Estimate(NamedTuple):
    """What one cell is expected to take."""

    calls: float
    input_tokens: float
    output_tokens: float
    cost: Cost
    basis: Basis
    behind: int = 0
    """The number of earlier cells that the means are taken over."""


class PreviewRow(NamedTuple):
    """A line of the preview."""

    group: RepeatGroup
    estimate: Estimate


NOTHING = Estimate(0, 0, 0, Cost(usd=0.0), "control")


def from_history(
    group: RepeatGroup, runs: Sequence[RunRows], price: Price | None
) -> Estimate | None:
    """Return the mean of earlier cells, or None if there are none.

    These are cells of the same unchanged case, or else of any case of the model in this mode.
    """
    rows = [row for run in reversed(runs) for row in run.rows if _is_like(row, group)]
    same = [row for row in rows if _is_of(row, group)]
    chosen = (same or rows)[:NEWEST]
    if not chosen:
        return None
    given, made = fmean(r.input_tokens for r in chosen), fmean(r.output_tokens for r in chosen)
    return Estimate(
        calls=fmean(row.calls for row in chosen),
        input_tokens=given,
        output_tokens=made,
        cost=_cost(chosen, price, given, made),
        basis="case" if same else "model",
        behind=len(chosen),
    )


def from_sizes(calls: int, given: int, made: int, price: Price | None) -> Estimate:
    """Return an estimate from the sizes of prompts and assumed replies."""
    usd = price.of(given, made) if price else None
    return Estimate(calls, given, made, Cost(usd=usd, complete=usd is not None), "prompts")


def preview_lines(rows: Sequence[PreviewRow]) -> list[str]:
    """Return the preview as a table with totals for each model and for everything."""
    head = ["case", "model", "capture", "cells", "calls", "tokens in / out", "cost", "from"]
    shown = [head, *map(_line, rows), *_totals(rows)]
    return columns(shown)


def _is_like(row: CellSummary, group: RepeatGroup) -> bool:
    """Tell whether a row is of the same model and mode, and the model was really asked."""
    asked = row.calls > 0 and row.outcome not in ("broken", "skipped")
    return asked and row.model == group.model and row.capture_mode == group.mode


def _is_of(row: CellSummary, group: RepeatGroup) -> bool:
    known = row.checksums.get("case", group.checksum)
    return (row.case_path, row.case_id, known) == (group.case_path, group.case_id, group.checksum)


def _cost(rows: Sequence[CellSummary], price: Price | None, given: float, made: float) -> Cost:
    """Return the mean cost that was paid, or today's price of the tokens if that is unknown."""
    known = [row.cost_usd for row in rows if row.cost_usd is not None and row.cost_complete]
    if len(known) == len(rows):
        return Cost(usd=fmean(known))
    if price is not None:
        return Cost(usd=price.of(round(given), round(made)))
    return Cost(usd=fmean(known) if known else None, complete=False)


def _line(row: PreviewRow) -> list[str]:
    group, estimate = row
    return [
        one_line(group.case_id, 48),
        one_line(group.model, 48),
        group.mode,
        str(group.cells),
        *_amounts([row]),
        _basis(estimate),
    ]


def _basis(estimate: Estimate) -> str:
    if estimate.basis == "control":
        return "control: no model is asked"
    if estimate.basis == "prompts":
        return "size of the prompts"
    cells = count_of(estimate.behind, "earlier cell")
    return f"{cells} of the {'case' if estimate.basis == 'case' else 'model'}"


def _totals(rows: Sequence[PreviewRow]) -> Iterable[list[str]]:
    models = dict.fromkeys(row.group.model for row in rows)
    for model in models if len(models) > 1 else ():
        own = [row for row in rows if row.group.model == model]
        yield ["all cases", one_line(model, 48), "", str(_cells(own)), *_amounts(own), ""]
    yield ["total", "", "", str(_cells(rows)), *_amounts(rows), ""]


def _cells(rows: Sequence[PreviewRow]) -> int:
    return sum(row.group.cells for row in rows)


def _amounts(rows: Sequence[PreviewRow]) -> list[str]:
    """Return the calls, tokens and cost of all cells of the rows, as text."""
    calls = sum(row.estimate.calls * row.group.cells for row in rows)
    given = sum(row.estimate.input_tokens * row.group.cells for row in rows)
    made = sum(row.estimate.output_tokens * row.group.cells for row in rows)
    known = [r.estimate.cost.usd * r.group.cells for r in rows if r.estimate.cost.usd is not None]
    complete = all(row.estimate.cost.complete for row in rows)
    cost = Cost(usd=sum(known) if known else None, complete=complete)
    return [f"{calls:,.0f}", f"{given:,.0f} / {made:,.0f}", money(cost, round(calls))]
