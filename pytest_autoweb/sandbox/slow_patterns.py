"""Which regular expressions a browser would be busy with for too long.

Whatever a page is asked with them, its engine tries one way to match after the other, and only the
end of the page interrupts it. So an expression with too many ways is known by its shape, before any
engine sees it. What this process matches itself is not concerned; see `values.patterns`.
"""

import re
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_MANY = 10
"""A repetition with a higher limit than this counts as one without a limit."""
_REPEATS = frozenset({c.MAX_REPEAT, c.MIN_REPEAT})
_ALL = frozenset(range(256))
_NOTHING: frozenset[int] = frozenset()
_SAME_TWICE = re.compile(r"[(|:]([^()|]+)\|\1[)|]")
_LENGTH = 30
"""Characters of a text that is made to be slow, as far as ways are counted."""
_PLACES = 8
"""How often such a text holds a certain character."""
_MOST_WAYS = 200_000
_HUGE = 10**9


def slow_part(pattern: str, flags: int = 0) -> str:
    """Return words for what makes an expression slow, or "" if nothing does."""
    try:
        # With `re.DEBUG` the parser would print what it reads.
        parsed = _parser.parse(pattern, flags & ~re.DEBUG)
    except (re.error, RecursionError, OverflowError):
        return "an expression that cannot be read"
    if _SAME_TWICE.search(pattern):
        # Python reads two equal alternatives as one, JavaScript does not.
        return "an alternative that is given twice"
    if found := _slow(parsed, flags, bars="|" in pattern):
        return found
    if _ways(_flat(parsed), _NOTHING, flags) > _MOST_WAYS:
        return "a row of parts that may each be longer or shorter, or a limited repetition of them,"
    return ""


def _slow(parsed: Any, flags: int, *, bars: bool) -> str:
    for op, value in parsed:
        if op in _REPEATS and value[1] > _MANY and _is_ambiguous(value[2], flags, bars=bars):
            return "a repetition of something that repeats or has alternatives"
        for inner in _inside(op, value):
            if found := _slow(inner, flags, bars=bars):
                return found
    return ""


def _ways(items: list[tuple[Any, Any]], after: frozenset[int], flags: int) -> int:
    """Estimate in how many ways items in a row can share one text.

    Args:
        items: from `_flat`.
        after: the characters that may follow them.
        flags: those of the expression.
    """
    ways, follows, certain = 1, after, False
    for op, value in reversed(items):
        ways = min(_HUGE, ways * _ways_of_one(op, value, follows, flags, certain=certain))
        own = _beginnings([(op, value)], flags)
        follows = own | follows if _may_be_empty(op, value) else own
        certain = op is c.LITERAL
    return ways


def _ways_of_one(op: Any, value: Any, follows: frozenset[int], flags: int, *, certain: bool) -> int:
    """Estimate in how many ways one item can end.

    Args:
        op: what it is.
        value: what it holds.
        follows: the characters that may stand behind it.
        flags: those of the expression.
        certain: whether one certain character must. A text that holds it again and again is rare.
    """
    if op in _REPEATS:
        least, most, body = value
        fewest, rounds = min(int(least), _LENGTH), min(int(most), _LENGTH)
        own = _characters(body, flags)
        if most > 1 and _is_ambiguous(body, flags, bars=False):
            each = _ways(_flat(body), own | follows, flags)
            return min(_HUGE, int(each**rounds))
        # Where each round ends is clear, but not what may happen within one.
        next_round = _beginnings(body, flags) if most > 1 else _NOTHING
        again = _ways(_flat(body), next_round, flags) if most > 1 else 1
        last = _ways(_flat(body), next_round | follows, flags)
        within = min(_HUGE, int(again ** max(rounds - 1, 0)) * last)
        if own.isdisjoint(follows):
            return within
        return within * min(rounds - fewest + 1, _PLACES if certain else _LENGTH)
    if op is c.BRANCH:
        each_way = [_ways(_flat(way), follows, flags) for way in value[1]]
        return sum(each_way) if _branches_overlap(value[1], flags) else max(each_way)
    if op in {c.ASSERT, c.ASSERT_NOT}:
        return _ways(_flat(value[1]), _NOTHING, flags)
    return 1


def _inside(op: Any, value: Any) -> list[Any]:
    """Return the parts of an item that are expressions themselves."""
    if op in _REPEATS or op is c.POSSESSIVE_REPEAT:
        return [value[2]]
    if op is c.SUBPATTERN:
        return [value[-1]]
    if op is c.BRANCH:
        return list(value[1])
    if op in {c.ASSERT, c.ASSERT_NOT}:
        return [value[1]]
    if op is c.ATOMIC_GROUP:
        return [value]
    return [part for part in value[1:] if part] if op is c.GROUPREF_EXISTS else []


def _is_ambiguous(body: Any, flags: int, *, bars: bool) -> bool:
    """Tell whether a repeated body can divide one text in several ways.

    It cannot if there is nothing in it that varies, or if each round holds a character that
    nothing else in it may be, and what is behind that character cannot be taken for the beginning
    of the next round.
    """
    items = _flat(body)
    if not any(_varies(item) for item in items):
        return bars and any(_is_doubled(item, flags) for item in items)
    if len(items) == 1 and items[0][0] is c.BRANCH:
        return _branches_overlap(items[0][1][1], flags)
    return not any(_divides(items, place, flags) for place in range(len(items)))


