"""A run as its folder shows it while it goes on: read again and again, and only what is new."""

import json
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.analysis.controls import must_fail
from pytest_autoweb.results.records import OUTCOME_LETTERS, PlannedCell
from pytest_autoweb.results.runs.live_session import death_told
from pytest_autoweb.results.runs.progress_file import Event, ProgressReader
from pytest_autoweb.results.runs.run_folder import KILLED, NOT_RUN, read_manifest
from pytest_autoweb.results.runs.run_signs import PROGRESS_FOLDER
from pytest_autoweb.results.runs.saving import CELL_FILE, MANIFEST_FILE, RUN_FILE, STARTED_FILE
from pytest_autoweb.results.runs.watched import SO_FAR_FILE, SoFar
from pytest_autoweb.tools.view.seen_orders import SeenOrders

LEFT, GOING = ".", "g"
_GOOD = frozenset({"passed", "healed"})
_QUIET_ENDS = frozenset({*_GOOD, "skipped"})
MOST_LOSSES = 100
"""How many of the latest losses the page lists."""
MOST_GOING = 48
"""How many of the cells that are going the page shows with a picture."""
_REASON_CHARS = 240
_LOOK_S = 0.4
"""How long one look may take where there is much to read."""

Phase = Literal["none", "going", "died", "ended"]
"""`died`: its session is gone without having ended."""


class GoingCell(NamedTuple):
    """A cell that is going."""

    stage: str
    since: float
    """When it began, in seconds since the epoch."""
    picture: str = ""
    """The path of its last picture, below the cell's folder."""
    inside: str = ""
    """The folder of a further run, below that of the cell; empty for its first one."""


_JUST_BEGUN = GoingCell("", 0.0)


class Changes(NamedTuple):
    """What has changed since an earlier look."""

    at: int
    """How many changes there had been, to ask for the next ones."""
    content: dict[str, Any]


