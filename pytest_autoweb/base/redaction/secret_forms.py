"""Finds known values in text, however a page, a server or a tool has written them.

A value is compared character by character: each may be written as it is, with backslashes before
it, by its number in a string of Python, JavaScript, JSON or CSS, in percent encoding, or as an
entity of HTML. Of texts within texts one layer of these is taken off after the other. In base64 and
hex a value has no characters of its own, so those forms are computed.
"""

import base64
import html
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from html.entities import html5
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from pytest_autoweb.base.whole_characters import whole_text

MIN_LENGTH = 4
"""A shorter secret is replaced only where it is the whole text, because inside text it would hit
ordinary words."""
_MIN_EMBEDDED = 6
_LONG = 96
"""Of longer values, such as certificates, letters and digits are expected as they are: encoders
leave them alone, and the pattern would be large."""

REDACTED = "<redacted>"
SECRET = re.compile(r"<secret:([^<>]*)>")
"""The placeholder for a secret, with its name."""


class Redactor:
    """Replaces known values in text: secrets by `<secret:name>`, others by a mask.

    Finds a value in all forms that the module names, the longest first, in hex, and in base64, also
    inside the base64 of a longer text such as `user:password`. A value that is taken apart into
    single characters is not found.

    Args:
        secrets: name to value; empty values are ignored.
        hidden: values without a name.
        mask: replaces values without a name.
    """

    def __init__(
        self, secrets: Mapping[str, str], hidden: Iterable[str] = (), mask: str = REDACTED
    ) -> None:
        self._mask = mask
        self._marks = {mask, *(f"<secret:{name}>" for name in secrets)}
        self._standing = re.compile("|".join(sorted(map(re.escape, self._marks), key=len)[::-1]))
        self._known: dict[str, tuple[_Forms | _LearnedForms, str]] = {}
        for name, value in secrets.items():
            # Also as a page tells it, without halves of surrogate pairs.
            for told in {value, whole_text(value)} if value.strip() else ():
                self._known.setdefault(told, (_forms_of(told), f"<secret:{name}>"))
        for value in hidden:
            if value.strip():
                self._known.setdefault(value, (_forms_of(value), mask))

    def learn(self, value: str, name: str = "") -> None:
        """Hide one more value from now on. There may be many of these, found on the way.

        Args:
            value: the value.
            name: of the secret that it belongs to, if it has one.
        """
        if value not in self._known:
            mark = f"<secret:{name}>" if name else self._mask
            self._known[value] = (_LearnedForms(value), mark)

    @property
    def has_wide_values(self) -> bool:
        """Tell whether a value has characters that are not of ASCII."""
        return not all(map(str.isascii, list(self._known)))

    def _listed(self) -> list[tuple["_Forms | _LearnedForms", str]]:
        # A copy, because another thread may learn a value meanwhile.
        return list(self._known.values())

    def __call__(self, text: str) -> str:
        """Return the text without the known values."""
        for forms, mark in self._listed():
            if forms.is_whole(text):
                return mark
        found = set(self._found_in(text))
        if not found:
            return text
        # A placeholder stays whole, even if a secret is one of its words.
        standing = [match.span() for match in self._standing.finditer(text)]
        return _replaced(text, sorted(one for one in found if not _touches(one, standing)))

    def _found_in(self, text: str) -> Iterator["_Span"]:
        yield from self._found_below(text, _ESCAPE)
        if any("\\" in value for value in list(self._known)):
            # A backslash of the value and the sign behind it read as one sign that is escaped.
            yield from self._found_below(text, _ESCAPE_OF_CODES)

    def _found_below(self, text: str, escape: re.Pattern[str]) -> Iterator["_Span"]:
        layers: list[_Layer] = []
        while self._known:
            for forms, mark in self._listed():
                for start, end in forms.spans(text):
                    for layer in reversed(layers):
                        start, end = layer.outside(start, end)
                    yield _Span(start, end, mark)
            if len(layers) == _LAYERS or (layer := _Layer(text, escape)).text == text:
                return
            layers.append(layer)
            text = layer.text


class _Span(NamedTuple):
    start: int
    end: int
    mark: str


def _touches(span: _Span, others: list[tuple[int, int]]) -> bool:
    """Tell whether a span shares a character with one of others, which are in order."""
    at = bisect_left(others, (span.end,))
    return at > 0 and others[at - 1][1] > span.start


def _replaced(text: str, spans: list[_Span]) -> str:
    """Return the text with marks in place of its spans; those that overlap get one mark."""
    joined: list[_Span] = []
    for span in spans:
        if joined and span.start < joined[-1].end:
            last = joined.pop()
            longest = max(last, span, key=lambda one: one.end - one.start)
            span = _Span(last.start, max(last.end, span.end), longest.mark)
        joined.append(span)
    parts, at = [], 0
    for span in joined:
        parts += [text[at : span.start], span.mark]
        at = span.end
    return "".join([*parts, text[at:]])


