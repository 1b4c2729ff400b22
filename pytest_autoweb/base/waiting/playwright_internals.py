"""What this package uses of Playwright that has no public name; only this module knows the names.

Playwright's sync API runs an event loop in a greenlet of its own. Whoever wants to wait for
something else beside a page, or to end a call that takes too long, needs both, and Playwright has
no public way to reach either. Its next release may rename them. So everything here says when it
finds nothing, and those who ask do without: they block, one cell at a time.
"""

import asyncio
import logging
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import greenlet  # type: ignore[import-untyped]

# Late imports: models are called without any browser, and Playwright takes long to import.

_LOOP, _FIBER, _INNER, _WAIT = "_loop", "_dispatcher_fiber", "_impl_obj", "_sync"
_SELECTOR, _FRAME = "_selector", "_frame"
_RECORD, _CONNECTION, _CLOSED = "_start_recording", "_connection", "_closed_error"
_ROUTES, _OPTIONS, _CREDENTIALS = "_routes", "_options", "httpCredentials"
_PLAYWRIGHT, _SELECTORS = "_playwright", "selectors"

SNAPSHOT_NOTE = "_ariaRef"
"""The property in which a snapshot for models leaves role, name and ref of an element, in the
isolated world that Playwright's own scripts run in."""

DRIVER_ENDED = "Playwright's driver ended"
"""The error of a wait whose driver has ended."""


class Driver(NamedTuple):
    """Where the calls of the sync API are answered."""

    loop: asyncio.AbstractEventLoop
    fiber: Any
    """The greenlet in which the loop runs. It ends with Playwright's driver, and then nothing that
    was asked of a page is ever answered."""

    @property
    def ended(self) -> bool:
        """Tell whether nothing will be answered any more."""
        return bool(self.fiber.dead) or self.loop.is_closed()


def driver_of(owner: object) -> Driver | None:
    """Return what answers the calls of a page, or of anything else of the sync API.

    Returns:
        None for what is not Playwright's, and where Playwright has changed its names.
    """
    loop, fiber = getattr(owner, _LOOP, None), getattr(owner, _FIBER, None)
    if not isinstance(loop, asyncio.AbstractEventLoop) or fiber is None:
        return None
    return Driver(loop, fiber)


def is_connection_closed(browser: object) -> bool:
    """Tell whether the connection to a browser elsewhere is known to be closed.

    `Browser.is_connected` tells it only after the loop has run, which no call on a closed
    connection waits for.
    """
    connection = getattr(getattr(browser, _INNER, None), _CONNECTION, None)
    return getattr(connection, _CLOSED, None) is not None


def stops_requests(context: object) -> bool:
    """Tell whether Playwright stops the requests of a context on their way, and tells of them late.

    It does for routes of the context and for credentials of servers. Routes of a single page and
    the password of a proxy, which it does not keep here, do not count.

    Returns:
        True also where Playwright has changed its names.
    """
    inner = getattr(context, _INNER, None)
    options = getattr(inner, _OPTIONS, {_CREDENTIALS: True})
    return bool(getattr(inner, _ROUTES, True) or options.get(_CREDENTIALS))


def has_listeners(page: object, event: str) -> bool:
    """Tell whether code listens to an event of a page itself, and not of its context."""
    emitter: Any = getattr(page, _INNER, None)
    listeners = getattr(emitter, "listeners", None)
    return bool(listeners(event)) if listeners is not None else False


_ENTER_FRAME = "internal:control=enter-frame"
"""In a selector, after what finds the element of a frame."""


class Place(NamedTuple):
    """Where a locator looks, and for what."""

    frame: Any
    """The frame of the sync API."""
    selector: str
    """In Playwright's own form, such as `internal:role=button >> nth=1`."""

    @property
    def stays_in_frame(self) -> bool:
        """Tell whether all that it finds is in `frame`, and in none below it."""
        return _ENTER_FRAME not in self.selector

    def beside(self, selector: str) -> Any:
        """Return a locator in the same document, within frames that the selector enters."""
        outer, into, _ = self.selector.rpartition(_ENTER_FRAME)
        return self.frame.locator(f"{outer}{into} >> {selector}" if into else selector)


def place_of(locator: Any) -> Place | None:
    """Return where a locator looks and for what; None where Playwright has changed its names."""
    inner = getattr(locator, _INNER, None)
    selector, frame = getattr(inner, _SELECTOR, None), getattr(inner, _FRAME, None)
    if not isinstance(selector, str) or frame is None:
        return None
    frames = locator.page.frames
    found = next((one for one in frames if getattr(one, _INNER, None) is frame), None)
    return None if found is None else Place(found, selector)