def _divides(items: list[tuple[Any, Any]], place: int, flags: int) -> bool:
    """Tell whether the item at this place shows beyond doubt where a round begins and ends."""
    if _varies(items[place]):
        return False
    head, tail = items[:place], items[place + 1 :]
    if not _characters([items[place]], flags).isdisjoint(_characters([*head, *tail], flags)):
        return False
    if not head or not tail:
        return True
    first_op, first = head[0]
    needed = first_op not in _REPEATS or first[0] > 0
    return needed and _characters(tail, flags).isdisjoint(_characters(head[:1], flags))


def _is_doubled(item: tuple[Any, Any], flags: int) -> bool:
    """Tell whether alternatives of one character overlap, which Python reads as a set of them."""
    op, value = item
    if op is not c.IN or value[0][0] is c.NEGATE:
        return False
    each = [_of_one(c.IN, [part], flags) for part in value]
    return sum(map(len, each)) > len(set().union(*each))


def _flat(body: Any) -> list[tuple[Any, Any]]:
    """Return the items of a body, with those of plain groups in their place."""
    found: list[tuple[Any, Any]] = []
    for op, value in body:
        if op is c.SUBPATTERN:
            found += _flat(value[-1])
        elif op is not c.AT:
            found.append((op, value))
    return found


def _varies(item: tuple[Any, Any]) -> bool:
    op, value = item
    if op in _REPEATS:
        # What is repeated three times may still be longer each time.
        return bool(value[0] != value[1]) or any(map(_varies, _flat(value[2])))
    return op in {c.BRANCH, c.GROUPREF, c.GROUPREF_EXISTS, c.ASSERT, c.ASSERT_NOT}


def _branches_overlap(branches: Any, flags: int) -> bool:
    """Tell whether two alternatives may begin alike, or one of them varies in length."""
    if any(_varies(item) for branch in branches for item in _flat(branch)):
        # `(?:a+|b)*`: one that repeats itself can be divided among several rounds.
        return True
    words = [[_characters([item], flags) for item in _flat(branch)] for branch in branches]
    return any(
        all(not a.isdisjoint(b) for a, b in zip(first, second, strict=False))
        for number, first in enumerate(words)
        for second in words[number + 1 :]
    )


def _characters(body: Any, flags: int) -> frozenset[int]:
    """Return the characters that an expression may contain, among the first 256."""
    found: set[int] = set()
    for op, value in body:
        if op is c.ANY:
            return _ALL
        if op in {c.LITERAL, c.NOT_LITERAL, c.IN}:
            found |= _of_one(op, value, flags)
        elif op in {c.GROUPREF, c.GROUPREF_EXISTS}:
            return _ALL
        for inner in _inside(op, value):
            found |= _characters(inner, flags)
    return frozenset(found)


def _beginnings(body: Any, flags: int) -> frozenset[int]:
    """Return the characters with which an expression may begin, among the first 256."""
    found: frozenset[int] = frozenset()
    for op, value in _flat(body):
        inner = value[2] if op in _REPEATS else None
        found |= _characters([(op, value)], flags) if inner is None else _beginnings(inner, flags)
        if not _may_be_empty(op, value):
            break
    return found


def _may_be_empty(op: Any, value: Any) -> bool:
    if op in _REPEATS:
        return value[0] == 0 or all(_may_be_empty(*item) for item in _flat(value[2]))
    if op is c.BRANCH:
        return any(all(_may_be_empty(*item) for item in _flat(way)) for way in value[1])
    return op not in {c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY}


def _of_one(op: Any, value: Any, flags: int) -> set[int]:
    """Return the characters that a single place may hold."""
    if op is c.LITERAL:
        both = {value, ord(chr(value).lower()), ord(chr(value).upper()[0])}
        return both if flags & re.I else {value}
    if op is c.NOT_LITERAL:
        return set(_ALL) - {value}
    negated = bool(value) and value[0][0] is c.NEGATE
    found: set[int] = set()
    for kind, what in value[negated:]:
        if kind is c.LITERAL:
            found |= _of_one(c.LITERAL, what, flags)
        elif kind is c.RANGE:
            found |= set(range(what[0], min(what[1], 255) + 1))
            if flags & re.I:
                found |= {ord(chr(n).swapcase()[0]) for n in found}
        else:
            found |= {n for n in _ALL if _in_category(what, chr(n))}
    return set(_ALL) - found if negated else found


def _in_category(category: Any, char: str) -> bool:
    tests = {
        c.CATEGORY_DIGIT: char.isdigit(),
        c.CATEGORY_SPACE: char.isspace(),
        c.CATEGORY_WORD: char.isalnum() or char == "_",
    }
    if category in tests:
        return tests[category]
    opposite = {
        c.CATEGORY_NOT_DIGIT: c.CATEGORY_DIGIT,
        c.CATEGORY_NOT_SPACE: c.CATEGORY_SPACE,
        c.CATEGORY_NOT_WORD: c.CATEGORY_WORD,
    }.get(category)
    return opposite is None or not tests[opposite]
