"""Opening the entry page of a case, waiting until a page is quiet, and telling whether it changed.

A case sets up a browser as its pages see it, storage, and a script before its task starts. A page
is quiet while nothing is loading, nothing changes and nothing is announced.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote_to_bytes, urlsplit, urlunsplit
from weakref import WeakKeyDictionary, ref

from playwright.sync_api import BrowserContext, Error, Frame, Page, Request, Response
from pydantic import AfterValidator, Field

from pytest_autoweb import waiting
from pytest_autoweb.egress.browser_watch import CALL_S, WATCH, driver_ended, is_lost
from pytest_autoweb.egress.proxy import OWN_ANSWER
from pytest_autoweb.egress.request_policy import parse_origin
from pytest_autoweb.errors import CaseError
from pytest_autoweb.page.frames import answers, call_function, run_script, script
from pytest_autoweb.redaction import SECRET
from pytest_autoweb.results import Failure
from pytest_autoweb.specs import FieldError, Spec, fitting
from pytest_autoweb.values.normal_forms import ascii_host
from pytest_autoweb.values.quantities import UnknownLocale, locale_of

_SETUP_MS = 15_000.0
_MAX_SIDE = 8_192

Permission = Literal[
    "accelerometer",
    "ambient-light-sensor",
    "background-sync",
    "camera",
    "clipboard-read",
    "clipboard-write",
    "geolocation",
    "gyroscope",
    "local-fonts",
    "local-network-access",
    "magnetometer",
    "microphone",
    "midi",
    "midi-sysex",
    "notifications",
    "payment-handler",
    "screen-wake-lock",
    "storage-access",
]
"""What Playwright can allow pages to do."""

LIMIT_MS = 3_000.0
"""Limit on one wait. A page that loads, changes or asks for ever is then used as it is."""
SOON_MS = 1_000.0
"""How long a wait allows for timers, animations, frames and changes without end."""
STILL_MS = 30.0
"""How long nothing may have changed in a page whose work can all be seen."""
PATIENT_MS = 500.0
"""How long nothing may have changed in a page that works in ways which cannot be seen."""

_POLL_MS = 10.0
# A page that is busy at the end of the limit may still answer.
_GRACE_MS = 1_000.0
# Whatever these load, or never finish loading, is no part of the page that a reader waits for.
_BESIDE = frozenset(
    {"eventsource", "manifest", "media", "ping", "prefetch", "texttrack", "websocket"}
)
_EVENTS = 20_000
# Unforeseeable, so that no page uses it by accident.
_NAME = f"quiet-{secrets.token_hex(8)}"


def _known_locale(name: str) -> str:
    try:
        locale_of(name)
    except UnknownLocale as error:
        raise ValueError(f"{name!r} is not a locale such as de-DE or en") from error
    # Checks write locales as `de_DE`, browsers as `de-DE`; people should not have to care.
    return name.replace("_", "-")


def _known_timezone(name: str) -> str:
    # Late, because Babel takes long to load and few cases name a time zone.
    from babel.core import get_global

    # Babel knows the zones that browsers know, on systems that have no list of their own, too.
    if name not in get_global("zone_territories") and name not in get_global("zone_aliases"):
        raise ValueError(f"{name!r} is not a time zone such as Europe/Berlin or UTC")
    return name


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a moment such as 2026-04-03T09:00:00Z") from error
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} needs a time with Z or an offset such as +02:00 at its end")
    return text


class Cookie(Spec):
    """A cookie set before the page is opened."""

    name: str
    value: str
    url: str | None = None
    domain: str | None = None
    path: str | None = None


class WindowSize(Spec):
    """The size of the window's inside, in CSS pixels."""

    width: Annotated[int, Field(ge=1, le=_MAX_SIDE)]
    height: Annotated[int, Field(ge=1, le=_MAX_SIDE)]


class Geolocation(Spec):
    """Where pages are told that they are, if `permissions` has `geolocation`."""

    latitude: Annotated[float, Field(ge=-90, le=90)]
    longitude: Annotated[float, Field(ge=-180, le=180)]
    accuracy: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """How far off the place may be, in metres."""


