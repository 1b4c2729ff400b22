"""The encoding of values and frames between host and worker: JSON lines, never pickle.

This runs on both sides, so it imports only the standard library. A value that JSON lacks is
written as an object with one key that starts with `$`; an ordinary dict of that shape is written
as `{"$dict": [[key, value], …]}`.
"""

import base64
import datetime
import decimal
import json
import math
import re
from collections.abc import Callable, Mapping, Sized
from typing import Any

MAX_TO_WORKER = 16_000_000
MAX_FROM_WORKER = 4_000_000
MAX_VALUES_FROM_WORKER = 100_000
"""Limit on the values in a frame. Four million bytes of brackets keep the host busy for ten
seconds, and take a hundred times as much memory."""
MAX_DEPTH = 40
MAX_PATTERN_CHARS = 2_000
MAX_KEYS = 1_000
"""Limit on a set, and on a dict whose keys are not all text. Numbers can be chosen so that all
have the same hash, and ten thousand such keys keep the host busy for a minute."""
MAX_NAME_CHARS = 200
"""Limit on the name of a variable that outlives its step."""
# It never backtracks, so a line of quotes takes no longer than any other.
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.S)
_REGEX_FLAGS = int(re.A | re.I | re.M | re.S | re.X | re.U)

Special = Callable[[Any], "dict[str, Any] | None"]
"""Function that encodes types known to one side only (proxies, handles, callbacks), or returns
None for any other value."""
Unspecial = Callable[[str, Any], Any]
"""Function that decodes a tag known to one side only; raises WireError for an unknown tag."""


class WireError(ValueError):
    """Raised when a value cannot be encoded or a frame cannot be decoded."""


