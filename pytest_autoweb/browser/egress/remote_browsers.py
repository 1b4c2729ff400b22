"""Browsers that run elsewhere: their addresses, how to connect to one, and what still holds there.

The egress proxy of a cell listens on this machine's loopback. Whether a browser reaches it is not
guessed from its address, which may be a tunnel's, but tried once when the session starts.
"""

import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserType, Error, sync_playwright

from pytest_autoweb.base.errors import BrowserError, first_line
from pytest_autoweb.browser.egress.chromium import EGRESS_FLAGS, NO_NAMES_FLAG
from pytest_autoweb.browser.egress.guarded_page import missing_cover
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import OriginPolicy

CONNECT_MS = 15_000.0
"""Limit on connecting to one browser, whose server may have to start it first."""
AVOID_S = 30.0
"""How long a browser that was lost or did not answer is taken only after all others."""
HOLDS = (
    "held: a context of its own for each cell, origins by routes in the browser, redaction, checks"
)
LOST = (
    "not held: redirects to other origins (told in the log, once followed), names that the browser "
    "looks up, WebRTC, and what else runs on its machine"
)
_PROBE_MS = 5_000.0
_CDP_PATH = "/devtools/"
_FORMS = (
    "ws://HOST:PORT/ of `playwright run-server`, http://HOST:PORT of a Chromium with "
    "--remote-debugging-port, or cdp+wss://HOST/… of a service that speaks CDP"
)
_LOOPBACK = "<loopback>"
_NO_LOOPBACK = (
    "it cannot reach the web servers of this machine's cases; a server of Playwright (ws://) is "
    "lent this machine's loopback"
)
_WORDS = {
    "ECONNREFUSED": "nothing listens there",
    "ENOTFOUND": "no such host is known",
    "EAI_AGAIN": "no such host is known",
    "Executable doesn't exist": (
        "the server has no such browser; run `playwright install` on its machine"
    ),
    "is not valid JSON": (
        "what answers there does not speak CDP; a server of Playwright is named by ws://"
    ),
}
_VERSIONS = re.compile(r"server version: v([\d.]+).*?client version: v([\d.]+)", re.DOTALL)
_OPTIONS_HEADER = "x-playwright-launch-options"
_PASSED_ON = ("headless", "channel")

Protocol = Literal["Playwright", "CDP"]


class BrowserAddress(NamedTuple):
    """The address of a browser elsewhere; only `str()` of it may be shown, as it may hold a key."""

    url: str
    protocol: Protocol

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class FoundBrowser(NamedTuple):
    """A browser elsewhere, as it was found when the session started."""

    shown: str
    protocol: Protocol
    browser: str
    """Its kind and version."""
    reaches_proxy: bool
    gap: str
    """Why the proxy does not see all of its traffic; "" if it does."""


def parse_endpoints(text: str) -> tuple[BrowserAddress, ...]:
    """Read addresses of browsers, separated by commas.

    Raises:
        ValueError: one of them is none; its words do not repeat what may be a key.
    """
    given = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
    return tuple(_endpoint(number, one) for number, one in enumerate(given, 1))


def _endpoint(number: int, text: str) -> BrowserAddress:
    plain = text.removeprefix("cdp+")
    try:
        parts = urlsplit(plain)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if not host or parts.scheme not in ("ws", "wss", "http", "https"):
        raise ValueError(f"address {number} is not one of a browser; allowed: {_FORMS}")
    speaks_cdp = plain != text or parts.scheme in ("http", "https")
    if speaks_cdp or parts.path.startswith(_CDP_PATH):
        return BrowserAddress(plain, "CDP")
    return BrowserAddress(plain, "Playwright")


