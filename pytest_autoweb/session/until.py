"""Ends a run before all its cells have run (`--autoweb-until`): their order, and what is left out.

All processes of the session append to one file of the run folder which cells begin and end, and
what is decided. Each reads there what the others did before it begins a cell, so a decision is the
same in all of them, and a resumed run goes on where the first one stopped.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest
from pydantic import ValidationError

from pytest_autoweb.base.values.flag_texts import Until
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.cell_record import left_out_cell, planned_cell
from pytest_autoweb.results.analysis.early_decision import EarlyDecision, Entry, PairDecision
from pytest_autoweb.results.records import CellResult, NotNeeded
from pytest_autoweb.results.runs.run_folder import read_manifest
from pytest_autoweb.results.runs.saving import save_cell
from pytest_autoweb.results.runs.side_files import UNTIL_FILE
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.run_session import SESSION, RunSession
from pytest_autoweb.session.steered_cells import steered_cells
from pytest_autoweb.settings.run_settings import Settings

Event = Literal["begin", "end", "decided"]


class Journal:
    """What the processes of a run tell each other, one line each, in the order of writing.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def append(self, event: Event, **facts: Any) -> None:
        """Append one line, in one short write, so that none interleave."""
        line = json.dumps({"event": event, **facts}) + "\n"
        # A full disk must not stop a cell.
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)

    def news(self) -> Iterator[dict[str, Any]]:
        """Yield the whole lines that were not read before; damaged ones are passed over."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except OSError:
            return
        whole, newline, _ = content.rpartition(b"\n")
        self._read += len(whole) + len(newline)
        for line in whole.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


class EarlyStop:
    """The plugin that orders the cells of a process, and leaves out those that are not needed.

    The order is a wish: pytest's own loop and xdist's scheduling of `--dist=load` follow it; in
    other sessions the order of the beginning stays, in which each case comes once before any is
    repeated. Whether a cell is left out is asked when it would begin, in whatever order that is.

    Order of the calls, for each cell: `refusal`; if that is None, `begin` and `end`. `note_kept`
    takes the place of both for a cell whose result a resumed run keeps.

    Args:
        config: pytest's.
        settings: the session's.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config, self._until = config, settings.until
        self._state: EarlyDecision | None = None
        self._folders: dict[str, str] = {}
        self._journal: Journal | None = None
        self._who: dict[str, tuple[str, int]] = {}
        self._dearest = 0.0
        self._left_out: dict[str, CellResult] = {}
        self._mine: set[str] = set()
        self._items: list[pytest.Item] = []
        self._ordered = self._place = 0

    # -- order ---------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Give each case its first turn before any is repeated; other tests stay in place."""
        yield
        cells = {item.cell.folder: item for item in items if isinstance(item, CellItem)}
        plan = EarlyDecision((Entry.of(planned_cell(item.cell)) for item in cells.values()), None)
        _rearrange(items, 0, plan)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Bring what teaches most to the front, in a session without workers.

        The next item stays, because fixtures that it shares were kept for it.
        """
        if hasattr(self._config, "workerinput"):
            return
        items = self._items
        while self._place < len(items) and items[self._place].nodeid != nodeid:
            self._place += 1
        if self._state is not None and self._state.version != self._ordered:
            self._ordered = self._state.version
            _rearrange(items, self._place + 2, self._state)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the list of items, in which the order is changed."""
        self._items = session.items

    def order_nodes(self, nodeids: Sequence[str]) -> list[str]:
        """Return items in the order in which workers shall be sent them."""
        state = self._news()
        if state.version == self._ordered:
            return list(nodeids)
        self._ordered = state.version
        named = {self._folders.get(nodeid, nodeid): nodeid for nodeid in nodeids}
        return [named[name] for name in state.in_order(list(named))]

    # -- what the processes know ---------------------------------------------------------

    @property
    def _run(self) -> RunSession:
        return self._config.stash[SESSION]

    def _news(self) -> EarlyDecision:
        """Return the state after all that any process has told so far."""
        if self._state is None or self._journal is None:
            folder = self._run.open_folder()
            cells = read_manifest(folder).cells
            alpha = self._until.confidence and 1 - self._until.confidence / 100
            self._state = EarlyDecision(map(Entry.of, cells), alpha or None)
            self._folders = {cell.nodeid: cell.folder for cell in cells}
            self._journal = Journal(folder / UNTIL_FILE)
        for event in self._journal.news():
            try:
                self._learn(self._state, event)
            except (KeyError, TypeError, ValueError, ValidationError):
                # A line that was cut off by the end of a process or of the disk.
                continue
        for name in self._state.in_flight():
            if not self._lives(name):
                self._state.end(name, None)
        return self._state

    def _learn(self, state: EarlyDecision, event: dict[str, Any]) -> None:
        if event["event"] == "decided":
            if self._until.confidence is not None:
                state.adopt(PairDecision.model_validate(event["decision"]))
            return
        name = str(event["cell"])
        if event["event"] == "begin":
            self._who[name] = (str(event["session"]), int(event["pid"]))
            state.begin(name)
        else:
            self._dearest = max(self._dearest, float(event["usd"] or 0.0))
            state.end(name, event["outcome"])

    def _lives(self, name: str) -> bool:
        """Tell whether a process of this session is still at work on a cell."""
        session, pid = self._who.get(name, ("", 0))
        return session == self._session_name and (pid == os.getpid() or psutil.pid_exists(pid))

    @property
    def _session_name(self) -> str:
        return Path(self._run.shared.session_folder).name

    def _tell(self, event: Event, **facts: Any) -> None:
        if self._journal is not None:
            self._journal.append(event, **facts)

    # -- one cell ------------------------------------------------------------------------

    def refusal(self, cell: Cell) -> CellResult | None:
        """Return the saved result of a cell that is left out; None if it may begin."""
        state = self._news()
        name = cell.folder
        if name in self._mine:
            # In flight, or ended ahead of its turn.
            return None
        if name not in self._left_out:
            needless, why = self._why_not(state, name)
            if not why:
                return None
            worker = getattr(self._config, "workerinput", {}).get("workerid", "main")
            settings, folder = self._run.settings, self._run.run_folder
            left = left_out_cell(cell, settings, worker, needless, f"not run: {why}")
            # With a full disk it is among the cells that were not run, as after an interruption.
            with suppress(OSError):
                save_cell(folder, left)
            self._left_out[name] = left
        return self._left_out[name]

    def _why_not(self, state: EarlyDecision, name: str) -> tuple[NotNeeded, str]:
        if why := state.why_not(name):
            return "decided", why
        # What an order has put in place of a cap is looked at when the cell begins.
        steered = steered_cells(self._config).course
        limit = None if steered.time else self._until.seconds
        if limit is not None and time.time() - self._run.shared.started > limit:
            return "time", f"the time was over ({Until(seconds=limit)})"
        usd = None if steered.cost else self._until.usd
        if usd is not None and self._money_is_short(state, usd):
            return "money", f"one more might have exceeded ${usd:g}"
        return "", ""

    def _money_is_short(self, state: EarlyDecision, cap: float) -> bool:
        stats = self._run.gateway.stats()
        under_way = len(state.in_flight()) + 1
        dear = self._dearest * under_way
        return stats.refused_calls > 0 or (dear > 0 and stats.spent_usd + dear > cap)

    def begin(self, cell: Cell) -> None:
        """Note that a cell begins."""
        self._news()
        self._mine.add(cell.folder)
        self._tell("begin", cell=cell.folder, session=self._session_name, pid=os.getpid())

    def end(self, cell: Cell, result: CellResult) -> CellResult:
        """Note how a cell has ended, and see what that decides; return what counts as its result.

        A cell that broke because the money was over is none that the model or the site has lost.
        """
        refused = result.failure is not None and result.failure.cause == "budget"
        if self._until.usd is not None and refused and result.outcome == "broken":
            reason = f"not run: its calls might have exceeded ${self._until.usd:g}"
            update = {"outcome": "skipped", "not_needed": "money", "reason": reason}
            result = result.model_copy(update=update)
            with suppress(OSError):
                save_cell(self._run.run_folder, result)
        usd = result.total_usage.cost_usd
        # What the change of its page did not strike says nothing of it.
        outcome = None if result.met_change is False else result.outcome
        self._tell("end", cell=cell.folder, outcome=outcome, usd=usd)
        for decision in self._news().decide():
            self._tell("decided", decision=decision.model_dump())
        return result

    def note_kept(self, cell: Cell, result: CellResult) -> None:
        """Take a result into account that an earlier session left, and did not tell."""
        if self._news().outcome_of(cell.folder) is None:
            self.begin(cell)
            self.end(cell, result)


def _rearrange(items: list[pytest.Item], begin: int, plan: EarlyDecision) -> None:
    """Put the cells from a place on in order, each where one was; other tests stay where they are.

    Args:
        items: the list to change.
        begin: the first place that may change.
        plan: what knows the order.
    """
    places = [at for at in range(begin, len(items)) if isinstance(items[at], CellItem)]
    cells: dict[str, list[pytest.Item]] = {}
    for at in places:
        item = items[at]
        assert isinstance(item, CellItem)
        # A plugin may have doubled an item.
        cells.setdefault(item.cell.folder, []).append(item)
    ordered = [item for name in plan.in_order(list(cells)) for item in cells[name]]
    for at, item in zip(places, ordered, strict=True):
        items[at] = item


UNTIL: pytest.StashKey[EarlyStop] = pytest.StashKey()
"""What ends the session early; absent where nothing does."""
