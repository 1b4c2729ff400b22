"""Runs cells that have ended once more, by order (`autoweb run ctl again`), beside their results.

Every process that runs items looks for such orders between them and after the last one, and the
first to claim an order carries it out, whatever xdist has sent it. Pytest counts and reports no
test for it, because the first result counts: whoever orders another run may have seen that one.
"""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.results.records import CellResult, RunAgain
from pytest_autoweb.results.runs.live_session import sign_closing
from pytest_autoweb.results.runs.run_folder import saved_cell
from pytest_autoweb.results.runs.saving import save_cell
from pytest_autoweb.results.runs.steering import Order, orders_held
from pytest_autoweb.session.axes import shown_name
from pytest_autoweb.session.cell_run import run_item_again
from pytest_autoweb.session.flights.flights import processes_of
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.playwright_fixtures import CELL
from pytest_autoweb.session.pytest_internals import fixture_info, run_unreported
from pytest_autoweb.session.run_session import SESSION, RunSession
from pytest_autoweb.session.single_runs import claims
from pytest_autoweb.session.steered_cells import steered_cells


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
        if run is None or run.away is not None or not run.shared.opened_file.exists():
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
        run = self._config.stash.get(SESSION, None)
        # A node of a cluster sends home the folders of cells, and each of them once.
        if run is None or run.away is not None:
            return []
        given = steered_cells(self._config).course.again
        return [order for order in given if order not in self._looked_at]

    def _run_ordered(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        for order in self._new_orders():
            if self._stops(item.session):
                return
            self._looked_at.add(order)
            first = self._item_of(order, item.session)
            session = self._config.stash[SESSION]
            if first is None or not claims(session, f"{order.kind} {order.value} {order.at}"):
                continue
            again = _again(first, order, item, session.run_folder)
            hook = self._config.hook
            hook.pytest_runtest_protocol(item=again, nextitem=nextitem)

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
    first = saved_cell(session.run_folder, item.first.cell.folder)
    result = saved_cell(session.run_folder, item.cell.folder)
    if not isinstance(first, CellResult) or not isinstance(result, CellResult):
        return
    noted = RunAgain(
        ordered=item.order.at,
        by=item.order.by,
        folder=Path(item.cell.folder).name,
        outcome=result.outcome,
        reason=result.reason,
        duration_ms=result.duration_ms,
        cost_usd=result.total_usage.cost_usd,
    )
    # With a full disk its own files say it.
    with suppress(OSError):
        save_cell(session.run_folder, first.model_copy(update={"again": (*first.again, noted)}))


def _again(first: CellItem, order: Order, after: pytest.Item, run: Path) -> AgainItem:
    """Return the item of a further run of a cell, whose folder is in that of the first one."""
    number = 1
    while (run / first.cell.folder / f"again-{number}").exists():
        number += 1
    name = f"{first.name} (again {number})"
    item: AgainItem = AgainItem.from_parent(
        first.parent, name=name, callobj=run_item_again, fixtureinfo=fixture_info(first)
    )
    item.first, item.order, item.runs_after = first, order, after
    item.outside = first.outside
    item.own_markers = list(first.own_markers)
    item.stash[CELL] = replace(
        first.cell,
        nodeid=f"{first.cell.nodeid} (again {number})",
        folder=f"{first.cell.folder}/again-{number}",
        again=True,
    )
    return item
