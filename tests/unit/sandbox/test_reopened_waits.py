"""What outlasts a single call: handlers of overlays, waits that a continued step comes back to.

The browser is made up here. That both work on a page is tested in `tests/browser`.
"""

import itertools
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_up_facade import FakeObject, FakeSandbox, Locator
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from pytest_autoweb.browser.egress.browser_watch import WATCH
from pytest_autoweb.sandbox.call_frames import Callback
from pytest_autoweb.sandbox.facade import MAX_PAGES
from pytest_autoweb.sandbox.rules import Refusal


@pytest.fixture
def sandbox(tmp_path: Path) -> FakeSandbox:
    return FakeSandbox(tmp_path)


# -- overlays --------------------------------------------------------------------------


def test_a_handler_of_an_overlay_becomes_a_listener_and_goes_again(sandbox: FakeSandbox) -> None:
    heard: list[Any] = []
    sandbox.facade.listen = lambda *given: heard.append(given)
    cookies = Locator()

    sandbox.call("add_locator_handler", cookies, Callback(3), times=1, no_wait_after=True)
    sandbox.call("remove_locator_handler", cookies)

    (page, method, (locator, add), number), removed = heard
    assert (page, method, locator, number) == (sandbox.page, "add_locator_handler", cookies, 3)
    assert removed == (sandbox.page, "remove_locator_handler", cookies, 0)
    add("a handler")
    assert sandbox.made() == (
        "add_locator_handler",
        (cookies, "a handler"),
        {"times": 1, "no_wait_after": True},
    )


@pytest.mark.parametrize(
    ("method", "args", "kwargs"),
    [
        ("add_locator_handler", ["#cookies", Callback(1)], {}),
        ("remove_locator_handler", ["#cookies"], {}),
        ("add_locator_handler", [Locator()], {}),
        ("add_locator_handler", [Locator(), "a text"], {}),
        ("add_locator_handler", [Locator(), Callback(1)], {"force": True}),
    ],
)
def test_a_handler_of_an_overlay_is_a_locator_and_a_function(
    sandbox: FakeSandbox, method: str, args: list[Any], kwargs: dict[str, Any]
) -> None:
    heard: list[Any] = []
    sandbox.facade.listen = lambda *given: heard.append(given)

    with pytest.raises(TypeError, match=rf"^{method}\(\) takes a locator"):
        sandbox.call(method, *args, **kwargs)
    assert heard == []


# -- pages -----------------------------------------------------------------------------


def test_an_attempt_has_a_limit_on_its_pages(sandbox: FakeSandbox) -> None:
    context = FakeObject()
    context.pages = [object()] * (MAX_PAGES - 1)
    sandbox.call("new_page", on=context, kind="BrowserContext")
    context.pages.append(object())

    with pytest.raises(Refusal, match=f"the attempt has {MAX_PAGES} pages open") as refused:
        sandbox.call("new_page", on=context, kind="BrowserContext")
    assert refused.value.rule == "AW505"
    assert [name for name, _, _ in context.calls] == ["new_page"]


