"""Waiting until a page is quiet: nothing is loading, nothing changes, nothing is announced."""

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, ref

from playwright.sync_api import BrowserContext, Error, Frame, Page, Request, Response

from pytest_autoweb.base import waiting
from pytest_autoweb.browser.egress.late_requests import tells_late
from pytest_autoweb.browser.page.frames import run_script, script

LIMIT_MS = 3_000.0
"""Limit on one wait. A page that loads, changes or asks for ever is then used as it is."""
SOON_MS = 1_000.0
"""How long a wait allows for timers, animations, frames and changes without end."""
STILL_MS = 30.0
"""How long nothing may have changed in a page some of whose work cannot be seen to its end."""
PATIENT_MS = 500.0
"""How long nothing may have changed in a page that may be answered at any time."""

ARRIVAL_MS = 20_000.0
"""How long a page that was asked for is waited for before its server has answered at all."""

T = TypeVar("T")

_POLL_MS = 10.0
_LOOK_OUT_MS = 50.0
# A page that is busy at the end of the limit may still answer.
_GRACE_MS = 1_000.0
# What these load is not part of the page that a reader waits for, even if it never ends.
_BESIDE = frozenset(
    {"eventsource", "manifest", "media", "ping", "prefetch", "texttrack", "websocket"}
)
_EVENTS = 20_000
# Unforeseeable, so that no page uses it by accident.
_NAME = f"quiet-{secrets.token_hex(8)}"


class _Traffic:
    """The requests in flight of one context."""

    def __init__(self, context: BrowserContext) -> None:
        # Weak, because a request leads to its context, which must not live for ever.
        self._flying: WeakKeyDictionary[Request, float] = WeakKeyDictionary()
        self._leading: WeakKeyDictionary[Request, float] = WeakKeyDictionary()
        self._context = ref(context)
        self.events = 0
        """How many requests have begun or ended so far."""
        for event, handler in self._handlers():
            context.on(event, handler)

    def _handlers(self) -> tuple[tuple[Any, Any], ...]:
        return (
            ("request", self._on_request),
            ("requestfinished", self._on_end),
            ("requestfailed", self._on_end),
            ("response", self._on_response),
        )

    @property
    def exact(self) -> bool:
        """Whether a request is told of before what its page is asked afterwards is answered."""
        context = self._context()
        return context is not None and not tells_late(context)

    def busy(self) -> bool:
        """Tell whether a request is in flight that is not known to take long."""
        late = time.monotonic() - LIMIT_MS / 1000
        for request in [one for one, since in self._flying.items() if since < late]:
            del self._flying[request]
        return bool(self._flying)

    def leaving(self, page: Page, since: float | None = None) -> bool:
        """Tell whether a page was asked for whose server has not answered; see `is_leaving`."""
        late = time.monotonic() - ARRIVAL_MS / 1000
        begun = [one for one, began in self._leading.items() if began >= max(since or 0.0, late)]
        return any(_leads(one, page, any_frame=since is not None) for one in begun)

    def _on_request(self, request: Request) -> None:
        context = self._context()
        if context is not None and self.events >= _EVENTS:
            # A page can ask without end, and each request is work for this process.
            for event, handler in self._handlers():
                context.remove_listener(event, handler)
            self._flying.clear()
            self._leading.clear()
        elif request.resource_type not in _BESIDE:
            self.events += 1
            self._flying[request] = time.monotonic()
            if request.is_navigation_request():
                self._leading[request] = time.monotonic()

    def _on_response(self, response: Response) -> None:
        self._leading.pop(response.request, None)

    def _on_end(self, request: Request) -> None:
        self._leading.pop(request, None)
        if self._flying.pop(request, None) is not None:
            self.events += 1


def _leads(request: Request, page: Page, *, any_frame: bool) -> bool:
    try:
        frame = request.frame
        return frame.page == page and (any_frame or frame == page.main_frame)
    except Error:
        # A tab that is about to open has no frame yet, and may well be what was asked for.
        return True


_WATCHED: WeakKeyDictionary[BrowserContext, _Traffic] = WeakKeyDictionary()


