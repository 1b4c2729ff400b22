"""Python's regular expressions, written for an engine whose time grows with the text only.

`re` tries one way to match after the other, and some expressions have more ways than there are
seconds. RE2 follows all ways at once. It knows neither look-around nor back-references, and reads
some signs differently, so an expression is not handed over as it is written: what Python's parser
made of it is written anew, each class of characters as Python means it. Whatever might have another
result there is `NotLinear`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

# Late imports: most sessions match nothing but their own expressions.

_MOST_STEPS = 400_000_000
"""Most states that RE2 may have to follow over a text; that many take it about two seconds."""
_LONGEST = 10_000
"""Characters of the longest expression that is translated."""

_REPEATS = {c.MAX_REPEAT: "", c.MIN_REPEAT: "?"}
_PLACES = {
    c.AT_BEGINNING: r"\A",
    c.AT_BEGINNING_STRING: r"\A",
    c.AT_END: r"\z",
    c.AT_END_STRING: r"\z",
    c.AT_BOUNDARY: r"\b",
}
_OPPOSITE = {
    c.CATEGORY_NOT_DIGIT: c.CATEGORY_DIGIT,
    c.CATEGORY_NOT_SPACE: c.CATEGORY_SPACE,
    c.CATEGORY_NOT_WORD: c.CATEGORY_WORD,
}
_WITH_FLAG = {
    c.CATEGORY_DIGIT: "0-9",
    c.CATEGORY_SPACE: r"\t-\r\x20",
    c.CATEGORY_WORD: "0-9A-Za-z_",
}
"""What `\\d`, `\\s` and `\\w` mean with `re.ASCII`."""
_IN_ASCII = {**_WITH_FLAG, c.CATEGORY_SPACE: r"\t-\r\x1c-\x20"}
"""What they mean without it in texts of ASCII, where RE2 needs far fewer states for them."""
_IN_UNICODE = {
    c.CATEGORY_DIGIT: r"\p{Nd}",
    c.CATEGORY_SPACE: (
        r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}"
        r"\x{3000}"
    ),
    c.CATEGORY_WORD: r"\p{L}\p{N}_",
}


class NotLinear(Exception):
    """Raised for an expression, or a text, for which RE2's result might not be Python's."""


def linear_search(pattern: str, text: str, flags: int = 0) -> str | None:
    """Return the first part of a text that an expression matches, or None.

    Raises:
        NotLinear: only Python's own engine can tell.
    """
    if len(pattern) > _LONGEST:
        raise NotLinear
    plain = text.isascii()
    ready = _translated(pattern, flags, plain=plain)
    if not plain and not _agree_on(text):
        raise NotLinear
    if ready.before_last and text.endswith("\n"):
        raise NotLinear
    if ready.engine.programsize * len(text) > _MOST_STEPS:
        raise NotLinear
    try:
        found = ready.engine.search(text)
    except UnicodeEncodeError:
        raise NotLinear from None
    return None if found is None else str(found.group())


class _Ready(NamedTuple):
    """A translated expression."""

    engine: Any
    before_last: bool
    """Whether Python also finds its end before a line break at the very end of a text."""


@lru_cache(maxsize=256)
def _translated(pattern: str, flags: int, *, plain: bool) -> _Ready:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    # Otherwise it writes to standard error.
    options.log_errors = False
    writer = _Writer(plain=plain)
    try:
        parsed = _parser.parse(pattern, flags & ~re.DEBUG)
        engine = re2.compile(writer.sequence(parsed, parsed.state.flags), options)
    except (re2.error, re.error, RecursionError, OverflowError, UnicodeEncodeError):
        raise NotLinear from None
    return _Ready(engine, writer.before_last)


@lru_cache(maxsize=64)
def _agree_on(text: str) -> bool:
    """Tell whether both engines know the same kinds of characters in a text.

    Each has its own edition of Unicode.
    """
    import re2

    signs = {char for char in text if not char.isascii()}
    kinds = {
        _IN_UNICODE[c.CATEGORY_DIGIT]: {char for char in signs if char.isdecimal()},
        _IN_UNICODE[c.CATEGORY_SPACE]: {char for char in signs if char.isspace()},
        _IN_UNICODE[c.CATEGORY_WORD]: {char for char in signs if char.isalnum()},
    }
    try:
        return all(
            re2.fullmatch(f"[{kind}]*", "".join(those))
            and re2.fullmatch(f"[^{kind}]*", "".join(signs - those))
            for kind, those in kinds.items()
        )
    except UnicodeEncodeError:
        return False


class _Writer:
    """Writes what Python's parser read in RE2's syntax.

    Args:
        plain: whether the texts are ASCII. Beyond that, RE2 knows other word boundaries and pairs
            of letters.
    """

    def __init__(self, *, plain: bool) -> None:
        self.before_last = False
        self._plain = plain

    def sequence(self, items: Iterable[tuple[Any, Any]], flags: int) -> str:
        """Write items that follow each other.

        Raises:
            NotLinear: one of them has no exact counterpart.
        """
        return "".join(self._item(op, value, flags) for op, value in items)

    def _item(self, op: Any, value: Any, flags: int) -> str:
        if op in _REPEATS:
            least, most, body = value
            limit = "" if most is c.MAXREPEAT else str(most)
            return f"(?:{self.sequence(body, flags)}){{{least},{limit}}}{_REPEATS[op]}"
        if op is c.SUBPATTERN:
            _, added, removed, body = value
            return f"(?:{self.sequence(body, (flags | added) & ~removed)})"
        if op is c.BRANCH:
            return self._either(self.sequence(way, flags) for way in value[1])
        if op is c.AT:
            return self._place(value, flags)
        if op is c.ANY:
            return r"(?s:.)" if flags & re.DOTALL else r"[^\n]"
        if op is c.LITERAL:
            return self._one_of([(op, value)], flags)
        if op is c.NOT_LITERAL:
            return self._one_of([(c.NEGATE, None), (c.LITERAL, value)], flags)
        if op is c.IN:
            return self._one_of(value, flags)
        raise NotLinear

    @staticmethod
    def _either(ways: Iterable[str]) -> str:
        return f"(?:{'|'.join(ways)})"

    def _place(self, value: Any, flags: int) -> str:
        if flags & re.MULTILINE and value in {c.AT_BEGINNING, c.AT_END}:
            return "(?m:^)" if value is c.AT_BEGINNING else "(?m:$)"
        if value not in _PLACES or (value is c.AT_BOUNDARY and not self._plain):
            raise NotLinear
        self.before_last |= value is c.AT_END
        return _PLACES[value]

    def _one_of(self, parts: list[tuple[Any, Any]], flags: int) -> str:
        """Write the characters that a single place may hold."""
        if flags & re.IGNORECASE and not self._plain:
            raise NotLinear
        kinds = _WITH_FLAG if flags & re.ASCII else _IN_ASCII if self._plain else _IN_UNICODE
        negated = parts[0][0] is c.NEGATE
        inside, outside = "", []
        for op, value in parts[negated:]:
            if op is c.LITERAL:
                inside += _sign(value, flags)
            elif op is c.RANGE:
                inside += f"{_sign(value[0], flags)}-{_sign(value[1], flags)}"
            elif value in kinds:
                inside += kinds[value]
            else:
                outside.append(f"[^{kinds[_OPPOSITE[value]]}]")
        if negated and outside:
            raise NotLinear
        if inside or negated:
            outside.append(f"[{'^' * negated}{inside}]")
        either = self._either(outside)
        return f"(?i:{either})" if flags & re.IGNORECASE else either


def _sign(code: int, flags: int) -> str:
    if code > 127 and flags & re.IGNORECASE:
        raise NotLinear
    return f"\\x{{{code:x}}}"