class PageClock(Spec):
    """The time that pages see."""

    time: Annotated[str, AfterValidator(_moment)]
    """The moment at which the page is opened, with its offset from UTC: `2026-04-03T09:00:00Z`."""
    fixed: bool = False
    """Whether the clock stands still; otherwise it goes on from there."""


class HttpCredentials(Spec):
    """What the browser answers when a server asks for a user name and a password."""

    username: str
    password: Annotated[
        str, fitting(r"^<secret:[^<>]+>$", "must be a secret, such as '{{ secrets.password }}'")
    ]
    """A secret of the case: `{{ secrets.NAME }}`."""
    origin: str | None = None
    """The only origin to which they are sent; the default is the entry URL's."""


class Setup(Spec):
    """What happens before the model sees the page."""

    js: str | None = None
    """Evaluated in the page once it has loaded; a promise is awaited."""
    storage_state: str | None = None
    """A Playwright storage state file, relative to the case file."""
    cookies: tuple[Cookie, ...] = ()
    http_credentials: HttpCredentials | None = None
    """User name and password for a server that asks for them by HTTP (401)."""
    viewport: WindowSize | None = None
    """The size of the window's inside, e.g. `{width: 390, height: 844}`."""
    locale: Annotated[str, AfterValidator(_known_locale)] | None = None
    """The browser's language and how it writes numbers and dates, e.g. `de-DE`."""
    timezone_id: Annotated[str, AfterValidator(_known_timezone)] | None = None
    """The browser's time zone, e.g. `Europe/Berlin`."""
    clock: PageClock | None = None
    """The time that pages see."""
    geolocation: Geolocation | None = None
    """Where pages are told that they are, if `permissions` has `geolocation`."""
    permissions: tuple[Permission, ...] = ()
    """What pages may do without asking, e.g. `[geolocation, clipboard-read]`."""
    color_scheme: Literal["light", "dark", "no-preference"] | None = None
    """The colours that pages are told the reader prefers."""

    def refuse_foreign_credentials(self, entry_url: str, allowed_origins: Iterable[str]) -> None:
        """Refuse credentials for an origin that the case may not reach.

        Raises:
            FieldError: at a place below the set-up.
        """
        origin = self.http_credentials.origin if self.http_credentials else None
        if origin is None:
            return
        at = ("http_credentials", "origin")
        if (asked := parse_origin(origin)) is None:
            raise FieldError(at, f"{origin!r} is not an origin such as https://shop.example")
        if asked not in {parse_origin(url) for url in (entry_url, *allowed_origins)}:
            reason = f"{origin!r} is neither the origin of entry_url nor in allowed_origins"
            raise FieldError(at, reason)

    def of_browser(self) -> dict[str, Any]:
        """Return what it says about the browser, for records; secrets stay placeholders."""
        said = self.model_dump(exclude_none=True, exclude_defaults=True)
        return {name: value for name, value in said.items() if name in _OF_BROWSER}


_PASSED_ON = ("viewport", "locale", "timezone_id", "geolocation", "permissions", "color_scheme")
"""The fields that are arguments of Playwright's `new_context`, under the same names."""
_OF_BROWSER = (*_PASSED_ON, "clock", "http_credentials")


def context_args(
    setup: Setup,
    case_dir: Path,
    entry_url: str = "",
    reveal: Callable[[str], str] = lambda text: text,
) -> dict[str, Any]:
    """Return arguments for `new_context`: what the case sets, and no service workers.

    A service worker would answer requests that the origin policy then never sees.

    Args:
        setup: of the case.
        case_dir: the folder beside which files are looked for.
        entry_url: the URL whose origin gets credentials that name no other.
        reveal: puts the values of secrets in.

    Raises:
        CaseError: the storage state file does not exist.
    """
    said = setup.model_dump(include=set(_PASSED_ON), exclude_none=True, exclude_defaults=True)
    args: dict[str, Any] = {"service_workers": "block", **said}
    if setup.storage_state is not None:
        path = case_dir / setup.storage_state
        if not path.is_file():
            raise CaseError(f"there is no file {path}", field="setup.storage_state")
        args["storage_state"] = str(path)
    if (login := setup.http_credentials) is not None:
        # Without an origin, the browser would give them to every server that asks.
        args["http_credentials"] = {
            "username": reveal(login.username),
            "password": reveal(login.password),
            "origin": str(parse_origin(login.origin or entry_url)),
        }
    return args


