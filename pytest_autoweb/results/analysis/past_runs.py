"""The current run compared with earlier ones: trends, and flaky, steady and slow cases."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from pydantic import Field

from pytest_autoweb.results.analysis.cell_numbers import (
    CaseKey,
    CellSummary,
    Cost,
    Rates,
    RunRows,
    rates_of,
)
from pytest_autoweb.results.analysis.comparison import contestants
from pytest_autoweb.results.analysis.comparison_sides import cost_of
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.counted_outcomes import GOOD, GRADED
from pytest_autoweb.results.analysis.statistics import all_failures_late, percentile
from pytest_autoweb.results.records import CaptureModeName, Record

LONGEST = 10
"""The number of cases that are listed as slow although they needed no larger time limit."""

Place = tuple[str, str, str, CaptureModeName]
"""Model, case file, case and capture mode."""


class TrendPoint(Record):
    """The results of one model in one run, a point of its trend."""

    run: str
    """The run's `ts`."""
    name: str
    """The name under which the run was saved; empty when it has none."""
    commit: str
    """The commit of the project, if it is known."""
    started: datetime
    """When the run began."""
    current: bool
    """Whether it is the run that the report is about."""
    model: str
    """Name of the model."""
    first_attempt: Rates
    """Its rate of cells that passed at the first attempt."""
    after_repair: Rates
    """Its rate that counts repaired cells as passed."""
    tally: dict[str, int] = Field(default_factory=dict)
    """The number of cases by their outcomes, from which the rates can be recomputed. Outcomes are
    written as first letters, with `|` between capture modes, as in `{"PPF": 3, "FF|PF": 1}`."""
    cases: int
    """Cases of the run."""
    cells: int
    """The model's cells."""
    cost: Cost
    """What its calls cost."""
    median_s: float | None
    """The median duration of the cells that ran, in seconds."""
    case_set: str
    """A digest of what was run: ids, capture modes, `case` and `checks` checksums. Rates of points
    with different digests are not comparable."""
    same_cases: bool
    """Whether the model's case set is that of the current run."""


class HistoryCase(Record):
    """A case on a model in a capture mode."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""


class FlakyCase(HistoryCase):
    """A case that both passed and failed under the same checksums.

    The checksums are those of `case`, `checks`, `prompts` and `capture`.
    """

    passed: int
    """The number of passed trials in all runs under the current checksums."""
    healed: int
    """Tries that passed after a repair."""
    failed: int
    """Tries that failed."""
    runs: int
    """The number of runs that these trials come from."""
    within_run: bool
    """Whether repeats of the current run alone already show both outcomes."""


class SteadyCase(HistoryCase):
    """A case that never failed in earlier runs under the checksums it has now."""

    trials: int
    """The number of earlier graded trials, all of which passed at the first attempt."""
    runs: int
    """The number of earlier runs that these trials come from."""
    trials_now: int
    """The number of graded trials in the current run."""
    passed_now: int
    """How many of those passed at the first attempt."""
    p: float | None
    """The probability that all failures fall into the current run if nothing changed (Fisher's
    exact test, one-sided); None when the case was not graded in the current run."""

    @property
    def broke(self) -> bool:
        """Return whether it now fails on every repeat."""
        return self.trials_now > 0 and self.passed_now == 0


class SlowCase(HistoryCase):
    """A case that is among the slowest of the current run, or needed a larger time limit."""

    median_s: float
    """Median seconds in the current run."""
    earlier_median_s: float | None
    """The median in earlier runs under the same checksums."""
    slow_trials: int
    """The number of current trials that passed only after a step got more time."""
    trials: int
    """Cells of the current run behind the median."""


class History(Record):
    """The content of `history.json` in the run folder."""

    runs: int
    """The number of earlier runs that were considered."""
    points: tuple[TrendPoint, ...]
    """The trend points by model, oldest first; the current run's point is last."""
    flaky: tuple[FlakyCase, ...]
    """The flaky cases, those closest to even odds first."""
    steady: tuple[SteadyCase, ...]
    """The steady cases, those that broke first, then by number of trials."""
    slow: tuple[SlowCase, ...]
    """The slow cases, slowest first."""


def history_of(runs: Sequence[RunRows], current: RunRows) -> History:
    """Compare the current run with earlier ones.

    Args:
        runs: saved runs in any order; a saved copy of `current` among them is ignored.
        current: the run that the report is about.
    """
    earlier = sorted((run for run in runs if run.ts != current.ts), key=lambda run: run.started)
    records = _records(earlier, current)
    return History(
        runs=len(earlier),
        points=tuple(_points(earlier, current)),
        flaky=tuple(sorted(_flaky(records), key=_evenness)),
        steady=tuple(sorted(_steady(records), key=lambda c: (not c.broke, -c.trials))),
        slow=tuple(_slow(records)),
    )


class _Record(Struct, frozen=True):
    """A case on a model in a capture mode, under the checksums it has now."""

    place: Place
    now: list[CellSummary]
    earlier: list[list[CellSummary]]
    """One list per earlier run that has such cells."""

    @property
    def before(self) -> list[CellSummary]:
        """Return the earlier cells of all runs."""
        return [row for run in self.earlier for row in run]

    @property
    def identity(self) -> dict[str, str]:
        """Return the fields that identify the case in a report."""
        model, path, case_id, mode = self.place
        return {"model": model, "case_path": path, "case_id": case_id, "capture_mode": mode}


