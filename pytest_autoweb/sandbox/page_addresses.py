"""The addresses that code names: where it may send the page, and what it waits for."""

import re
import unicodedata
from typing import Any
from urllib.parse import urljoin, urlsplit

from pytest_autoweb.base.values.patterns import search
from pytest_autoweb.base.values.url_globs import UrlGlob
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.rules import Refusal

MAX_URL_CHARS = 4_000
_WILDCARD = re.compile(r"\*+")


def allowed_url(url: object, current: str, border: SandboxBorder) -> str:
    """Return the absolute URL of a `goto` if the case allows it."""
    if not isinstance(url, str) or len(url) > MAX_URL_CHARS:
        raise Refusal("AW501", "goto takes a URL as text")
    if url == "about:blank":
        return url
    # Browsers read a backslash as a slash and drop control characters, so such a URL might lead
    # to another host than the one that `urlsplit` sees below.
    if "\\" in url or any(unicodedata.category(char) == "Cc" for char in url):
        raise Refusal("AW501", "the URL contains characters that no URL may contain")
    if current == "about:blank":
        # A tab that was just opened shows nothing yet; what it opens is named as on the first one.
        current = border.page.url
    try:
        absolute = urljoin(current, url.strip())
        parts = urlsplit(absolute)
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        user = parts.username
    except ValueError:
        raise Refusal("AW501", "the URL cannot be read") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Refusal("AW501", f"{border.redact(absolute[:200])!r} is not http or https")
    if user is not None:
        raise Refusal("AW501", "a URL with a user name in it is refused")
    if not border.allowed(absolute):
        raise Refusal("AW501", f"blocked: {border.redact(origin)} (add it to allowed_origins)")
    return absolute


def url_matcher(pattern: object, current: str) -> object:
    """Return what Playwright is given instead of a pattern that it might match for ever.

    It matches globs in the test process, as regular expressions, where nothing can interrupt it. So
    a regular expression and a glob with several wildcards become predicates, and anything else
    stays as it is.

    Args:
        pattern: the glob or regular expression; a predicate is returned as it is.
        current: the URL of the page, for globs that are paths.

    Raises:
        ValueError: the glob is too long, or a brace lacks its other half.
    """
    if isinstance(pattern, re.Pattern):
        return lambda item: search(pattern.pattern, _url_of(item), pattern.flags) is not None
    if not isinstance(pattern, str):
        return pattern
    if len(pattern) > MAX_URL_CHARS:
        raise ValueError(f"a URL pattern has at most {MAX_URL_CHARS:,} characters")
    if len(_WILDCARD.findall(pattern)) < 2 and not set(pattern) & set("{}"):
        return pattern
    whole = pattern if pattern.startswith("*") else urljoin(current, pattern)
    glob = UrlGlob(whole)
    return lambda item: glob.fits(_url_of(item))


def _url_of(item: Any) -> str:
    """Return the URL with which Playwright calls a predicate, or that of a request."""
    return item if isinstance(item, str) else str(item.url)
