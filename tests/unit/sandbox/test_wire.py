"""Values and frames on the pipe between the host and the worker."""

import datetime
import decimal
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.sandbox.call_frames import read_frame
from pytest_autoweb.sandbox.frame_codec import (
    MAX_PATTERN_CHARS,
    WireError,
    decode,
    encode,
    from_line,
    no_tags,
    nothing_special,
    to_line,
)

PATIENT = settings(deadline=None)  # the machine may be busy
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.dates(),
    st.datetimes(timezones=st.none() | st.just(datetime.UTC)),
    st.times(),
    st.decimals(allow_nan=False),
    st.sampled_from(["$re", "$p", "$dict"]),
    st.from_regex(r"[a-z]{0,5}", fullmatch=True).map(lambda p: re.compile(p, re.I | re.M)),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5) | st.integers() | st.just("$tuple"), inner, max_size=4
        )
        | st.tuples(inner, inner)
        | st.sets(st.integers(), max_size=4)
    ),
    max_leaves=15,
)


def there_and_back(value: Any) -> Any:
    return decode(from_line(to_line({"value": encode(value, nothing_special)}))["value"], no_tags)


@pytest.mark.long
@PATIENT
@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = there_and_back(value)

    assert (back, type(back)) == (value, type(value))


@pytest.mark.parametrize("number", [math.inf, -math.inf])
def test_infinite_numbers_come_back(number: float) -> None:
    assert there_and_back([number]) == [number]


def test_a_number_that_is_none_comes_back() -> None:
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize(
    "value", [object(), print, {1: object()}, b"x".hex, re.compile(b"x"), re.compile("a" * 3_000)]
)
def test_what_cannot_cross_is_an_error(value: Any) -> None:
    with pytest.raises(WireError):
        encode(value, nothing_special)


def test_a_value_within_itself_is_an_error() -> None:
    loop: list[Any] = []
    loop.append(loop)

    with pytest.raises(WireError):
        encode(loop, nothing_special)


@pytest.mark.parametrize(
    "data",
    [
        {"$re": ["(", 0]},
        {"$re": ["a", 1 << 40]},
        {"$re": ["a"]},
        {"$re": ["a" * (MAX_PATTERN_CHARS + 1), 0]},
        {"$bytes": "§"},
        {"$bytes": 5},
        {"$date": "yesterday"},
        {"$timedelta": "x"},
        {"$decimal": "x"},
        {"$dict": [[[], 1]]},
        {"$dict": 5},
        {"$set": [[1]]},
        {"$unknown": 1},
        {"$p": {"root": "h1"}},
        {"$cb": 1},
    ],
)
def test_a_bad_tag_is_an_error_of_the_wire(data: Any) -> None:
    with pytest.raises(WireError):
        decode(data, no_tags)


def test_a_frame_that_is_too_long_is_not_written() -> None:
    with pytest.raises(WireError):
        to_line({"text": "x" * 100}, limit=50)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["op", "id", "text", "root", "chain", "names", "$re"]) | st.text(),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@PATIENT
@given(st.binary(max_size=100) | JSON.map(lambda data: json.dumps(data).encode()))
def test_no_bytes_of_a_worker_raise_anything_but_an_error_of_the_wire(line: bytes) -> None:
    try:
        frame = read_frame(line)
    except WireError:
        return

    assert frame["op"] in {"begun", "ready"}


@PATIENT
@given(st.sampled_from(["log", "answer", "call", "cbdone", "done", "denied"]), JSON)
def test_no_known_operation_passes_with_another_shape(op: str, data: Any) -> None:
    frame = {**(data if isinstance(data, dict) else {}), "op": op, "extra": 1}

    with pytest.raises(WireError):
        read_frame(json.dumps(frame).encode())


@pytest.mark.parametrize(
    "line",
    [
        b'{"op":"log","text":"a","text2":1}',
        b'{"op":"log"}',
        b'{"op":["log"],"text":"a"}',
        b'{"op":"cbdone","id":true,"value":null,"error":null}',
        b'{"op":"cbdone","id":1,"value":1,"error":null}',
        b'{"op":"log","text":Infinity}',
        b"[" * 50_000,
        b"null",
        b'"log"',
    ],
)
def test_a_misshapen_frame_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        read_frame(line)


def test_text_of_a_worker_can_always_be_written_down() -> None:
    frame = read_frame(b'{"op":"log","text":"a\\ud800b","line":1}')

    assert frame["text"] == "a\ufffdb"


def test_decimals_keep_their_digits() -> None:
    assert str(there_and_back(decimal.Decimal("1.10"))) == "1.10"
