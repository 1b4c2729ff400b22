"""The code's listeners for events of its pages, and the events that wait for the worker."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

# A page can raise events in an endless loop.
MAX_WAITING = 500


class _Listener(NamedTuple):
    page: Any
    event: Any
    """The name of an event, or the locator of an overlay."""
    callback: int
    handler: Callable[..., None]
    step: int


class Listeners:
    """The registered listeners, and the events that have not been passed on yet.

    A dialog blocks the page until it is answered, so it is reported to the worker at once. Every
    other event waits until the current call is done, because only then does the worker listen.

    Args:
        tell_now: reports an overlay to the worker, or a dialog, which it ensures is answered.
    """

    def __init__(self, tell_now: Callable[[int, Any], None]) -> None:
        self._tell_now = tell_now
        self._listeners: list[_Listener] = []
        self.waiting: list[tuple[int, Any]] = []
        self.step = 0

    def change(self, page: Any, method: str, event: Any, callback: int) -> None:
        """Add or remove a listener for `on`, `once` or `remove_listener`.

        Overlays are handled like dialogs: the browser waits until the code has dealt with them.
        """
        if method == "remove_locator_handler":
            page.remove_locator_handler(event)
            return
        if method == "add_locator_handler":
            locator, add = event
            tell = partial(self._tell_now, callback)
            self._listeners.append(_Listener(page, locator, callback, tell, self.step))
            add(tell)
            return
        if method == "remove_listener":
            self._remove(lambda x: (x.page, x.event, x.callback) == (page, event, callback))
            return
        handler = self._handler(event, callback)
        self._listeners.append(_Listener(page, event, callback, handler, self.step))
        (page.once if method == "once" else page.on)(event, handler)

    @property
    def urgent(self) -> bool:
        """Tell whether there is a listener whose event must be reported at once."""
        return any(not isinstance(x.event, str) or x.event == "dialog" for x in self._listeners)

    def forget_step(self, step: int) -> None:
        """Remove the listeners of a step before it is run again."""
        self._remove(lambda listener: listener.step == step)

    def forget_all(self) -> None:
        """Remove all listeners, whose functions are gone with their worker."""
        self._remove(lambda _listener: True)
        self.waiting.clear()

    def _remove(self, chosen: Callable[[_Listener], bool]) -> None:
        for listener in [item for item in self._listeners if chosen(item)]:
            self._listeners.remove(listener)
            try:
                if isinstance(listener.event, str):
                    listener.page.remove_listener(listener.event, listener.handler)
                else:
                    listener.page.remove_locator_handler(listener.event)
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
