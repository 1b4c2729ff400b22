"""Read the values of settings from text; each says what is allowed when it refuses one.

All raise ValueError with a sentence that names the value.

Every pytest session that has the plugin installed imports this module, so it must stay cheap. A
reader whose words stand in a module that is not imports them when it is called, which only
happens in sessions that use the plugin.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from pytest_autoweb.near_miss import listed
from pytest_autoweb.variants import variants_of


def comma_list(text: str) -> tuple[str, ...]:
    """Texts separated by commas, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def words(text: str) -> tuple[str, ...]:
    """Texts separated by spaces."""
    return tuple(text.split())


def captures(text: str) -> tuple[str, ...]:
    """Return the capture modes that are named, in upper or lower case."""
    known = variants_of("pytest_autoweb.browser.capture_mode", "CAPTURE_MODES")
    spelled = {name.lower(): name for name in known}
    given = (spelled.get(word.lower(), word) for word in comma_list(text))
    return tuple(dict.fromkeys(known.pick(name).name for name in given))


def arms(text: str) -> tuple[str, ...]:
    """Return the ways to correct that are named; the first one decides."""
    known = variants_of("pytest_autoweb.arms.correction_arm", "ARMS")
    given = tuple(known.pick(name).name for name in comma_list(text))
    if not given:
        raise ValueError(f"names nothing; allowed: {listed(known)}")
    return given


def flag(text: str) -> bool:
    """Yes or no."""
    truth = {"true": True, "1": True, "yes": True, "on": True}
    falsehood = {"false": False, "0": False, "no": False, "off": False}
    try:
        return (truth | falsehood)[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{text!r} is not a yes or no; allowed: true, false") from None


def count(least: int) -> Callable[[str], int]:
    """Makes a reader of whole numbers of at least `least`."""

    def parse(text: str) -> int:
        if not text.strip().isdecimal() or int(text) < least:
            raise ValueError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return parse


def seconds(text: str) -> float:
    """A number of seconds above 0 and below a day."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 86_400:
        raise ValueError(f"{text!r} is not a number of seconds above 0")
    return value


def one_of(*allowed: str) -> Callable[[str], str]:
    """Makes a reader of exactly these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not allowed; allowed: {', '.join(allowed)}")
        return text

    return parse


def locator(text: str) -> str:
    """Return the name of an algorithm that finds elements by sight."""
    # Late, because the module imports pydantic.
    from pytest_autoweb.results.location import LocatorAlgorithm

    return one_of(*get_args(LocatorAlgorithm))(text)


def cache(text: str) -> str:
    """`memory`, `off`, or the URL of a cache."""
    if text not in ("memory", "off") and "://" not in text:
        raise ValueError(f"{text!r} is no cache; allowed: memory, off, redis://..., a store's URL")
    return text


def path(text: str) -> Path | None:
    """A path; None for an empty text."""
    return Path(text) if text else None


def or_none(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Makes a reader that takes an empty text for None."""
    return lambda text: parse(text) if text else None


def percent(text: str) -> float:
    """A percentage from 0 to 100, with or without its sign."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ValueError(f"{text!r} is not a percentage from 0 to 100")
    return value


def dollars(text: str) -> float:
    """An amount of US dollars, with or without its sign."""
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ValueError(f"{text!r} is not an amount of US dollars")
    return value


def shard(text: str) -> tuple[int, int]:
    """Number and count of a shard, such as 1/4."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise ValueError(f"{text!r} is not a shard; write it as 1/4 ... 4/4")
    return int(number), int(of)
