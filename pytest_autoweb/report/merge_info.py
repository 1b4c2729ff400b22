"""`merge.json`: what a merged run folder was put together from."""

from datetime import datetime
from typing import Literal

from pytest_autoweb.results import Record

MERGE_FILE = "merge.json"


class MergedSource(Record):
    """One of the runs behind a merged one."""

    name: str
    """The shard, else the file's or folder's name."""
    ts: str
    shard: tuple[int, int] | None
    started: datetime
    duration_s: float
    workers: int
    """xdist workers."""
    cells: int
    """Cells that it was to run."""


class MergeInfo(Record):
    """The content of `merge.json`."""

    format: Literal["pytest-autoweb/merge"] = "pytest-autoweb/merge"
    version: int = 1
    sources: tuple[MergedSource, ...]
    notes: tuple[str, ...]
    """What is missing, was found twice, or differs between the sources."""