@pytest.mark.parametrize("lost", [False, True])
def test_a_page_that_was_lost_is_not_waited_for_again(
    sandbox: FakeSandbox, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    trusted: list[bool] = []
    monkeypatch.setattr(type(WATCH), "trust", lambda _, *, again: trusted.append(again))
    sandbox.deadline.page_lost = lost

    sandbox.call("click", "#a")
    with pytest.raises(ValueError, match="the event"):
        sandbox.call("on")

    assert trusted == [False, False] * lost


# -- waits -----------------------------------------------------------------------------


class Info(SimpleNamespace):
    """The event of a wait: `value` is None for one in vain, and raises what is an error."""

    done = False
    result: Any = "the event"

    def is_done(self) -> bool:
        return self.done

    @property
    def value(self) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class FakeWait:
    """A `with page.expect_…()` that knows how it was left."""

    def __init__(self, **options: Any) -> None:
        self.info, self.options = Info(), options
        self.left: list[Any] = []

    def __enter__(self) -> Any:
        return self.info

    def __exit__(self, *error: object) -> None:
        self.left.append(error[0])


class Waits:
    """A page on which every wait is kept."""

    def __init__(self, sandbox: FakeSandbox) -> None:
        self.sandbox = sandbox
        self.made: list[FakeWait] = []
        sandbox.page.expect_event = self.expect

    def expect(self, event: str, **options: Any) -> FakeWait:
        self.made.append(FakeWait(event=event, **options))
        return self.made[-1]

    def enter(self, **options: Any) -> Any:
        return self.sandbox.call("expect_event", "popup", **options)

    def leave(self, info: Any) -> None:
        self.sandbox.call("$exit", on=info, kind="EventInfo")


@pytest.fixture
def waits(sandbox: FakeSandbox) -> Waits:
    return Waits(sandbox)


def test_a_wait_whose_event_has_not_come_is_opened_again_without_a_limit_of_its_own(
    waits: Waits,
) -> None:
    first = waits.enter(timeout=300)
    handle = waits.sandbox.handles.add(first, "EventInfo", "info")

    waits.sandbox.facade.reopen_waits()

    before, after = waits.made
    assert before.left == [RuntimeError]
    assert before.options == {"event": "popup", "timeout": 300}
    assert after.options == {"event": "popup", "timeout": 3_600_000}
    ((number, wait),) = waits.sandbox.facade.open_waits.items()
    assert (number, wait.info, wait.timeout) == (id(after.info), after.info, 300)
    assert waits.sandbox.handles.get(handle)[0] is after.info
    after.info.done = True
    waits.leave(after.info)
    assert after.left == [None]
    assert waits.sandbox.facade.open_waits == {}


@pytest.mark.parametrize(
    ("done", "result", "again"),
    [
        (False, "the event", True),
        (True, "the event", False),
        (True, None, True),
        (True, PlaywrightTimeout("in vain"), True),
    ],
)
def test_only_a_wait_that_got_its_event_is_kept(
    waits: Waits, done: bool, result: Any, again: bool
) -> None:
    info = waits.enter()
    info.done, info.result = done, result

    waits.sandbox.facade.reopen_waits()

    assert [manager.left for manager in waits.made] == ([[RuntimeError], []] if again else [[]])


def test_waits_on_a_page_that_is_gone_stay_as_they_are_and_others_are_opened(
    waits: Waits,
) -> None:
    gone, alive = waits.enter(), waits.enter()
    again = waits.sandbox.facade.open_waits

    def closed() -> Any:
        raise RuntimeError("the page is closed")

    again[id(gone)] = again[id(gone)]._replace(again=closed)
    waits.sandbox.facade.reopen_waits()

    assert [manager.left for manager in waits.made] == [[], [RuntimeError], []]
    assert list(again) == [id(gone), id(waits.made[-1].info)]
    assert id(alive) not in again


def test_a_wait_that_was_opened_again_ends_with_the_limit_that_the_code_asked_for(
    waits: Waits,
) -> None:
    def turn(page: Any, seconds: float) -> None:
        assert (page, seconds) == (waits.sandbox.page, 0.02)

    waits.sandbox.deadline.spin = turn
    waits.enter(timeout=40)
    waits.sandbox.facade.reopen_waits()
    late = waits.made[-1]

    with pytest.raises(PlaywrightTimeout, match=r"^Timeout 40ms exceeded while waiting for the"):
        waits.leave(late.info)
    assert late.left == []
    assert list(waits.sandbox.facade.open_waits) == [id(late.info)]


def test_the_time_that_models_take_is_no_part_of_a_wait(waits: Waits) -> None:
    waits.enter(timeout=1)
    waits.sandbox.facade.reopen_waits()
    info = waits.made[-1].info
    thought = itertools.count(0.0)
    waits.sandbox.border.waited = lambda: next(thought)
    turns: list[float] = []

    def turn(page: Any, seconds: float) -> None:
        time.sleep(0.002)
        turns.append(seconds)
        info.done = len(turns) == 2

    waits.sandbox.deadline.spin = turn
    waits.leave(info)

    assert waits.made[-1].left == [None]
