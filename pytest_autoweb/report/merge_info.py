"""`merge.json`: the sources of a merged run folder."""

from datetime import datetime
from typing import Literal

from pytest_autoweb.results import Record

MERGE_FILE = "merge.json"


class MergedSource(Record):
    """One of the runs behind a merged one."""

    name: str
    """The number of the shard, or else the name of the file or folder."""
    ts: str
    shard: tuple[int, int] | None
    started: datetime
    duration_s: float
    workers: int
    """The number of xdist workers."""
    cells: int
    """The number of cells in the source."""


class MergeInfo(Record):
    """The content of `merge.json`."""

    format: Literal["pytest-autoweb/merge"] = "pytest-autoweb/merge"
    version: int = 1
    sources: tuple[MergedSource, ...]
    notes: tuple[str, ...]
    """Sentences about what is missing, was found twice, or differs between the sources."""
