"""Opening of the entry page, and comparison of URLs."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlsplit, urlunsplit

from pytest_autoweb.results import Failure
from pytest_autoweb.values.urls import ascii_host

if TYPE_CHECKING:
    from playwright.sync_api import Page

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_SETTLE_MS = 3_000.0
_LOAD_MS = 15_000.0
_LOGIN = re.compile(r"(?i)(?:^|[/._-])(?:log[-_]?in|sign[-_]?in|auth|sso|session/new)(?:[/._-]|$)")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_UNRESERVED = "-._~"


def open_page(
    page: "Page", url: str, *, timeout_ms: float, note: Callable[[str], None] = lambda line: None
) -> Failure | None:
    """Go to `url` and wait until the page has loaded and its network is idle, within limits.

    Always navigates, so that no state of an earlier visit remains. A page that never stops loading
    is used as it is. `note` gets notes about oddities that are not failures: a redirect, a status.
    """
    from playwright.sync_api import Error

    started = time.monotonic()
    try:
        response = page.goto(url, timeout=timeout_ms, wait_until="domcontentloaded")
    except Error as error:
        return _failure(url, f"{url} could not be opened: {_first_line(error)}")
    if response is not None and response.status >= 500:
        return _failure(url, f"{url} answered {response.status}", status=response.status)
    if response is not None and response.status >= 400:
        note(f"{url} answered {response.status}")
    left = max(1.0, timeout_ms - (time.monotonic() - started) * 1000)
    if not _reached(page, "load", min(left, _LOAD_MS)):
        note(f"{url} was still loading after {min(left, _LOAD_MS) / 1000:g} s")
    _reached(page, "networkidle", _SETTLE_MS)
    if not same_page(page.url, url):
        note(_redirect_note(url, page.url))
    return None


def settle(page: "Page", *, quiet_ms: float) -> None:
    """Wait until the effects of an action have settled, within limits; never raises."""
    from playwright.sync_api import Error

    _reached(page, "networkidle", _SETTLE_MS)
    with suppress(Error):
        page.wait_for_timeout(quiet_ms)


def _reached(page: "Page", state: str, timeout_ms: float) -> bool:
    from playwright.sync_api import Error

    try:
        page.wait_for_load_state(state, timeout=timeout_ms)  # type: ignore[arg-type]
    except Error:
        return False
    return True


def _failure(url: str, message: str, **evidence: object) -> Failure:
    return Failure(kind="navigation", message=message, evidence={"url": url, **evidence})


def _first_line(error: Exception) -> str:
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return line.removeprefix("Page.goto: ")


def _redirect_note(asked: str, reached: str) -> str:
    path = urlsplit(reached).path
    looks_like_login = _LOGIN.search(path) and not _LOGIN.search(urlsplit(asked).path)
    return f"{asked} led to {reached}" + (", a login page by its URL" if looks_like_login else "")


def same_page(first: str, second: str) -> bool:
    """Tell whether two URLs denote the same page: the query counts, spelling does not."""
    return normalise_url(first) == normalise_url(second)


def normalise_url(url: str) -> str:
    """Return one spelling for all URLs that browsers treat as the same.

    Scheme and host are in lower case, default port and user name are dropped, dot segments are
    resolved, escapes have one form, and an empty path is `/`. The query is kept. A fragment is kept
    only if it is a route of a single-page application (`#/…`, `#!…`) rather than a place on the
    page.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        return url
    host = ascii_host(parts.hostname)
    if port is not None and port != _DEFAULT_PORTS[parts.scheme]:
        host += f":{port}"
    fragment = parts.fragment if parts.fragment.startswith(("/", "!")) else ""
    path = _resolve_dots(_one_escape(parts.path or "/"))
    return urlunsplit((parts.scheme, host, path, _one_escape(parts.query), _one_escape(fragment)))


def _one_escape(text: str) -> str:
    """Write escapes in upper case, for all non-ASCII characters and for no unreserved ones."""

    def again(match: re.Match[str]) -> str:
        return quote(unquote_to_bytes(match.group()), safe=_UNRESERVED)

    unescaped = _ESCAPED.sub(again, text)
    return quote(unescaped, safe="%!$&'()*+,;=:@/?[]|\\^`{}\"<>" + _UNRESERVED)


def _resolve_dots(path: str) -> str:
    kept: list[str] = []
    parts = path.split("/")
    for part in parts[1:]:
        if part == "..":
            if kept:
                kept.pop()
        elif part != ".":
            kept.append(part)
    if parts[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)
