"""A browser for a person to work in, and the recorder of what is done there.

Playwright offers its recorder to programs only through a private method of a context. The public
way, `playwright codegen`, is a separate process, which does not reveal the password fields and
writes typed text to a file. So the private method is used; where it is missing, the error names the
public way.
"""

import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from secrets import token_urlsafe
from textwrap import dedent
from types import FrameType
from typing import Any

from msgspec import Struct, field
from playwright.sync_api import BrowserContext, Dialog, Error, Request, sync_playwright

from pytest_autoweb.base.errors import BrowserError, SettingsError, first_line
from pytest_autoweb.base.waiting.playwright_internals import start_recorder
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.chromium import browser_environ, launch_args
from pytest_autoweb.browser.egress.request_policy import parse_origin
from pytest_autoweb.browser.page.frames import script
from pytest_autoweb.browser.page.passkeys import add_passkeys

_OPEN_MS = 30_000
_LOOK_MS = 100
_BUFFER_MS = 700
"""Playwright holds back a click for half a second, because it may become a double click."""
_MOST_ORIGINS = 20
_MOST_SECRETS = 50
_KEY = re.compile(r"\.press\(\"(?:Enter|Space| )\"\)\s*$")
_BINDING = "__autowebSecret"
_WORD = "WORD_OF_THE_RECORDER"
CODEGEN = "playwright codegen --target python -o recorded.py URL"
"""The public way to record, whose script `--from` reads."""


class RecordedWork(Struct):
    """A person's work so far."""

    code: list[str] = field(default_factory=list)
    """Playwright's code for each action; the last one may still grow."""
    origins: list[str] = field(default_factory=list)
    """The origins that pages requested, in order."""
    _typed: dict[str, tuple[str, str]] = field(default_factory=dict)
    _done: dict[str, str] = field(default_factory=dict)

    def secrets(self) -> dict[str, str]:
        """Return the values typed into secret fields, with the field's kind: `password`, `code`."""
        return {**self._done, **{value: kind for kind, value in self._typed.values()}}

    def take_secret(self, told: str) -> None:
        """Keep the value of a secret field; invalid reports from the page are ignored."""
        with suppress(ValueError, KeyError, TypeError):
            said = read_json(told[:10_000])
            kind, value = str(said["kind"])[:20], str(said["value"])
            if not kind.isidentifier() or len(self._typed) + len(self._done) >= _MOST_SECRETS:
                return
            if said["done"]:
                # Text typed into the same field afterwards is another secret.
                self._typed.pop(str(said["id"]), None)
                self._done[value] = kind
            else:
                self._typed[str(said["id"])] = (kind, value)

    def take_request(self, request: Request) -> None:
        """Keep the origin of a request."""
        origin = str(found) if (found := parse_origin(request.url)) else ""
        if origin and origin not in self.origins and len(self.origins) < _MOST_ORIGINS:
            self.origins.append(origin)


class _Listener:
    """Playwright's sink for actions: each is added once, and may be reported again as it grows."""

    def __init__(self, recording: RecordedWork, changed: Callable[[], None]) -> None:
        self._recording, self._changed = recording, changed
        self._last: int | None = None
        """The place of the last action in the code, unless that is not to change any more."""
        self._link_opened = False

    def action_added(self, _page: Any, data: dict[str, Any], code: str) -> None:
        if self._link_opened and data.get("name") == "navigate":
            # Where the link has led to.
            self._last = None
            return
        by_key = data.get("name") == "click" and data.get("clickCount") == 0
        if by_key and self._recording.code and _KEY.search(self._recording.code[-1]):
            # A key that presses a button or sends a form is reported again as the resulting click.
            self._recording.code.pop()
        self._add(code)
        self._last, self._link_opened = len(self._recording.code) - 1, False

    def link_opened(self, url: str) -> None:
        """Add that the page was sent to a link, which Playwright takes for an effect of a click."""
        if not self._link_opened:
            self._add(f"page.goto({json.dumps(url)})")
            self._link_opened = True

    def _add(self, code: str) -> None:
        self._recording.code.append(dedent(code))
        # All earlier actions are complete now.
        self._changed()

    def action_updated(self, _page: Any, _data: dict[str, Any], code: str) -> None:
        """Replace the last action with its extended form."""
        if self._last is not None and self._last < len(self._recording.code):
            self._recording.code[self._last] = dedent(code)

    def signal_added(self, _page: Any, _data: dict[str, Any], code: str) -> None:
        """Replace the last action with code that includes its effect, such as a popup."""
        if code:
            self.action_updated(_page, _data, code)