class FollowedRun:
    """The state of a run, brought up to date by each `look`.

    Nothing that was read once is read again: of the events only those that were appended, of the
    manifest and the run's own record only a new version, and of each lost cell its reason.

    Args:
        folder: the run folder; there may be no run in it yet.
        session: the name of the session that is to be shown; empty for any.
    """

    def __init__(self, folder: Path, session: str = "") -> None:
        self.folder, self._session = folder, session
        self.epoch = 0
        """Changes when everything that was told before is void."""
        self._begin("")

    def _begin(self, ts: str) -> None:
        self.epoch += 1
        self.ts, self.phase = ts, "none"
        self.exit_status: int | None = None
        self.death = ""
        """What there is to say of a run whose session has died."""
        self.began = time.time()
        self._seen: dict[str, object] = {}
        self._readers: dict[str, ProgressReader] = {}
        self._places: dict[str, int] = {}
        self._folders: list[str] = []
        self._cells: list[tuple[int, int, str]] = []
        self._rows: dict[tuple[str, str], int] = {}
        self._columns: dict[str, int] = {}
        self._column_models: list[str] = []
        self._models: list[str] = []
        self._orders = SeenOrders(self.folder)
        self.states: list[str] = []
        self.going: dict[int, GoingCell] = {}
        self._again: dict[int, GoingCell] = {}
        self._counts = dict.fromkeys((LEFT, GOING, *OUTCOME_LETTERS.values()), 0)
        self._changed: list[int] = []
        self.losses: list[tuple[int, str]] = []
        self._lost: list[int] = []
        self._unsettled: Iterator[int] | None = None
        self._spent, self._ended_now = 0.0, 0
        self.last_news = 0.0
        """When something was written last, in seconds since the epoch."""

    # -- reading -----------------------------------------------------------------------------

    def look(self) -> None:
        """Read what is new."""
        if self._session and not (self._progress / f"{self._session}.jsonl").exists():
            return
        if self._is_new(self.folder / MANIFEST_FILE):
            self._read_manifest()
        began = time.monotonic()
        for name in self._sessions():
            self._read_events(name)
        self._read_end()
        self._orders.look(going=self.phase in ("going", "died"))
        self._see_death()
        if self.phase in ("ended", "died"):
            self._settle(began + _LOOK_S)
        self._read_losses(began + _LOOK_S)
        self._read_going()

    @property
    def _progress(self) -> Path:
        return self.folder / PROGRESS_FOLDER

    def _is_new(self, file: Path) -> bool:
        """Tell whether a file is there in another version than at the last look."""
        try:
            found = file.stat()
        except OSError:
            return False
        version = (found.st_mtime_ns, found.st_size, found.st_ino)
        if self._seen.get(file.as_posix()) == version:
            return False
        self._seen[file.as_posix()] = version
        return True

    def _read_manifest(self) -> None:
        manifest = read_manifest(self.folder)
        if manifest.ts != self.ts:
            # Another run has taken the folder.
            self._begin(manifest.ts)
            self._is_new(self.folder / MANIFEST_FILE)
        self.phase = "going"
        self.began = (self.folder / MANIFEST_FILE).stat().st_mtime
        self.last_news = max(self.last_news, self.began)
        modes = len({cell.capture_mode for cell in manifest.cells if not cell.any_capture}) > 1
        ways = len({cell.strategy for cell in manifest.cells if not must_fail(cell.model)}) > 1
        for cell in manifest.cells:
            self._add(cell, modes=modes, ways=ways)

    def _add(self, cell: PlannedCell, *, modes: bool, ways: bool) -> None:
        told = [cell.model]
        told += [cell.strategy] if ways and "builtin/" not in cell.model else []
        told += [cell.capture_mode] if modes and not cell.any_capture else []
        row, column = (cell.case_path, cell.case_id), " · ".join(told)
        place = self._place(cell.folder, row, column, cell.test_name)
        self._models[place] = self._column_models[self._cells[place][1]] = cell.model

    def _place(self, folder: str, row: tuple[str, str], column: str, name: str) -> int:
        """Return the number of a cell, which is new the first time."""
        if folder in self._places:
            return self._places[folder]
        place = self._places[folder] = len(self._cells)
        row_at = self._rows.setdefault(row, len(self._rows))
        column_at = self._columns.setdefault(column, len(self._columns))
        self._column_models += [""] * (len(self._columns) - len(self._column_models))
        self._cells.append((row_at, column_at, name))
        self._folders.append(folder)
        self._models.append("")
        self.states.append(LEFT)
        self._counts[LEFT] += 1
        # Whoever was told the cells before has to be told all of them again.
        self.epoch += 1
        return place

    def _sessions(self) -> list[str]:
        """Return the names of the files of events, that of the newest session last."""
        try:
            files = [(file.stat().st_mtime, file.name) for file in self._progress.iterdir()]
        except OSError:
            return []
        self.last_news = max([self.last_news, *(written for written, _ in files)])
        return [name for _, name in sorted(files) if name.endswith(".jsonl")]

    def _read_events(self, name: str) -> None:
        if name not in self._readers:
            self._readers[name] = ProgressReader(self._progress / name)
            # What an earlier session did not end, it never will.
            for place in tuple(self.going):
                self._set(place, LEFT)
            self._again.clear()
            self._ended_now = 0
            if self.phase == "none":
                self.phase = "going"
        for event in self._readers[name].read():
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.kind == "spent":
            self._spent += _dollars(event.text)
        elif event.is_again:
            self._take_again(event)
        elif event.kind in ("stage", "end") and (
            event.folder in self._places or is_cell_place(event.folder)
        ):
            self._take_state(event)

    def _take_state(self, event: Event) -> None:
        place = self._places.get(event.folder)
        if place is None:
            # A step of a test, which nobody planned.
            model = event.folder.split("/")[2]
            name = event.cell.partition("[")[0]
            place = self._place(event.folder, ("", name), model, event.cell)
        if event.kind == "stage":
            known = self.going.get(place, _JUST_BEGUN)
            self._set(place, GOING)
            self.going[place] = known._replace(stage=event.text)
        else:
            self._ended_now += self.states[place] in (LEFT, GOING)
            self._end(place, event.text)

    def _take_again(self, event: Event) -> None:
        """Note how a further run of a cell goes, whose state stays that of its first result."""
        folder, _, inside = event.folder.rpartition("/")
        place = self._places.get(folder)
        if place is None or re.fullmatch(r"again-\d{1,6}", inside, re.ASCII) is None:
            return
        if event.kind == "stage":
            known = self._again.get(place, _JUST_BEGUN)
            self._again[place] = known._replace(stage=f"again: {event.text}", inside=inside)
        elif event.kind == "end":
            self._again.pop(place, None)
            self._changed.append(place)

    def _begun(self, folder: str) -> float:
        try:
            return (self.folder / folder / STARTED_FILE).stat().st_mtime
        except OSError:
            return time.time()

    def _set(self, place: int, letter: str) -> None:
        if letter != GOING:
            self.going.pop(place, None)
        if self.states[place] != letter:
            self._counts[self.states[place]] -= 1
            self._counts[letter] += 1
            self.states[place] = letter
            self._changed.append(place)

    def _end(self, place: int, outcome: str, reason: str | None = None) -> None:
        self._set(place, OUTCOME_LETTERS.get(outcome, "B"))
        if outcome in _QUIET_ENDS or must_fail(self._models[place]):
            return
        if reason is None:
            self._lost.append(place)
        else:
            self.losses.append((place, reason))

    # -- what the files of cells say -----------------------------------------------------------

    def _read_end(self) -> None:
        if not self._is_new(self.folder / RUN_FILE):
            return
        told = _json_object(self.folder / RUN_FILE)
        status = told.get("exit_status")
        own = not self.ts or told.get("ts") == self.ts
        self.exit_status = status if own and isinstance(status, int) else None
        if self.exit_status is not None:
            self.phase = "ended"
            self._again.clear()
            self._unsettled = iter(range(len(self._cells)))
        elif own:
            self.phase = "going"

    def _see_death(self) -> None:
        """See whether the session has died, or a new one has taken its run up again."""
        if self.phase == "going" and self._orders.died:
            self.phase, self.death = "died", death_told(self.folder)
            self._again.clear()
            self._unsettled = iter(range(len(self._cells)))
        elif self.phase == "died" and not self._orders.died:
            self.phase = "going"
            self._unsettled = None

    def _settle(self, until: float) -> None:
        """Look up the cells whose end nobody told; those of a large run in several looks."""
        for place in self._unsettled or ():
            if self.states[place] in (LEFT, GOING):
                self._settle_one(place)
            if time.monotonic() > until:
                return
        self._unsettled = None

    def _settle_one(self, place: int) -> None:
        folder = self.folder / self.place_of(place)
        told = _json_object(folder / CELL_FILE)
        if outcome := told.get("outcome"):
            self._end(place, str(outcome), one_line(str(told.get("reason", "")), _REASON_CHARS))
        elif (folder / STARTED_FILE).exists():
            self._end(place, "broken", KILLED)
        elif self.phase == "ended":
            self._end(place, "skipped", NOT_RUN)

    def _read_losses(self, until: float) -> None:
        """Read why cells were lost: of the latest, as many as the page lists."""
        self._lost, waiting = [], self._lost[-MOST_LOSSES:]
        for at, place in enumerate(waiting):
            if time.monotonic() > until:
                self._lost = waiting[at:]
                break
            told = _json_object(self.folder / self.place_of(place) / CELL_FILE)
            self.losses.append((place, one_line(str(told.get("reason", "")), _REASON_CHARS)))

    def _read_going(self) -> None:
        """Read when the cells that are shown began, and what they have pictured last."""
        for place in tuple(self.going)[-MOST_GOING:]:
            self.going[place] = self._read_one(place, self.going[place])
        for place, cell in self._again.items():
            self._again[place] = self._read_one(place, cell)

    def _read_one(self, place: int, cell: GoingCell) -> GoingCell:
        folder = "/".join(filter(None, (self.place_of(place), cell.inside)))
        if not cell.since:
            cell = cell._replace(since=self._begun(folder))
        file = self.folder / folder / SO_FAR_FILE
        if self._is_new(file) and (so_far := read_so_far(file)) and so_far.film:
            picture = "/".join(filter(None, (cell.inside, so_far.film[-1].picture)))
            cell = cell._replace(picture=picture)
        return cell

    # -- what the page is told -------------------------------------------------------------------

    def place_of(self, place: int) -> str:
        """Return the folder of a cell by its number."""
        return self._folders[place]

    def has(self, place: int) -> bool:
        """Tell whether there is a cell with this number."""
        return 0 <= place < len(self._cells)

    def knows(self, folder: str) -> bool:
        """Tell whether a folder is that of a cell of the run."""
        return folder in self._places

    def column_and_name(self, place: int) -> tuple[str, str]:
        """Return the heading of a cell's column, and the cell's name."""
        _, column, name = self._cells[place]
        return tuple(self._columns)[column], name

    def snapshot(self) -> Changes:
        """Return everything, as compact as ten thousand cells ask for."""
        content = {
            "epoch": self.epoch,
            "ts": self.ts,
            "run": self.folder.resolve().name,
            "rows": [case for _, case in self._rows],
            "columns": list(self._columns),
            # Those that can be stopped; what no case file has planned is in none.
            "models": self._column_models,
            "unplanned": [at for at, (path, _) in enumerate(self._rows) if not path],
            "cells": [[row, column] for row, column, _ in self._cells],
            "states": "".join(self.states),
            "losses": [list(loss) for loss in self.losses[-MOST_LOSSES:]],
            **self._now(),
        }
        return Changes(len(self._changed), content)

    def changes(self, since: Changes, losses: int) -> Changes:
        """Return what has changed since an earlier look at the same epoch.

        Args:
            since: what was returned then.
            losses: how many losses there were then.
        """
        changed = dict.fromkeys(self._changed[since.at :])
        content: dict[str, Any] = {
            "states": [[place, self.states[place]] for place in changed],
            "losses": [list(loss) for loss in self.losses[losses:][-MOST_LOSSES:]],
            **self._now(),
        }
        return Changes(len(self._changed), content)

    def _now(self) -> dict[str, Any]:
        good = sum(self._counts[OUTCOME_LETTERS[outcome]] for outcome in _GOOD)
        ended = len(self._cells) - self._counts[LEFT] - self._counts[GOING]
        return {
            "phase": self.phase,
            "exit_status": self.exit_status,
            "death": self.death,
            "report": self.phase == "ended" and (self.folder / "index.html").is_file(),
            "counts": {
                "passed": good,
                "failed": self._counts["F"],
                "other": ended - good - self._counts["F"],
                "going": self._counts[GOING],
                "left": self._counts[LEFT],
                "all": len(self._cells),
            },
            "spent_usd": round(self._spent, 6),
            "began": self.began,
            "left_s": self._left_s(len(self._cells) - ended),
            "last_news": self.last_news,
            "orders": self._orders.told,
            "going": [
                [place, one_line(cell.stage, 80), cell.since, cell.picture]
                for place, cell in (*self.going.items(), *self._again.items())[-MOST_GOING:]
            ],
        }

    def _left_s(self, left: int) -> float | None:
        """Return how long the rest takes at the pace so far, in whole tens of seconds."""
        if self.phase != "going" or not self._ended_now or not left:
            return None
        each = (time.time() - self.began) / self._ended_now
        return max(10.0, round(each * left, -1))


def is_cell_place(folder: str) -> bool:
    """Tell whether a text is a path such as `cells/login/model/ARIA-1`, and leads nowhere else."""
    parts = folder.split("/")
    if len(parts) != 4 or parts[0] != "cells" or "\\" in folder:
        return False
    return not any(part in ("", ".", "..") for part in parts)


def _dollars(text: str) -> float:
    """Read an amount, which counts as none where it is no number."""
    try:
        amount = float(text)
    except ValueError:
        return 0.0
    return amount if math.isfinite(amount) else 0.0


def read_so_far(file: Path) -> SoFar | None:
    """Read what a cell has written of its attempt; None if there is nothing readable."""
    try:
        return SoFar.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None


def _json_object(file: Path) -> dict[str, Any]:
    """Read an object of JSON, which is empty if it is not there or not readable."""
    try:
        told = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
