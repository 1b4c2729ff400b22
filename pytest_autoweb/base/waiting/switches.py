"""The switches between greenlets of a thread, told to several listeners."""

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import greenlet  # type: ignore[import-untyped]

Listener: TypeAlias = Callable[[str, tuple[Any, Any]], None]
"""What is told of a switch: the event, and the greenlets that were left and entered."""


class Switches(threading.local):
    """The listeners of a thread; use `SWITCHES`.

    greenlet has one trace function for a thread. If each listener put itself in its place and the
    one before back, those that do not end in the reverse order would bring one another back. So
    this is the only trace function of the package. It is set while there are listeners, calls them
    in the order in which they came, and calls the function that was there before as the last.
    """

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._before: Listener | None = None

    def add(self, listener: Listener) -> None:
        """Tell a listener of each switch from now on."""
        if not self._listeners:
            self._before = greenlet.settrace(self._switched)
        self._listeners += (listener,)

    def remove(self, listener: Listener) -> None:
        """Tell a listener nothing more."""
        self._listeners = tuple(one for one in self._listeners if one != listener)
        if not self._listeners:
            greenlet.settrace(self._before)

    def _switched(self, event: str, ends: tuple[Any, Any]) -> None:
        for listener in self._listeners:
            listener(event, ends)
        if self._before is not None:
            self._before(event, ends)


SWITCHES = Switches()
