"""Applies a case's `setup` before the model sees the page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.browser.injected import call_function
from pytest_autoweb.errors import CaseError
from pytest_autoweb.results import Failure
from pytest_autoweb.specs import Spec

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

_SETUP_MS = 15_000.0


class Cookie(Spec):
    """A cookie set before the page is opened."""

    name: str
    value: str
    url: str | None = None
    domain: str | None = None
    path: str | None = None


class Setup(Spec):
    """What happens before the model sees the page."""

    js: str | None = None
    """Evaluated in the page once it has loaded; a promise is awaited."""
    storage_state: str | None = None
    """A Playwright storage state file, relative to the case file."""
    cookies: tuple[Cookie, ...] = ()


def context_args(setup: Setup, case_dir: Path) -> dict[str, Any]:
    """Arguments for `new_context`: the storage state, and no service workers.

    A service worker answers requests that the origin policy then never sees.

    Raises:
        CaseError: the storage state file does not exist.
    """
    args: dict[str, Any] = {"service_workers": "block"}
    if setup.storage_state is not None:
        path = case_dir / setup.storage_state
        if not path.is_file():
            raise CaseError(f"there is no file {path}", field="setup.storage_state")
        args["storage_state"] = str(path)
    return args


def add_cookies(context: "BrowserContext", setup: Setup, entry_url: str) -> None:
    """Set the case's cookies; one without URL and domain belongs to the entry URL."""
    cookies: list[Any] = []
    for cookie in setup.cookies:
        fields = cookie.model_dump(exclude_none=True)
        if cookie.domain is None and cookie.url is None:
            fields["url"] = entry_url
            fields.pop("path", None)
        elif cookie.domain is not None:
            fields.setdefault("path", "/")
        cookies.append(fields)
    if cookies:
        context.add_cookies(cookies)


def run_setup_js(page: "Page", js: str, *, timeout_ms: float = _SETUP_MS) -> Failure | None:
    """Run the case's `setup.js` in the page and await it."""
    from playwright.sync_api import Error

    try:
        result = call_function(page, js, timeout_ms=timeout_ms)
    except Error as error:
        problem = str(error).strip().splitlines()[0]
    else:
        problem = result.error
    if not problem:
        return None
    return Failure(
        kind="navigation", message=f"setup.js failed: {problem}", evidence={"url": page.url}
    )
