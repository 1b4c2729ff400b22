"""Three local models on the recorded runs: above chance, and whether one may take another's place.

    python benchmarks/local_models.py

It reads `benchmarks/runs/`: the cells of each model on the twenty MiniWoB++ tasks at three seeds,
and those of `builtin/random` on the same cases. The numbers are those that a report would show.
"""

import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from statistics_check import row  # type: ignore[import-not-found]

from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.chance import above_chance, floors, passed_by_chance
from pytest_autoweb.results.analysis.comparison import compare_models
from pytest_autoweb.results.analysis.controls import control_rows
from pytest_autoweb.results.analysis.counted_outcomes import first_attempt_rate
from pytest_autoweb.results.analysis.statistics import Interval
from pytest_autoweb.results.analysis.switching import switch_of, switch_sentence

RUNS = Path(__file__).parent / "runs"
MODELS = ("qwen2.5-coder-1.5b-refs", "qwen2.5-coder-0.5b-refs", "smollm2-135m-refs")
MARGINS = (0.05, 0.1, 0.2)


def main() -> int:
    """Print the tables."""
    runs = [load(name) for name in (*MODELS, "random")]
    rows = tuple(each for run in runs for each in run.rows)
    models = tuple(model for run in runs for model in run.models)
    merged = runs[0].model_copy(update={"rows": rows, "models": models})
    for part in (above(merged), switches(merged)):
        print("\n".join(part), end="\n\n")
    return 0


def load(name: str) -> RunRows:
    """Return a recorded run."""
    return RunRows.model_validate_json((RUNS / f"{name}.json").read_text(encoding="utf-8"))


def above(run: RunRows) -> Iterator[str]:
    """Yield each model's rate beside the floor, on all cases and on those not passed by chance."""
    controls = control_rows(run.rows)
    floor, always = floors(controls), passed_by_chance(controls)
    rest = {key: value for key, value in floor.items() if key not in always}
    yield row("model", "first attempt (95%)", "above chance (95%)", "without cases of chance (95%)")
    yield row("---", "---", "---", "---")
    for model in run.models[:-1]:
        own = [each for each in run.rows if each.model == model]
        rate = first_attempt_rate(own)
        found = [above_chance(own, known) for known in (floor, rest)]
        told = (
            f"{points(e.difference)} ({between(e.interval)}), {e.cases} cases" for e in found if e
        )
        yield row(model, f"{rate.value:.0%} ({between(rate.interval, sign=False)})", *told)
    played = [each for each in controls if each.random_runs]
    passed, plays = sum(e.random_passed for e in played), sum(e.random_runs for e in played)
    yield ""
    yield f"Random actions pass {passed} of {plays} plays, every time in {len(always)} cases."


def switches(run: RunRows) -> Iterator[str]:
    """Yield whether the second model of each pair may take the place of the first."""
    pairs = {(pair.a.model, pair.b.model): pair for pair in compare_models(run)}
    for before, after in combinations(run.models[:-1], 2):
        for margin in MARGINS:
            yield f"- {margin:.0%}: {switch_sentence(switch_of(pairs[before, after], margin))}"


def points(share: float) -> str:
    return f"{share * 100:+.0f}".replace("-", "−")


def between(interval: Interval | None, *, sign: bool = True) -> str:
    if interval is None:
        return "–"
    ends = (interval.low, interval.high)
    return " to ".join(points(end) if sign else f"{end:.0%}" for end in ends)


if __name__ == "__main__":
    sys.exit(main())