class _Forms:
    """The patterns of one value."""

    def __init__(self, value: str) -> None:
        self._written = re.compile(_written(value))
        whole, inside = _encoded(value)
        self._whole = re.compile(_any_of(whole) + _PADDING)
        short = len(value) < MIN_LENGTH
        self._inside = None if short else re.compile(_any_of({*inside, *whole}) + _PADDING)

    def is_whole(self, text: str) -> bool:
        return bool(self._written.fullmatch(text) or self._whole.fullmatch(text))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        if self._inside is not None:
            yield from (match.span() for match in self._written.finditer(text))
            yield from (match.span() for match in self._inside.finditer(text))


class _LearnedForms:
    """The patterns of a value of which there may be many, asked only where a part of it is found.

    Text that is encoded letter by letter is left out.
    """

    def __init__(self, value: str) -> None:
        self._value = value
        run = max(re.findall(r"[A-Za-z0-9]+", value), key=len, default="")
        data = value.encode("utf-8", "surrogatepass")
        cores = [core for core in _embedded_base64(data) if len(core) >= _MIN_EMBEDDED]
        self._signs = [run] if len(run) >= MIN_LENGTH else [""]
        for core in cores:
            self._signs += [core, core.translate(_URL_ALPHABET)]
        self._signs += [data.hex(), data.hex().upper()]

    def is_whole(self, text: str) -> bool:
        return text == self._value

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        if any(sign in text for sign in self._signs):
            yield from _forms_of(self._value).spans(text)


_URL_ALPHABET = str.maketrans("+/", "-_")


@lru_cache(maxsize=512)
def _forms_of(value: str) -> _Forms:
    return _Forms(value)


# -- characters --------------------------------------------------------------------------

_SLASHES = r"\\{1,40}"
_A_SLASH = r"(?:\\|&(?:#92|#[xX]5[cC]|bsol);|%5[cC])"
_SLASH_NUMBER = r"(?:[uU]0*005[cC]|[xX]5[cC]|0{0,4}5[cC][ ]?)"
_SHORT = {
    **{"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"},
    **{"\v": "v", "\a": "a", "\0": "0", "\x1b": "e"},
}
_NAMES: dict[str, set[str]] = {}
for _name, _text in html5.items():
    _NAMES.setdefault(_text, set()).add(_name.rstrip(";"))


def _written(value: str) -> str:
    """Return the pattern of a value, with each of its characters in any form."""
    plain = len(value) > _LONG
    parts = []
    for char, run in groupby(value):
        count = sum(1 for _ in run)
        if char == "\\":
            # As one: patterns for each of several backslashes would try all ways to share them.
            parts.append(f"{_A_SLASH}(?:{_A_SLASH}|{_SLASH_NUMBER}){{{count - 1},{40 * count}}}")
        elif plain and char.isalnum() and char.isascii():
            parts.append(char * count)
        else:
            parts.append(_character(char) * count)
    return "".join(parts)


def _character(char: str) -> str:
    """Return the pattern of one character.

    Each of its branches begins with a fixed sign, as patterns that do are searched for quickly.
    """
    raw = re.escape(char) if char != " " else r" |\+"
    entity, percent = f"&{_entity(char)}", f"%(?:{_percent(char)})"
    return rf"(?:{raw}|{_SLASHES}(?:{raw}|{_numbers(char)}|{entity}|{percent})|{percent}|{entity})"


def _numbers(char: str) -> str:
    """Return the pattern of what follows the backslash in strings of languages."""
    code = f"{ord(char):x}"
    forms = [
        f"{_SLASHES}u".join(["", *map(_hex, _units(char))]).removeprefix(_SLASHES),
        rf"u\{{0*{_hex(code)}\}}",
        f"U0*{_hex(code)}",
        # CSS ends a number by a blank.
        rf"0{{0,4}}{_hex(code)}[ ]?",
    ]
    if ord(char) < 256:
        forms.append(f"x{_hex(code.zfill(2))}")
    if ord(char) > 127:
        data = char.encode("utf-8", "surrogatepass")
        forms.append(f"{_SLASHES}x".join(["", *(_hex(f"{byte:02x}") for byte in data)]))
        forms[-1] = forms[-1].removeprefix(_SLASHES)
    if char in _SHORT:
        forms.append(_SHORT[char])
    return "|".join(forms)


def _units(char: str) -> list[str]:
    """Return the UTF-16 code units of a character in hex."""
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return [units[i : i + 4] for i in range(0, len(units), 4)]


def _percent(char: str) -> str:
    """Return the pattern of what follows the percent sign in addresses and forms."""
    written = [char.encode("utf-8", "surrogatepass")]
    for charset in ("latin-1", "cp1252"):
        with suppress(UnicodeEncodeError):
            written.append(char.encode(charset))
    forms = ["%".join(_hex(f"{byte:02x}") for byte in data) for data in dict.fromkeys(written)]
    # As JavaScript's `escape` writes it.
    return "|".join([*forms, "%".join(f"u{_hex(unit)}" for unit in _units(char))])


