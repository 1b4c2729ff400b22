"""The texts of flags, ini keys and variables: yes or no, numbers, lists, percentages, addresses.

Each reader returns a value, or raises a `ValueError` that says what is allowed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


def comma_list(text: str) -> tuple[str, ...]:
    """Split a text at its commas, and drop repetitions."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def words(text: str) -> tuple[str, ...]:
    """Split a text at its spaces."""
    return tuple(text.split())


def flag(text: str) -> bool:
    truth = {"true": True, "1": True, "yes": True, "on": True}
    falsehood = {"false": False, "0": False, "no": False, "off": False}
    try:
        return (truth | falsehood)[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{text!r} is neither yes nor no; allowed: true, false") from None


def count(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that are at least `least`."""

    def parse(text: str) -> int:
        if not text.strip().isdecimal() or int(text) < least:
            raise ValueError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return parse


def in_flight(text: str) -> int:
    """Read how many cells may be in flight; 0 stands for `auto`."""
    return 0 if text == "auto" else count(1)(text)


def seconds(text: str) -> float:
    """Read a number of seconds, above 0 and below a day."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 86_400:
        raise ValueError(f"{text!r} is not a number of seconds above 0")
    return value


def one_of(*allowed: str) -> Callable[[str], Any]:
    """Return a reader that accepts exactly these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not allowed; allowed: {', '.join(allowed)}")
        return text

    return parse


def cache_place(text: str) -> str:
    """Read `memory`, `off`, or the URL of a cache."""
    if text not in ("memory", "off") and "://" not in text:
        raise ValueError(
            f"{text!r} is not a cache; allowed: memory, off, redis://..., URL of a store"
        )
    return text


def cluster_address(text: str) -> str:
    """Read the address of a Ray cluster; an empty text means none."""
    host, _, port = text.removeprefix("ray://").rpartition(":")
    if text not in ("", "auto") and not (host and port.isdecimal()):
        raise ValueError(
            f"{text!r} is not a cluster; allowed: auto (the one that this machine belongs to, or "
            "that RAY_ADDRESS names), ray://HOST:10001, HOST:6379"
        )
    return text


def path(text: str) -> Path | None:
    """Read a path; an empty text means None."""
    return Path(text) if text else None


def or_none(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """Return a reader that reads an empty text as None."""
    return lambda text: parse(text) if text else None


def percent(text: str) -> float:
    """Read a percentage from 0 to 100, with or without its sign; 1 and less need the sign."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ValueError(f"{text!r} is not a percentage from 0 to 100")
    if not number.endswith("%") and (problem := share_problem(value)):
        raise ValueError(problem)
    return value


class LeastRate(NamedTuple):
    """A rate to be reached, such as `80%`, or `80%@95` for one that must not be ruled out."""

    percent: float
    confidence: float | None = None
    """In percent: a lower rate only counts as one if its bound at this confidence says so."""

    def __str__(self) -> str:
        at = "" if self.confidence is None else f"@{self.confidence:g}"
        return f"{self.percent:g}%{at}"


def least_rate(text: str) -> LeastRate:
    """Read a percentage, and behind an `@` how sure it has to be that it is missed."""
    rate, at, sure = text.partition("@")
    if not at:
        return LeastRate(percent(rate))
    confidence = percent(sure)
    if not 50 < confidence < 100:
        raise ValueError(f"{text!r}: the confidence is not between 50 and 100, as in 80%@95")
    return LeastRate(percent(rate), confidence)


class Until(NamedTuple):
    """When a run ends before all its cells have run: `decided`, `$5`, `30m`, or several of them."""

    confidence: float | None = None
    """In percent: how sure it must be which models are worse; None if that ends nothing."""
    usd: float | None = None
    """US dollars that live calls may cost."""
    seconds: float | None = None
    """How long after the start of the session cells are still begun."""

    def __bool__(self) -> bool:
        return self != Until()

    def __str__(self) -> str:
        confidence = self.confidence
        sure = "" if confidence in (None, _USUALLY_SURE) else f"@{confidence:g}"
        words = (
            "" if confidence is None else f"decided{sure}",
            "" if self.usd is None else f"${self.usd:g}",
            "" if self.seconds is None else f"{self.seconds / 60:g}m",
        )
        return ",".join(filter(None, words))


_USUALLY_SURE = 95.0
_UNITS = {"s": 1, "m": 60, "h": 3600}


def until(text: str) -> Until:
    """Read what ends a run early, such as `decided,$5,30m`; `decided@99` wants to be surer."""
    found: dict[str, float] = {}
    for word in comma_list(text):
        name, value = _until_word(word)
        if name in found:
            raise ValueError(f"{text!r} says twice how far: {word}")
        found[name] = value
    return Until(**found)


def _until_word(word: str) -> tuple[str, float]:
    if word.startswith("$"):
        return "usd", dollars(word)
    if word == "decided":
        return "confidence", _USUALLY_SURE
    if word.startswith("decided@"):
        confidence = percent(word.removeprefix("decided@"))
        if not 50 < confidence < 100:
            raise ValueError(f"{word!r}: the confidence is not between 50 and 100, as in 99")
        return "confidence", confidence
    number, unit = word[:-1], word[-1:]
    if unit in _UNITS:
        # Longer than a day is likely, unlike for the other limits.
        try:
            value = float(number) * _UNITS[unit]
        except ValueError:
            value = 0.0
        if 0 < value < 1e9:
            return "seconds", value
    raise ValueError(
        f"{word!r} is not allowed; allowed: decided, decided@99, an amount such as $5, a time "
        "such as 30m, 2h or 90s"
    )


def share_problem(value: float) -> str:
    """Return what to write in place of a number without a sign that may be a share of 1."""
    if not 0 < value <= 1:
        return ""
    return f"{value:g} can be read as a share or as percent; write {value * 100:g}% or {value:g}%"


def dollars(text: str) -> float:
    """Read an amount of US dollars, with or without its sign."""
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ValueError(f"{text!r} is not an amount of US dollars")
    return value


def shard_number(text: str) -> tuple[int, int]:
    """Read the number and count of a shard, such as 1/4."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise ValueError(f"{text!r} is not a shard; write it as 1/4 ... 4/4")
    return int(number), int(of)
