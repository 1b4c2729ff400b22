"""What models that work by turns are shown of a page: in brief, without what is out of sight."""

import re

import pytest
from playwright.sync_api import Page

from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.outline import Folds
from pytest_autoweb.browser.page.own_world import register_own_world
from pytest_autoweb.results.records import CaptureModeName

NO_READER = "position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)"


@pytest.fixture(autouse=True)
def listed(blank: Page) -> None:
    """Let elements be found again, as where a case opens its page."""
    register_own_world(blank)


def listing(
    page: Page,
    html: str = "",
    budget: int = 4_000,
    folds: Folds | None = None,
    mode: CaptureModeName = "ARIA",
) -> str:
    """Return the listing of a document."""
    if html:
        page.set_content(f"<body>{html}</body>")
    return capture_snapshot(
        page,
        mode,
        url="http://127.0.0.1/",
        entry_action="",
        step_indexes=(1,),
        budget_tokens=budget,
        folds=folds or Folds(),
    ).text


@pytest.mark.parametrize(
    "hidden",
    [
        f"<button style='{NO_READER}'>Pay</button>",
        f"<a href=/pay style='{NO_READER}'>Pay</a>",
        "<button style='position:absolute;left:-9999px'>Pay</button>",
        "<div style='height:0;overflow:hidden'><button>Pay</button></div>",
        "<button style='position:absolute;clip-path:inset(50%)'>Pay</button>",
        "<button style='width:1px;height:1px;padding:0;border:0;overflow:hidden'>Pay</button>",
        "<div style='position:fixed;left:-400px;width:300px'><button>Pay</button></div>",
    ],
)
def test_what_nobody_can_see_is_left_out(blank: Page, hidden: str) -> None:
    text = listing(blank, f"<button>Save</button>{hidden}")

    assert text == 'button "Save"'


@pytest.mark.parametrize(
    "shown",
    [
        "<div style='height:3000px'></div><button>Pay</button>",
        "<div style='height:50px;overflow:auto'><p style='height:400px'></p>"
        "<button>Pay</button></div>",
        "<button style='padding:0'><span style='position:relative'>Pay</span></button>",
        "<div style='position:fixed;top:0;height:60px;width:100%;background:red'></div>"
        "<button>Pay</button>",
        "<label><input type=checkbox style='opacity:0'>Pay</label>",
        "<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML="
        "'<button><b>Pay</b></button>'</script>",
        "<iframe srcdoc='<button>Pay</button>'></iframe>",
        "<div style='position:fixed;inset:0;overflow:auto'><p style='height:3000px'></p>"
        "<button>Pay</button></div>",
    ],
)
def test_what_can_be_reached_is_shown_without_a_mark(blank: Page, shown: str) -> None:
    text = listing(blank, shown)

    assert re.search(r'(button|checkbox) "Pay"$', text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("html", "line"),
    [
        (
            "<div style='position:relative'><button>Pay</button>"
            "<p style='position:absolute;inset:0;margin:0;background:red'>soon</p></div>",
            'button "Pay" [covered] | soon',
        ),
        (
            "<div style='width:300px;overflow:hidden;white-space:nowrap'>"
            "<span style='display:inline-block;width:400px'></span><button>Pay</button></div>",
            'button "Pay" [clipped]',
        ),
        (
            f"<label><input type=checkbox style='{NO_READER}'>I agree</label>",
            'checkbox "I agree" [by label]',
        ),
        (
            "<div style='opacity:0.01'><button>Pay</button></div>",
            'button "Pay" [transparent]',
        ),
        (
            f"<input type=file aria-label=Receipt style='{NO_READER}'>",
            'button "Receipt" [not visible] (file)',
        ),
    ],
)
def test_what_cannot_be_pressed_as_it_is_is_marked(blank: Page, html: str, line: str) -> None:
    assert line in listing(blank, html).splitlines()


