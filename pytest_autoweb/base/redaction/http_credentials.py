"""Takes credentials out of diagnostics about HTTP: what stands beside a header or field name.

Not for what pages and models say, where the same names stand beside ordinary words.
"""

import re

from pytest_autoweb.base.redaction.key_shapes import redact_shapes
from pytest_autoweb.base.redaction.secret_forms import REDACTED

_IS = r"\\?[\"']?\s*[:=]\s*\\?[\"']?"
# What no word of a language is: letters with digits, or with the signs of base64.
_CREDENTIAL = (
    r"(?=[^\s\"'<>,;&\\]*(?:[0-9]|[a-z][A-Z]|=))(?=[^\s\"'<>,;&\\]*[A-Za-z])[^\s\"'<>,;&\\]{8,}"
)
_VALUE = r"[^\s\"'&;,<>\\]+"
_ASSIGNED = (
    r"(?:[a-z0-9]{1,20}[_-])?(?:"
    r"(?:x-)?api[_-]?key|(?:access|auth|refresh|id|session|csrf|xsrf|bearer)[_-]?token|token"
    r"|client[_-]?secret|secret|password|passwd|pwd|session[_-]?id|jwt)"
)
_NAME = rf"(?:{_ASSIGNED}|session|sessid|sid|signature|sig)"
_AUTHORIZATION = re.compile(
    rf"(?i:\b((?:proxy-)?authorization{_IS}(?:(?:basic|bearer|token|apikey|negotiate)\s+)?))"
    rf"{_CREDENTIAL}"
)
# No word that follows "Bearer" at the beginning of a sentence is as long.
_BEARER = re.compile(r"\b(Bearer )(?!<)[A-Za-z0-9._~+/=-]{16,}")
_BESIDE_NAMES = (
    # Schemes with several values, up to the end of the line or of the quoted string.
    re.compile(
        rf"(?i)\b((?:proxy-)?authorization{_IS}(?:digest|hawk|aws4-hmac-sha256|oauth)\s+)"
        r"(?!<redacted>)[^\r\n'\\<]+"
    ),
    re.compile(rf"(?i)\b((?:set-)?cookie{_IS})(?!<redacted>)(?=[^\s=;:]+=)[^\r\n\"'\\<]+"),
    re.compile(rf"((?i:\b(?:bearer|basic)\s+))(?=\S*[0-9]){_CREDENTIAL}"),
    # Members of JSON and parts of queries are fields whatever they hold, but not the assignments
    # of a sentence.
    re.compile(
        rf"(?i)(?<![a-z0-9])({_NAME}\\?[\"']\s?:\s?\\?[\"']|[?&#]{_NAME}=)(?!<redacted>){_VALUE}"
    ),
    re.compile(
        rf"((?i:(?<![a-z0-9]){_ASSIGNED})\\?[\"']?\s?=\s?\\?[\"']?)"
        rf"(?=[^\s\"'&;,<>\\]*[0-9])(?=[^\s\"'&;,<>\\]*[A-Za-z])[^\s\"'&;,<>\\]{{6,}}"
    ),
)


def redact_login(text: str, mask: str = REDACTED) -> str:
    """Return the text without shapes of keys and without the values of `Authorization` headers."""
    for pattern in (_AUTHORIZATION, _BEARER):
        text = pattern.sub(rf"\g<1>{mask}", text)
    return redact_shapes(text, mask)


def redact_keys(text: str) -> str:
    """Return a diagnostic about HTTP without keys, tokens, login headers and cookies."""
    text = redact_login(text)
    for pattern in _BESIDE_NAMES:
        text = pattern.sub(rf"\g<1>{REDACTED}", text)
    return text
