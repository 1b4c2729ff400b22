"""What random actions pass, and how far above that a model is; pure.

A pass rate says little where much of it is chance: clicking at random passes some tasks of many
benchmarks. The floor of a case is the pass rate of `builtin/random` on it.
"""

from collections.abc import Collection, Mapping, Sequence

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, CellSummary, case_key, is_graded
from pytest_autoweb.results.analysis.controls import ControlRow
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.results.analysis.statistics import Interval, difference_interval
from pytest_autoweb.results.records import CellResult, Record


class AboveChance(Record):
    """The first-attempt rate of a model beside that of random actions on the same cases."""

    cases: int
    """The number of cases that have a verdict on both."""
    rate: float
    """The model's rate, averaged over the cases."""
    floor: float
    """The rate of random actions, averaged over the cases."""
    difference: float
    """The rate minus the floor."""
    interval: Interval | None
    """The 95% interval of the difference over cases (`statistics.difference_interval`); None for a
    single case."""


class Discrimination(Record):
    """Which cases tell the models of a run apart, by their first attempts; each case is in one."""

    apart: tuple[str, ...]
    """Ids of cases that some models pass more often than others."""
    all_pass: tuple[str, ...]
    """Ids of cases that all models always pass."""
    none_pass: tuple[str, ...]
    """Ids of cases that no model ever passes."""
    alike: tuple[str, ...]
    """Ids of cases that all models pass equally often, but not always."""


def floors(rows: Sequence[ControlRow]) -> dict[CaseKey, float]:
    """Return the floor of each case on which random actions have a verdict."""
    known = ((row, row.floor) for row in rows)
    return {(row.case_path, row.case_id): floor for row, floor in known if floor is not None}


def passed_by_chance(rows: Sequence[ControlRow]) -> frozenset[CaseKey]:
    """Return the cases that random actions always pass."""
    return frozenset((row.case_path, row.case_id) for row in rows if row.by_chance)


def above_chance(
    cells: Sequence[CellResult | CellSummary],
    floor: Mapping[CaseKey, float],
    doubtful: Collection[CaseKey] = (),
) -> AboveChance | None:
    """Return how far a model is above chance; None if no case has a verdict on both.

    Args:
        cells: the cells of the model.
        floor: the floor of each case.
        doubtful: cases to leave out because a control is broken.
    """
    means = {key: mean for key, mean in _means(cells).items() if key in floor.keys() - {*doubtful}}
    if not means:
        return None
    differences = [mean - floor[key] for key, mean in means.items()]
    count = len(means)
    return AboveChance(
        cases=count,
        rate=sum(means.values()) / count,
        floor=sum(floor[key] for key in means) / count,
        difference=sum(differences) / count,
        interval=difference_interval(differences),
    )


def discrimination(cells: Sequence[CellResult]) -> Discrimination | None:
    """Sort the cases that several models have a verdict on; None if there are none."""
    means: dict[CaseKey, list[float]] = {}
    for model in dict.fromkeys(cell.model for cell in cells):
        for key, mean in _means([cell for cell in cells if cell.model == model]).items():
            means.setdefault(key, []).append(mean)
    shared = {key: values for key, values in means.items() if len(values) > 1}
    if not shared:
        return None
    kinds: dict[str, list[str]] = {"apart": [], "all_pass": [], "none_pass": [], "alike": []}
    for key, values in sorted(shared.items()):
        low, high = min(values), max(values)
        kind = "apart" if low != high else {1.0: "all_pass", 0.0: "none_pass"}.get(low, "alike")
        kinds[kind].append(key[1])
    return Discrimination(**{kind: tuple(ids) for kind, ids in kinds.items()})


def _means(cells: Sequence[CellResult | CellSummary]) -> dict[CaseKey, float]:
    """Return the first-attempt rate of each case with a verdict."""
    own: dict[CaseKey, list[CellResult | CellSummary]] = {}
    for cell in cells:
        if is_graded(cell):
            own.setdefault(case_key(cell), []).append(cell)
    good = GOOD["first_attempt"]
    return {key: sum(c.outcome in good for c in group) / len(group) for key, group in own.items()}