def start_recorder(context: object, listener: object) -> bool:
    """Have Playwright's recorder report a person's actions in a context as Python.

    Args:
        context: the context.
        listener: has the methods `action_added`, `action_updated` and `signal_added`.

    Returns:
        Whether it was started; no Playwright before 1.65 offers it to programs.
    """
    start = getattr(getattr(context, _INNER, None), _RECORD, None)
    wait = getattr(context, _WAIT, None)
    if start is None or wait is None:
        return False
    wait(start({"language": "python"}, listener))
    return True


_ENGINES: "WeakKeyDictionary[Any, set[str]]" = WeakKeyDictionary()


def register_engine(page: object, name: str, script: str) -> bool:
    """Have Playwright find elements of documents that open from now on by a script of ours.

    The script runs in the isolated world of Playwright's own scripts, where pages change nothing.

    Returns:
        Whether it is registered; not where Playwright has changed its names.
    """
    from playwright.sync_api import Error, Selectors

    browser = getattr(getattr(page, "context", None), "browser", None)
    kind = getattr(getattr(browser, "browser_type", None), _INNER, None)
    found = getattr(getattr(kind, _PLAYWRIGHT, None), _SELECTORS, None)
    if found is None:
        return False
    known = _ENGINES.setdefault(found, set())
    if name not in known:
        known.add(name)
        with suppress(Error):
            Selectors(found).register(name, script, content_script=True)
    return True


@cache
def can_share_loop() -> bool:
    """Tell whether this Playwright still has the names by which its loop is found.

    A page made of stand-ins answers that at the start of a session, without any browser.
    """
    from playwright.sync_api import Page

    loop = asyncio.new_event_loop()
    stand_in: Any = SimpleNamespace()
    setattr(stand_in, _LOOP, loop)
    setattr(stand_in, _FIBER, greenlet.getcurrent())
    try:
        return driver_of(Page(stand_in)) is not None
    except Exception:  # Whatever it needs instead, it is not what this package knows.
        return False
    finally:
        loop.close()


_REPORTS_DEATH = (1, 65)
"""The first version of Playwright whose calls end with an error of its own when its driver dies."""
_STOP = "stop_sync"
"""Playwright's own function that switches to its loop's greenlet without waiting for anything."""
LOST_DRIVER = "Connection closed while reading from the driver"


@cache
def watch_driver() -> bool:
    """Have the calls of a Playwright before 1.65 report that its driver died.

    While a call waits, it switches to the loop's greenlet until it has its answer. Once that
    greenlet has ended with the driver, a switch returns at once, again and again, and until 1.63
    the call would never end. From now on such a switch raises. Those calls that do end by
    themselves raise a bare `Exception`, which nobody could tell from a fault of the tested code;
    from now on it is Playwright's error of a closed browser.

    Returns:
        Whether this Playwright needs it.
    """
    numbers = version("playwright").split(".")[:2]
    if not all(map(str.isdecimal, numbers)) or tuple(map(int, numbers)) >= _REPORTS_DEATH:
        return False
    from playwright._impl import _errors, _greenlets, _sync_base

    fiber_type: Any = _greenlets.MainGreenlet
    caller_type: Any = _sync_base.SyncBase
    call = getattr(caller_type, _WAIT)

    def switch(fiber: Any, *values: Any) -> Any:
        if fiber.dead and sys._getframe(1).f_code.co_name != _STOP:
            raise _errors.TargetClosedError(LOST_DRIVER)
        return greenlet.greenlet.switch(fiber, *values)

    def called(caller: Any, awaited: Any) -> Any:
        try:
            return call(caller, awaited)
        except Exception as error:
            if LOST_DRIVER in str(error) and not isinstance(error, _errors.Error):
                raise _errors.TargetClosedError(str(error)) from None
            raise

    fiber_type.switch = switch
    setattr(caller_type, _WAIT, called)
    # Calls that were given up are complained of when Python forgets them.
    logging.getLogger("asyncio").addFilter(_is_no_closed_browser)
    return True


def _is_no_closed_browser(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__name__ != "TargetClosedError" and LOST_DRIVER not in str(error)


def ended_error() -> Exception:
    """Return Playwright's error for a wait that will never end."""
    from playwright.sync_api import Error

    return Error(DRIVER_ENDED)
