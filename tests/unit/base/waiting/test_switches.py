"""Listeners are told of switches between greenlets until they leave, in whichever order they do."""

from typing import Any

import greenlet  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.waiting.switches import SWITCHES


def switch() -> None:
    greenlet.greenlet(lambda: None).switch()


@given(st.permutations(range(4)))
def test_a_listener_hears_nothing_after_it_left_and_the_others_go_on(order: list[int]) -> None:
    before = greenlet.gettrace()
    told: list[int] = []
    listeners = [lambda *_, number=number: told.append(number) for number in range(4)]
    for listener in listeners:
        SWITCHES.add(listener)

    left = set(range(4))
    for number in order:
        told.clear()
        switch()
        assert set(told) == left
        SWITCHES.remove(listeners[number])
        left.remove(number)

    told.clear()
    switch()
    assert told == []
    assert greenlet.gettrace() is before


def test_a_trace_function_of_others_is_called_as_well_and_set_again() -> None:
    told: list[str] = []

    def theirs(event: str, _: tuple[Any, Any]) -> None:
        told.append(f"theirs {event}")

    def ours(event: str, _: tuple[Any, Any]) -> None:
        told.append(f"ours {event}")

    before = greenlet.settrace(theirs)
    try:
        SWITCHES.add(ours)
        switch()
        SWITCHES.remove(ours)
        assert greenlet.gettrace() is theirs
    finally:
        greenlet.settrace(before)
    assert {"ours switch", "theirs switch"} <= set(told)
