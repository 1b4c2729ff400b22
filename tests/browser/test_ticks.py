"""Ticking boxes that go away, or are drawn anew, by their own click."""

import pytest
from playwright.sync_api import Error, Page, TimeoutError

from pytest_autoweb.browser.page.same_element import on_same
from pytest_autoweb.sandbox.ticks import tick, tick_in

BOX = "<label><input type=checkbox {}>Buy {}</label><br>"
GONE = "onclick='this.parentNode.remove()'"
DRAWN_ANEW = "onclick='const next = this.cloneNode(); next.checked = {}; this.replaceWith(next)'"
LEAVES = "(check() was done, and the box is gone from the page since)"
# Long enough for a page that answers at once; a wait for the box to come back would end there.
SOON = {"timeout": 2_000.0}


def boxes(page: Page) -> int:
    return page.locator("input").count()


@pytest.mark.parametrize("method", ["check", "set_checked"])
def test_a_box_that_its_click_removes_is_not_waited_for(blank: Page, method: str) -> None:
    blank.set_content(BOX.format(GONE, "milk"))
    values = [True] if method == "set_checked" else []

    said = tick_in(blank.get_by_label("Buy milk"), method, values, SOON)

    assert said == LEAVES.replace("check()", f"{method}()")
    assert boxes(blank) == 0


def test_a_selector_of_a_page_is_ticked_as_well(blank: Page) -> None:
    blank.set_content(BOX.format(GONE, "milk") + BOX.format(GONE, "eggs"))

    assert tick_in(blank, "check", [], {"selector": "input", **SOON}) == LEAVES
    assert boxes(blank) == 1


def test_a_box_of_a_frame_is_looked_at_there(blank: Page) -> None:
    framed = BOX.format(GONE, "milk") + BOX.format("", "eggs")
    blank.set_content(f'{BOX.format("", "milk")}<iframe srcdoc="{framed}"></iframe>')
    frame = blank.frame_locator("iframe")

    assert tick(frame.locator("input").first, "check", [], SOON) == LEAVES
    assert tick(frame.get_by_label("Buy eggs"), "check", [], SOON) == ""
    assert frame.get_by_label("Buy eggs").is_checked()


def test_a_box_that_is_missing_is_named_as_the_code_names_it(blank: Page) -> None:
    with pytest.raises(TimeoutError, match="Buy tea") as raised:
        tick(blank.get_by_label("Buy tea"), "check", [], {"timeout": 50.0})

    assert "same" not in str(raised.value)


def test_of_a_list_no_other_box_is_asked(blank: Page) -> None:
    blank.set_content(BOX.format(GONE, "milk") + BOX.format("", "milk"))
    first = blank.get_by_label("Buy milk").first

    said, _ = on_same(first, "check", lambda box: tick(box, "check", [], SOON))

    assert said == LEAVES
    assert boxes(blank) == 1


def test_a_box_that_is_drawn_anew_is_looked_at(blank: Page) -> None:
    blank.set_content(BOX.format(DRAWN_ANEW.format("true"), "milk"))
    assert tick_in(blank.get_by_label("Buy milk"), "check", [], SOON) == ""

    blank.set_content(BOX.format(DRAWN_ANEW.format("false"), "milk"))
    with pytest.raises(Error, match="did not change its state"):
        tick_in(blank.get_by_label("Buy milk"), "check", [], SOON)


def test_a_box_stays_as_playwright_leaves_it(blank: Page) -> None:
    blank.set_content(
        BOX.format("", "milk")
        + BOX.format("checked", "eggs")
        + BOX.format("onclick='event.preventDefault()'", "tea")
        + "<input type=radio checked aria-label=One>"
    )

    assert tick_in(blank.get_by_label("Buy milk"), "check", [], SOON) == ""
    assert tick_in(blank.get_by_label("Buy eggs"), "uncheck", [], SOON) == ""
    assert tick_in(blank.get_by_label("Buy eggs"), "check", [], {**SOON, "trial": True}) == ""

    state = "() => [...document.querySelectorAll('input')].map((box) => box.checked)"
    assert blank.evaluate(state) == [True, False, False, True]
    for box, method, why in (("Buy tea", "check", "did not change"), ("One", "uncheck", "radio")):
        with pytest.raises(Error, match=why):
            tick_in(blank.get_by_label(box), method, [], SOON)
