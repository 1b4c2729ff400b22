"""How an order is given to a run that is going on, and how others are kept from it meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from pytest_autoweb.results.runs.steering import STEERING_FILE, Order, as_line

_LOCK_FILE = "steering.lock"


@contextmanager
def orders_held(run: Path) -> Iterator[None]:
    """Let nobody give an order to a run meanwhile.

    Raises:
        OSError: the folder cannot be written.
    """
    with FileLock(run / _LOCK_FILE):
        yield


def give_order(run: Path, order: Order, *, check: Callable[[], None] = lambda: None) -> None:
    """Append an order to those of a run.

    Args:
        run: the folder of the run.
        order: the order.
        check: raises an error if the order cannot be given; nobody can give another one meanwhile.

    Raises:
        OSError: the folder cannot be written.
    """
    file = run / STEERING_FILE
    line = as_line(order)
    with orders_held(run), file.open("a+b") as opened:
        check()
        # A process or a disk may have ended within the line before.
        if opened.tell():
            opened.seek(-1, 2)
            line = line if opened.read(1) == b"\n" else b"\n" + line
        opened.write(line)
