"""How often gates raise a false alarm, and how often they find a planted regression.

    python benchmarks/gates.py                # the tables of docs/ci.md, some minutes
    python benchmarks/gates.py --draws 200    # the same, rougher

Everything rests on recorded runs (`benchmarks/runs/`): twenty tasks, ten repeats each, sampled at
temperature 0.8. For noise, a case's ten repeats are dealt out at random to earlier runs and a
candidate: the same model on the same day, so every alarm is a false one. No cell is used twice in a
draw, unless more than ten are needed; then each is drawn anew from the ten. For planted regressions
the candidate's passed cells are then made to fail.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from pytest_autoweb.report.gates.gate_decision import evaluate_gates
from pytest_autoweb.report.gates.gate_policy import GatePolicy, read_limits
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.analysis.past_runs import History, history_of
from pytest_autoweb.results.runs.side_files import GateResult

RUNS = Path(__file__).parent / "runs"
SAMPLED = ("qwen2.5-coder-0.5b-sampled", "qwen2.5-coder-1.5b-sampled")
DEALS = ((1, 1), (1, 3), (1, 5), (14, 2), (5, 3), (3, 5))
"""Numbers of earlier runs, and of repeats of each case in every run."""
CHANGES = "pass_rate:5%,cost:20%,duration:20%"
PRICE_IN, PRICE_OUT = 1e-6, 4e-6
"""US dollars per token, assumed for the free local models to study the noise of the cost."""

Spoil = Callable[[random.Random, Sequence[CellSummary]], list[CellSummary]]


@dataclass(frozen=True)
class Deal:
    """A baseline (or several earlier runs) and a candidate, from one recording."""

    earlier: tuple[RunRows, ...]
    now: RunRows

    @cached_property
    def history(self) -> History:
        """Return what the earlier runs say of the candidate."""
        return history_of(self.earlier, self.now)

    def gates(self, policy: GatePolicy) -> tuple[GateResult, ...]:
        """Return the candidate's gates."""
        return evaluate_gates(self.now, policy, baseline=self.earlier[-1], history=self.history)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    recorded = {name: _priced(load(name)) for name in SAMPLED if (RUNS / f"{name}.json").exists()}
    tables = (
        noise(recorded, draws),
        thresholds(recorded, draws),
        planted(recorded, draws // 4),
        broken_cases(recorded, draws // 4),
        other_model(),
    )
    for table in tables:
        print("\n".join(table), end="\n\n", flush=True)
    return 0


def noise(recorded: dict[str, RunRows], draws: int) -> Iterator[str]:
    """Yield the false alarms of every gate on changes."""
    yield "| gate, on noise | earlier runs | repeats | " + " | ".join(recorded) + " |"
    yield "|---|--:|--:|" + "--:|" * len(recorded)
    lines: dict[tuple[str, int, int], list[str]] = {}
    for run in recorded.values():
        for runs, repeats in DEALS:
            alarms = _alarms(run, runs, repeats, draws)
            for gate, count in alarms.items():
                lines.setdefault((gate, runs, repeats), []).append(f"{count / draws:.1%}")
    for (gate, runs, repeats), cells in sorted(lines.items()):
        yield f"| {gate} | {runs} | {repeats} | " + " | ".join(cells) + " |"


def _alarms(run: RunRows, runs: int, repeats: int, draws: int) -> dict[str, int]:
    """Count the alarms of the gates, and of two simpler rules that they replace."""
    chance = random.Random(1)
    policy = GatePolicy(limits=read_limits(CHANGES, "changes"), compare="latest")
    names = ["drop of the pass rate", "cost", "duration"] if runs == 1 else []
    names += ["steady cases", "(any steady case that fails on every repeat)"]
    alarms = dict.fromkeys(names + ["(any drop beyond 5 points)"] * (runs == 1), 0)
    for _ in range(draws):
        deal = dealt(run, runs, repeats, chance)
        results = deal.gates(policy)
        for result in results:
            if result.name in alarms:
                alarms[result.name] += result.passed is False
        broke = any(case.broke for case in deal.history.steady)
        alarms["(any steady case that fails on every repeat)"] += broke
        if runs == 1:
            drop = rate(deal.earlier[0].rows) - rate(deal.now.rows)
            alarms["(any drop beyond 5 points)"] += drop > 0.05
    return alarms


def thresholds(recorded: dict[str, RunRows], draws: int) -> Iterator[str]:
    """Yield how often a model falls below a minimum rate set so many points below its own."""
    yield "| least rate set below the usual one by | repeats | " + " | ".join(recorded) + " |"
    yield "|---|--:|" + "--:|" * len(recorded)
    for margin in (0, 5, 10, 15):
        for repeats in (1, 3, 5):
            cells = []
            for run in recorded.values():
                chance, usual = random.Random(2), rate(run.rows)
                least = max(0.0, (usual - margin / 100) * 100)
                policy, failed = GatePolicy(min_pass_rate=least), 0
                for _ in range(draws):
                    now = dealt(run, 1, repeats, chance).now
                    failed += any(result.failed for result in evaluate_gates(now, policy))
                cells.append(f"{failed / draws:.1%}")
            yield f"| {margin} points | {repeats} | " + " | ".join(cells) + " |"


def planted(recorded: dict[str, RunRows], draws: int) -> Iterator[str]:
    """Yield how often `pass_rate:5%` notices that passing cells now fail with some probability."""
    yield (
        "| of the cells that passed, made to fail | repeats | "
        + " | ".join(f"{name}: drop, found" for name in recorded)
        + " |"
    )
    yield "|---|--:|" + "--:|" * len(recorded)
    for share in (0.25, 0.5, 0.75, 1.0):
        for repeats in (1, 3, 5):
            cells = [
                _found(run, repeats, _spoiling(share), draws, "drop of the pass rate")
                for run in recorded.values()
            ]
            yield f"| {share:.0%} | {repeats} | " + " | ".join(cells) + " |"


def broken_cases(recorded: dict[str, RunRows], draws: int) -> Iterator[str]:
    """Yield how often one case is found that always passed and now always fails."""
    yield "| one steady case broken for good | earlier trials | repeats | found by any gate |"
    yield "|---|--:|--:|--:|"
    for name, run in recorded.items():
        for runs, repeats in DEALS:
            found = _found(run, repeats, _breaking(run), draws, "", runs)
            yield f"| {name} | {runs * repeats} | {repeats} | {found.split(', ')[-1]} |"


def _found(run: RunRows, repeats: int, spoil: Spoil, draws: int, gate: str, runs: int = 1) -> str:
    chance, found, drops = random.Random(3), 0, 0.0
    policy = GatePolicy(limits=read_limits("pass_rate:5%", "planted"), compare="latest")
    for _ in range(draws):
        deal = dealt(run, runs, repeats, chance)
        worse = deal.now.model_copy(update={"rows": tuple(spoil(chance, deal.now.rows))})
        drops += rate(deal.now.rows) - rate(worse.rows)
        results = Deal(deal.earlier, worse).gates(policy)
        found += any(r.passed is False and gate in ("", r.name) for r in results)
    return f"{drops / draws:.0%}, {found / draws:.0%}"


def other_model() -> Iterator[str]:
    """Yield the effect of the largest real change at hand: a weaker model replaces a stronger."""
    yield "| before → after (sixty cases, one repeat) | pass rate | gate |"
    yield "|---|---|---|"
    names = ("qwen2.5-coder-1.5b-refs", "qwen2.5-coder-0.5b-refs", "smollm2-135m-refs")
    policy = GatePolicy(limits=read_limits("pass_rate:5%", "planted"), compare="latest")
    for before, after in ((0, 1), (0, 2), (1, 2)):
        one, other = load(names[before]), load(names[after])
        renamed = other.model_copy(
            update={
                "models": one.models,
                "rows": tuple(
                    row.model_copy(update={"model": one.models[0]}) for row in other.rows
                ),
            }
        )
        drop = next(
            result
            for result in evaluate_gates(renamed, policy, baseline=one)
            if result.name == "drop of the pass rate"
        )
        rates = f"{rate(one.rows):.0%} → {rate(other.rows):.0%}"
        yield f"| {names[before]} → {names[after]} | {rates} | {drop.message} |"


def load(name: str) -> RunRows:
    """Load a recorded run."""
    return RunRows.model_validate_json((RUNS / f"{name}.json").read_bytes())


def dealt(run: RunRows, runs: int, repeats: int, chance: random.Random) -> Deal:
    """Deal each case's trials out to earlier runs and the current one; if enough, none twice."""
    cases: dict[str, list[CellSummary]] = {}
    for row in run.rows:
        cases.setdefault(row.case_id, []).append(row)
    hands: list[list[CellSummary]] = [[] for _ in range(runs + 1)]
    for rows in cases.values():
        needed = (runs + 1) * repeats
        enough = needed <= len(rows)
        mixed = chance.sample(rows, needed) if enough else chance.choices(rows, k=needed)
        for at, row in enumerate(mixed):
            repeat = at % repeats + 1
            hands[at // repeats].append(row.model_copy(update={"repeat": repeat}))
    made = [
        run.model_copy(
            update={
                "ts": f"{run.ts}-{day}",
                "started": run.started + timedelta(days=day),
                "rows": tuple(hand),
            }
        )
        for day, hand in enumerate(hands)
    ]
    return Deal(tuple(made[:-1]), made[-1])


def rate(rows: Sequence[CellSummary]) -> float:
    """Share of cells that passed at once."""
    return sum(row.outcome == "passed" for row in rows) / len(rows)


def _spoiling(share: float) -> Spoil:
    def spoil(chance: random.Random, rows: Sequence[CellSummary]) -> list[CellSummary]:
        return [_failed(row) if chance.random() < share else row for row in rows]

    return spoil


def _breaking(run: RunRows) -> Spoil:
    """Break one of the tasks that passed ten times of ten in the recording."""
    failed = {row.case_id for row in run.rows if row.outcome != "passed"}
    steady = sorted({row.case_id for row in run.rows} - failed)

    def spoil(chance: random.Random, rows: Sequence[CellSummary]) -> list[CellSummary]:
        case_id = chance.choice(steady)
        return [_failed(row) if row.case_id == case_id else row for row in rows]

    return spoil


def _failed(row: CellSummary) -> CellSummary:
    return row.model_copy(update={"outcome": "failed"})


def _priced(run: RunRows) -> RunRows:
    rows = [
        row.model_copy(
            update={"cost_usd": row.input_tokens * PRICE_IN + row.output_tokens * PRICE_OUT}
        )
        for row in run.rows
    ]
    return run.model_copy(update={"rows": tuple(rows)})


if __name__ == "__main__":
    sys.exit(main())