def limit_talk(context: BrowserContext) -> None:
    """Limit how much the pages of a context can tell their developers, in number and length."""
    context.add_init_script(f"({script('page_budget')})()")


def set_clock(context: BrowserContext, setup: Setup) -> None:
    """Set the time that the pages of a context see, if the case says it."""
    if setup.clock is None:
        return
    if setup.clock.fixed:
        context.clock.set_fixed_time(setup.clock.time)
    else:
        context.clock.install(time=setup.clock.time)


def add_cookies(
    context: BrowserContext,
    setup: Setup,
    entry_url: str,
    reveal: Callable[[str], str] = lambda text: text,
) -> None:
    """Set the case's cookies; one without URL and domain is set for the entry URL.

    Args:
        context: gets the cookies.
        setup: of the case.
        entry_url: the URL for cookies that name no other.
        reveal: puts the values of secrets in.
    """
    cookies: list[Any] = []
    for cookie in setup.cookies:
        fields = {**cookie.model_dump(exclude_none=True), "value": reveal(cookie.value)}
        if cookie.domain is None and cookie.url is None:
            # Playwright takes either a URL or a domain with a path.
            fields["url"] = entry_url
            fields.pop("path", None)
        elif cookie.domain is not None:
            fields.setdefault("path", "/")
        cookies.append(fields)
    if cookies:
        context.add_cookies(cookies)


def run_setup_js(
    page: Page,
    js: str,
    *,
    timeout_ms: float = _SETUP_MS,
    reveal: Callable[[str], str] = lambda text: text,
) -> Failure | None:
    """Run the case's `setup.js` in the page and await it.

    Args:
        page: the entry page.
        js: a function, an expression or statements.
        timeout_ms: the time it may take, in milliseconds.
        reveal: puts the values of secrets in, in a form that fits into any of JavaScript's quotes.
    """

    def as_written(found: re.Match[str]) -> str:
        data = reveal(found[0]).encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{data[at : at + 4]}" for at in range(0, len(data), 4))

    try:
        result = call_function(page, SECRET.sub(as_written, js), timeout_ms=timeout_ms)
    except Error as error:
        problem = str(error).strip().splitlines()[0]
    else:
        problem = result.error
    if not problem:
        return None
    return Failure(
        kind="navigation", message=f"setup.js failed: {problem}", evidence={"url": page.url}
    )


class _Traffic:
    """The requests in flight of one context."""

    def __init__(self, context: BrowserContext) -> None:
        # Weak, because a request leads to its context, which must not live for ever.
        self._flying: WeakKeyDictionary[Request, float] = WeakKeyDictionary()
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
        )

    def busy(self) -> bool:
        """Tell whether a request is in flight that is not known to take long."""
        late = time.monotonic() - LIMIT_MS / 1000
        for request in [one for one, since in self._flying.items() if since < late]:
            del self._flying[request]
        return bool(self._flying)

    def _on_request(self, request: Request) -> None:
        context = self._context()
        if context is not None and self.events >= _EVENTS:
            # A page can ask without end, and each request is work for this process.
            for event, handler in self._handlers():
                context.remove_listener(event, handler)
            self._flying.clear()
        elif request.resource_type not in _BESIDE:
            self.events += 1
            self._flying[request] = time.monotonic()

    def _on_end(self, request: Request) -> None:
        if self._flying.pop(request, None) is not None:
            self.events += 1


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


