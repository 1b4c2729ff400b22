"""The record of what an attempt writes, to requests and to the databases that its case names."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from pytest_autoweb.base import waiting
from pytest_autoweb.base.redaction import is_sensitive_field
from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules
from pytest_autoweb.judging.evidence.database_rows import (
    Incomparable,
    Tables,
    read_tables,
    rows_written,
)
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.judging.evidence.written import MOST_WRITES, Write, requests_written


class WriteRecord(Struct):
    """What an attempt has written so far, beyond what its entry page had done by itself."""

    wanted: bool
    """Whether anybody asks; otherwise no database is read."""
    rules: TrafficRules
    entry_url: str
    databases: Sequence[Path]
    redact: Callable[[str], str]
    note: Callable[[str], None]
    _before: dict[Path, Tables] = field(default_factory=dict)
    _begun: bool = False

    def begin(self) -> None:
        """Take the rows of the databases as those before the attempt; its first step begins."""
        if not self.wanted or self._begun:
            return
        self._begun = True
        for path in self.databases:
            if path.is_file():
                self._read(path, self._before)
            else:
                # A server may make its database when it has something to keep.
                self._before[path] = {}

    def taken(self, wire: Sequence[WireEntry]) -> tuple[Write, ...]:
        """Return what has been written so far, requests first."""
        after: dict[Path, Tables] = {}
        rows: list[Write] = []
        for path, before in self._before.items():
            self._read(path, after)
            if path in after:
                rows += islice(rows_written(path.name, before, after[path]), MOST_WRITES)
        sent = requests_written(wire, self.rules, self.entry_url, self.redact)
        return (*islice(sent, MOST_WRITES), *map(self._without_secrets, rows))

    def _read(self, path: Path, into: dict[Path, Tables]) -> None:
        try:
            into[path] = waiting.blocking(lambda: read_tables(path))
        except Incomparable as problem:
            self.note(f"rows are not compared: {problem}")

    def _without_secrets(self, row: Write) -> Write:
        values = {
            name: None if value is None or is_sensitive_field(name) else self.redact(value)
            for name, value in row.fields.items()
        }
        return Write(row.kind, tuple(map(self.redact, row.place)), values)
