"""Rules for single calls: their arguments (URLs, files, uploads, secrets, numbers), their results.

Results of scripts and readings are measured inside the page before they leave it.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from playwright.sync_api import APIResponse, Error

from pytest_autoweb.base.values.patterns import search
from pytest_autoweb.base.values.url_globs import UrlGlob
from pytest_autoweb.browser.egress.proxy import OWN_ANSWER
from pytest_autoweb.browser.egress.traffic_reader import REPLIES_BYTES, REPLY_BYTES
from pytest_autoweb.sandbox import size_limits
from pytest_autoweb.sandbox.call_frames import Bound
from pytest_autoweb.sandbox.crossing_values import Refusal, redacted
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.size_limits import MAX_READ, check_picture

# Methods whose script is called with an element, or several, before its argument.
_OF_ELEMENTS = frozenset({"evaluate_all", "eval_on_selector", "eval_on_selector_all"})
_OF_SELECTORS = frozenset({"eval_on_selector", "eval_on_selector_all"})
REPLY_LIMITS = (
    f"a reply may have {REPLY_BYTES:,} bytes (half as many if it does not say its length), all"
    f" replies of an attempt {REPLIES_BYTES:,}"
)
_NO_EXPRESSION, _NO_EVAL = "SyntaxError", "EvalError"

# In base64 this still fits into one frame of the worker (`MAX_FROM_WORKER`).
MAX_UPLOAD_BYTES = 2_000_000
MAX_SAVED_BYTES = 20_000_000
"""Limit on one file that a page offers for download and the code saves."""
MAX_FILES = 100
"""Limit on the files that one attempt may write."""
MAX_URL_CHARS = 4_000
MAX_VIEWPORT = 8_192
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
_NAME_CHARS = 100

_PLACEHOLDER = re.compile(r"<secret:([A-Za-z0-9_.-]{1,64})>")
_BARE_NAME = re.compile(r"[\w()+,=@ -][\w()+,=@. -]{0,120}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_WILDCARD = re.compile(r"\*+")
_MIME = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")


def bounded_result(
    kind: str, method: str, item: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Run a script of the code and return its result, if that is small enough to pass.

    Raises:
        Refusal: the result is too large.
        Error: the script raised; the text is cut inside the page.
    """
    place = 1 if method in _OF_SELECTORS else 0
    source = args[place] if len(args) > place else kwargs.get("expression")
    if not isinstance(source, str):
        raise TypeError(f"{method}() takes a script as text")
    if len(source) > size_limits.MAX_SCRIPT:
        most = f"at most {size_limits.MAX_SCRIPT:,} characters"
        raise Refusal(size_limits.RULE, f"a script has {most}")
    of_elements = method in _OF_ELEMENTS or kind == "Locator"
    bounded = size_limits.bounded_script(source, of_elements=of_elements)
    try:
        told = getattr(item, method)(*_with_script(args, place, bounded), **_named(kwargs, bounded))
    except Error as error:
        # Errors of the script itself are caught in the page: it has statements, no expression.
        if _NO_EXPRESSION not in str(error) or of_elements:
            raise
        return _statements(kind, method, item, args, kwargs)
    return _told(kind, method, told)


def _with_script(args: list[Any], place: int, script: str) -> list[Any]:
    return [script if number == place else value for number, value in enumerate(args)]


def _named(kwargs: dict[str, Any], script: str) -> dict[str, Any]:
    return {**kwargs, "expression": script} if "expression" in kwargs else kwargs


def _told(kind: str, method: str, told: Any) -> Any:
    match told:
        case ["value", value]:
            return value
        case ["value"]:
            return None
        case ["error", str() as text]:
            raise Error(f"{kind}.{method}: {text}")
    most = f"{size_limits.MAX_READ:,} characters and {size_limits.MAX_READ_ITEMS:,} values"
    raise Refusal(size_limits.RULE, f"{method}() may return at most {most}")


