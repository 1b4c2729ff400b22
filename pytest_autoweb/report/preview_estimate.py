"""What a run would take: calls, tokens and money per cell, from history or from the prompts; pure.

An estimate is for one cell. History knows repairs; the size of the prompts does not, so it is of
first attempts only.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Literal, NamedTuple

from pytest_autoweb.llm.price import Price
from pytest_autoweb.report.numbers import Cost
from pytest_autoweb.report.rows import CellRow, RunRows
from pytest_autoweb.report.wording import columns, count_of, money, one_line

Basis = Literal["case", "model", "prompts", "control"]
"""`case`: earlier cells of the same case and model; `model`: of other cases of the model."""

NEWEST = 50
"""Cells of a kind that the mean is taken over, newest first."""


class Group(NamedTuple):
    """Cells that differ in their repeat only."""

    case_path: str
    case_id: str
    model: str
    mode: str
    cells: int
    checksum: str
    """Of the case as it is now."""


class Estimate(NamedTuple):
    """Of one cell."""

    calls: float
    input_tokens: float
    output_tokens: float
    cost: Cost
    basis: Basis
    behind: int = 0
    """Earlier cells that the means are taken over."""


class PreviewRow(NamedTuple):
    """A line of the preview."""

    group: Group
    estimate: Estimate


NOTHING = Estimate(0, 0, 0, Cost(usd=0.0), "control")


def from_history(group: Group, runs: Sequence[RunRows], price: Price | None) -> Estimate | None:
    """Return the mean of earlier cells: of the same case, unchanged, else of the model in this mode."""
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
    """Return what the prompts and assumed replies come to."""
    usd = price.of(given, made) if price else None
    return Estimate(calls, given, made, Cost(usd=usd, complete=usd is not None), "prompts")


def preview_lines(rows: Sequence[PreviewRow]) -> list[str]:
    """Return the table, a line per model, and the total."""
    head = ["case", "model", "capture", "cells", "calls", "tokens in / out", "cost", "from"]
    shown = [head, *map(_line, rows), *_totals(rows)]
    return columns(shown)


def _is_like(row: CellRow, group: Group) -> bool:
    """Return cells that never came to ask the model say nothing of what it takes."""
    asked = row.calls > 0 and row.outcome not in ("broken", "skipped")
    return asked and row.model == group.model and row.capture_mode == group.mode


def _is_of(row: CellRow, group: Group) -> bool:
    known = row.checksums.get("case", group.checksum)
    return (row.case_path, row.case_id, known) == (group.case_path, group.case_id, group.checksum)


def _cost(rows: Sequence[CellRow], price: Price | None, given: float, made: float) -> Cost:
    """Return what was paid; where that is not known of every cell, what the tokens cost now."""
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
    """Calls, tokens and money of all cells of the rows."""
    calls = sum(row.estimate.calls * row.group.cells for row in rows)
    given = sum(row.estimate.input_tokens * row.group.cells for row in rows)
    made = sum(row.estimate.output_tokens * row.group.cells for row in rows)
    known = [r.estimate.cost.usd * r.group.cells for r in rows if r.estimate.cost.usd is not None]
    complete = all(row.estimate.cost.complete for row in rows)
    cost = Cost(usd=sum(known) if known else None, complete=complete)
    return [f"{calls:,.0f}", f"{given:,.0f} / {made:,.0f}", money(cost, round(calls))]