def watch(context: BrowserContext) -> None:
    """Begin to note, once, what pages of a context ask for and what they announce to do soon.

    Called before a page is opened and after a clock is set, whose timers are noted, too.
    """
    if context not in _WATCHED:
        _traffic_of(context)
        asked = f"{{name: '{_NAME}', soon: {SOON_MS}}}"
        context.add_init_script(f"({script('quiet_watch')})({asked})")


def _traffic_of(context: BrowserContext) -> _Traffic:
    if context not in _WATCHED:
        _WATCHED[context] = _Traffic(context)
    return _WATCHED[context]


def is_leaving(page: Page, since: float | None = None) -> bool:
    """Tell whether a page is about to be replaced by another one, or a tab is about to open.

    Args:
        page: the page.
        since: only what was asked for since then counts (`time.monotonic()`), but in all frames.
    """
    return _traffic_of(page.context).leaving(page, since)


def wait_until_arrived(page: Page) -> None:
    """Wait for a page that was asked for until its server answers, within a limit; never raises.

    What leads to another page need not wait for it: a key, a choice in a list, a link to a tab.
    """
    with suppress(Error):
        while is_leaving(page):
            page.wait_for_timeout(_LOOK_OUT_MS)


class Quiet(NamedTuple):
    """What became of waiting for a page to be quiet."""

    reached: bool
    """Whether it is quiet; False if the time was over, or if it does not answer."""
    undisturbed: bool = False
    """Whether nothing has happened in it since it loaded; False if that is not known, as after an
    earlier wait."""


def wait_until_quiet(where: Page | Frame, *, limit_ms: float = LIMIT_MS) -> bool:
    """Wait until a page is quiet, as `watch_until_quiet` does, and return whether it is."""
    return watch_until_quiet(where, limit_ms=limit_ms).reached


def watch_until_quiet(
    where: Page | Frame,
    *,
    limit_ms: float = LIMIT_MS,
    watched: Callable[[], object] | None = None,
) -> Quiet:
    """Wait until a page is quiet, within limits; never raises.

    Quiet means: the document has loaded with its fonts, no request is in flight, no short timer,
    delayed task, animation or chain of frames is about to end, nothing is being read or decoded,
    no task is queued, and the document and its frames of the same origin were drawn since they last
    changed. Nothing may have changed for `STILL_MS` after the page has begun what cannot be
    followed to its end, or at all if requests are told of late or a frame is of another origin, and
    for `PATIENT_MS` if it uses workers, sockets, databases or caches. The first wait after the load
    event counts what was still since then. Requests older than the limit, what goes on beyond
    `SOON_MS`, and frames of which each asks for the next again and again are ignored. A page that
    is about to be replaced by another one is not what anybody wants to see, so the other one is
    waited for first.

    Args:
        where: the page, or a frame of it.
        limit_ms: limit in milliseconds on the wait for quiet.
        watched: called once, when the page has been told to watch itself. What it learns of the
            page still holds if the wait ends undisturbed.
    """
    page = where if isinstance(where, Page) else where.page
    traffic = _traffic_of(page.context)
    wait_until_arrived(page)
    began, patience, undisturbed = waiting.now(), SOON_MS, True
    while (left := limit_ms - (waiting.now() - began) * 1000) > 0:
        try:
            if traffic.busy():
                page.wait_for_timeout(_POLL_MS)
                continue
            before, looked = traffic.events, waiting.now()
            asked = {"name": _NAME, "still": STILL_MS, "patient": PATIENT_MS}
            asked |= {"exact": traffic.exact, "soon": patience, "limit": left}
            look = partial(run_script, where, "quiet", asked, timeout_ms=left + _GRACE_MS)
            told = _beside(waiting.start_call(page, look), watched) if watched else look()
        except Error:
            return Quiet(reached=False)
        match told:
            case {"quiet": True, "undisturbed": bool(still)}:
                if before == traffic.events and not traffic.busy():
                    return Quiet(reached=True, undisturbed=undisturbed and still)
        undisturbed, watched = False, None
        patience = max(0.0, patience - (waiting.now() - looked) * 1000)
    return Quiet(reached=False)


def _beside(ended: Callable[[], T], call: Callable[[], object]) -> T:
    """Make a call while another one is under way, and return what that one returns."""
    try:
        call()
    finally:
        told = ended()
    return told