class RecordOrder(Struct, frozen=True):
    """What to record, and how."""

    url: str
    debug_port: int | None = None
    """Run without a window, for a browser elsewhere that controls this one through the port."""
    accept_dialogs: bool = False
    passkeys: Mapping[str, str] = field(default_factory=dict)
    """The passkeys that the browser has, as JSON, by the names of their secrets."""
    links: Callable[[], Collection[str]] = tuple
    """Returns the links that came by mail so far; to open one is an action."""


def record(
    order: RecordOrder,
    recording: RecordedWork,
    *,
    changed: Callable[[], None],
    ended: Callable[[], bool],
    opened: Callable[[], None],
) -> None:
    """Open the page and listen until `ended` is true, the page is closed, or Ctrl-C is pressed.

    Args:
        order: the page, and how to open it.
        recording: grows meanwhile; it is complete however the recording ends.
        changed: called when an action was added.
        ended: polled regularly.
        opened: called once the person may begin.

    Raises:
        SettingsError: there is no display, or this Playwright has no recorder for programs.
        BrowserError: there is no browser, or the page cannot be opened.
    """
    if order.debug_port is None and not _has_display():
        raise SettingsError(
            "there is no display for a window. Give --debug-port 9222, and steer the browser from "
            "chrome://inspect of your own machine after `ssh -L 9222:127.0.0.1:9222 HOST`; or run "
            f"`{CODEGEN}` where there is a display, and here `autoweb record --from recorded.py`"
        )
    with _context(order) as context, _interrupts() as interrupted:
        word = token_urlsafe(16)

        def take(_source: object, told: object) -> None:
            if str(told).startswith(word):
                recording.take_secret(str(told)[len(word) :])

        _add_passkeys(context, order.passkeys)
        context.expose_binding(_BINDING, take)
        context.add_init_script(script("secret_fields").replace(_WORD, word))
        listener = _Listener(recording, changed)
        context.on("request", lambda request: recording.take_request(request))
        context.on("dialog", lambda dialog: _answer(dialog, accept=order.accept_dialogs))
        _start(context, listener)
        page = context.pages[0] if context.pages else context.new_page()
        page.on("request", lambda request: _take_link(request, order, listener))
        try:
            page.goto(order.url, timeout=_OPEN_MS)
        except Error as error:
            raise BrowserError(f"{order.url} cannot be opened: {first_line(error)}") from None
        opened()
        # The page, its browser or Playwright's driver may end at any time, including by Ctrl-C.
        with suppress(Error):
            while not (page.is_closed() or ended() or interrupted()):
                page.wait_for_timeout(_LOOK_MS)
            page.wait_for_timeout(_BUFFER_MS)


def _add_passkeys(context: BrowserContext, passkeys: Mapping[str, str]) -> None:
    values = {f"<secret:{name}>": passkey for name, passkey in passkeys.items()}
    # Nothing that a recording writes holds a key, so there is nothing to hide it from.
    add_passkeys(context, tuple(values) or None, values.__getitem__, lambda name, key: None)


def _take_link(request: Request, order: RecordOrder, listener: _Listener) -> None:
    if request.is_navigation_request() and request.url in order.links():
        listener.link_opened(request.url)


def _start(context: BrowserContext, listener: _Listener) -> None:
    if not start_recorder(context, listener):
        raise SettingsError(
            "this version of Playwright does not let programs listen to its recorder. Update it "
            f"(`pip install -U playwright`), or run `{CODEGEN}` and then "
            "`autoweb record --from recorded.py`"
        )


def _answer(dialog: Dialog, *, accept: bool) -> None:
    with suppress(Error):
        if accept or dialog.type == "beforeunload":
            dialog.accept()
        else:
            dialog.dismiss()


def _has_display() -> bool:
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _context(order: RecordOrder) -> Iterator[BrowserContext]:
    """Provide a browser with a profile of its own, which is deleted afterwards.

    The pages use the profile's own context, because a browser that controls this one sees no other.
    """
    headless = order.debug_port is not None
    with (
        tempfile.TemporaryDirectory(prefix="autoweb-", ignore_cleanup_errors=True) as profile,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium
        base = {"env": browser_environ(os.environ), "headless": headless}
        args = launch_args(base, playwright_executable=chromium.executable_path)
        if headless:
            args["args"] = [*args.get("args", ()), f"--remote-debugging-port={order.debug_port}"]
        # Ctrl-C must end the recording first, and the browser only after it.
        args |= {"handle_sigint": False, "viewport": {"width": 1280, "height": 720}}
        try:
            context = chromium.launch_persistent_context(profile, **args)
        except Error as error:
            raise BrowserError(f"no browser can be started: {error}") from None
        try:
            yield context
        finally:
            with suppress(Error):
                context.close()


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Count Ctrl-C instead of raising; the second one raises, in case the first had no effect."""
    pressed: list[int] = []

    def press(number: int, frame: FrameType | None) -> None:
        if pressed:
            signal.default_int_handler(number, frame)
        pressed.append(number)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