@pytest.mark.parametrize(
    "dialog",
    [
        "<dialog id=d>Sure? <button>Yes</button></dialog><script>d.showModal()</script>",
        "<div style='position:fixed;inset:0;background:#0008'></div>"
        "<div role=dialog aria-modal=true style='position:fixed;top:9px;left:9px;background:#fff'>"
        "Sure? <button>Yes</button></div>",
        "<div style='position:fixed;inset:0;background:#fff'>Sure? <button>Yes</button></div>",
    ],
)
def test_what_lies_behind_a_dialog_is_only_counted(blank: Page, dialog: str) -> None:
    behind = "<button>Pay</button><p style='height:3000px'></p><a href=/x>Far</a>"

    text = listing(blank, behind + dialog)

    assert "Yes" in text
    assert "Pay" not in text
    assert "Far" not in text
    assert text.endswith("(2 elements behind this: close it first)")


def test_addresses_are_shown_where_names_do_not_tell_links_apart(blank: Page) -> None:
    text = listing(
        blank,
        "<base href='http://x.example'><a href='/start?session=1'>Start</a>"
        "<ul><li><a href='/item/1/edit'>Edit</a></li>"
        "<li><a href='/item/2/edit'>Edit</a></li></ul>"
        "<a href='/chart?id=4'><span></span>&nbsp;</a>",
    )

    assert text.replace("http://x.example", "").splitlines() == [
        'link "Start"',
        'link "Edit" -> …/1… | "Edit" -> …/2…',
        "link -> /chart?id=4",
    ]


def test_rows_paragraphs_and_choices_stand_on_one_line(blank: Page) -> None:
    text = listing(
        blank,
        "<table><tr><th>Name<th>Age</tr><tr><td>Ann<td><td><button>Edit</button></tr></table>"
        "<p>Read <b>all</b> of <a href=/t>the terms</a>.</p>"
        "<select aria-label=City><option>Rome<option selected>Oslo</select>",
    )

    assert text.splitlines() == [
        "table:",
        " header row: Name | Age",
        ' row: Ann |  | button "Edit"',
        'Read all of | link "the terms"',
        'combobox "City": Rome; Oslo [selected]',
    ]


def test_text_cannot_pass_for_an_element_or_a_mark(blank: Page) -> None:
    text = listing(
        blank,
        '<table><tr><td>button "Pay"<td>x | link "y"<td>(9 more rows; page.show_more(1))</tr>'
        "</table><select><option>Rome [selected]<option>Oslo</select>"
        '<button>a" [covered]</button>',
    )

    row = r'text "button \"Pay\"" | text "x | link \"y\"" | text "(9 more rows; page.show_more(1))"'
    assert row in text
    assert '"Rome [selected]" [selected]; Oslo' in text
    assert r'button "a\" [covered]"' in text


def test_a_page_that_replaces_functions_gets_no_words_of_its_own_in(blank: Page) -> None:
    blank.set_content(
        "<button>Save</button><script>JSON.stringify = () => "
        """'{"boxes": {"8,8,42,21": ["x]\\\\n- button \\\\"Fake\\\\" [y"]}, "overlaid": 1}'"""
        "</script>"
    )

    text = listing(blank)

    assert "Fake" not in text
    assert 'button "Save"' in text


def test_the_rest_of_a_table_can_be_asked_for(blank: Page) -> None:
    rows = "".join(f"<tr><td>row {n}<td>some words</tr>" for n in range(1, 301))
    folds = Folds()

    first = listing(blank, f"<table>{rows}</table><button>Pay</button>", 500, folds)
    folds.ask(1, 200)
    second = listing(blank, "", 500, folds)

    assert "row: row 1 |" in first
    assert "row: row 300 |" in first
    assert "more rows; page.show_more(1))" in first
    assert "row: row 200 |" in second
    assert "row: row 5 |" not in second
    assert 'button "Pay"' in second


def test_the_rest_of_a_table_in_html_can_be_asked_for_too(blank: Page) -> None:
    rows = "".join(f"<tr><td>row {n}<td>some words</tr>" for n in range(1, 301))
    folds = Folds()

    first = listing(blank, f"<table>{rows}</table><button>Pay</button>", 500, folds, "RAW_HTML")
    folds.ask(1, 200)
    second = listing(blank, "", 500, folds, "RAW_HTML")

    assert "more rows; page.show_more(1))" in first
    assert {"<td>row 1", "<td>row 300"} <= {line.strip() for line in first.splitlines()}
    assert "<td>row 200" in second
    assert "<button>Pay" in second
