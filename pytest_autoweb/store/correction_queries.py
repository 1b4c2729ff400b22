"""Queries about corrections and choices: how often they helped, and how often they were wrong.

Rates come with their counts.
"""

import datetime as dt

from sqlalchemy import Connection, Label, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute

from pytest_autoweb.results.records import Record
from pytest_autoweb.store.query_results import ShareOfCalls, share_of
from pytest_autoweb.store.roll_ups import count_if, share, sum_of
from pytest_autoweb.store.table_rows import clean
from pytest_autoweb.store.tables import (
    AttemptRow,
    CellRow,
    ChoiceRecord,
    CorrectionCount,
    CorrectionRecord,
)


class ArmNumbers(Record):
    """How often one way of correcting helped."""

    arm: str
    solved: ShareOfCalls
    avg_ms: float | None
    """The mean duration of the attempts that corrected."""
    calls: int
    """The number of model calls in these attempts."""


def arms(connection: Connection, since: dt.date) -> tuple[ArmNumbers, ...]:
    """Return how often each way of correcting helped (`off` is the ordinary repair).

    Ways that were run only for comparison count too, like those that decided an outcome.
    """
    rows = connection.execute(
        select(
            CorrectionCount.arm,
            sum_of(CorrectionCount.tried),
            sum_of(CorrectionCount.solved),
            sum_of(CorrectionCount.time_ms),
            sum_of(CorrectionCount.calls),
        )
        .where(CorrectionCount.date >= since)
        .group_by(CorrectionCount.arm)
        .order_by(CorrectionCount.arm)
    )
    return tuple(
        ArmNumbers(
            arm=arm, solved=share_of(solved, tried), avg_ms=share(time, tried), calls=int(calls)
        )
        for arm, tried, solved, time, calls in rows
    )


def past_corrections(
    connection: Connection, model: str, arm: str, last: int
) -> dict[str, tuple[int, int]]:
    """Return for each failure type how many of its latest corrections helped, and their number.

    Args:
        connection: a connection to the store.
        model: the model that corrected.
        arm: the way of correcting.
        last: limit on the corrections, the latest ones, that count for a type.
    """
    recent = (
        select(
            CorrectionRecord.failure_type.label("kind"),
            CorrectionRecord.is_successful.label("counted"),
            _latest_first(CorrectionRecord, CorrectionRecord.failure_type),
        )
        .join(AttemptRow, AttemptRow.id == CorrectionRecord.id)
        .join(CellRow, CellRow.id == AttemptRow.cell_id)
        .where(CellRow.model == clean(model), AttemptRow.arm == arm)
    )
    return _counts_by_kind(connection, recent, last)


def past_choices(connection: Connection, model: str, last: int) -> dict[str, tuple[int, int]]:
    """Return for each kind of element how many of the latest choices were wrong, and their number.

    Args:
        connection: a connection to the store.
        model: the model that chose.
        last: limit on the choices, the latest ones, that count for a kind.
    """
    recent = (
        select(
            ChoiceRecord.kind,
            ChoiceRecord.is_wrong.label("counted"),
            _latest_first(ChoiceRecord, ChoiceRecord.kind),
        )
        .join(AttemptRow, AttemptRow.id == ChoiceRecord.attempt_id)
        .join(CellRow, CellRow.id == AttemptRow.cell_id)
        .where(CellRow.model == clean(model), ChoiceRecord.kind != "")
    )
    return _counts_by_kind(connection, recent, last)


def _latest_first(
    record: type[CorrectionRecord | ChoiceRecord], kind: InstrumentedAttribute[str]
) -> Label[int]:
    """Return the column `place`: 1 for the latest record of its kind, 2 for the one before."""
    order = (record.created_at.desc(), record.id)
    return func.row_number().over(partition_by=kind, order_by=order).label("place")


def _counts_by_kind(
    connection: Connection, records: "Select[str, bool, int]", last: int
) -> dict[str, tuple[int, int]]:
    """Return for each `kind` how many of its `last` records are `counted`, and their number."""
    recent = records.subquery()
    rows = connection.execute(
        select(recent.c.kind, count_if(recent.c.counted), func.count())
        .where(recent.c.place <= last)
        .group_by(recent.c.kind)
    )
    return {kind: (int(counted), number) for kind, counted, number in rows}
