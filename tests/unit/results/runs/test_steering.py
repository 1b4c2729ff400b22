"""The file of orders to a run: what is read of it, whatever stands in it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.results.runs.giving_orders import give_order
from pytest_autoweb.results.runs.steering import (
    STEERING_FILE,
    Order,
    course,
    orders,
    since,
    steering_notes,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
VALUES = st.text(min_size=1, max_size=50).filter(lambda text: text.isprintable())
LINES = st.one_of(
    st.binary(max_size=80).filter(lambda line: b"\n" not in line),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20) | st.just("pause"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["kind", "value", "at", "by", "x"]), inner)
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
    st.just(b"[" * 5000),
    st.just(b'{"kind":"in-flight","value":"' + b"9" * 400 + b'"}'),
)


@given(
    models=st.lists(VALUES, max_size=4), wild=st.lists(LINES, max_size=6), cut=st.integers(0, 90)
)
def test_orders_are_read_back_whatever_else_the_file_holds(
    tmp_path_factory: pytest.TempPathFactory, models: list[str], wild: list[bytes], cut: int
) -> None:
    run = tmp_path_factory.mktemp("run")
    mine = [Order("stop-model", model, NOON, "a test") for model in models]
    for order in mine:
        with (run / STEERING_FILE).open("ab") as file:
            file.writelines(line + b"\n" for line in wild)
        give_order(run, order)

    assert [order for order in orders(run) if order.by == "a test"] == mine

    # The last line was cut off, as by the end of a process, and another one follows.
    whole = (run / STEERING_FILE).read_bytes() if mine else b""
    (run / STEERING_FILE).write_bytes(whole[: len(whole) - cut])
    give_order(run, Order("pause", at=NOON, by="a test"))
    found = [order for order in orders(run) if order.by == "a test"]
    assert found[-1].kind == "pause"
    assert found[:-1] == mine[: len(found) - 1]


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "pause", "value": "x"},
        {"kind": "stop-model"},
        {"kind": "cap-cost", "value": "-1"},
        {"kind": "in-flight", "value": "nan"},
        {"kind": "cap-time", "value": "٣"},
        {"kind": "fly"},
        {"kind": "pause", "at": datetime(2026, 3, 1)},
    ],
)
def test_an_order_without_sense_is_none(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"order|validation error|number|time zone"):
        Order(**fields)


def test_the_latest_order_wins_and_those_to_an_earlier_session_do_not_hold(tmp_path: Path) -> None:
    later = NOON + timedelta(minutes=1)
    for order in (
        Order("pause", at=NOON),
        Order("stop-case", "login", at=NOON),
        Order("cap-cost", "5", at=later),
        Order("cap-cost", "2.5", at=later),
        Order("pause", at=later),
        Order("stop-model", "fake/a", at=later),
    ):
        give_order(tmp_path, order)

    now = course(since(orders(tmp_path), later.timestamp()))

    assert now.pause is not None
    assert now.cost is not None
    assert now.cost.number == 2.5
    assert now.why_not("fake/a", "x").startswith("stopped by `stop-model fake/a` at ")
    assert now.why_not("fake/b", "login") == ""


def test_what_was_steered_is_told_with_what_it_makes_incomparable() -> None:
    given = (
        Order("pause", at=NOON),
        Order("go-on", at=NOON + timedelta(seconds=90)),
        Order("cap-time", "1800", at=NOON),
    )

    told = list(steering_notes(given))

    assert told[0].startswith("steered: ")
    assert "cap time 30m" in told[0]
    assert told[1].startswith("paused for 90 s in all")
    assert told[2].startswith("a cap was changed")
    assert list(steering_notes(())) == []