def _records(earlier: Sequence[RunRows], current: RunRows) -> list[_Record]:
    now = _by_place(current.rows)
    records = {place: _Record(place, rows, []) for place, rows in now.items()}
    for run in earlier:
        for place, rows in _by_place(run.rows).items():
            if place in now:
                sums = [row.checksums for row in now[place]]
                # Results under other checksums answer a different question.
                if same := [row for row in rows if row.checksums in sums]:
                    records[place].earlier.append(same)
    return list(records.values())


def _by_place(rows: Sequence[CellSummary]) -> dict[Place, list[CellSummary]]:
    places: dict[Place, list[CellSummary]] = {}
    for row in rows:
        if not is_control(row.model) and row.outcome != "skipped":
            place = (row.model, row.case_path, row.case_id, row.capture_mode)
            places.setdefault(place, []).append(row)
    return places


def _points(earlier: Sequence[RunRows], current: RunRows) -> Iterator[TrendPoint]:
    for model in contestants(current):
        case_set = _case_set(_ran(current, model))
        for run in (*earlier, current):
            rows = _ran(run, model)
            if not rows:
                continue
            seconds = [row.duration_ms / 1000 for row in rows if row.duration_ms > 0]
            yield TrendPoint(
                run=run.ts,
                name=run.name,
                commit=run.commit,
                started=run.started,
                current=run is current,
                model=model,
                first_attempt=rates_of(rows, GOOD["first_attempt"]),
                after_repair=rates_of(rows, GOOD["after_repair"]),
                tally=_tally(rows),
                cases=len({(row.case_path, row.case_id) for row in rows}),
                cells=len(rows),
                cost=cost_of(rows),
                median_s=percentile(seconds, 0.5),
                case_set=(digest := _case_set(rows)),
                same_cases=digest == case_set,
            )


def _tally(rows: Sequence[CellSummary]) -> dict[str, int]:
    cases: dict[CaseKey, dict[CaptureModeName, str]] = {}
    for row in rows:
        modes = cases.setdefault((row.case_path, row.case_id), {})
        modes[row.capture_mode] = modes.get(row.capture_mode, "") + row.outcome[0].upper()
    return dict(Counter("|".join(modes.values()) for modes in cases.values()))


def _ran(run: RunRows, model: str) -> list[CellSummary]:
    return [row for row in run.rows if row.model == model and row.outcome != "skipped"]


def _case_set(rows: Sequence[CellSummary]) -> str:
    asked = {
        (
            row.case_path,
            row.case_id,
            row.capture_mode,
            row.checksums.get("case", ""),
            row.checksums.get("checks", ""),
        )
        for row in rows
    }
    return hashlib.sha256(json.dumps(sorted(asked)).encode()).hexdigest()[:12]


def _flaky(records: Sequence[_Record]) -> Iterator[FlakyCase]:
    for record in records:
        every = [row.outcome for row in (*record.now, *record.before)]
        good = every.count("passed") + every.count("healed")
        if not good or "failed" not in every:
            continue
        own = {row.outcome for row in record.now}
        yield FlakyCase.model_validate(
            {
                **record.identity,
                "passed": every.count("passed"),
                "healed": every.count("healed"),
                "failed": every.count("failed"),
                "runs": len(record.earlier) + 1,
                "within_run": "failed" in own and bool(own & GOOD["after_repair"]),
            }
        )


def _evenness(case: FlakyCase) -> float:
    good = case.passed + case.healed
    return abs(0.5 - good / (good + case.failed))


def _steady(records: Sequence[_Record]) -> Iterator[SteadyCase]:
    for record in records:
        before = [row.outcome for row in record.before if row.outcome in GRADED]
        if not before or set(before) != {"passed"}:
            continue
        now = [row.outcome for row in record.now if row.outcome in GRADED]
        passed = now.count("passed")
        yield SteadyCase.model_validate(
            {
                **record.identity,
                "trials": len(before),
                "runs": sum(any(row.outcome in GRADED for row in run) for run in record.earlier),
                "trials_now": len(now),
                "passed_now": passed,
                "p": all_failures_late(len(before), len(now), len(now) - passed) if now else None,
            }
        )


def _slow(records: Sequence[_Record]) -> list[SlowCase]:
    cases = sorted(filter(None, map(_slow_case, records)), key=lambda case: -case.median_s)
    return [case for at, case in enumerate(cases) if at < LONGEST or case.slow_trials]


def _slow_case(record: _Record) -> SlowCase | None:
    seconds = [row.duration_ms / 1000 for row in record.now if row.duration_ms > 0]
    if not seconds:
        return None
    return SlowCase.model_validate(
        {
            **record.identity,
            "median_s": percentile(seconds, 0.5),
            "earlier_median_s": percentile(
                [row.duration_ms / 1000 for row in record.before if row.duration_ms > 0], 0.5
            ),
            "slow_trials": sum(row.slow for row in record.now),
            "trials": len(seconds),
        }
    )
