"""What a node's test process asks the session's machine for, and what that answers."""

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.results.runs.steering import Order

PLAN_PATH, BEGIN_PATH = "/plan", "/begin"
FORGET_PATH, VARIABLES_PATH, ORDERS_PATH = "/forget", "/variables", "/orders"
AGAIN_PATH, CLOSE_PATH, WATCHED_PATH = "/again", "/close", "/watched"


class NodeMessage(BaseModel):
    """A body of a request or an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CellAsked(NodeMessage):
    """A cell that is about to run, or will not run after all."""

    folder: str
    """Its folder below the run folder."""
    nodeid: str = ""


class CellKnown(NodeMessage):
    """What the session's machine has of a cell."""

    saved: str = ""
    """The content of its `cell.json`, if there is one."""
    ended: bool = False
    """Whether it ended in this very session, so that it must not run again."""
    began: bool = False
    """Whether an earlier session began it and left no result."""


class OrdersKnown(NodeMessage):
    """What the run was ordered by now."""

    given: tuple[Order, ...] = ()
    again_waits: bool = False
    """Whether an order to run a cell again waits for a worker."""
    now: float = 0.0
    """The time of the session's machine, in seconds since the epoch; clocks differ."""


class AgainKnown(NodeMessage):
    """An order to run a cell again that the worker is to carry out."""

    order: Order | None = None
    """None if no order waits."""
    folder: str = ""
    """That of the further run, below the run folder."""


class CloseKnown(NodeMessage):
    """Whether the worker need not carry out any more orders."""

    closed: bool


class WatchedKnown(NodeMessage):
    """Whether somebody watches the run."""

    watched: bool


class Variables(NodeMessage):
    """Environment variables: names that are asked for, or the values of those that are set."""

    values: dict[str, str]
