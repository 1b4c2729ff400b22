"""The benchmark of listings sees on the page itself what a listing may lose."""

import pytest
from playwright.sync_api import Page

from benchmarks.capture.entries import outline_entries, tag_entries
from benchmarks.capture.score import Score, score
from benchmarks.capture.smallest import SMALLEST
from benchmarks.capture.truth import Truth, find_truth

USED = {
    "row": [("clickable", "INV-1 Ann")],
    "cell": [("clickable", "INV-1")],
    "header": [("clickable", "Date")],
    "drawing": [("clickable", "")],
    "roleless": [("clickable", "One"), ("clickable", "Two")],
    "title only": [("clickable", "Change picture")],
    "lone in item": [("clickable", "Go")],
    "lone in cell": [("clickable", "Go")],
    "lone in text": [("clickable", "here")],
    "sign": [("clickable", "✖")],
    "listener": [("clickable", "Go")],
    "blocks": [("clickable", "Draft 3 $8")],
    "delegated": [("clickable", "INV-1"), ("checkbox", "")],
    "same text": [("button", "Open")],
    "details": [("clickable", "Advanced")],
    "shadow": [("button", "Approve")],
    "frame": [("button", "Buy"), ("clickable", "Terms")],
    "label and text": [("clickable", "Change picture")],
    "neighbours": [("button", "edit"), ("button", "remove")],
}
STATES = {
    "ticked": [("A", "checked"), ("B", "disabled"), ("C", "pressed"), ("D", "expanded")],
    "collapsed": [("More", "collapsed")],
    "details": [("Advanced", "collapsed")],
    "shadow": [("Approve", "disabled")],
    "current": [("A", "chosen")],
    "class": [("All", "chosen")],
}
OPTIONS = {
    "option label": [("(unset)", True, False), ("2.4", False, False)],
    "optgroup": [("Rome", False, False), ("Oslo", True, False)],
    "disabled option": [("S", True, False), ("M", False, True)],
}


def truth_of(page: Page, markup: str) -> Truth:
    page.set_content(markup)
    for frame in page.frames[1:]:
        frame.wait_for_load_state()
    return find_truth(page)


@pytest.mark.parametrize("name", USED)
def test_what_a_person_can_use_is_found(blank: Page, name: str) -> None:
    found = truth_of(blank, SMALLEST[name]).elements

    assert [(one.kind, one.names[0] if one.names else "") for one in found] == USED[name]


@pytest.mark.parametrize("name", STATES)
def test_states_are_found(blank: Page, name: str) -> None:
    found = truth_of(blank, SMALLEST[name]).elements

    assert [(one.names[0], state) for one in found for state in one.states] == STATES[name]


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_found(blank: Page, name: str) -> None:
    (found,) = truth_of(blank, SMALLEST[name]).elements

    assert [(one.text, one.chosen, one.disabled) for one in found.options] == OPTIONS[name]


def test_placeholders_and_values_are_found(blank: Page) -> None:
    fields = truth_of(blank, SMALLEST["placeholders"]).elements
    (note,) = truth_of(blank, SMALLEST["line breaks"]).elements

    assert [one.placeholder for one in fields] == ["Find", "42", "City", "As on the invoice"]
    assert note.value == "one\ntwo"


def test_equal_texts_are_counted_and_blocks_are_not_joined(blank: Page) -> None:
    assert truth_of(blank, SMALLEST["same text"]).texts == ("Open", "Ticket 1", "Open")
    assert truth_of(blank, SMALLEST["neighbours"]).texts == ("v4.2", "Security", "edit", "remove")


@pytest.mark.parametrize(
    "markup",
    [
        pytest.param('<button style="opacity:0">A</button>', id="transparent"),
        pytest.param('<button style="visibility:hidden">A</button>', id="hidden"),
        pytest.param('<button style="position:absolute;left:-999px">A</button>', id="away"),
        pytest.param(
            "<button>A</button>"
            '<div style="position:fixed;inset:0;background:white;z-index:1"></div>',
            id="covered",
        ),
        pytest.param(
            '<div style="overflow:hidden;height:20px"><p style="height:90px"></p>'
            "<button>A</button></div>",
            id="clipped",
        ),
        pytest.param("<details><summary></summary><button>A</button></details>", id="closed"),
        pytest.param(
            '<span style="position:absolute;width:1px;height:1px;overflow:hidden">A</span>',
            id="for screen readers",
        ),
    ],
)
def test_what_nobody_can_see_is_not_counted(blank: Page, markup: str) -> None:
    found = truth_of(blank, markup)

    assert "A" not in [name for one in found.elements for name in one.names]
    assert found.texts == ()


