"""Addresses of list pages: the parameter with the page number, and the next page's address."""

from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from pytest_autoweb.cases.collect_spec import PageParameter

_FROM_ZERO = ("offset", "start", "skip", "from")


def next_by_parameter(url: str, given: PageParameter) -> str:
    """Return the address of the page after `url`, with its parameter one step further.

    A page without the parameter is the first one. An `offset` counts entries, so its step is the
    number of entries on a page, which the case gives.
    """
    now = parameter_of(url, given.parameter)
    if now is None:
        zero = given.parameter.lower() in _FROM_ZERO
        now = given.start if given.start is not None else 0 if zero else 1
    return with_parameter(url, given.parameter, now + given.step)


def predicted(before: str, now: str) -> str:
    """Return the address that follows those of two consecutive pages; empty when it is unclear.

    It is clear when exactly one parameter differs and is a number that has grown. It then grows by
    the same amount again, which also suits offsets. A parameter that the first page lacks counts as
    1 there if the second page has 2, else as 0.
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
    """Return the number in a parameter of the address, or None."""
    return _numbers(url).get(name)


def with_parameter(url: str, name: str, value: int) -> str:
    """Return the address with one parameter set and the others exactly as they were."""
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
