"""Event listeners that generated code registers; events go from the page via host to worker."""

from collections.abc import Callable
from typing import Any, NamedTuple

# A page can raise events in an endless loop.
MAX_WAITING = 500


class _Listener(NamedTuple):
    page: Any
    event: str
    callback: int
    handler: Callable[..., None]
    step: int


class Listeners:
    """The registered listeners, and the events that have not been passed on yet.

    A dialog blocks the page until it is answered, so the worker is told at once. Every other event
    waits until the current call is done, because only then does the worker listen.

    Args:
        tell_now: tells the worker of a dialog and ensures that the dialog is answered.
    """

    def __init__(self, tell_now: Callable[[int, Any], None]) -> None:
        self._tell_now = tell_now
        self._listeners: list[_Listener] = []
        self.waiting: list[tuple[int, Any]] = []
        self.step = 0

    def change(self, page: Any, method: str, event: str, callback: int) -> None:
        """Add or remove a listener, as `on`, `once` or `remove_listener` asks for."""
        if method == "remove_listener":
            self._remove(lambda x: (x.page, x.event, x.callback) == (page, event, callback))
            return
        handler = self._handler(event, callback)
        self._listeners.append(_Listener(page, event, callback, handler, self.step))
        (page.once if method == "once" else page.on)(event, handler)

    def forget_step(self, step: int) -> None:
        """Remove the listeners of a step before that step is run again."""
        self._remove(lambda listener: listener.step == step)

    def forget_all(self) -> None:
        """Remove all listeners, whose functions are gone with their worker."""
        self._remove(lambda _listener: True)
        self.waiting.clear()

    def _remove(self, chosen: Callable[[_Listener], bool]) -> None:
        for listener in [item for item in self._listeners if chosen(item)]:
            self._listeners.remove(listener)
            try:
                listener.page.remove_listener(listener.event, listener.handler)
            except Exception:  # a `once` that fired, or a page that is gone: both mean removed
                continue

    def _handler(self, event: str, callback: int) -> Callable[..., None]:
        def handler(*items: Any) -> None:
            item = items[0] if items else None
            if event == "dialog":
                self._tell_now(callback, item)
            elif len(self.waiting) < MAX_WAITING:
                self.waiting.append((callback, item))

        return handler
