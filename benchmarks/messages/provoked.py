"""One message that something really said, with the label of whoever provoked it."""

from collections.abc import Callable
from typing import NamedTuple


class Provoked(NamedTuple):
    """A row of the corpus."""

    error_type: str
    """The exception's class, or empty where a page or a server only showed a text."""
    message: str
    status: int | None
    """HTTP status, where the message came with one."""
    label: str
    """One of the eight failure types."""
    web_kind: str
    """The sub-kind, or empty."""
    source: str
    """The program or service that said it."""


def raised(act: Callable[..., object], *args: object) -> tuple[str, str]:
    """Return class and text of the exception that a call with these arguments raises.

    Raises:
        AssertionError: it ends in none, so nothing was provoked.
    """
    try:
        act(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    raise AssertionError("the call did not fail")