def wait_until_quiet(where: Page | Frame, *, limit_ms: float = LIMIT_MS) -> bool:
    """Wait until a page is quiet, within limits; never raises.

    Quiet means: the document has loaded with its fonts, no request is in flight, no short timer or
    animation is about to end, and nothing has changed in the document and its frames of the same
    origin for `STILL_MS`, or `PATIENT_MS` if the page uses workers, sockets or databases. Requests
    older than the limit, and timers and changes that go on beyond `SOON_MS`, are ignored.

    Args:
        where: the page, or a frame of it.
        limit_ms: limit on the whole wait in milliseconds.

    Returns:
        Whether the page is quiet; False if the time was over, or if it does not answer.
    """
    page = where if isinstance(where, Page) else where.page
    traffic = _traffic_of(page.context)
    began, patience = waiting.now(), SOON_MS
    while (left := limit_ms - (waiting.now() - began) * 1000) > 0:
        try:
            if traffic.busy():
                page.wait_for_timeout(_POLL_MS)
                continue
            before, looked = traffic.events, waiting.now()
            asked = {"name": _NAME, "still": STILL_MS, "patient": PATIENT_MS}
            asked |= {"soon": patience, "limit": left}
            still = run_script(where, "quiet", asked, timeout_ms=left + _GRACE_MS)
        except Error:
            return False
        if still is True and before == traffic.events and not traffic.busy():
            return True
        patience = max(0.0, patience - (waiting.now() - looked) * 1000)
    return False


def browser_ended(page: Page) -> bool:
    """Tell whether the page's browser is gone because it was killed, crashed or was closed."""
    browser = page.context.browser
    if browser is None:
        return False
    # Playwright notices the end only while its event loop runs.
    with suppress(Exception):
        page.wait_for_timeout(1)
    return is_lost(browser) or driver_ended(browser)


# The digest only saves work, so a slow page is not waited for.
_LOOK_MS = 1_000.0


def page_digest(page: Page) -> tuple[str, str] | None:
    """Return the page's address and a digest of its markup, rendered text and fields.

    Returns:
        None if the page has frames, shadow roots or objects, is too large, or does not answer.
    """
    try:
        digest = run_script(page, "page_digest", timeout_ms=_LOOK_MS)
    except Error:
        return None
    return (page.url, str(digest)) if digest else None


_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_LOAD_MS = 15_000.0
_ANSWER_MS = 10_000.0
_LOGIN = re.compile(r"(?i)(?:^|[/._-])(?:log[-_]?in|sign[-_]?in|auth|sso|session/new)(?:[/._-]|$)")
_GONE = frozenset({404, 410})
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_UNRESERVED = "-._~"


def open_page(
    page: Page, url: str, *, timeout_ms: float, note: Callable[[str], None] = lambda line: None
) -> Failure | None:
    """Go to `url` and wait until the page has loaded and is quiet, within limits.

    Always navigates, so that no state of an earlier visit remains. A page that never stops loading
    is used as it is. `note` gets notes about oddities that are not failures: a redirect, a status.
    """
    started = waiting.now()
    try:
        with WATCH.within(lambda: CALL_S):
            watch(page.context)
            response = page.goto(url, timeout=timeout_ms, wait_until="domcontentloaded")
    except Error as error:
        return _failure(url, f"{url} could not be opened: {_first_line(error)}")
    if response is not None and response.status >= 400:
        if OWN_ANSWER.lower() in response.headers:
            return _failure(url, f"{url} could not be opened: {_body(response)}")
        if response.status >= 500 or response.status in _GONE:
            return _failure(url, f"{url} answered {response.status}", status=response.status)
        note(f"{url} answered {response.status}")
    left = max(1.0, timeout_ms - (waiting.now() - started) * 1000)
    if not _loaded(page, min(left, _LOAD_MS)):
        note(f"{url} was still loading after {min(left, _LOAD_MS) / 1000:g} s")
    # A page that is never quiet is used as it is, unless it does not even answer.
    if not wait_until_quiet(page) and not answers(page, timeout_ms=_ANSWER_MS):
        return _failure(url, f"{url} does not answer: a script of the page does not end")
    if not same_page(page.url, url):
        note(_redirect_note(url, page.url))
    return None


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
