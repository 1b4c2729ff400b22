"""What a node's test process asks the session's machine for, and what that answers."""

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.results.runs.steering import Order

PLAN_PATH, BEGIN_PATH = "/plan", "/begin"
FORGET_PATH, VARIABLES_PATH, ORDERS_PATH = "/forget", "/variables", "/orders"


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


class Variables(NodeMessage):
    """Environment variables: names that are asked for, or the values of those that are set."""

    values: dict[str, str]
