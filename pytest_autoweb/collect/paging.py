"""Addresses of list pages: which part says the page, and what the next one is. Pure."""

from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from pytest_autoweb.cases.collect_spec import PageParameter

_FROM_ZERO = ("offset", "start", "skip", "from")


def next_by_parameter(url: str, given: PageParameter) -> str:
    """The address of the page after `url`: its parameter one step on.

    A page without the parameter is the first one. What an `offset` counts is entries, so its step
    is that of a whole page; the caller says it.
    """
    now = parameter_of(url, given.parameter)
    if now is None:
        zero = given.parameter.lower() in _FROM_ZERO
        now = given.start if given.start is not None else 0 if zero else 1
    return with_parameter(url, given.parameter, now + given.step)


def predicted(before: str, now: str) -> str:
    """The address after two of consecutive pages; empty when they do not tell.

    They tell when one parameter alone differs and is a number that has grown; it grows by the same
    again, so an offset is not taken for a page number. A parameter that the first page lacks is
    taken to be 1 there, or 0 when it is as large as a page's entries.
    """
    if urlsplit(before)._replace(query="") != urlsplit(now)._replace(query=""):
        return ""
    first, second = _numbers(before), _numbers(now)
    changed = [name for name in second if first.get(name) != second[name]]
    if len(changed) != 1 or _others(before, changed[0]) != _others(now, changed[0]):
        return ""
    name = changed[0]
    value = second[name]
    start = first.get(name, 1 if value == 2 else 0)
    return with_parameter(now, name, value + value - start) if value > start else ""


def parameter_of(url: str, name: str) -> int | None:
    """The number that a parameter of the address has."""
    return _numbers(url).get(name)


def with_parameter(url: str, name: str, value: int) -> str:
    """The address with one parameter set; the others keep their writing."""
    parts = urlsplit(url)
    setting = f"{quote(name)}={value}"
    pieces = [piece for piece in parts.query.split("&") if piece]
    kept = [setting if piece.partition("=")[0] == quote(name) else piece for piece in pieces]
    if setting not in kept:
        kept.append(setting)
    return urlunsplit(parts._replace(query="&".join(kept)))


def _numbers(url: str) -> dict[str, int]:
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return {name: int(value) for name, value in pairs if value.isdecimal() and len(value) <= 9}


def _others(url: str, name: str) -> list[tuple[str, str]]:
    return [pair for pair in parse_qsl(urlsplit(url).query) if pair[0] != name]
