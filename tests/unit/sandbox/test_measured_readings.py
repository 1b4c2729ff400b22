"""Readings and pictures are measured first; the page is made up here."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import Error

from pytest_autoweb.sandbox import size_limits
from pytest_autoweb.sandbox.call_frames import Bound
from pytest_autoweb.sandbox.measured_readings import measure, reads
from pytest_autoweb.sandbox.rules import Refusal

LARGE = size_limits.MAX_READ + 1


class Measured:
    """Gives one number, or raises it, whatever it is asked; keeps the questions."""

    def __init__(self, gives: Any) -> None:
        self._gives = gives
        self.asked: list[str] = []
        self.selectors: list[str] = []

    def evaluate(self, script: str) -> Any:
        self.asked.append(script)
        if isinstance(self._gives, Exception):
            raise self._gives
        return self._gives

    evaluate_all = evaluate

    def locator(self, selector: str) -> "Measured":
        self.selectors.append(selector)
        return self


def bound(kind: str, method: str, item: Any, *, page: Any = None, frames: int = 1) -> Bound:
    receiver = SimpleNamespace(kind=kind, object=item, subject=None)
    shown = SimpleNamespace(frames=[None] * frames, evaluate=(page or Measured(LARGE)).evaluate)
    return cast(Bound, SimpleNamespace(receiver=receiver, method=method, page=shown))


@pytest.mark.parametrize(
    ("kind", "method", "measured"),
    [
        ("Page", "screenshot", True),
        ("Locator", "inner_text", True),
        ("Page", "content", True),
        ("Page", "click", False),
    ],
)
def test_what_may_be_of_any_length_is_measured(kind: str, method: str, measured: bool) -> None:
    assert reads(kind, method) is measured


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(Refusal, match=r"inner_text\(\) would read 2,000,001 characters"):
        measure(bound("Locator", "inner_text", Measured(LARGE)), [], {})
    measure(bound("Locator", "inner_text", Measured(LARGE - 1)), [], {})


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("Locator", "inner_text"),
        ("Locator", "select_option"),
        ("LocatorAssertions", "to_have_text"),
    ],
)
def test_an_element_of_a_small_page_is_not_measured(kind: str, method: str) -> None:
    item, small = Measured(LARGE), Measured(size_limits.MAX_READ)

    measure(bound(kind, method, item, page=small), [], {})

    of_all = size_limits.of_all_elements(size_limits.script_of_reading(kind, method))
    assert (item.asked, small.asked) == ([], [of_all])


@pytest.mark.parametrize(
    ("page", "frames"), [(Measured(1), 2), (Measured(Error("gone")), 1), (Measured("many"), 1)]
)
def test_an_element_is_measured_where_the_page_may_be_large(page: Measured, frames: int) -> None:
    item = Measured(LARGE)

    with pytest.raises(Refusal):
        measure(bound("Locator", "inner_text", item, page=page, frames=frames), [], {})
    assert len(item.asked) == 1


@pytest.mark.parametrize(("args", "kwargs"), [(["#a"], {}), ([], {"selector": "#a"})])
def test_a_reading_by_selector_measures_that_element(args: list[Any], kwargs: Any) -> None:
    page = Measured(LARGE)

    with pytest.raises(Refusal):
        measure(bound("Page", "inner_text", page), args, kwargs)
    assert page.selectors == ["#a"]
    assert page.asked == [size_limits.script_of_reading("Page", "inner_text")]


def test_what_cannot_be_measured_is_left_to_the_call() -> None:
    measure(bound("Locator", "inner_text", Measured(Error("gone"))), [], {})
    measure(bound("Page", "inner_text", Measured(LARGE)), [5], {})


@pytest.mark.parametrize(
    ("kind", "kwargs", "script"),
    [
        ("Locator", {}, size_limits.FIRST_ELEMENT),
        ("Page", {"full_page": True}, size_limits.WHOLE_PAGE),
    ],
)
def test_a_picture_has_so_many_pixels(kind: str, kwargs: Any, script: str) -> None:
    item = Measured([10_000, 4_001])

    with pytest.raises(Refusal, match="a picture has at most 40,000,000 pixels"):
        measure(bound(kind, "screenshot", item), [], kwargs)
    assert item.asked == [script]
    measure(bound(kind, "screenshot", Measured([10_000, 4_000])), [], kwargs)


def test_a_part_of_the_page_is_measured_by_its_sides() -> None:
    page = Measured(None)

    with pytest.raises(Refusal, match="a picture has at most"):
        measure(bound("Page", "screenshot", page), [], {"clip": {"width": 10_000, "height": 4_001}})
    measure(bound("Page", "screenshot", page), [], {"clip": {"width": 10_000, "height": 4_000}})
    measure(bound("Page", "screenshot", page), [], {})
    assert page.asked == []
