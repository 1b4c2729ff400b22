"""`--autoweb-preview`: the cells of a run and the resources they would need; nothing is run.

The constants behind time, memory and storage were measured; `docs/scale.md` names the commands, and
a test compares the two.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal, NamedTuple

import pytest

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.cases.collect_spec import CollectSpec
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.strategies import (
    ACT,
    BY_REFS,
    BY_REFS_IN_TURNS,
    BY_TURNS,
    CODEGEN,
    COLLECT,
    strategy_of,
)
from pytest_autoweb.models.model_spec import DEFAULT_PARALLEL, ModelSpec
from pytest_autoweb.models.prompts import load_prompt
from pytest_autoweb.models.spending import Price, price_in_spec
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import columns, count_of, money
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, Cost, RunRows
from pytest_autoweb.results.runs.saved_runs import saved_rows
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.resuming import ResumedCells
from pytest_autoweb.session.run_session import SESSION, RunSession
from pytest_autoweb.settings.record_modes import REPLAYING

CELL_S = 0.5
"""Processor seconds that a cell takes besides its model calls."""
PROCESS_MB = 350
"""Memory of a process that runs cells, with its browser and driver, before its first cell."""
FLIGHT_MB = 29
"""Memory of each cell in flight."""
REPORT_MB = 107
"""Memory of building a report, before its first cell."""
REPORT_CELL_MB = 0.0634
"""Memory of building a report, for each cell."""
CELL_KB = 252
"""Storage of a cell in kilobytes, with its pictures."""
TEXT_KB = 97
"""The same without pictures."""
CALL_S = 4.0
"""Assumed seconds of a model call without data from earlier cells."""

Basis = Literal["case", "model", "prompts", "control"]
"""What an estimate is based on: earlier cells of the same case and model (`case`) or of the model's
other cases (`model`), the size of the prompts, or nothing for a control."""

NEWEST = 50
"""Limit on the earlier cells, the newest ones, behind a mean."""


class Demand(NamedTuple):
    """A run's demand on one model."""

    waiting_s: float
    """Total seconds of its calls, made one after the other."""
    parallel: int
    """Limit on its concurrent calls; 0 if there is none."""


class Capacity(NamedTuple):
    """The capacity that runs the cells."""

    processes: int
    in_flight: int
    """Limit on cells in flight in each process."""
    cores: int

    @property
    def slots(self) -> int:
        """Return how many cells can be under way at once."""
        return self.processes * self.in_flight


class Needs(NamedTuple):
    """The resources that a run needs."""

    working_s: float
    """Seconds for which the processor is busy."""
    waiting_s: float
    """Seconds for which cells wait for models."""
    waits_for: str
    """The model whose limit makes the run wait; "" if more cells at once would shorten it."""
    memory_mb: float
    """Peak memory, while cells run or while the report is built."""
    for_report: bool
    """Whether the report causes the peak."""
    stored_mb: float

    @property
    def seconds(self) -> float:
        """Return how long the run takes.

        In measurements, working and waiting hardly overlapped, so this is their sum.
        """
        return self.working_s + self.waiting_s


def needs_of(cells: int, asked: Mapping[str, Demand], machine: Capacity) -> Needs:
    """Return the resources that a run needs.

    Args:
        cells: the number of its cells, controls included.
        asked: their demand on each model.
        machine: the capacity that runs them.
    """
    slots = max(1, min(machine.slots, cells))
    in_slots = sum(one.waiting_s for one in asked.values()) / slots
    limits = {n: one.waiting_s / one.parallel for n, one in asked.items() if one.parallel}
    slowest = max(limits, key=lambda name: limits[name], default="")
    waiting = max(in_slots, limits.get(slowest, 0.0))
    running = machine.processes * PROCESS_MB + slots * FLIGHT_MB
    reporting = REPORT_MB + cells * REPORT_CELL_MB
    return Needs(
        working_s=cells * CELL_S / max(1, min(machine.cores, slots)),
        waiting_s=waiting,
        waits_for=slowest if limits.get(slowest, 0.0) > in_slots else "",
        memory_mb=max(running, reporting),
        for_report=reporting > running,
        stored_mb=cells * CELL_KB / 1000,
    )


def advice(needs: Needs, machine: Capacity) -> str:
    if needs.working_s >= needs.waiting_s:
        return "mostly processor: more cores, or shards on other machines, make it shorter"
    if needs.waits_for:
        return (
            f"mostly waiting for {needs.waits_for}: more calls at once (`max_parallel` of its "
            "settings) make it shorter, as far as its provider allows"
        )
    return (
        f"mostly waiting with {machine.slots} at once: more cells in flight "
        "(--autoweb-concurrency) or workers (-n) make it shorter"
    )