def connect(
    endpoint: BrowserAddress,
    kind: BrowserType,
    launch_args: Mapping[str, Any],
    *,
    flags: Sequence[str] = EGRESS_FLAGS,
    lend_loopback: bool = False,
) -> Browser:
    """Connect to a browser, or have a Playwright server start one.

    Args:
        endpoint: where it is.
        kind: which browser is wanted.
        launch_args: arguments as for a browser of this machine; a server takes few of them.
        flags: flags for Chromium, which a server takes only if it was started with `--unsafe`.
        lend_loopback: let the browser reach servers on this machine's loopback.

    Raises:
        BrowserError: there is none, with the reason and what can be done.
    """
    slow = {"slow_mo": launch_args["slow_mo"]} if "slow_mo" in launch_args else {}
    try:
        if endpoint.protocol == "CDP":
            return kind.connect_over_cdp(endpoint.url, timeout=CONNECT_MS, **slow)
        wanted = {name: launch_args[name] for name in _PASSED_ON if name in launch_args}
        # The server knows a machine of its own: no path and no variable of this one is sent.
        options = json.dumps({**wanted, "args": list(flags)})
        return kind.connect(
            endpoint.url,
            headers={_OPTIONS_HEADER: options},
            timeout=CONNECT_MS,
            expose_network=_LOOPBACK if lend_loopback else None,
            **slow,
        )
    except Error as error:
        raise BrowserError(
            f"{endpoint} ({endpoint.protocol}): {_reason(error, endpoint)}"
        ) from None


def _reason(error: Error, endpoint: BrowserAddress) -> str:
    """Say in a sentence why connecting failed, without the address, which may hold a key."""
    text = str(error)
    if found := _VERSIONS.search(text):
        server, client = found.groups()
        return (
            f"its Playwright is {server} and this one {client}, which cannot talk to each other; "
            "install the same minor version on both sides"
        )
    if known := next((words for code, words in _WORDS.items() if code in text), ""):
        return known
    line = first_line(error)
    # Playwright repeats the address, or another form of it, and with it what may be a key.
    line = re.sub(r"\b(?:wss?|https?)://\S+", "…", line)
    query = urlsplit(endpoint.url).query
    line = line.replace(query, "…") if query else line
    return line.partition(": ")[2][:300] or line[:300]


