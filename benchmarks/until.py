"""How often `--autoweb-until=decided` decides wrongly, what it finds, and what it saves.

    python benchmarks/until.py                 # all tables of docs/statistics.md, some minutes
    python benchmarks/until.py --runs 200      # the same, rougher
    python benchmarks/until.py --replay        # only the saved runs of benchmarks/runs/

Both parts use what a session uses: the same order of cells, the same test after every cell, the
same cells left out. A simulated case draws each model's chance to pass; a replayed cell ends as the
saved one did. `--in-flight 4` lets cells end in any order while others run.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, RunRows
from pytest_autoweb.results.analysis.comparison import compare_models
from pytest_autoweb.results.analysis.early_decision import EarlyDecision, Entry, PairDecision
from pytest_autoweb.results.records import Outcome

RUNS = Path(__file__).parent / "runs"
SAVED = {
    "sampled, 20 cases × 10": ("qwen2.5-coder-0.5b-sampled", "qwen2.5-coder-1.5b-sampled"),
    "temperature 0, 60 cases": ("qwen2.5-coder-0.5b-refs", "qwen2.5-coder-1.5b-refs"),
    "the same and a third model": (
        "qwen2.5-coder-0.5b-refs",
        "qwen2.5-coder-1.5b-refs",
        "smollm2-135m-refs",
    ),
}
SIZES = ((20, 1), (20, 5), (60, 1))
LEVELS = (0.05, 0.01)
ORDERS = 200
Draw = Callable[[random.Random], tuple[float, ...]]
"""Draws the chances of a case to be passed, one for each model."""
Ends = Mapping[str, Outcome]


@dataclass(frozen=True)
class Played:
    """A run that was played to its end, or to its decision."""

    decisions: tuple[PairDecision, ...]
    ran: tuple[str, ...]
    cells: int

    @property
    def share(self) -> float:
        return len(self.ran) / self.cells


def play(
    entries: Sequence[Entry], ends: Ends, alpha: float, *, in_flight: int = 1, seed: int = 0
) -> Played:
    """Run cells in the order of a session, until it is decided or none is left."""
    chance = random.Random(seed)
    state = EarlyDecision(entries, alpha)
    left = state.in_order([entry.name for entry in entries])
    version = state.version
    ran: list[str] = []
    flying: list[str] = []
    while left or flying:
        if state.version != version:
            version, left = state.version, state.in_order(left)
        while left and len(flying) < in_flight:
            name = left.pop(0)
            if not state.why_not(name):
                state.begin(name)
                flying.append(name)
                ran.append(name)
        if flying:
            name = flying.pop(chance.randrange(len(flying)))
            state.end(name, ends[name])
            state.decide()
    return Played(tuple(state.decisions.values()), tuple(ran), len(entries))


def _entries(cases: int, repeats: int, models: int) -> list[Entry]:
    return [
        Entry(f"{case}/{repeat}/{model}", ("cases.yaml", f"c{case}"), "abcdef"[model], (repeat, ""))
        for case in range(cases)
        for repeat in range(repeats)
        for model in range(models)
    ]


def _drawn(entries: Sequence[Entry], draw: Draw, chance: random.Random) -> dict[str, Outcome]:
    rates = {case: draw(chance) for case in dict.fromkeys(entry.case for entry in entries)}
    return {
        entry.name: "passed"
        if chance.random() < rates[entry.case]["abcdef".index(entry.model)]
        else "failed"
        for entry in entries
    }


def _alike(models: int) -> Draw:
    """Every model has the same chance in each case, which differs between cases."""
    return lambda chance: (chance.betavariate(0.7, 0.5),) * models


def _alike_on_average(models: int) -> Draw:
    """Each model has its own strengths; none is better over all cases."""
    return lambda chance: tuple(chance.betavariate(0.7, 0.5) for _ in range(models))


def _surely_or_slightly(chance: random.Random) -> tuple[float, float]:
    """Draw a case for models that are equal on average only, in the worst way that was found.

    One surely wins a few cases, and is a little worse in most others.
    """
    return (1.0, 0.0) if chance.random() < 0.1 else (0.4, 0.4 + 1 / 9)


def _better(by: float) -> Draw:
    """The second model solves a share of the cases that the first one does not."""

    def draw(chance: random.Random) -> tuple[float, float]:
        steady = 0.95 if chance.random() < 0.5 else 0.05
        other = 0.95 if steady < 0.5 and chance.random() < 2 * by else steady
        return steady, other

    return draw


def false_decisions(runs: int, in_flight: int) -> Iterator[str]:
    """Yield how often models that are equal are called different."""
    yield "| equal models | cases × repeats | at 5% | at 1% |"
    yield "|---|--:|--:|--:|"
    settings: tuple[tuple[str, Draw, int], ...] = (
        ("two, the same chance in each case", _alike(2), 2),
        ("two, equal on average only", _alike_on_average(2), 2),
        ("two, one surely better in a tenth, a little worse elsewhere", _surely_or_slightly, 2),
        ("four, the same chance in each case", _alike(4), 4),
    )
    for told, draw, models in settings:
        for cases, repeats in SIZES:
            found = [
                _share_decided(cases, repeats, models, draw, alpha, runs, in_flight)
                for alpha in LEVELS
            ]
            shares = " | ".join(f"{share:.1%}" for share in found)
            yield f"| {told} | {cases} × {repeats} | {shares} |"


def _share_decided(
    cases: int, repeats: int, models: int, draw: Draw, alpha: float, runs: int, in_flight: int
) -> float:
    entries, chance, decided = _entries(cases, repeats, models), random.Random(7), 0
    for seed in range(runs):
        ends = _drawn(entries, draw, chance)
        decided += bool(play(entries, ends, alpha, in_flight=in_flight, seed=seed).decisions)
    return decided / runs


def power(runs: int, in_flight: int) -> Iterator[str]:
    """Yield how often a difference is found, beside the usual test on all cells."""
    yield (
        "| better by | cases × repeats | decided | of these wrong "
        "| usual test, all cells | cells run |"
    )
    yield "|--:|--:|--:|--:|--:|--:|"
    for by in (0.1, 0.2, 0.3, 0.4):
        for cases, repeats in SIZES:
            entries, chance = _entries(cases, repeats, 2), random.Random(11)
            played, usual = [], 0
            for seed in range(runs):
                ends = _drawn(entries, _better(by), chance)
                played.append(play(entries, ends, 0.05, in_flight=in_flight, seed=seed))
                usual += bool(compare_models(_rows(entries, ends))[0].decisive)
            decided = [each for each in played if each.decisions]
            wrong = sum(each.decisions[0].better != "b" for each in decided)
            share = sum(each.share for each in played) / runs
            yield (
                f"| {by * 100:.0f} points | {cases} × {repeats} | {len(decided) / runs:.0%} | "
                f"{wrong / max(1, len(decided)):.1%} | {usual / runs:.0%} | {share:.0%} |"
            )


def _rows(entries: Sequence[Entry], ends: Ends) -> RunRows:
    rows = [
        {
            "case_id": entry.case[1],
            "case_path": entry.case[0],
            "model": entry.model,
            "capture_mode": "ARIA_SNAPSHOT",
            "repeat": entry.trial[0] + 1,
            "outcome": ends[entry.name],
            "checksums": {},
        }
        for entry in entries
    ]
    models = list(dict.fromkeys(entry.model for entry in entries))
    made_up = {"ts": "", "started": "2026-01-01T00:00:00Z", "environment": {}}
    return RunRows.model_validate({**made_up, "models": models, "rows": rows})


def replayed(in_flight: int) -> Iterator[str]:
    """Yield what the saved runs would have come to, and how much of them would have run."""
    yield (
        "| saved runs | level | decided early | cells run | calls made "
        f"| decided in {ORDERS} other orders | cells run there |"
    )
    yield "|---|--:|---|--:|--:|--:|--:|"
    for told, names in SAVED.items():
        rows = _joined([_load(name) for name in names])
        for pair in compare_models(rows):
            usual = f"{pair.b.model} against {pair.a.model}, all cells: p {_p(pair.p_holm)}"
            yield f"| {told} | | {usual} | | | | |"
        for alpha in LEVELS:
            yield f"| {told} | {alpha:.0%} | {_replayed(rows, alpha, in_flight)} |"


def _replayed(rows: RunRows, alpha: float, in_flight: int) -> str:
    named = [
        row.model_copy(update={"folder": f"{row.case_id}/{row.model}/{row.repeat}"})
        for row in rows.rows
    ]
    entries, ends = [Entry.of(row) for row in named], {row.folder: row.outcome for row in named}
    found = play(entries, ends, alpha, in_flight=in_flight)
    calls = {row.folder: row.calls for row in named}
    made = sum(calls[name] for name in found.ran) / sum(calls.values())
    decided = "; ".join(each.told for each in found.decisions) or "nothing"
    others = [play(*_reordered(entries, ends, seed), alpha) for seed in range(ORDERS)]
    early = sum(bool(each.decisions) for each in others) / ORDERS
    best = Counter(each.better for other in others for each in other.decisions)
    share = sum(each.share for each in others) / ORDERS
    who = f" ({', '.join(f'{count} for {name}' for name, count in best.items())})" if best else ""
    return (
        f"{decided} | {len(found.ran)} of {found.cells} ({found.share:.0%}) | {made:.0%} | "
        f"{early:.0%}{who} | {share:.0%}"
    )


def _reordered(entries: Sequence[Entry], ends: Ends, seed: int) -> tuple[list[Entry], Ends]:
    """Return the same cells with the cases, and the repeats of each, in another order."""
    chance = random.Random(seed)
    groups: dict[tuple[CaseKey, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.case, entry.model), []).append(entry)
    dealt: dict[str, Outcome] = {}
    for group in groups.values():
        outcomes = [ends[entry.name] for entry in group]
        chance.shuffle(outcomes)
        dealt |= {entry.name: outcome for entry, outcome in zip(group, outcomes, strict=True)}
    salted = [entry._replace(case=(f"{seed}", entry.case[1])) for entry in entries]
    return salted, dealt


def _p(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _load(name: str) -> RunRows:
    return RunRows.model_validate(json.loads((RUNS / f"{name}.json").read_text(encoding="utf-8")))


def _joined(runs: Sequence[RunRows]) -> RunRows:
    """Return runs of different models on the same cases as one."""
    return runs[0].model_copy(
        update={
            "models": tuple(model for run in runs for model in run.models),
            "rows": tuple(row for run in runs for row in run.rows),
        }
    )


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000, help="simulated runs per setting")
    parser.add_argument("--in-flight", type=int, default=1, help="cells in flight")
    parser.add_argument("--replay", action="store_true", help="only the saved runs")
    args = parser.parse_args()
    tables = [replayed(args.in_flight)]
    if not args.replay:
        tables += [false_decisions(args.runs, args.in_flight), power(args.runs, args.in_flight)]
    for table in tables:
        for line in table:
            print(line, flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