def time_words(seconds: float) -> str:
    """Return a time in words, in a suitable unit."""
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def size_words(megabytes: float) -> str:
    """Return a size in words, in a suitable unit."""
    for unit, size in (("TB", 1_000_000), ("GB", 1000)):
        if megabytes >= size:
            return f"{megabytes / size:,.1f} {unit}"
    return f"{megabytes:.0f} MB" if megabytes >= 10 else f"{megabytes:.1f} MB"


def need_lines(needs: Needs, machine: Capacity, cells: int) -> Sequence[str]:
    """Return a run's needs, as lines for a terminal."""
    text_mb = cells * TEXT_KB / 1000
    most = "for the report at the end" if needs.for_report else "while cells run"
    processes = count_of(machine.processes, "process", "processes")
    return (
        f"time     about {time_words(needs.seconds)}: {time_words(needs.working_s)} of work on "
        f"{machine.cores} cores, {time_words(needs.waiting_s)} of waiting; {processes} with "
        f"{machine.in_flight} in flight",
        f"         {advice(needs, machine)}",
        f"memory   about {size_words(needs.memory_mb)}, {most}",
        f"storage  about {size_words(needs.stored_mb)}, without pictures {size_words(text_mb)}",
    )


class RepeatGroup(NamedTuple):
    """Cells that differ only in their repeat."""

    case_path: str
    case_id: str
    model: str
    mode: str
    cells: int
    checksum: str
    """The checksum of the case as it is now."""
    strategy: str = "codegen"


class Estimate(NamedTuple):
    """The expected needs of one cell."""

    calls: float
    input_tokens: float
    output_tokens: float
    cost: Cost
    basis: Basis
    behind: int = 0
    """The number of earlier cells behind the means."""
    waiting_s: float = 0.0
    """Seconds for which the cell waits for its model."""


class PreviewRow(NamedTuple):
    """A line of the preview."""

    group: RepeatGroup
    estimate: Estimate


NOTHING = Estimate(0, 0, 0, Cost(usd=0.0), "control")


def from_history(
    group: RepeatGroup, runs: Sequence[RunRows], price: Price | None
) -> Estimate | None:
    """Return the mean of earlier cells, or None if there are none.

    These are cells of the same unchanged case, or else of any case of the model, in this mode and
    with the same strategy.
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
        waiting_s=max(0.0, fmean(row.duration_ms for row in chosen) / 1000 - CELL_S),
    )


def from_sizes(calls: int, given: int, made: int, price: Price | None) -> Estimate:
    usd = price.of(given, made) if price else None
    cost = Cost(usd=usd, complete=usd is not None)
    return Estimate(calls, given, made, cost, "prompts", waiting_s=calls * CALL_S)


def preview_lines(rows: Sequence[PreviewRow]) -> list[str]:
    """Return the preview as a table with totals for each model and for everything."""
    head = ["case", "model", "capture", "cells", "calls", "tokens in / out", "cost", "from"]
    shown = [head, *map(_line, rows), *_totals(rows)]
    return columns(shown)


def _is_like(row: CellSummary, group: RepeatGroup) -> bool:
    """Tell whether a row has the same model and mode, and the model was really called."""
    asked = row.calls > 0 and row.outcome not in ("broken", "skipped")
    mine = (group.model, group.mode, group.strategy)
    return asked and (row.model, row.capture_mode, row.strategy) == mine


def _is_of(row: CellSummary, group: RepeatGroup) -> bool:
    known = row.checksums.get("case", group.checksum)
    return (row.case_path, row.case_id, known) == (group.case_path, group.case_id, group.checksum)


def _cost(rows: Sequence[CellSummary], price: Price | None, given: float, made: float) -> Cost:
    """Return the mean cost paid or, if unknown, today's price of the tokens."""
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


PAGE_TOKENS = 2000
"""The tokens assumed for a page as shown to a model; a list of numbered elements takes half as
many."""
PLAN_TOKENS, SCRIPT_TOKENS = 200, 300
"""Assumed for replies."""
TURNS, TURN_TOKENS = 2, 30
"""Assumed for small models, which act in turns (dialect `refs`)."""
SCRIPT_TURNS = 5
"""Assumed for models that write their script turn by turn."""
PICTURE_TOKENS, DESCRIPTION_TOKENS = 1000, 250
"""Assumed for a screenshot and its description."""
DECISIONS, DECISION_TOKENS = 8, 80
"""Assumed for the strategy `act`, where each decision is a call; and for a reply that decides."""
FILTER_STEPS = 3
"""Assumed for the strategy `collect`: decisions to set filters first, where a case allows them."""

