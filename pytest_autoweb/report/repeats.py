"""Statistics of repeats: which cases are flaky, and how often k tries succeed."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from pytest_autoweb.report.statistics import pass_at_k, pass_hat_k
from pytest_autoweb.results import CaptureModeName, CellResult, Outcome, Record

GroupKey = tuple[str, str, str, CaptureModeName]
"""Case file, case, model and capture mode: what repeats have in common."""


class PassAtK(Record):
    """The probability that k tries at a case succeed, each at its first attempt."""

    k: int
    """Number of tries."""
    any_of_k: float
    """pass@k, the probability that at least one of k tries passes."""
    all_of_k: float
    """pass^k, the probability that every one of k tries passes."""
    cases: int
    """The number of cases with at least k repeats, over which both are averaged."""


class FlakyRepeats(Record):
    """A case that both passed and failed over the repeats of one model."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    outcomes: tuple[Outcome, ...]
    """The outcomes in the order of the repeats."""
    folders: tuple[str, ...]
    """The folders of the cells, relative to the run folder."""


def pass_at(cells: Iterable[CellResult]) -> tuple[PassAtK, ...]:
    """Return pass@k and pass^k of one model's cells, for k from 1 to the most repeats of a case.

    Capture modes of a case are averaged first, then the cases. Skipped cells do not count as tries.
    """
    groups = group_repeats(cell for cell in cells if cell.outcome != "skipped")
    most = max(map(len, groups.values()), default=0)
    return tuple(_at(k, groups) for k in range(1, most + 1)) if most > 1 else ()


def _at(k: int, groups: dict[GroupKey, list[CellResult]]) -> PassAtK:
    chances: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for (path, case_id, _, _), group in groups.items():
        n, passed = len(group), sum(cell.outcome == "passed" for cell in group)
        if n >= k:
            chances[path, case_id].append((pass_at_k(n, passed, k), pass_hat_k(n, passed, k)))
    return PassAtK(
        k=k,
        any_of_k=fmean(fmean(any_ for any_, _ in modes) for modes in chances.values()),
        all_of_k=fmean(fmean(all_ for _, all_ in modes) for modes in chances.values()),
        cases=len(chances),
    )


def flaky(cells: Iterable[CellResult]) -> tuple[FlakyRepeats, ...]:
    """Return the flaky cases, those closest to even odds first."""
    found = [group for group in group_repeats(cells).values() if _is_flaky(group)]
    found.sort(key=lambda group: abs(0.5 - sum(cell.passed for cell in group) / len(group)))
    return tuple(
        FlakyRepeats(
            case_id=group[0].case_id,
            case_path=group[0].case_path,
            model=group[0].model,
            capture_mode=group[0].capture_mode,
            outcomes=tuple(cell.outcome for cell in group),
            folders=tuple(cell.folder for cell in group),
        )
        for group in found
    )


def group_repeats(cells: Iterable[CellResult]) -> dict[GroupKey, list[CellResult]]:
    """Group cells that differ only in the repeat, in the order of the repeats."""
    groups: dict[GroupKey, list[CellResult]] = defaultdict(list)
    for cell in cells:
        groups[cell.case_path, cell.case_id, cell.model, cell.capture_mode].append(cell)
    for group in groups.values():
        group.sort(key=lambda cell: cell.repeat)
    return groups


def _is_flaky(group: Sequence[CellResult]) -> bool:
    return any(cell.passed for cell in group) and any(cell.outcome == "failed" for cell in group)
