"""Removes secrets from text before it leaves the process: prompts, logs, reports, cassettes.

Three tools: `Redactor` knows the values that a case declares and finds them in every form in which
a page or a tool writes them; `redact_keys` knows no values and recognises keys, tokens and cookies
by their form; `KeyMask` knows the keys of providers.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from urllib.parse import quote, quote_plus

from pytest_autoweb.whole_characters import whole_text

MIN_LENGTH = 4
"""A shorter secret is replaced only where it is the whole text, because inside text it would hit
ordinary words."""

_MIN_EMBEDDED = 6
REDACTED = "<redacted>"
SECRET = re.compile(r"<secret:([^<>]*)>")
"""The placeholder for a secret, with its name."""

MASK = "<key>"

_SECRET_NAMES = re.compile(r"(?:_|^)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
# Shorter values are words like `true`, and masking those would make texts unreadable.
_MIN_SECRET_CHARS = 8

_SHAPES = re.compile(
    r"""
      (?i:\bbearer[ ]+)[A-Za-z0-9._~+/=-]{8,}
    | \bsk-[A-Za-z0-9_-]{12,}                   # OpenAI, Anthropic, OpenRouter, DeepSeek
    | \bAIza[A-Za-z0-9_-]{30,}                  # Google
    | \b(?:gsk|xai|hf|pplx|r8|nvapi|fw|csk)[_-][A-Za-z0-9_-]{16,}
    | \bgh[opsur]_[A-Za-z0-9]{20,}
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bA(?:KIA|SIA)[A-Z0-9]{16}\b
    """,
    re.VERBOSE,
)


class Redactor:
    """Replaces secrets in text by `<secret:name>`.

    Finds the value itself and its URL-encoded, HTML-escaped, JSON-escaped, hexadecimal and base64
    forms, the longest first, also inside the base64 of a longer text such as `user:password`. A
    secret that is taken apart into single characters is not found.

    Args:
        secrets: name to value; empty values are ignored.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._whole: dict[str, str] = {}
        inside: dict[str, str] = {}
        for name, value in secrets.items():
            if not value.strip():
                continue
            placeholder = f"<secret:{name}>"
            for form in _forms(value):
                self._whole.setdefault(form, placeholder)
                if len(value) >= MIN_LENGTH:
                    inside.setdefault(form, placeholder)
            if len(value) >= MIN_LENGTH:
                for form in _embedded_base64(value):
                    inside.setdefault(form, placeholder)
        self._inside = inside
        longest_first = sorted(inside, key=len, reverse=True)
        # An existing placeholder stays whole, even if a secret is one of its words.
        standing = sorted(set(inside.values()))
        self._pattern = re.compile("|".join(map(re.escape, [*standing, *longest_first])) or "(?!)")

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        if text in self._whole:
            return self._whole[text]
        return self._pattern.sub(lambda match: self._inside.get(match[0], match[0]), text)


def _forms(value: str) -> Iterator[str]:
    """Yield the value as it is written in URLs, HTML, JSON and base64."""
    # As a page tells it.
    yield from (value, whole_text(value))
    data = value.encode("utf-8", "surrogatepass")
    once = quote(data, safe="")
    by_script = (quote(data, safe=_COMPONENT), quote(data, safe=_ADDRESS))
    for encoded in (quote(data), once, quote_plus(data), *by_script, quote(once)):
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
    escaped = html.escape(value)
    yield from (escaped, html.escape(value, quote=False), escaped.replace("&#x27;", "&#39;"))
    yield escaped.replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    as_json = json.dumps(value)[1:-1]
    yield as_json.replace("/", "\\/")
    # The form of JSON inside HTML.
    for_html = re.sub("[<>&'+]", lambda match: f"\\u{ord(match[0]):04x}", as_json)
    yield from (for_html, re.sub("u00[0-9a-f]{2}", _upper_digits, for_html))
    yield repr(value)[1:-1]
    yield from (data.hex(), data.hex().upper())
    for whole in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()):
        yield from (whole, whole.rstrip("="))


def _upper_digits(match: re.Match[str]) -> str:
    return "u" + match[0][1:].upper()


def _embedded_base64(value: str) -> Iterator[str]:
    """Yield, for each alignment, the part of a text's base64 that depends on the value alone."""
    data = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        bits_end = (before + len(data)) * 8
        first = -(-before * 8 // 6)
        core = slice(first, bits_end // 6)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            form = encode(b"\0" * before + data).decode()[core]
            if len(form) >= _MIN_EMBEDDED:
                yield form


_COMPONENT = "!~*'()"
"""The characters that `encodeURIComponent` leaves unchanged, besides letters, digits and `_.-`."""
_ADDRESS = ";/?:@&=+$,#!~*'()"
"""The characters that `encodeURI` leaves unchanged."""
_VALUE = r"[^\s\"'&;,<>\\]+"
_SENSITIVE = (
    r"(?:x-)?api[_-]?key|(?:access|auth|refresh|id|session|csrf|xsrf|bearer)[_-]?token|token"
    r"|client[_-]?secret|secret|password|passwd|pwd|session(?:[_-]?id)?|sessid|sid|jwt"
    r"|signature|sig"
)
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Headers, up to the end of the line or of the quoted string.
    (
        re.compile(
            r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\\?[\"']?\s*[:=]\s*\\?[\"']?)"
            r"(?!<redacted>)[^\r\n\"'\\<]+"
        ),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{8,}"), rf"\1\2{REDACTED}"),
    # Query strings, JSON members and assignments.
    (
        re.compile(
            rf"(?i)(?<![A-Za-z0-9])((?:[a-z0-9]{{1,20}}[_-])?(?:{_SENSITIVE}))"
            rf"(\\?[\"']?\s?[=]\s?\\?[\"']?|\\?[\"']\s?:\s?\\?[\"'])({_VALUE})"
        ),
        rf"\1\2{REDACTED}",
    ),
    # Keys that can be recognised by their form.
    (
        re.compile(
            r"(?<![A-Za-z0-9])(?:sk|pk|rk|xai|gsk|hf|ghp|gho|ghs|glpat|xoxb|xoxp|pplx|nvapi|r8)"
            r"[-_][A-Za-z0-9_-]{16,}"
        ),
        REDACTED,
    ),
    (re.compile(r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{30,}"), REDACTED),
    (re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"), REDACTED),
    (re.compile(r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*"), REDACTED),
)


def redact_keys(text: str) -> str:
    """Return the text without anything that looks like a key, token, login header or cookie."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


class KeyMask:
    """A function that masks everything that is, or looks like, a provider's key."""

    def __init__(self, environ: Mapping[str, str], extra: Iterable[str] = ()) -> None:
        named = (value for name, value in environ.items() if _SECRET_NAMES.search(name))
        values = {value for value in (*named, *extra) if len(value) >= _MIN_SECRET_CHARS}
        # Longest first: a secret that contains another one must be masked as a whole.
        ordered = sorted(values, key=lambda value: (-len(value), value))
        self._values = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        """Return the text with its keys masked."""
        if self._values is not None:
            text = self._values.sub(MASK, text)
        return _SHAPES.sub(MASK, text)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of the environment for a process that needs no keys."""
    return {name: value for name, value in environ.items() if not _SECRET_NAMES.search(name)}


def drop_empty_secrets(environ: MutableMapping[str, str]) -> None:
    """Unset key variables that are empty, as CI systems set them for pull requests from forks."""
    for name in [name for name, value in environ.items() if not value.strip()]:
        if _SECRET_NAMES.search(name):
            del environ[name]