ASSUMED = (
    f"Estimates from the size of the prompts take a page as {PAGE_TOKENS:,} tokens, a plan as "
    f"{PLAN_TOKENS} and a script as {SCRIPT_TOKENS}; repairs and model judges are not in them."
)
ACTS = (
    "The number of decisions of `act` is not known before: {calls} are assumed, each one call; an "
    "attempt ends after {limit} (--autoweb-max-steps)."
)
COLLECTS = (
    f"For `collect` a call is assumed for each page that is explored, up to {FILTER_STEPS} to set "
    "filters, and one to find the next page; with a known pattern no model is asked."
)
OUTSIDE_TOKENS = 5000
OUTSIDE = (
    f"What an outside agent sends is not known before: {DECISIONS} calls are assumed, each with "
    f"{OUTSIDE_TOKENS} tokens of its own beside the page; `max_calls` of its settings is the limit."
)
CALLS_LAST = f"A call of a model that no earlier cell has asked is taken to last {CALL_S:g} s."
REPLAYED = "Replies come from cassettes only: nothing is paid."


class Preview:
    """The plugin that replaces the run with `--autoweb-preview`, without workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._processes = int(config.getoption("numprocesses", None) or 1)
        # As with --collect-only: xdist starts no workers for a session that runs nothing.
        if hasattr(config.option, "tx"):
            config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None
        self._config = config
        self._lines: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Estimate instead of running; collection errors are left to pytest."""
        broken = session.testsfailed and not session.config.option.continue_on_collection_errors
        if broken or (run := self._config.stash.get(SESSION, None)) is None:
            return None
        cells = [item.cell for item in session.items if isinstance(item, CellItem)]
        if run.settings.resume:
            cells = self._left(run, cells)
        if cells:
            self._lines += _Forecast(run, self._is_foreign, self._processes).lines(cells)
        return True

    def _left(self, run: RunSession, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells that would run again, and print how many would not."""
        resumed = ResumedCells(self._config, run.run_folder, run.shared.resumed_file)
        left = [cell for cell in cells if resumed.will_run(cell, run.settings)]
        self._lines.append(f"{count_of(len(cells) - len(left), 'cell')} would be kept")
        return left

    def _is_foreign(self, spec: ModelSpec) -> bool:
        """Tell whether a hook answers for the model, in which case its price is unknowable."""
        return self._config.hook.pytest_autoweb_client(spec=spec) is not None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        if self._lines:
            terminalreporter.section("autoweb preview")
            for line in self._lines:
                terminalreporter.write_line(line)


class _Forecast:
    """The data behind the estimates of cells."""

    def __init__(
        self, run: RunSession, is_foreign: Callable[[ModelSpec], bool], processes: int
    ) -> None:
        self._run, self._is_foreign, self._processes = run, is_foreign, processes
        self._settings = run.settings
        self._notes: list[str] = []

    def lines(self, cells: Sequence[Cell]) -> list[str]:
        storage = self._settings.rootdir / self._settings.storage
        runs = saved_rows(storage, notices=self._notes)
        specs = {cell.spec.name: cell.spec for cell in cells}
        prices = self._prices(list(specs.values()))
        first = {_axes(cell): cell for cell in reversed(cells)}
        groups = {
            axes: RepeatGroup(
                *axes,
                cells=count,
                checksum=first[axes].case.checksum,
                strategy=first[axes].strategy,
            )
            for axes, count in Counter(map(_axes, cells)).items()
        }
        rows = [
            PreviewRow(group, self._estimate(first[axes], group, runs, prices))
            for axes, group in groups.items()
        ]
        if any(row.estimate.basis == "prompts" for row in rows):
            self._notes += [ASSUMED, CALLS_LAST]
        return [*preview_lines(rows), "", *self._needs(rows, specs), *self._notes]

    def _needs(self, rows: Sequence[PreviewRow], specs: dict[str, ModelSpec]) -> Sequence[str]:
        """Print the time, memory and storage the run needs, with these flags on this machine."""
        machine = Capacity(
            self._processes, self._run.concurrency(self._processes), os.cpu_count() or 1
        )
        asked = {
            one_line(name, 48): Demand(
                sum(row.estimate.waiting_s * row.group.cells for row in own),
                spec.max_parallel or DEFAULT_PARALLEL,
            )
            for name, spec in specs.items()
            if (own := [row for row in rows if row.group.model == name])
        }
        cells = _cells(rows)
        return need_lines(needs_of(cells, asked, machine), machine, cells)

    def _estimate(
        self,
        cell: Cell,
        group: RepeatGroup,
        runs: Sequence[RunRows],
        prices: dict[str, Price | None],
    ) -> Estimate:
        if cell.spec.provider == "builtin":
            return NOTHING
        price = prices.get(cell.spec.name)
        estimate = from_history(group, runs, price)
        if estimate is None:
            estimate = from_sizes(*self._sizes(cell), price)
        if self._is_replayed(cell.spec):
            return estimate._replace(cost=Cost(usd=0.0), waiting_s=0.0)
        return estimate

    def _sizes(self, cell: Cell) -> tuple[int, int, int]:
        """Return the calls, and the tokens in and out, of a first attempt."""
        task = estimate_tokens(cell.case.user_task_template)
        if cell.strategy != CODEGEN.name:
            return self._decision_sizes(cell, task)
        strategy = strategy_of(cell.strategy, cell.spec)
        if strategy is BY_REFS:
            given = _prompt_tokens("refs") + task + PAGE_TOKENS // 2
            return TURNS, TURNS * given, TURNS * TURN_TOKENS
        if strategy in (BY_TURNS, BY_REFS_IN_TURNS):
            turns = min(SCRIPT_TURNS, self._settings.max_turns)
            said = PAGE_TOKENS // 4 * (turns - 1)
            given = _prompt_tokens(strategy.prompts[0]) + task + PAGE_TOKENS + said // 2
            return turns, turns * given, turns * SCRIPT_TOKENS // 2
        plan = _prompt_tokens("plan") + task
        script = _prompt_tokens("generate") + task + PLAN_TOKENS + PAGE_TOKENS
        if not (self._settings.visual_supplement and cell.spec.vision):
            return 2, plan + script, PLAN_TOKENS + SCRIPT_TOKENS
        looked = _prompt_tokens("visual") + task + PICTURE_TOKENS
        made = PLAN_TOKENS + SCRIPT_TOKENS + DESCRIPTION_TOKENS
        return 3, plan + looked + script + DESCRIPTION_TOKENS, made

    def _decision_sizes(self, cell: Cell, task: int) -> tuple[int, int, int]:
        """Return the sizes for a strategy that decides step by step, with one call per decision.

        A user's strategy is assumed to ask once with each of its prompts.
        """
        spec, prompts = cell.spec, strategy_of(cell.strategy, cell.spec).prompts
        shown = PICTURE_TOKENS if spec.vision else PAGE_TOKENS // 2
        if strategy_of(cell.strategy, spec).outside is not None:
            if OUTSIDE not in self._notes:
                self._notes.append(OUTSIDE)
            given = OUTSIDE_TOKENS + task + shown
            return DECISIONS, DECISIONS * given, DECISIONS * SCRIPT_TOKENS
        if cell.strategy not in (ACT.name, COLLECT.name):
            given = sum(_prompt_tokens(name) + task + PAGE_TOKENS for name in prompts)
            return len(prompts), given, len(prompts) * SCRIPT_TOKENS
        if cell.strategy == ACT.name:
            limit = self._settings.max_decisions
            calls = min(DECISIONS, limit)
            note = ACTS.format(calls=calls, limit=limit)
        else:
            calls, note = _questions(cell.case.collects), COLLECTS
        if note not in self._notes:
            self._notes.append(note)
        brief = spec.brief
        prompt = next(name for name in prompts if name.endswith("_brief") is brief)
        made = TURN_TOKENS if brief else DECISION_TOKENS
        return calls, calls * (_prompt_tokens(prompt) + task + shown), calls * made

    def _is_replayed(self, spec: ModelSpec) -> bool:
        settings = self._settings
        called = settings.record_mode not in REPLAYING or spec.name in settings.live
        if called or self._is_foreign(spec):
            return False
        if REPLAYED not in self._notes:
            self._notes.append(REPLAYED)
        return True

    def _prices(self, specs: Sequence[ModelSpec]) -> dict[str, Price | None]:
        """Return the tokens' prices: from the settings, or else from the gateway."""
        found = {spec.name: price_in_spec(spec) for spec in specs}
        asked = [
            spec
            for spec in specs
            if found[spec.name] is None
            and not self._is_replayed(spec)
            and not self._is_foreign(spec)
        ]
        if asked:
            try:
                self._run.gateway.add(*asked)
                found |= self._run.gateway.prices([spec.name for spec in asked])
            except AutowebError as error:
                self._notes.append(f"prices are not known: {error}")
        return found


def _axes(cell: Cell) -> tuple[str, str, str, str]:
    return cell.case_path, cell.case.id, cell.spec.name, cell.mode


def _questions(spec: CollectSpec) -> int:
    if spec.pattern is not None or spec.xpath is not None or spec.config is not None:
        return 0
    return min(spec.navigate, FILTER_STEPS) + spec.explore + 1


def _prompt_tokens(name: str) -> int:
    prompt = load_prompt(name)
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
