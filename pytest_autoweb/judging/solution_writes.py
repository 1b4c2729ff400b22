"""What the solution of a case writes, and what an attempt wrote beyond that.

The oracle's runs are the measure: what is the same in all of them must be the same in an attempt,
and what differs between them may be anything. They are kept in a file beside the case file, which
`autoweb prove` writes, so that a run of models needs no run of the oracle.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.files import whole_file
from pytest_autoweb.base.specs import LATER
from pytest_autoweb.judging.evidence.written import Write
from pytest_autoweb.results.records import Record

FORMAT: Literal["pytest-autoweb/writes"] = "pytest-autoweb/writes"
UNKNOWN = "what the solution writes is not known: run `autoweb prove` on the case"
CHANGED = "what the solution writes is known of another version of the case: run `autoweb prove`"
_SHOWN_CHARS = 60
_ID = re.compile(r"\d|.{20}")
"""What a part of a path that may differ between two runs looks like."""


class AllowedWrite(Record):
    """One write of the solution; None stands for anything."""

    kind: str
    """The method of a request; `insert`, `update` or `delete` of a row."""
    place: tuple[str | None, ...]
    """See `Write.place`."""
    fields: dict[str, str | None] = Field(default_factory=dict)
    """The values by field or column."""
    repeated: bool = False
    """Whether the oracle's runs do it differently often, so that it may be done any number of
    times."""

    def fits(self, write: Write) -> bool:
        """Return whether an attempt's write is this one."""
        return self.is_at(write) and not self.differs(write)

    def is_at(self, write: Write) -> bool:
        """Return whether a write is of this kind and at this place."""
        same = len(self.place) == len(write.place) and self.kind == write.kind
        return same and all(a in (None, b) for a, b in zip(self.place, write.place, strict=True))

    def differs(self, write: Write) -> list[str]:
        """Return the fields of a write that are not those of this one, in words."""
        told = []
        for name, value in write.fields.items():
            wanted = self.fields.get(name, "")
            if name not in self.fields:
                told.append(f"with {name}")
            elif value is not None and wanted is not None and value != wanted:
                told.append(f"{name} is {value[:_SHOWN_CHARS]!r}, not {wanted[:_SHOWN_CHARS]!r}")
        return told


class CaseWrites(Record):
    """What the solution of a case writes."""

    checksum: str
    """The SHA-256 sum of the case, as of the oracle's runs."""
    runs: int
    """The number of the oracle's runs."""
    writes: tuple[AllowedWrite, ...] = ()
    """All that it writes, in its order."""


class WritesFile(Record):
    """The writes of the solutions of a case file, by the ids of their cases."""

    format: Literal["pytest-autoweb/writes"] = FORMAT
    """What kind of file this is."""
    solutions: dict[str, CaseWrites] = Field(default_factory=dict)


class Known(NamedTuple):
    """What is known of a case's solution."""

    writes: CaseWrites | None = None
    why_not: str = UNKNOWN
    """Why nothing is known."""


def writes_file(case_path: Path) -> Path:
    """Return where the writes of the solutions of a case file are kept."""
    return case_path.with_suffix(".writes.json")


def known_writes(case_path: Path | None, case_id: str, checksum: str) -> Known:
    """Return what is known of a case's solution."""
    if case_path is None:
        return Known()
    path = writes_file(case_path)
    try:
        told = path.stat()
        found = _solutions(path, (told.st_mtime_ns, told.st_size)).get(case_id)
    except FileNotFoundError:
        return Known()
    except (OSError, ValidationError) as error:
        return Known(None, f"{path.name} cannot be read: {first_line(error)}")
    if found is None:
        return Known()
    return Known(found, "") if found.checksum == checksum else Known(None, CHANGED)


@lru_cache(maxsize=16)
def _solutions(path: Path, stamp: tuple[int, int]) -> Mapping[str, CaseWrites]:
    """Return what a file says of its cases, each of which asks for it more than once.

    Args:
        path: the file.
        stamp: the time of its last change, and its size: with others it is read anew.
    """
    return WritesFile.model_validate_json(path.read_bytes()).solutions


def keep_writes(case_path: Path, solutions: Mapping[str, CaseWrites]) -> Path:
    """Keep the writes of solutions beside their case file, beside those of its other cases.

    Raises:
        OSError: the file cannot be written.
    """
    path = writes_file(case_path)
    try:
        before = WritesFile.model_validate_json(path.read_bytes()).solutions
    except (OSError, ValidationError):
        before = {}
    kept = WritesFile(solutions=dict(sorted({**before, **solutions}.items())))
    content = kept.model_dump(mode="json", exclude_defaults=True)
    with whole_file(path) as file:
        text = json.dumps({"format": FORMAT, **content}, indent=1, ensure_ascii=False)
        file.write(f"{text}\n".encode())
    return path