def to_line(frame: Mapping[str, Any], limit: int = MAX_TO_WORKER) -> bytes:
    """Encode a frame as a line of ASCII.

    Raises:
        WireError: it is not valid JSON, or longer than `limit` bytes.
    """
    try:
        line = json.dumps(frame, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
    except (ValueError, RecursionError, TypeError) as error:
        raise WireError(f"value does not fit the wire: {error}") from None
    if len(line) > limit:
        raise WireError(f"value is too large for the wire ({len(line)} bytes)")
    return line


def check_values(line: bytes) -> int:
    """Return the number of values in the line of a worker's frame, before it is decoded.

    Raises:
        WireError: there are too many.
    """
    found = _marks(line)
    if found > MAX_VALUES_FROM_WORKER:
        # Punctuation inside strings does not count as values.
        found = _marks(_TEXT.sub(b"", line))
    if found > MAX_VALUES_FROM_WORKER:
        raise WireError(f"value has more than {MAX_VALUES_FROM_WORKER:,} parts")
    return found


def _marks(line: bytes) -> int:
    return line.count(b",") + line.count(b"[") + line.count(b"{")


def from_line(line: bytes) -> dict[str, Any]:
    """Decode the frame that a line holds."""
    try:
        frame = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        raise WireError(f"unreadable frame: {type(error).__name__}") from None
    if not isinstance(frame, dict):
        raise WireError("a frame must be an object")
    return frame


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def encode(value: Any, special: Special, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise WireError("value is nested too deeply")
    if value is None or isinstance(value, bool | str):
        return value
    # Members of enumerations and other subclasses become plain numbers.
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, list):
        return [encode(item, special, depth + 1) for item in value]
    if isinstance(value, dict):
        return _encode_dict(value, special, depth)
    tagged = special(value)
    return tagged if tagged is not None else _encode_tagged(value, special, depth)


def _encode_dict(value: dict[Any, Any], special: Special, depth: int) -> Any:
    pairs = [
        (encode(k, special, depth + 1), encode(v, special, depth + 1)) for k, v in value.items()
    ]
    if all(isinstance(k, str) for k, _ in pairs) and not (
        len(pairs) == 1 and str(pairs[0][0]).startswith("$")
    ):
        return dict(pairs)
    _check_keys(value)
    return {"$dict": [list(pair) for pair in pairs]}


def _encode_tagged(value: Any, special: Special, depth: int) -> dict[str, Any]:
    match value:
        case bytes():
            return {"$bytes": base64.b64encode(value).decode("ascii")}
        case tuple():
            return {"$tuple": [encode(item, special, depth + 1) for item in value]}
        case set() | frozenset():
            _check_keys(value)
            return {"$set": [encode(item, special, depth + 1) for item in value]}
        case re.Pattern() if isinstance(value.pattern, str):
            if len(value.pattern) > MAX_PATTERN_CHARS:
                raise WireError("a regular expression is too long")
            return {"$re": [value.pattern, value.flags & _REGEX_FLAGS]}
        case datetime.datetime():
            return {"$datetime": value.isoformat()}
        case datetime.date():
            return {"$date": value.isoformat()}
        case datetime.time():
            return {"$time": value.isoformat()}
        case datetime.timedelta():
            return {"$timedelta": value.total_seconds()}
        case decimal.Decimal():
            return {"$decimal": str(value)}
    raise WireError(f"a {type(value).__name__} cannot cross the sandbox's border")


def _check_keys(keys: Sized) -> None:
    if len(keys) > MAX_KEYS:
        raise WireError(f"a set or dict of more than {MAX_KEYS} values cannot cross the border")


def decode(data: Any, special: Unspecial, depth: int = 0) -> Any:
    # A `$dict` is a list of lists, so one level of a value may take two levels of data.
    if depth > MAX_DEPTH * 2:
        raise WireError("data is nested too deeply")
    if isinstance(data, list):
        return [decode(item, special, depth + 1) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        (key,) = data
        if isinstance(key, str) and key.startswith("$"):
            return _decode_tagged(key, data[key], special, depth)
    return {key: decode(value, special, depth + 1) for key, value in data.items()}


def _decode_tagged(tag: str, data: Any, special: Unspecial, depth: int) -> Any:
    if tag in _OF_VALUES:
        if not isinstance(data, list):
            raise WireError(f"bad {tag}")
        # Nothing in a tuple is hashed, so its length does no harm.
        if tag != "$tuple":
            _check_keys(data)
        data = [decode(item, special, depth + 1) for item in data]
    elif tag not in _OF_TEXT:
        # Its errors pass through unchanged, as they may be ordinary mistakes of the code.
        return special(tag, data)
    make: Callable[[Any], Any] = _OF_VALUES.get(tag) or _OF_TEXT[tag]
    try:
        return make(data)
    except WireError:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError, re.error) as error:
        raise WireError(f"bad {tag}: {type(error).__name__}") from None


def _decode_pattern(data: Any) -> re.Pattern[str]:
    pattern, flags = data
    if not isinstance(pattern, str) or type(flags) is not int or flags & ~_REGEX_FLAGS:
        raise WireError("bad $re")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise WireError("a regular expression is too long")
    return re.compile(pattern, flags)


_OF_VALUES: dict[str, Callable[[Any], Any]] = {"$dict": dict, "$tuple": tuple, "$set": set}
_OF_TEXT: dict[str, Callable[[Any], Any]] = {
    "$float": float,
    "$bytes": lambda data: base64.b64decode(data, validate=True),
    "$re": _decode_pattern,
    "$datetime": datetime.datetime.fromisoformat,
    "$date": datetime.date.fromisoformat,
    "$time": datetime.time.fromisoformat,
    "$timedelta": lambda data: datetime.timedelta(seconds=data),
    "$decimal": decimal.Decimal,
}


def nothing_special(_value: Any) -> None:
    """Encode nothing: the `Special` for values without handles and callbacks."""


def no_tags(tag: str, _data: Any) -> Any:
    """Refuse every tag: the `Unspecial` for data without handles and callbacks."""
    raise WireError(f"unexpected {tag}")
