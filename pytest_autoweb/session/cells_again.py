"""Runs cells that have ended once more, by order (`autoweb run ctl again`), beside their results.

Every process that runs items looks for such orders between them and after the last one, and the
first to claim an order carries it out, whatever xdist has sent it; on the nodes of a cluster, the
session's machine says which. Pytest counts and reports no test for it, because the first result
counts: whoever orders another run may have seen that one.
"""

from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from msgspec.structs import replace

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.results.runs.further_runs import next_folder, note_run
from pytest_autoweb.results.runs.giving_orders import orders_held
from pytest_autoweb.results.runs.live_session import sign_closing
from pytest_autoweb.results.runs.steering import Order
from pytest_autoweb.session.axes import shown_name
from pytest_autoweb.session.cell_run import run_item_again
from pytest_autoweb.session.flights.flights import processes_of
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.playwright_fixtures import CELL
from pytest_autoweb.session.pytest_internals import fixture_info, run_unreported
from pytest_autoweb.session.run_session import SESSION, RunSession
from pytest_autoweb.session.single_runs import claims
from pytest_autoweb.session.steered_cells import steered_cells

if TYPE_CHECKING:
    from pytest_autoweb.session.cluster.remote_session import RemoteSession


class AgainItem(CellItem):
    """A cell that is run once more.

    Attributes:
        first: the item of the cell.
        order: what it is run for.
        runs_after: the item that pytest has run last, whose place among all items it shares.
    """

    first: CellItem
    order: Order
    runs_after: pytest.Item


class Claimed(NamedTuple):
    """An order that this process carries out."""

    order: Order
    first: CellItem
    folder: str
    """That of the further run, below the run folder."""


class CellsAgain:
    """The plugin that carries out orders to run cells again, in a process that runs items.

    Its wrappers are the outermost, since it is registered after the plugins that time items.

    Args:
        config: pytest's.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._looked_at: set[Order] = set()
        self._named: dict[str, CellItem] = {}
        self._cut_off = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, Any, Any]:
        """Run what was ordered meanwhile, once an item of the session has been run."""
        ran = yield
        # After the last one, the loop looks, and until none is left.
        if nextitem is not None and not isinstance(item, AgainItem):
            self._run_ordered(item, nextitem)
        return ran

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Run what was ordered during the last item, and then take no more orders."""
        done = yield
        run = self._config.stash.get(SESSION, None)
        if run is None or (run.away is None and not run.shared.opened_file.exists()):
            return done
        while session.items:
            self._run_ordered(session.items[-1], None)
            if self._stops(session) or self._close(run):
                break
        return done

    @staticmethod
    def _stops(session: pytest.Session) -> bool:
        return bool(session.shouldfail or session.shouldstop)

    def _new_orders(self) -> list[Order]:
        given = steered_cells(self._config).course.again
        return [order for order in given if order not in self._looked_at]

    def _run_ordered(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if SESSION not in self._config.stash:
            return
        while not self._stops(item.session) and (claimed := self._claim(item.session)) is not None:
            again = _again(claimed, item)
            self._config.hook.pytest_runtest_protocol(item=again, nextitem=nextitem)

    def _claim(self, session: pytest.Session) -> Claimed | None:
        """Return the next order that this process carries out; None if there is none."""
        run = self._config.stash[SESSION]
        if run.away is not None:
            return self._claim_at_home(run.away, session)
        for order in self._new_orders():
            self._looked_at.add(order)
            first = self._item_of(order, session)
            if first is not None and claims(run, f"{order.kind} {order.value} {order.at}"):
                return Claimed(order, first, next_folder(run.run_folder, first.cell.folder))
        return None

    def _claim_at_home(self, home: "RemoteSession", session: pytest.Session) -> Claimed | None:
        try:
            while (known := home.next_again()) is not None and known.order is not None:
                if (first := self._item_of(known.order, session)) is not None:
                    return Claimed(known.order, first, known.folder)
        except ModelError:
            # Whatever else needs the session's machine says why it cannot be reached.
            self._cut_off = True
        return None

    def _item_of(self, order: Order, session: pytest.Session) -> CellItem | None:
        """Return the item of the cell that is meant, if this session has it."""
        if not self._named:
            cells = [item for item in session.items if isinstance(item, CellItem)]
            self._named = {shown_name(item.cell): item for item in cells}
            self._named |= {item.cell.nodeid: item for item in cells}
        return self._named.get(order.value)

    def _close(self, run: RunSession) -> bool:
        """Note that this process begins no more cells; tell whether that is so.

        The last process to end says so in the session's sign, after which nobody can give an order
        that nobody would carry out.
        """
        if run.away is not None:
            with suppress(ModelError):
                return self._cut_off or run.away.close()
            return True
        with suppress(OSError), orders_held(run.run_folder):
            if self._new_orders():
                return False
            worker = getattr(self._config, "workerinput", {}).get("workerid", "main")
            folder = run.shared.closed_folder
            folder.mkdir(exist_ok=True)
            (folder / worker).touch()
            if len(list(folder.iterdir())) >= processes_of(self._config):
                sign_closing(run.run_folder)
        return True


def run_again(item: AgainItem, nextitem: pytest.Item | None) -> None:
    """Run a cell once more, and note it beside its first result."""
    run_unreported(item, nextitem)
    session = item.config.stash[SESSION]
    # The session's machine notes what a node has sent it. With a full disk its own files say it.
    if session.away is None:
        with suppress(OSError):
            note_run(session.run_folder, item.cell.folder, item.order)


def _again(claimed: Claimed, after: pytest.Item) -> AgainItem:
    """Return the item of a further run of a cell, whose folder is in that of the first one."""
    order, first, folder = claimed
    number = Path(folder).name.removeprefix("again-")
    name = f"{first.name} (again {number})"
    item: AgainItem = AgainItem.from_parent(
        first.parent, name=name, callobj=run_item_again, fixtureinfo=fixture_info(first)
    )
    item.first, item.order, item.runs_after = first, order, after
    item.outside = first.outside
    item.own_markers = list(first.own_markers)
    nodeid = f"{first.cell.nodeid} (again {number})"
    item.stash[CELL] = replace(first.cell, nodeid=nodeid, folder=folder, again=True)
    return item