def learn(runs: Sequence[Sequence[Write]], days: Collection[str] = ()) -> tuple[AllowedWrite, ...]:
    """Return what all runs of an oracle write, with what differs between them left open.

    Args:
        runs: the writes of each run.
        days: the days of the runs, such as `2026-04-03`; a value that names one may be any other.
    """
    found: list[AllowedWrite] = []
    times: list[int] = []
    for run in runs:
        free = list(range(len(found)))
        for write in run:
            like = [at for at in free if _may_be(found[at], write)]
            if like:
                best = max(like, key=lambda at: (_alike(found[at], write), -at))
                found[best], times[best] = _merged(found[best], write), times[best] + 1
                free.remove(best)
            else:
                found.append(
                    AllowedWrite(kind=write.kind, place=write.place, fields=dict(write.fields))
                )
                times.append(1)
    return tuple(
        one.model_copy(update={"repeated": count < len(runs), "fields": _undated(one.fields, days)})
        for one, count in zip(found, times, strict=True)
    )


def _undated(fields: Mapping[str, str | None], days: Collection[str]) -> dict[str, str | None]:
    return {
        name: None if value and any(day in value for day in days) else value
        for name, value in fields.items()
    }


def _may_be(allowed: AllowedWrite, write: Write) -> bool:
    if allowed.kind != write.kind or len(allowed.place) != len(write.place):
        return False
    return all(
        a == b or (_ID.search(b) and (a is None or _ID.search(a)))
        for a, b in zip(allowed.place, write.place, strict=True)
    )


def _alike(allowed: AllowedWrite, write: Write) -> tuple[int, int, int]:
    """Rank how much a write is like a known one: by place, by fields, by their values."""
    same = sum(allowed.fields.get(name) == value for name, value in write.fields.items())
    shared = allowed.fields.keys() & write.fields.keys()
    apart = allowed.fields.keys() ^ write.fields.keys()
    places = sum(a == b for a, b in zip(allowed.place, write.place, strict=True))
    return places, len(shared) - len(apart), same


def _merged(allowed: AllowedWrite, write: Write) -> AllowedWrite:
    fields = {
        name: allowed.fields.get(name)
        if name not in write.fields or allowed.fields.get(name) == write.fields[name]
        else None
        for name in {**allowed.fields, **write.fields}
    }
    place = tuple(a if a == b else None for a, b in zip(allowed.place, write.place, strict=True))
    return allowed.model_copy(update={"place": place, "fields": fields})


def beyond(allowed: Sequence[AllowedWrite], writes: Sequence[Write]) -> tuple[str, ...]:
    """Return each write of an attempt that is none of the solution's, in words.

    A write of the solution stands for one of the attempt, unless its number differs between the
    oracle's own runs.
    """
    taken: dict[int, int] = {}
    others = [
        number
        for number, write in enumerate(writes)
        if not any(one.repeated and one.fits(write) for one in allowed)
    ]
    # The most that can stand for each other do, in whatever order they were made.
    more = [number for number in others if not _finds_place(number, allowed, writes, taken)]
    left = [one for at, one in enumerate(allowed) if at not in taken]
    return tuple(f"{writes[n].told}{_why(allowed, left, writes[n])}" for n in more)


def _finds_place(
    number: int, allowed: Sequence[AllowedWrite], writes: Sequence[Write], taken: dict[int, int]
) -> bool:
    """Let a write take the place of one of the solution's, if need be by moving others.

    This is one step of the usual way to a maximum matching: a shortest augmenting path.
    """
    came_from: dict[int, int] = {}
    waiting = [number]
    for write in waiting:
        for at, one in enumerate(allowed):
            if at in came_from or one.repeated or not one.fits(writes[write]):
                continue
            came_from[at] = write
            if at in taken:
                waiting.append(taken[at])
                continue
            free: int | None = at
            while free is not None:
                mover = came_from[free]
                before = next((p for p, held in taken.items() if held == mover), None)
                taken[free], free = mover, before
            return True
    return False


def _why(allowed: Sequence[AllowedWrite], left: Sequence[AllowedWrite], write: Write) -> str:
    near = [one.differs(write) for one in left if one.is_at(write)]
    if near:
        return f": {'; '.join(min(near, key=len)[:3])}"
    if any(one.fits(write) for one in allowed):
        return ": more often than the solution"
    return ""


_WRITES: TypeAdapter[tuple[Write, ...]] = TypeAdapter(tuple[Write, ...], config=LATER)


def writes_text(writes: Sequence[Write]) -> str:
    """Return an attempt's writes as JSON."""
    return json.dumps(_WRITES.dump_python(tuple(writes), mode="json"), indent=1)


def read_writes(text: str) -> tuple[Write, ...]:
    """Read what `writes_text` wrote.

    Raises:
        ValueError: the text is no list of writes.
    """
    try:
        return _WRITES.validate_json(text)
    except ValidationError as error:
        raise ValueError("not a list of writes") from error
