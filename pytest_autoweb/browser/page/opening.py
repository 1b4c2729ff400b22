"""Opening the entry page of a case; whether a browser ended, and whether two URLs are one page."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit, urlunsplit

from playwright.sync_api import Error, Page, Response

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.values.normal_forms import ascii_host
from pytest_autoweb.browser.egress.browser_watch import (
    CALL_S,
    WATCH,
    call_within,
    driver_ended,
    is_lost,
)
from pytest_autoweb.browser.egress.proxy import NO_ADDRESS, NOTHING_ANSWERS, OWN_ANSWER
from pytest_autoweb.browser.egress.request_policy import parse_origin
from pytest_autoweb.browser.page.frames import answers
from pytest_autoweb.browser.page.own_world import register_own_world
from pytest_autoweb.browser.page.quiet import watch, watch_until_quiet
from pytest_autoweb.results.records import Failure


def browser_ended(page: Page) -> bool:
    """Tell whether the page's browser is gone because it was killed, crashed or was closed."""
    browser = page.context.browser
    if browser is None:
        return False
    # Playwright notices the end only while its event loop runs.
    with suppress(Exception):
        page.wait_for_timeout(1)
    return is_lost(browser) or driver_ended(browser)


_UNREACHABLE = (
    "net::ERR_CONNECTION_REFUSED",
    "net::ERR_ADDRESS_UNREACHABLE",
    "net::ERR_NAME_NOT_RESOLVED",
    "NS_ERROR_CONNECTION_REFUSED",
    "NS_ERROR_UNKNOWN_HOST",
)
"""How browsers begin their error where no server answers."""
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_LOAD_MS = 15_000.0
_PREPARE_MS = 1_000.0
_ANSWER_MS = 10_000.0
_LOGIN = re.compile(r"(?i)(?:^|[/._-])(?:log[-_]?in|sign[-_]?in|auth|sso|session/new)(?:[/._-]|$)")
_GONE = frozenset({404, 410})
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_UNRESERVED = "-._~"


class OpenedPage(NamedTuple):
    """What became of opening a page."""

    failure: Failure | None = None
    undisturbed: bool = False
    """Whether nothing has happened in it since it loaded, and so since `watched` was called."""


def open_page(
    page: Page, url: str, *, timeout_ms: float, note: Callable[[str], None] = lambda line: None
) -> Failure | None:
    """Go to `url` as `open_and_watch` does, and return what went wrong."""
    return open_and_watch(page, url, timeout_ms=timeout_ms, note=note).failure


def open_and_watch(
    page: Page,
    url: str,
    *,
    timeout_ms: float,
    note: Callable[[str], None],
    watched: Callable[[], object] | None = None,
) -> OpenedPage:
    """Go to `url` and wait until the page has loaded and is quiet, within limits.

    Always navigates, so that no state of an earlier visit remains. A page that never stops loading
    is used as it is.

    Args:
        page: the page.
        url: where to go.
        timeout_ms: how long the page may take to load, in milliseconds.
        note: gets notes about oddities that are not failures: a redirect, a status.
        watched: called once the page has loaded and watches itself; see `watch_until_quiet`.
    """
    started = waiting.now()

    def left() -> float:
        return max(1.0, timeout_ms - (waiting.now() - started) * 1000)

    with ExitStack() as meanwhile:
        try:
            with WATCH.within(lambda: CALL_S):
                watch(page.context)
                register_own_world(page)
                response = page.goto(url, timeout=timeout_ms, wait_until="domcontentloaded")
                meanwhile.enter_context(_preparing(page))
        except Error as error:
            said = words_without_call(error)
            if said.startswith(_UNREACHABLE):
                return OpenedPage(_nothing_answers(url, f"{NOTHING_ANSWERS} {parse_origin(url)}"))
            return OpenedPage(_failure(url, f"{url} could not be opened: {said}"))
        if failure := _refused(url, response, note):
            return OpenedPage(failure)
        patience = min(left(), _LOAD_MS)
        if not _loaded(page, patience):
            note(f"{url} was still loading after {patience / 1000:g} s")
        # A page that is never quiet is used as it is, unless it does not even answer.
        quiet = watch_until_quiet(page, watched=watched)
        if not quiet.reached and not answers(page, timeout_ms=_ANSWER_MS):
            why = f"{url} does not answer: a script of the page does not end"
            return OpenedPage(_failure(url, why))
    if not same_page(page.url, url):
        note(_redirect_note(url, page.url))
    return OpenedPage(undisturbed=quiet.undisturbed)


def _refused(url: str, response: Response | None, note: Callable[[str], None]) -> Failure | None:
    """Return the failure of a page whose server answers with an error; other errors are noted."""
    if response is None or response.status < 400:
        return None
    if OWN_ANSWER.lower() in response.headers:
        said = _body(response)
        if said.startswith(NOTHING_ANSWERS) or NO_ADDRESS in said:
            return _nothing_answers(url, said)
        return _failure(url, f"{url} could not be opened: {said}")
    if response.status >= 500 or response.status in _GONE:
        return _failure(url, f"{url} answered {response.status}", status=response.status)
    note(f"{url} answered {response.status}")
    return None


@contextmanager
def _preparing(page: Page) -> Iterator[None]:
    """Let Playwright load its helpers into the page while it loads and until it is quiet.

    Otherwise the first action or snapshot waits for that. With others in flight nothing is gained,
    and the helpers take 2 MB in each page that waits for its model.
    """

    def load() -> None:
        with suppress(Error):
            call_within(page, _PREPARE_MS, page.locator("html").count)

    if waiting.others_in_flight():
        yield
        return
    loaded = waiting.start_call(page, load)
    try:
        yield
    finally:
        # Whoever asks the page next notices if its driver has ended.
        with suppress(Error):
            loaded()


def _body(response: Response) -> str:
    """Return the first line of what our own proxy says."""
    try:
        first, *_ = response.text().splitlines() or [""]
    except Error:
        return "no connection"
    return first[:300]


def _loaded(page: Page, timeout_ms: float) -> bool:
    try:
        page.wait_for_load_state("load", timeout=timeout_ms)
    except Error:
        return False
    return True


def _failure(url: str, message: str, **evidence: object) -> Failure:
    return Failure(kind="navigation", message=message, evidence={"url": url, **evidence})


def _nothing_answers(url: str, message: str) -> Failure:
    """Return the failure of each case that begins where no server is.

    Its message is the same for all of them, and names only the address.
    """
    return _failure(url, message, unreachable=str(parse_origin(url)))


def words_without_call(error: Exception) -> str:
    """Return why a page could not be opened, without the name of Playwright's call."""
    line = first_line(error)
    if "ERR_UNSAFE_PORT" in line:
        return "browsers refuse to open this port, because another protocol uses it"
    return re.sub(r"^Page\.\w+: ", "", line)


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
