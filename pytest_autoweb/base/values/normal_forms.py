"""Normalises texts and URLs, so that equivalent ones compare equal. Pure."""

import re
import unicodedata
from urllib.parse import SplitResult, quote, urljoin, urlsplit

_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff]")
_MARKS = str.maketrans({"−": "-", "–": "-", "‐": "-", "‑": "-", "’": "'", "ʼ": "'"})

_MARK_KINDS = ("Mn", "Mc", "Me", "Cf")

MAX_CHARS = 200
"""Limit on the length of a text that is read as a number, a date or an amount."""


def normalise(text: str) -> str:
    """Return a text in NFKC with single spaces and without invisible characters."""
    return _SPACE.sub(" ", _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))).strip()


def without_marks(text: str) -> str:
    """Return the text without accents and vowel signs, which many writers leave out."""
    parts = unicodedata.normalize("NFKD", text)
    kept = "".join(char for char in parts if unicodedata.category(char) not in _MARK_KINDS)
    return unicodedata.normalize("NFKC", kept)


def canonical_text(text: str) -> str:
    """Return a normalised text with the digits and signs of all scripts in ASCII.

    The result is empty for a text that is too long to be a value.
    """
    if len(text) > MAX_CHARS:
        return ""
    digits = (
        str(unicodedata.decimal(char)) if not char.isascii() and char.isdecimal() else char
        for char in normalise(text)
    )
    return "".join(digits).translate(_MARKS)


_PORTS = {"http": 80, "https": 443}
_PRINTABLE = "".join(map(chr, range(ord("!"), ord("~") + 1)))
_MAX_CHARS = 8_000
_ENCODED = re.compile(r"%([0-9a-fA-F]{2})")
_LONE_PERCENT = re.compile(r"%(?![0-9a-fA-F]{2})")


def normal_url(text: str, base: str = "") -> str | None:
    """Return the form of a URL that all its spellings share; None if it is not an http(s) URL.

    Scheme and host lose their case; a default port, an empty query and slashes at the end of the
    path are dropped; percent-encoding is made uniform; `.` and `..` are resolved; parameters are
    sorted by name (those of one name keep their order). A fragment counts only when it is a
    route of a single-page application (`#/…` or `#!…`).

    Args:
        text: the URL.
        base: the URL that a path starting with `/` is joined to.
    """
    text = text.strip()
    if not text or len(text) > _MAX_CHARS or re.search(r"[\s\x00-\x1f]", text):
        return None
    try:
        return _normal(urlsplit(urljoin(base, text) if base and text.startswith("/") else text))
    except ValueError:
        # An invalid port or IPv6 address, or half of a surrogate pair.
        return None


def _normal(parts: SplitResult) -> str | None:
    host = ascii_host((parts.hostname or "").rstrip("."))
    if parts.scheme not in _PORTS or not host:
        return None
    port = parts.port
    at = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    colon = f":{port}" if port not in (None, _PORTS[parts.scheme]) else ""
    path = _resolved(_even(parts.path, apart="/?#%"))
    fragment = f"#{_even(parts.fragment, apart='%')}" if parts.fragment[:1] in ("/", "!") else ""
    return f"{parts.scheme}://{at}{host}{colon}{path}{_sorted_query(parts.query)}{fragment}"


def ascii_host(host: str) -> str:
    """Return a lower-case host as URLs have it: IPv6 in brackets, other scripts in Punycode."""
    if ":" in host:
        return f"[{host}]"
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return host


def _even(text: str, *, apart: str) -> str:
    """Return the text with only the necessary characters percent-encoded.

    Args:
        text: a path, a fragment, or a name or value of the query.
        apart: separators that stay encoded, because decoded they would mean something else.
    """

    def decoded(match: re.Match[str]) -> str:
        char = chr(int(match[1], 16))
        return char if "!" <= char <= "~" and char not in apart else match[0].upper()

    return quote(_ENCODED.sub(decoded, _LONE_PERCENT.sub("%25", text)), safe=_PRINTABLE)


def _resolved(path: str) -> str:
    kept: list[str] = []
    for part in path.split("/")[1:]:
        if part == "..":
            kept = kept[:-1]
        elif part != ".":
            kept.append(part)
    return "/" + "/".join(kept).rstrip("/")


def _sorted_query(query: str) -> str:
    pairs = [part.replace("+", " ").partition("=") for part in query.split("&") if part]
    even = [(_even(name, apart="&=+#%"), _even(value, apart="&=+#%")) for name, _, value in pairs]
    even.sort(key=lambda pair: pair[0])
    return "?" + "&".join(f"{name}={value}" for name, value in even) if even else ""


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


def without_password(url: str) -> str:
    """Return a database URL without its credentials: the password and the query's values."""
    login, at, place = url.rpartition("@")
    scheme, slashes, user = login.partition("://")
    # In an address without its slashes, those of the password would be taken for them.
    known = slashes and _SCHEME.fullmatch(scheme)
    kept = f"{scheme}://{user.partition(':')[0]}:***" if known else "***"
    plain = f"{kept}@{place}" if at else url
    return re.sub(r"([?&][^=&\s]*)=[^&\s]*", r"\1=***", plain)
