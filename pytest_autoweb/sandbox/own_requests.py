"""Requests that the code sends without a page, by `page.request`, and their replies."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import APIResponse, Error

from pytest_autoweb.browser.egress.proxy import OWN_ANSWER
from pytest_autoweb.browser.egress.traffic_reader import REPLIES_BYTES, REPLY_BYTES
from pytest_autoweb.sandbox.call_frames import Bound
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.page_addresses import allowed_url
from pytest_autoweb.sandbox.rules import Refusal

REPLY_LIMITS = (
    f"a reply may have {REPLY_BYTES:,} bytes (half as many if it does not say its length), all"
    f" replies of an attempt {REPLIES_BYTES:,}"
)
_REQUEST_OPTIONS = frozenset(
    {"data", "fail_on_status_code", "form", "headers", "max_redirects", "method", "params"}
    | {"timeout"}
)
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
_HEADERS = frozenset(
    {"accept", "accept-language", "authorization", "cache-control", "content-type"}
    | {"if-match", "if-modified-since", "if-none-match", "range"}
)
"""Headers that code may set, beside those that begin with `x-`; not `Host`, which would lead to
another site on the same machine, nor cookies."""


def whole_reply(response: APIResponse) -> APIResponse:
    """Return the reply to a request without a page, if it is the server's and all of it is there.

    Raises:
        Error: the attempt's proxy answered in its place, or may have broken it off: a reply that
            does not say its length ends wherever the connection does.
    """
    headers = response.headers
    if OWN_ANSWER.lower() in headers:
        raise Error(response.text().strip())
    framed = "content-length" in headers or "transfer-encoding" in headers
    if not framed and len(response.body()) > REPLY_BYTES // 2:
        raise Error(REPLY_LIMITS)
    return response


def own_request(
    bound: Bound, args: list[Any], kwargs: dict[str, Any], border: SandboxBorder
) -> dict[str, Any]:
    """Return the arguments of a request by `page.request` as they may be sent.

    The attempt's proxy refuses other origins as well, also those to which a server redirects, and
    breaks off replies that are too large.

    Raises:
        Refusal: the case does not allow the address, or a header is one that pages may not set.
        TypeError: an option is not available.
    """
    options = dict(kwargs)
    url = args[0] if args else options.pop("url", None) or options.pop("url_or_request", None)
    if unknown := sorted(options.keys() - _REQUEST_OPTIONS):
        raise TypeError(f"page.request takes no {unknown[0][:40]!r} here")
    method = options.get("method", "GET")
    if "method" in options and (bound.method != "fetch" or method not in _METHODS):
        raise TypeError(f"the methods of fetch() are {', '.join(sorted(_METHODS))}")
    headers = options.get("headers") or {}
    if not isinstance(headers, Mapping):
        raise TypeError("headers are a dict of texts")
    for name in headers:
        plain = str(name).strip().lower()
        if plain not in _HEADERS and not plain.startswith("x-"):
            raise Refusal("AW504", f"the header {str(name)[:40]!r} is set by the browser alone")
    place = "url_or_request" if bound.method == "fetch" else "url"
    # The driver unpacks a reply whatever its size, so none is asked for that could grow.
    options["headers"] = {**headers, "accept-encoding": "identity"}
    return {**options, place: allowed_url(url, bound.page.url, border)}


def as_sent(kwargs: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the address and the text of a request by `page.request`, for the evidence."""
    url = str(kwargs.get("url") or kwargs["url_or_request"])
    if isinstance(params := kwargs.get("params"), Mapping):
        query = urlencode({name: str(value) for name, value in params.items()})
        url += ("&" if "?" in url else "?") + query
    if isinstance(form := kwargs.get("form"), Mapping):
        return url, urlencode({name: str(value) for name, value in form.items()})
    data = kwargs.get("data")
    if isinstance(data, bytes):
        return url, data.decode("utf-8", errors="replace")
    plain = data is None or isinstance(data, str)
    return url, data if plain else json.dumps(data, default=str)