class BrowserPool:
    """The browsers elsewhere that the processes of a session take from.

    Each process has one at a time, the first worker the first one, and so on in turn; where there
    are more processes than browsers, they share. Nothing is held that a killed process would keep.

    Args:
        endpoints: where the browsers are.
        folder: the session's folder on this machine.
        worker: the name of this process, such as `gw3`.
    """

    def __init__(self, endpoints: Sequence[BrowserAddress], folder: Path, worker: str) -> None:
        self._endpoints, self._file = tuple(endpoints), folder / "browsers-elsewhere"
        self._place = int("".join(filter(str.isdecimal, worker)) or 0)
        self._found: tuple[FoundBrowser, ...] | None = None
        self._taken: BrowserAddress | None = None
        self._lost: dict[BrowserAddress, float] = {}

    @property
    def found(self) -> tuple[FoundBrowser, ...]:
        """Return what `look` found, in whichever process; nothing where it did not look."""
        if self._found is None:
            try:
                rows = json.loads(self._file.read_text(encoding="utf-8"))
            except OSError:
                return ()
            self._found = tuple(FoundBrowser(*row) for row in rows)
        return self._found

    @property
    def reaches_proxy(self) -> bool:
        """Tell whether each of them reaches the cells' proxies, so that all cells can use one."""
        return bool(self.found) and all(one.reaches_proxy for one in self.found)

    @property
    def gap(self) -> str:
        """Return why proxies do not see all traffic, or "" if they do."""
        gaps = dict.fromkeys(one.gap for one in self.found if one.gap)
        return "; ".join(gaps) if self.found else "nobody looked"

    def look(self, browser_name: str) -> None:
        """Connect to each browser once, and keep what it is and whether it reaches a proxy here.

        Args:
            browser_name: the kind of browser that is wanted, as Playwright names it.

        Raises:
            BrowserError: some cannot be used; each is named, with the reason.
        """
        found, failed = list[FoundBrowser](), list[str]()
        with sync_playwright() as playwright:
            kind: BrowserType = getattr(playwright, browser_name)
            for endpoint in self._endpoints:
                try:
                    found.append(_look(endpoint, kind))
                except BrowserError as error:
                    failed.append(str(error))
        if failed:
            raise BrowserError("\n  ".join(failed))
        self._found = tuple(found)
        self._file.write_text(json.dumps(found), encoding="utf-8")

    def take(
        self, kind: BrowserType, launch_args: Mapping[str, Any], *, with_loopback: bool, alone: bool
    ) -> Browser:
        """Return a browser for this process; whoever asks again has lost the one that it had.

        One that cannot be had is passed over, and that which was lost is tried last.

        Args:
            kind: which browser is wanted.
            launch_args: as for `connect`.
            with_loopback: pages of cells are served by this machine's loopback.
            alone: only cells use the browser, so it need not resolve any names itself.

        Raises:
            BrowserError: none of them can be had; each is named, with the reason.
        """
        proxied = self.reaches_proxy
        flags = (*EGRESS_FLAGS, NO_NAMES_FLAG) if proxied and alone else EGRESS_FLAGS
        lend = with_loopback and not proxied
        if self._taken is not None:
            self._lost[self._taken] = time.monotonic()
        failed = list[str]()
        for endpoint in self._in_turn():
            if lend and endpoint.protocol == "CDP":
                failed.append(f"{endpoint} (CDP): {_NO_LOOPBACK}")
                continue
            try:
                browser = connect(endpoint, kind, launch_args, flags=flags, lend_loopback=lend)
            except BrowserError as error:
                failed.append(str(error))
                self._lost[endpoint] = time.monotonic()
            else:
                self._taken = endpoint
                return browser
        raise BrowserError(f"no browser of --autoweb-connect can be used: {'; '.join(failed)}")

    def _in_turn(self) -> Iterator[BrowserAddress]:
        """Yield the endpoints, this process's own first, and those that were lost last."""
        count = len(self._endpoints)
        turned = [self._endpoints[(self._place + i) % count] for i in range(count)]
        now = time.monotonic()
        yield from sorted(turned, key=lambda one: now - self._lost.get(one, -AVOID_S) < AVOID_S)


def _look(endpoint: BrowserAddress, kind: BrowserType) -> FoundBrowser:
    if endpoint.protocol == "CDP" and kind.name != "chromium":
        raise BrowserError(f"{endpoint} (CDP): only Chromium speaks CDP, and --browser={kind.name}")
    browser = connect(endpoint, kind, {}, flags=(*EGRESS_FLAGS, NO_NAMES_FLAG))
    try:
        reaches = _reaches_proxy(browser)
        gap = missing_cover(browser, remote=not reaches)
        version = f"{kind.name} {browser.version}"
        return FoundBrowser(str(endpoint), endpoint.protocol, version, reaches, gap)
    except Error as error:
        raise BrowserError(f"{endpoint}: {_reason(error, endpoint)}") from None
    finally:
        with suppress(Error):
            browser.close()


def _reaches_proxy(browser: Browser) -> bool:
    """Tell whether a request of the browser arrives at a proxy on this machine's loopback.

    What it is told can be forged on its side; that the proxy was asked for a random name cannot.
    """
    name = f"http://{secrets.token_hex(12)}.invalid"
    with EgressProxy(OriginPolicy("http://127.0.0.1/"), lambda origin: None) as proxy:
        context = browser.new_context(proxy=proxy.settings)  # type: ignore[arg-type]
        try:
            with suppress(Error):
                context.new_page().goto(name, timeout=_PROBE_MS)
        finally:
            context.close()
        return name in proxy.blocked


def described(found: Sequence[FoundBrowser]) -> str:
    """Describe the session's remote browsers in one line."""
    return ", ".join(f"{one.shown} ({one.protocol}, {one.browser})" for one in found)