def _statements(kind: str, method: str, item: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run a script of several statements, whose result is that of the last one."""
    source = args[0] if args else kwargs["expression"]
    # Called like this, `eval` runs in the global scope, which is where Playwright runs statements.
    bounded = size_limits.bounded_script(f"(0, eval)({json.dumps(source)})", of_elements=False)
    told = getattr(item, method)(*_with_script(args, 0, bounded), **_named(kwargs, bounded))
    if told[0] == "error" and str(told[1]).startswith(_NO_EVAL):
        # The page's content security policy forbids it, but does not bind Playwright.
        return getattr(item, method)(*args, **kwargs)
    return _told(kind, method, told)


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


def reads(kind: str, method: str) -> bool:
    """Tell whether a method returns, or may quote, a text of the page's own length."""
    return method == "screenshot" or bool(size_limits.script_of_reading(kind, method))


def measure(bound: Bound, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Refuse a reading or a picture that would be too large.

    What cannot be measured is left to the call itself, which says why.
    """
    try:
        if bound.method == "screenshot":
            size_limits.check_picture(_sides(bound, kwargs))
        elif not _is_short(bound):
            size_limits.check_read(bound.method, _length(bound, args, kwargs))
    except Error:
        return


def _is_short(bound: Bound) -> bool:
    """Tell whether the whole page has less text than one reading of an element may return.

    To measure an element by its locator, Playwright first loads helpers among the page's own
    scripts, which takes longer than most readings.
    """
    if bound.method not in size_limits.OF_ONE_ELEMENT or len(bound.page.frames) != 1:
        return False
    try:
        chars = bound.page.evaluate(size_limits.SMALL_PAGE)
    except Error:
        # Some other element of the page may refuse to be read.
        return False
    return isinstance(chars, int | float) and chars <= size_limits.MAX_READ


def _sides(bound: Bound, kwargs: dict[str, Any]) -> Any:
    item = bound.receiver.object
    if bound.receiver.kind == "Locator":
        return item.evaluate_all(size_limits.FIRST_ELEMENT)
    if kwargs.get("full_page"):
        return item.evaluate(size_limits.WHOLE_PAGE)
    clip = kwargs.get("clip")
    return [clip.get("width"), clip.get("height")] if isinstance(clip, dict) else None


def _length(bound: Bound, args: list[Any], kwargs: dict[str, Any]) -> Any:
    kind, method = bound.receiver.kind, bound.method
    script = size_limits.script_of_reading(kind, method)
    subject = bound.receiver.subject or bound.receiver.object
    if not script.startswith("es =>"):
        return subject.evaluate(script)
    if kind in {"Page", "Frame"}:
        selector = args[0] if args else kwargs.get("selector")
        if not isinstance(selector, str):
            return None
        subject = subject.locator(selector)
    return subject.evaluate_all(script)


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


def bare_name(name: object) -> str:
    """Return a file name that has no folder and is safe on every system."""
    if not isinstance(name, str):
        raise Refusal("AW502", "a file name must be text")
    # Compatibility forms, such as full-width dots, must not hide a name from the checks below.
    folded = unicodedata.normalize("NFKC", name)
    # Windows drops a dot or a space at the end, and takes `con.txt` for the console.
    if not _BARE_NAME.fullmatch(folded) or folded[-1] in ". " or _DEVICES.fullmatch(folded):
        raise Refusal(
            "AW502", f"{name[:80]!r} is not a bare file name; give one such as 'report.csv'"
        )
    return folded


def artifact_path(name: object, border: SandboxBorder) -> Path:
    """Return the path at which a file of that name may be written in the cell's folder."""
    folder = border.artifacts
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / bare_name(name)
    # A symbolic link could lead out of the folder.
    if path.is_symlink() or path.is_dir():
        raise Refusal("AW502", f"{path.name!r} cannot be overwritten")
    if not path.exists() and sum(1 for _ in folder.iterdir()) >= MAX_FILES:
        raise Refusal("AW505", f"the attempt wrote more than {MAX_FILES} files")
    return path


def keep_saved(_saved: None, path: Path, border: SandboxBorder) -> None:
    """Redact a file that was just saved, or delete it if it is too large."""
    if path.stat().st_size > MAX_SAVED_BYTES:
        path.unlink()
        raise Refusal("AW505", f"the file is larger than {MAX_SAVED_BYTES // 1_000_000} MB")
    data = path.read_bytes()
    if (clean := redacted(data, border.redact)) != data:
        path.write_bytes(clean)


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


def kept_download(download: Any, border: SandboxBorder) -> str:
    """Save a download in the cell's folder and return the bare name that it has there."""
    suggested = unicodedata.normalize("NFKC", str(download.suggested_filename))
    # Cut at the front, so that the extension remains.
    plain = re.sub(r"[^\w.-]+", "_", suggested).strip("._")[-_NAME_CHARS:] or "download"
    path = artifact_path(plain, border)
    download.save_as(path)
    keep_saved(None, path, border)
    return path.name


def read_saved(name: object, border: SandboxBorder) -> bytes:
    """Return the content of a file that the code saved in the cell's folder.

    Raises:
        Refusal: the name is not a bare one.
        Error: there is no such file, or it is too large to be read.
    """
    path = border.artifacts / bare_name(name)
    if path.is_symlink() or not path.is_file():
        raise Error(f"there is no file {path.name!r}; only files that the code saved can be read")
    if path.stat().st_size > MAX_READ:
        raise Error(f"{path.name!r} has more than the {MAX_READ:,} bytes that can be read")
    return path.read_bytes()


def allowed_uploads(files: object, border: SandboxBorder) -> list[Any]:
    """Return what `set_input_files` may receive: files the case lists, or bytes from the code."""
    items = files if isinstance(files, list | tuple) else [files]
    return [_upload(item, border) for item in items]


def _upload(item: object, border: SandboxBorder) -> Any:
    if isinstance(item, str):
        known = border.files.get(bare_name(item))
        if known is None:
            listed = ", ".join(sorted(border.files)) or "none"
            raise Refusal("AW502", f"the case lists no file {item[:80]!r} (files: {listed})")
        return str(known)
    if isinstance(item, Mapping):
        name, mime, buffer = item.get("name"), item.get("mimeType"), item.get("buffer")
        mime = "application/octet-stream" if mime is None else mime
        if not isinstance(buffer, bytes) or len(buffer) > MAX_UPLOAD_BYTES:
            raise Refusal("AW502", "an upload made by the code needs a `buffer` of at most 2 MB")
        if not isinstance(mime, str) or not _MIME.fullmatch(mime):
            raise Refusal("AW502", "an upload made by the code needs a plain `mimeType`")
        return {"name": bare_name(name), "mimeType": mime, "buffer": buffer}
    raise Refusal("AW502", "uploads are names of files that the case lists, or {name, buffer}")


def holds_secret(text: object) -> bool:
    """Tell whether the text contains the placeholder of a secret."""
    return isinstance(text, str) and _PLACEHOLDER.search(text) is not None


def with_secrets(text: str, urls: list[str], border: SandboxBorder) -> str:
    """Replace each `<secret:name>` in the text by its value.

    Args:
        text: what the code wants to type.
        urls: the addresses of the page and of every frame that could receive the text.
        border: holds the secrets and knows where they may be typed.
    """
    # Every frame that receives the text can read it, so all of their origins must be trusted.
    for url in urls:
        if not border.secret_allowed(url):
            parts = urlsplit(url)
            place = f"{parts.scheme}://{parts.netloc}" if parts.netloc else url[:80]
            raise Refusal("AW503", f"a secret may not be typed on {border.redact(place)}")

    def value(match: re.Match[str]) -> str:
        if match[1] not in border.secrets:
            known = ", ".join(sorted(border.secrets)) or "none"
            raise Refusal("AW503", f"the case has no secret {match[1]!r} (secrets: {known})")
        return border.secrets[match[1]]

    return _PLACEHOLDER.sub(value, text)


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


def check_viewport(size: object) -> None:
    """Refuse viewport sizes that no real screen has."""
    if isinstance(size, Mapping):
        for side in (size.get("width"), size.get("height")):
            if isinstance(side, int | float) and not 1 <= side <= MAX_VIEWPORT:
                raise ValueError(f"a viewport side is between 1 and {MAX_VIEWPORT} pixels")
        check_picture([size.get("width"), size.get("height")])


def check_finite(value: object) -> None:
    """Refuse infinity and NaN, which JSON lacks and which would make the driver disconnect."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    if isinstance(value, list | tuple | set):
        for item in value:
            check_finite(item)
    if isinstance(value, Mapping):
        for item in value.values():
            check_finite(item)
