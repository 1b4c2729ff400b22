"""What a case sets up before its task starts: the browser as its pages see it, storage, script."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from playwright.sync_api import BrowserContext, Error, Page
from pydantic import AfterValidator, Field

from pytest_autoweb.base.errors import CaseError, first_line
from pytest_autoweb.base.field_errors import FieldError
from pytest_autoweb.base.redaction import SECRET
from pytest_autoweb.base.specs import Spec, fitting
from pytest_autoweb.base.values.quantities import UnknownLocale, locale_of
from pytest_autoweb.browser.egress.request_policy import parse_origin
from pytest_autoweb.browser.page.frames import call_function, script
from pytest_autoweb.results.records import Failure

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


SecretPlace = Annotated[
    str, fitting(r"^<secret:[^<>]+>$", "must be a secret, such as '{{ secrets.password }}'")
]
"""The whole of a text is the placeholder of a secret."""


class HttpCredentials(Spec):
    """What the browser answers when a server asks for a user name and a password."""

    username: str
    password: SecretPlace
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
    passkeys: tuple[SecretPlace, ...] | None = None
    """Passkeys that the browser has, each a secret; with an empty list pages can register one."""
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


PLAIN_CONTEXT: Mapping[str, Any] = {"service_workers": "block"}
"""The arguments for the context of a case that sets nothing.

A service worker would answer requests that the origin policy then never sees.
"""


def context_args(
    setup: Setup,
    case_dir: Path,
    entry_url: str = "",
    reveal: Callable[[str], str] = lambda text: text,
) -> dict[str, Any]:
    """Return arguments for `new_context`: what the case sets, beside `PLAIN_CONTEXT`.

    Args:
        setup: of the case.
        case_dir: the folder beside which files are looked for.
        entry_url: the URL whose origin gets credentials that name no other.
        reveal: puts the values of secrets in.

    Raises:
        CaseError: the storage state file does not exist.
    """
    said = setup.model_dump(include=set(_PASSED_ON), exclude_none=True, exclude_defaults=True)
    args: dict[str, Any] = {**PLAIN_CONTEXT, **said}
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
        problem = first_line(error)
    else:
        problem = result.error
    if not problem:
        return None
    return Failure(
        kind="navigation", message=f"setup.js failed: {problem}", evidence={"url": page.url}
    )