def _entity(char: str) -> str:
    """Return the pattern of what follows the ampersand in HTML."""
    names = sorted(_NAMES.get(char, ()), key=lambda name: (-len(name), name))
    forms = [f"#0*{ord(char)}", f"#[xX]0*{_hex(f'{ord(char):x}')}", *names]
    return f"(?:{'|'.join(forms)});?"


def _hex(digits: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)


# -- texts within texts ------------------------------------------------------------------

_LAYERS = 4
_ASCII_NAMES = {
    name: char
    for char, names in _NAMES.items()
    if len(char) == 1 and char.isascii()
    for name in names
}
_CODES = (
    r"\\(?:u\{?00(?P<u>[2-7][0-9a-fA-F])\}?|x(?P<x>[2-7][0-9a-fA-F])"
    r"|0{0,4}(?P<css>[2-7][0-9a-fA-F])(?![0-9a-fA-F])[ ]?)"
    r"|%(?P<percent>[2-7][0-9a-fA-F])"
    r"|&(?:#[xX]0*(?P<hex>[2-7][0-9a-fA-F])(?![0-9a-fA-F])|#0*(?P<decimal>[0-9]{2,3})(?![0-9])"
    rf"|(?P<name>{'|'.join(sorted(_ASCII_NAMES, key=len, reverse=True))})(?=;));?"
)
_ESCAPE_OF_CODES = re.compile(_CODES)
_ESCAPE = re.compile(rf"{_CODES}|\\(?P<plain>[^A-Za-z0-9\s]|[ ])")


class _Layer:
    """A text with one layer of encoding taken off: that of characters of ASCII, of any kind."""

    def __init__(self, text: str, escape: re.Pattern[str]) -> None:
        parts, at, length = [], 0, 0
        self._inner: list[int] = []
        self._outer: list[tuple[int, int]] = []
        for match in escape.finditer(text) if _SIGN.search(text) else ():
            if (char := _meant(match)) is None:
                continue
            start, end = match.span()
            parts += [text[at:start], char]
            length += start - at
            self._inner.append(length)
            self._outer.append((start, end))
            length, at = length + 1, end
        self.text = "".join([*parts, text[at:]]) if parts else text

    def outside(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the encoded text of a place in the decoded one."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, index: int) -> tuple[int, int]:
        at = bisect_right(self._inner, index) - 1
        if at < 0:
            return index, index + 1
        if self._inner[at] == index:
            return self._outer[at]
        place = self._outer[at][1] + index - self._inner[at] - 1
        return place, place + 1


_SIGN = re.compile(r"[\\%&]")


def _meant(match: re.Match[str]) -> str | None:
    """Return the character that an escape stands for; None if it is none of ASCII."""
    kind, written = match.lastgroup, match[match.lastgroup or 0]
    if kind == "plain":
        return written
    if kind == "name":
        return _ASCII_NAMES[written]
    code = int(written, 10 if kind == "decimal" else 16)
    return chr(code) if 32 <= code < 128 else None


# -- base64 and hex ----------------------------------------------------------------------

_PADDING = "={0,2}"
_BASE64_SIGNS = {**dict.fromkeys("+-", "[+-]"), **dict.fromkeys("/_", "[/_]")}


def _encoded(value: str) -> tuple[set[str], set[str]]:
    """Return patterns of a value's base64 and hex: alone, and inside what holds more."""
    data = value.encode("utf-8", "surrogatepass")
    whole = {_signs(base64.b64encode(data).decode().rstrip("=")), _hex(data.hex())}
    inside = set()
    if len(value) >= MIN_LENGTH:
        texts = list(dict.fromkeys(_texts(value)))
        cores = {core for text in texts for core in _embedded_base64(text)}
        own = (core.encode() for core in _embedded_base64(data))
        cores |= {core for text in own for core in _embedded_base64(text)}
        inside = {*map(_signs, cores), *(_hex(text.hex()) for text in texts)}
    return whole, inside


def _texts(value: str) -> Iterator[bytes]:
    """Yield a value as it stands in what tools put into base64 and hex."""
    data = value.encode("utf-8", "surrogatepass")
    yield data
    written = (
        *(json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]),
        *(quote(data), quote(data, safe=""), quote_plus(data)),
        *(html.escape(value), html.escape(value, quote=False)),
    )
    yield from (one.encode("utf-8", "surrogatepass") for one in written)
    yield value.encode("latin-1", "ignore") if _is_latin(value) else data
    yield data.hex().encode()


def _is_latin(value: str) -> bool:
    return max(map(ord, value)) < 256


def _signs(form: str) -> str:
    """Return the pattern of base64 in both of its alphabets."""
    return "".join(_BASE64_SIGNS.get(char, char) for char in form)


def _embedded_base64(data: bytes) -> Iterator[str]:
    """Yield, for each alignment, the part of a text's base64 that depends on the text alone."""
    for before in range(3):
        bits_end = (before + len(data)) * 8
        first = -(-before * 8 // 6)
        form = base64.b64encode(b"\0" * before + data).decode()[first : bits_end // 6]
        if len(form) >= _MIN_EMBEDDED:
            yield form


def _any_of(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(patterns, key=lambda one: (-len(one), one)))})"
