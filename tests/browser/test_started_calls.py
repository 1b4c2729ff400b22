"""Calls to the browser that go on while their caller makes others."""

import time

import pytest
from playwright.sync_api import Error, Page

from pytest_autoweb.base import waiting

COUNT = "() => { window.asked = (window.asked || 0) + 1; return window.asked }"
LATER = "() => new Promise((done) => { window.answer = done })"


def test_the_browser_gets_it_before_what_its_caller_asks_next(page: Page) -> None:
    first = waiting.start_call(page, lambda: page.evaluate(COUNT))
    second = page.evaluate(COUNT)

    assert (first(), second) == (1, 2)


def test_it_goes_on_while_its_caller_makes_other_calls(page: Page) -> None:
    answered = waiting.start_call(page, lambda: page.evaluate(LATER))

    page.evaluate("() => window.answer('tea')")

    assert answered() == "tea"
    assert answered() == "tea"


def test_two_go_on_at_the_same_time(page: Page) -> None:
    pause = "() => new Promise((done) => setTimeout(done, 400))"
    began = time.monotonic()
    both = [waiting.start_call(page, lambda: page.evaluate(pause)) for _ in range(2)]
    for end in both:
        end()

    assert time.monotonic() - began < 0.79


def test_its_error_is_raised_to_whoever_waits_for_it(page: Page) -> None:
    failed = waiting.start_call(
        page, lambda: page.evaluate("() => { throw new Error('sold out') }")
    )

    assert page.evaluate("() => 1") == 1
    with pytest.raises(Error, match="sold out"):
        failed()


def test_so_is_an_interruption(page: Page) -> None:
    def interrupted() -> None:
        page.evaluate("() => 1")
        raise KeyboardInterrupt

    ended = waiting.start_call(page, interrupted)

    assert page.evaluate("() => 2") == 2
    with pytest.raises(KeyboardInterrupt):
        ended()


def test_one_that_nobody_waits_for_does_no_harm(page: Page) -> None:
    waiting.start_call(page, lambda: page.evaluate(LATER))
    waiting.start_call(page, lambda: page.evaluate("() => { throw new Error('sold out') }"))
    page.close()

    assert page.context.new_page().evaluate("() => 1") == 1


def test_what_is_not_playwrights_is_called_at_once() -> None:
    asked = iter(("tea", "rice"))
    ended = waiting.start_call(object(), lambda: next(asked))

    assert next(asked) == "rice"
    assert ended() == "tea"
