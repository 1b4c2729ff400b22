"""What counts as an element's text: what the page paints of it, and nothing that nobody sees."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from pytest_autoweb.agents.choice.disambiguate import resolve_apart
from pytest_autoweb.agents.choice.verify_choice import Choice, compare_mark
from pytest_autoweb.browser.marks.marking import line_of, mark_page
from pytest_autoweb.browser.page.frames import run_script

Show = Callable[[str], Page]

HIDDEN = {
    "clip": "position:absolute; clip:rect(0,0,0,0); width:9px; height:9px",
    "one pixel": "position:absolute; width:1px; height:1px; overflow:hidden",
    "clip path": "position:absolute; clip-path:inset(50%)",
    "off the page": "position:absolute; left:-9999px",
    "clear": "opacity:0",
    "colourless": "color:transparent",
    "no size": "font-size:0",
    "shrunk": "display:inline-block; transform:scale(0)",
    "circle": "display:inline-block; clip-path:circle(0)",
}


@pytest.mark.parametrize("style", HIDDEN.values(), ids=HIDDEN)
def test_text_that_nobody_sees_is_no_text_but_part_of_the_name(show: Show, style: str) -> None:
    page = show(f"<button>Delete<span style='{style}'> all messages</span></button>")

    [mark] = mark_page(page).marks

    assert (mark.text, mark.painted) == ("Delete", ("Delete",))
    assert line_of(mark) == '[1] button "Delete" (Delete all messages)'
    assert compare_mark("Delete", mark).matched == "text"
    assert compare_mark("Delete all messages", mark).matched == "name"


def test_what_is_painted_stays_as_the_browser_reads_it(show: Show) -> None:
    page = show(
        """<style>.cut { display: inline-block; width: 40px; overflow: hidden; white-space: nowrap;
          text-overflow: ellipsis } .veil { opacity: 0.5 }
          .gradient { background: linear-gradient(red, blue); color: transparent;
            background-clip: text; -webkit-background-clip: text }</style>
        <button><b>One</b> <span>two</span></button> <button class=cut>A text that is cut</button>
        <button class=veil>Half</button> <button><span class=gradient>Red blue</span></button>
        <button><div>First</div><div>second</div></button>
        <button><span style='text-transform: uppercase'>big</span></button>"""
    )

    assert sorted(mark.text for mark in mark_page(page).marks) == [
        *("A text that is cut", "BIG", "First second", "Half", "One two", "Red blue"),
    ]


def test_an_element_whose_only_text_is_hidden_is_an_icon_with_a_name(show: Show) -> None:
    page = show(
        "<button style='width:40px; height:30px; text-indent:-9999px; overflow:hidden'>Search"
        "</button><button style='width:30px; height:30px'>"
        "<span style='position:absolute; width:1px; height:1px; overflow:hidden'>Close</span>"
        "</button>"
    )

    search, close = mark_page(page).marks

    assert [search.painted, close.painted] == [(), ()]
    assert search.unseen
    assert close.unseen
    assert [compare_mark("Search", search).matched, compare_mark("X", close).code] == [
        *("name", "picture"),
    ]


def test_an_empty_field_is_named_by_its_label(show: Show) -> None:
    page = show(
        """<p><label>City <input id=a></label></p><p><label for=b>Street</label><input id=b
          placeholder="e.g. Main Street 1"></p>
        <p><span>Country</span> <input id=c placeholder="e.g. Norway"></p>
        <p><span>Post code</span> <input id=d title="digits only"></p>"""
    )
    marks = mark_page(page).marks

    taken = {
        text: (found.mark.number if found.mark else None, found.chosen.matched)
        for text in ("City", "Street", "Country", "Post code", "e.g. Norway", "Region")
        for found in [resolve_apart(Choice(None, text), marks)]
    }

    assert taken == {
        "City": (1, "text"),
        "Street": (2, "text"),
        "Country": (3, "text"),
        "Post code": (4, "text"),
        "e.g. Norway": (3, "text"),
        "Region": (None, ""),
    }


def test_what_stands_in_a_canvas_for_old_browsers_is_not_text(show: Show) -> None:
    page = show(
        """<canvas tabindex=0 onclick=1 width=200 height=80>Your browser is old</canvas>
        <p>Ann <button>Edit</button></p>
        <p><canvas width=50 height=20>Bo</canvas> <button>Edit</button></p>"""
    )

    marked = mark_page(page)

    assert marked.marks[0].painted == ()
    assert marked.marks[0].text == ""
    assert [mark.near for mark in marked.marks[1:]] == [("Ann",), ()]
    assert "old" not in run_script(page, "visible_text")
