"""Restriction of a cell's traffic to the origins of its case.

The egress proxy does this wherever the browser can be made to send everything through it. Where it
cannot, requests are also routed inside the browser, and the run reports that egress is partial.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, Error, Page

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.browser.egress.chromium import EGRESS_FLAGS, NO_NAMES_FLAG, ask_system
from pytest_autoweb.browser.egress.connection_holders import connections_of
from pytest_autoweb.browser.egress.late_requests import note_password
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.request_routes import RequestRoutes
from pytest_autoweb.browser.egress.suppression import StandIn, suppress_in_browser
from pytest_autoweb.browser.egress.traffic_reader import TrafficReader

REMOTE = "the browser runs elsewhere and cannot reach the proxy"
NOT_CHROMIUM = "only Chromium can be told to send everything through the proxy"
NOT_LAUNCHED = (
    "the browser was not started with this plugin's flags (an own `browser` fixture, or a browser "
    "elsewhere)"
)
NOT_HELD = "which routes in the browser cannot hold"
SHARED = "other tests share the browser, so it looks up the names of WebRTC servers itself"


class ReadyPage(NamedTuple):
    """A page in a fresh context that was opened in advance, and the proxy behind which it is."""

    page: Page
    proxy: EgressProxy


@contextmanager
def guarded_page(
    open_page: Callable[[dict[str, Any]], Page],
    context_args: dict[str, Any],
    policy: OriginPolicy,
    note: Callable[[str], None],
    *,
    remote: bool = False,
    suppression: StandIn | None = None,
    traffic: TrafficReader | None = None,
    ready: ReadyPage | None = None,
    browser: Browser | None = None,
    on_blocked: Callable[[str], None] = lambda origin: None,
) -> Iterator[Page]:
    """Yield a page in a fresh context that can reach only the origins of the policy.

    Args:
        open_page: opens the page, given the arguments for its context.
        context_args: all other arguments for the context.
        policy: decides which origins may be reached.
        note: gets messages about what was blocked and what cannot be blocked.
        on_blocked: gets each origin that was blocked, from any thread.
        remote: the browser runs elsewhere and cannot reach a proxy on this machine.
        suppression: answers requests as if they had been sent; None if nothing does.
        traffic: reads and answers all requests; None: they are only passed on.
        ready: a page to use instead of a new one, if nothing is to be read.
        browser: the browser in which `open_page` opens it, as far as that is known.

    Raises:
        BrowserError: the browser does not send its traffic to where it could be read.
    """
    if traffic is not None and remote:
        raise BrowserError(f"traffic can be neither recorded, replayed nor held back: {REMOTE}")
    in_browser = suppression is not None and (remote or suppression.encrypted)
    blocked = _teller(note, on_blocked)
    # With a proxy in front, a redirect has been refused there.
    passed = _passed_teller(note) if remote else lambda origin: None
    taken = None if in_browser else suppression
    # For a proxy with a password the browser keeps no cache, so that each request is read.
    own = connections_of(browser) if traffic is None else None
    proxy = ready.proxy if ready else EgressProxy(policy, blocked, traffic=traffic, connections=own)
    proxy.admit(policy, blocked, note, taken)
    with proxy:
        settings: dict[str, Any] = {} if remote else {"proxy": proxy.settings}
        if traffic is not None:
            # The proxy ends TLS by a certificate of its own, and verifies those of servers.
            settings["ignore_https_errors"] = True
        page = ready.page if ready else open_page({**context_args, **settings})
        if not remote and not proxy.knows_browser:
            note_password(page.context)
        # Routing in the browser is slower and shows fewer requests, so it is the last resort.
        if gap := missing_cover(page.context.browser, remote=remote):
            note(f"egress: partial: {gap}")
            RequestRoutes.of(page.context).begin(policy, blocked, passed)
        if suppression is not None and in_browser:
            suppress_in_browser(page.context, suppression)
        try:
            yield page
        finally:
            _tell_totals(proxy.blocked, note)


def _tell_totals(blocked: Mapping[str, int], note: Callable[[str], None]) -> None:
    for origin, count in blocked.items():
        if count > 1:
            note(f"blocked: {origin}: {count} requests in all")


@contextmanager
def borrowed_page(
    page: Page,
    policy: OriginPolicy,
    note: Callable[[str], None],
    *,
    on_blocked: Callable[[str], object] = lambda origin: None,
) -> Iterator[Page]:
    """Yield a test's own page, which meanwhile can reach only the origins of the policy.

    The test opened its context, so that no proxy can be put in front of it. Routes in the browser
    hold what they can (docs/step.md#what-holds).

    Args:
        page: the page, which stays open.
        policy: decides which origins may be reached.
        note: gets messages about what was blocked and what could not be.
        on_blocked: gets each origin that was blocked.
    """
    routes = RequestRoutes.of(page.context)
    routes.begin(policy, _teller(note, on_blocked), _passed_teller(note))
    try:
        yield page
    finally:
        routes.end()


def _passed_teller(note: Callable[[str], None]) -> Callable[[str], None]:
    @cache
    def passed(origin: str) -> None:
        note(f"not blocked: a redirect led to {origin}, {NOT_HELD}")

    return passed


def _teller(
    note: Callable[[str], None], on_blocked: Callable[[str], object]
) -> Callable[[str], None]:
    def blocked(origin: str) -> None:
        on_blocked(origin)
        note(f"blocked: {origin} (allowed_origins)")

    return blocked


def missing_cover(browser: Browser | None, *, remote: bool = False) -> str:
    """Say why the proxy does not see all traffic of a browser, or return "" if it does.

    Args:
        browser: the browser of the page's context.
        remote: the browser runs elsewhere and cannot reach the proxy.
    """
    if remote:
        return REMOTE
    if browser is None:
        return NOT_LAUNCHED
    if browser.browser_type.name != "chromium":
        return NOT_CHROMIUM
    given = _command_line(browser)
    if not all(flag in given for flag in EGRESS_FLAGS):
        return NOT_LAUNCHED
    return "" if NO_NAMES_FLAG in given else SHARED


def describe_egress(browser_names: tuple[str, ...], *, remote: bool = False) -> str:
    """Return the value for a report header, which is known before any browser is started."""
    if remote:
        return f"partial ({REMOTE})"
    if any(name != "chromium" for name in browser_names):
        return f"partial ({NOT_CHROMIUM})"
    return "proxy"


_COMMAND_LINES: WeakKeyDictionary[Browser, str] = WeakKeyDictionary()


def _command_line(browser: Browser) -> str:
    if browser not in _COMMAND_LINES:
        _COMMAND_LINES[browser] = _asked_command_line(browser)
    return _COMMAND_LINES[browser]


def _asked_command_line(browser: Browser) -> str:
    try:
        # The real command line, because a fixture of the user may have dropped the plugin's flags.
        (told,) = ask_system(browser, "getInfo")
        return str(told["commandLine"])
    except Error:
        return ""