def test_what_is_below_the_window_counts(blank: Page) -> None:
    found = truth_of(blank, '<p style="height:3000px"></p><button>Send</button>')

    assert [one.names for one in found.elements] == [("Send",)]
    assert found.texts == ("Send",)


def scored(page: Page, markup: str, listing: str) -> Score:
    truth = truth_of(page, markup)
    return score(truth, listing, outline_entries(listing))


LISTED = [
    ("row", 'clickable row "INV-1 Ann"', "row: INV-1 | Ann"),
    ("lone in item", "listitem: clickable: Go", "listitem: Go"),
    ("roleless", "clickable: One\nclickable: Two", "text: One Two"),
    (
        "same text",
        'e1 button "Open"\ntext: Ticket 1\ntext: Open',
        'e1 button "Open"\ntext: Ticket 1',
    ),
    ("collapsed", 'button "More" [collapsed]', 'button "More"'),
    ("details", 'summary "Advanced" [collapsed]', 'summary "Advanced"'),
    (
        "option label",
        'combobox "Milestone": (unset) [selected] | 2.4',
        'combobox "Milestone":  [selected] | 2.4',
    ),
    ("line breaks", 'textbox "Note": one\\ntwo', 'textbox "Note": one two'),
    ("label and text", 'clickable "Change picture": AM', 'clickable "Change picture"'),
    (
        "disabled option",
        'e1 combobox "Size" options "S", "M" (disabled); selected "S"',
        'e1 combobox "Size" options "S", "M"; selected "S"',
    ),
    ("class", 'link "All" [selected]\nlink "Open"', 'link "All"\nlink "Open"'),
]


@pytest.mark.parametrize(
    ("name", "whole", "lossy"), [pytest.param(*case, id=case[0]) for case in LISTED]
)
def test_a_loss_is_seen_and_a_whole_listing_has_none(
    blank: Page, name: str, whole: str, lossy: str
) -> None:
    assert scored(blank, SMALLEST[name], whole).lost == []
    assert scored(blank, SMALLEST[name], lossy).lost != []


NOTATIONS = [
    ('- button "Save" [ref=e3] [disabled]', "button", "Save"),
    ("- 'button \"Fewer: Adults\" [ref=e3]'", "button", "Fewer: Adults"),
    ('uid=1_2 button "Save" disableable disabled', "button", "Save"),
    ("[12] button 'It\\'s', clickable, disabled=True", "button", "It's"),
    ("[0-5] button: Save", "button", "Save"),
    ('- generic "Go" [ref=e5] clickable [cursor:pointer, onclick]', "generic", "Go"),
    ("- generic [ref=e2] [cursor=pointer]:\n  - generic [ref=e4]: Go", "generic", "Go"),
]


@pytest.mark.parametrize(("listing", "role", "name"), NOTATIONS)
def test_notations_of_others_are_read(listing: str, role: str, name: str) -> None:
    (entry,) = outline_entries(listing)

    assert (entry.role, entry.name) == (role, name)


def test_a_role_may_be_said_once_for_a_row_of_them() -> None:
    listing = 'row: Ann | e1 button "Edit" | e2 "Remove" [disabled] | e3 link "More"'

    assert [(entry.number, entry.role, entry.name) for entry in outline_entries(listing)] == [
        ("e1", "button", "Edit"),
        ("e2", "button", "Remove"),
        ("e3", "link", "More"),
    ]


def test_a_listing_of_tags_is_read() -> None:
    listing = "[7]<button aria-expanded=false />\n\tMore\n[8]<input type=checkbox checked=true />"

    assert [(entry.role, entry.name) for entry in tag_entries(listing)] == [
        ("button", "More"),
        ("checkbox", ""),
    ]
