"""The session's machine, as a test process on a node of the cluster reaches it."""

import shutil
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.gateway import GatewayClient, read_address
from pytest_autoweb.models.gateway_messages import Acknowledgement
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.saving import (
    CELL_FILE,
    Manifest,
    mark_started,
    write_text_atomic,
)
from pytest_autoweb.results.runs.steering import Order
from pytest_autoweb.session.cluster.node_messages import (
    AGAIN_PATH,
    BEGIN_PATH,
    CLOSE_PATH,
    FORGET_PATH,
    ORDERS_PATH,
    PLAN_PATH,
    VARIABLES_PATH,
    AgainKnown,
    CellAsked,
    CellKnown,
    CloseKnown,
    NodeMessage,
    OrdersKnown,
    Variables,
)
from pytest_autoweb.session.cluster.node_worker import (
    CELL_PATH,
)

ORDERS_EACH_S = 1.0
"""How often the session's machine is asked for orders; a node's process looks before each cell."""

_Answer = TypeVar("_Answer", bound=BaseModel)


class RemoteSession:
    """The session's machine, as seen by a test process on a node.

    Args:
        session_folder: the folder on this node that holds the address of the relay.
        run_folder: the run folder on this node, for cells on their way home.
    """

    def __init__(self, session_folder: Path, run_folder: Path) -> None:
        self._session_folder, self._run_folder = session_folder, run_folder
        self._begun: dict[str, CellResult | None] = {}
        self._orders: tuple[Order, ...] = ()
        self._asked = -ORDERS_EACH_S
        self._again_waits = False
        self.ahead_s = 0.0
        """How far the clock of the session's machine is ahead of this node's."""

    def plan(self, manifest: Manifest) -> None:
        self._ask(PLAN_PATH, manifest, Acknowledgement)

    def begin(self, folder: str, nodeid: str) -> CellResult | None:
        """Announce that a cell is about to run; return its result if it has ended elsewhere.

        Files of the cell from an earlier session are fetched, for `--autoweb-resume`.
        """
        if folder not in self._begun:
            known = self._ask(BEGIN_PATH, CellAsked(folder=folder, nodeid=nodeid), CellKnown)
            ended = CellResult.model_validate_json(known.saved) if known.ended else None
            if known.saved and ended is None:
                write_text_atomic(self._run_folder / folder / CELL_FILE, known.saved)
            elif known.began:
                mark_started(self._run_folder, folder)
            self._begun[folder] = ended
        return self._begun[folder]

    def deliver(self, folder: str, *, keep: bool) -> None:
        """Send an ended cell's files, and wait until they have arrived.

        Args:
            folder: its folder below the run folder.
            keep: leave them here, because more files will come.
        """
        self._ask(CELL_PATH, CellAsked(folder=folder), Acknowledgement)
        if not keep:
            shutil.rmtree(self._run_folder / folder, ignore_errors=True)

    def forget(self, folder: str) -> None:
        """Announce that a cell was cancelled before it had really begun."""
        self._ask(FORGET_PATH, CellAsked(folder=folder), Acknowledgement)

    @property
    def given(self) -> tuple[Order, ...]:
        """Return the orders to the run, as they were a moment ago."""
        if time.monotonic() - self._asked >= ORDERS_EACH_S:
            self._asked = time.monotonic()
            known = self._ask(ORDERS_PATH, NodeMessage(), OrdersKnown)
            self._orders = known.given if known.given != self._orders else self._orders
            self._again_waits = known.again_waits
            self.ahead_s = known.now - time.time() if known.now else 0.0
        return self._orders

    def next_again(self) -> AgainKnown | None:
        """Return an order to run a cell again that is for this worker; None if none waits."""
        # As of a moment ago, too, so that a look costs next to nothing.
        if not (self.given and self._again_waits):
            return None
        known = self._ask(AGAIN_PATH, NodeMessage(), AgainKnown)
        self._again_waits = known.order is not None
        return known if known.order else None

    def close(self) -> bool:
        """Announce that this worker begins no more cells; return False if an order waits."""
        closed = self._ask(CLOSE_PATH, NodeMessage(), CloseKnown).closed
        self._again_waits = not closed
        return closed

    def variables(self, names: Iterable[str]) -> dict[str, str]:
        """Return the values of those environment variables named by cases that are set."""
        asked = Variables(values=dict.fromkeys(names, ""))
        return self._ask(VARIABLES_PATH, asked, Variables).values

    def _ask(self, path: str, body: BaseModel, kind: type[_Answer]) -> _Answer:
        address = read_address(self._session_folder)
        if address is None:
            raise ModelError("unavailable", "cluster", "the relay to the session has no address")
        client = GatewayClient(address)
        content = body.model_dump_json().encode()
        call: Callable[[], tuple[int, bytes]] = partial(client.forward, path, content)
        status, answer = waiting.blocking(call)
        if status != 200:
            why = answer.decode(errors="replace")[:500]
            raise ModelError("unavailable", "cluster", f"{path} was refused: {why}")
        try:
            return kind.model_validate_json(answer)
        except ValidationError:
            raise ModelError("unavailable", "cluster", f"{path}: garbled answer") from None
