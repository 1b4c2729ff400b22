from collections.abc import Callable

import pytest
from local_site import Site
from playwright.sync_api import Locator, Page

from pytest_autoweb.browser.page.acted_element import listed_by, locator_now
from pytest_autoweb.browser.page.frames import RefElement, RefView
from pytest_autoweb.browser.page.small_list import small_view

Show = Callable[[str], Page]


MANY = """<button>Save</button><a href=x>Save</a><ul><li>Row 1 <button>Edit</button><input></li>
<li>Row 2 <button>Edit</button><input></li></ul><p>Press <span onclick=1>here</span> now</p>
<label><input type=checkbox hidden>Dark</label><div contenteditable aria-label=Body></div>"""


def locate(page: Page, element: RefElement) -> Locator:
    """The element as a script would find it."""
    found: Locator = eval(locator_now(element), {"page": page})
    return found


def assert_proven(page: Page, view: RefView) -> None:
    for element in view.elements:
        assert locate(page, element).count() == 1, element


def lines(page: Page) -> list[str]:
    view = small_view(page)
    assert_proven(page, view)
    return view.text.splitlines()


def test_controls_are_numbered_in_reading_order_with_text_between(show: Show) -> None:
    page = show("<h1>Sign in</h1><label>User <input></label><p>or</p><button>Go</button>")

    assert lines(page) == ['t "Sign in"', 'e1 textbox "User"', 't "or"', 'e2 button "Go"']


@pytest.mark.parametrize(
    ("html", "line"),
    [
        ("<a href=x>Home</a>", 'e1 link "Home"'),
        ("<input type=checkbox aria-label=A checked>", 'e1 checkbox "A" (checked)'),
        ("<label><input type=radio>Red</label>", 'e1 radio "Red"'),
        ("<button disabled>Go</button>", 'e1 button "Go" (disabled)'),
        ("<button aria-expanded=false>Menu</button>", 'e1 button "Menu" (collapsed)'),
        ("<li role=tab aria-selected=true><a href=x>T</a></li>", 'e1 tab "T" (selected)'),
        ("<input type=date>", "e1 textbox (date, YYYY-MM-DD)"),
        ("<input type=password value=abc>", "e1 textbox (password, filled)"),
        ("<input placeholder=City>", 'e1 textbox "City"'),
        ("<p>City:</p><input>", 'e1 textbox after "City:"'),
        ("<input value=abc aria-label=N>", 'e1 textbox "N" value "abc"'),
        ("<button title=Cart><svg></svg></button>", 'e1 button "Cart"'),
        ("<span onclick=1>Buy</span>", 'e1 clickable "Buy"'),
        ("<span style='cursor:pointer'>Buy</span>", 'e1 clickable "Buy"'),
        ("<div tabindex=0>Buy</div>", 'e1 clickable "Buy"'),
        ("<details><summary>More</summary>secret</details>", 'e1 clickable "More" (collapsed)'),
        ("<label><input type=checkbox hidden>Dark</label>", 'e1 checkbox "Dark"'),
        ("<div contenteditable aria-label=B>hi</div>", 'e1 textbox "B" (rich text) value "hi"'),
        ("<button>登录</button>", 'e1 button "登录"'),
        ("<p dir=rtl><a href=x>קישור</a></p>", 'e1 link "קישור"'),
        ('<button>Say "hi"</button>', "e1 button \"Say 'hi'\""),
        (
            "<select aria-label=S><option>a<option selected>b</select>",
            'e1 combobox "S" options "a", "b"; selected "b"',
        ),
    ],
)
def test_an_element_is_shown_with_what_one_needs_to_use_it(
    show: Show, html: str, line: str
) -> None:
    assert lines(show(html)) == [line]


@pytest.mark.parametrize(
    "html",
    [
        "<button hidden>x</button>",
        "<button style='visibility:hidden'>x</button>",
        "<button style='position:absolute;left:-9999px'>x</button>",
        "<details><summary></summary><button>x</button></details>",
        "<dialog><button>x</button></dialog>",
    ],
)
def test_what_cannot_be_used_is_not_listed(show: Show, html: str) -> None:
    assert "x" not in " ".join(lines(show(html)))


def test_an_open_modal_dialog_hides_the_page_behind_it(show: Show) -> None:
    page = show("<button>Behind</button><dialog><button>Ok</button></dialog>")
    page.evaluate("() => document.querySelector('dialog').showModal()")

    assert lines(page) == ['e1 button "Ok"']


def test_alike_elements_get_a_locator_each(show: Show) -> None:
    page = show("".join(f"<p>Row {n} <button>Edit</button><input></p>" for n in range(5)))

    view = small_view(page)

    assert len({locator_now(element) for element in view.elements}) == 10
    assert_proven(page, view)
    locate(page, view.elements[6]).click()
    row = locate(page, view.elements[6]).locator("xpath=..")
    assert "Row 3" in row.inner_text()


def test_a_name_that_is_part_of_another_finds_only_its_own(show: Show) -> None:
    page = show("<button>Save</button><button>Save all</button><a href=x>Save</a><p>Save</p>")

    assert lines(page)[:3] == ['e1 button "Save"', 'e2 button "Save all"', 'e3 link "Save"']


def test_a_clickable_text_that_equals_a_button_is_told_apart(show: Show) -> None:
    page = show("<button>Ok</button><span onclick=\"document.title='span'\">Ok</span>")

    view = small_view(page)
    locate(page, view.elements[1]).click()

    assert page.title() == "span"


def test_frames_and_shadow_roots_are_part_of_the_list(blank: Page, site: Site) -> None:
    blank.goto(site.url + "form.html")
    blank.frame_locator("iframe").get_by_role("button", name="Deep").wait_for()

    view = small_view(blank)

    assert_proven(blank, view)
    by_name = {element.name: element for element in view.elements}
    assert locator_now(by_name["Deep"]).startswith('page.frame_locator("iframe[name=\\"inner\\"]")')
    assert "Shadow" in by_name
    assert "hunter2" not in view.text


def test_nested_frames_are_reached(show: Show) -> None:
    page = show(
        "<iframe srcdoc='<iframe srcdoc=\"<button>Deepest</button>\"></iframe>'></iframe>"
        "<iframe srcdoc='<button>Second</button>'></iframe>"
    )
    page.frame_locator("iframe >> nth=0").frame_locator("iframe").get_by_role("button").wait_for()
    page.frame_locator("iframe >> nth=1").get_by_role("button").wait_for()

    assert lines(page) == ['e1 button "Deepest"', 'e2 button "Second"']


def test_a_card_is_listed_with_its_buttons(show: Show) -> None:
    page = show(
        "<div style='cursor:pointer'><p>Red chair</p></div>"
        "<div style='cursor:pointer'><p>Blue chair</p><button>Buy</button></div>"
    )

    assert lines(page) == [
        'e1 clickable "Red chair"',
        'e2 clickable "Blue chair"',
        'e3 button "Buy"',
    ]


def test_what_an_action_has_set_off_is_waited_for(show: Show) -> None:
    page = show(
        "<button onclick=\"setTimeout(() => { this.textContent = 'Loading' }, 30);"
        "setTimeout(() => { this.textContent = 'Done' }, 100)\">Go</button>"
    )
    page.get_by_role("button").click()

    assert lines(page) == ['e1 button "Done"']


def test_a_page_that_never_stops_changing_is_listed_all_the_same(show: Show) -> None:
    page = show("<button>Go</button><p>0</p>")
    page.evaluate(
        "() => { setInterval(() => { document.querySelector('p').textContent += 1 }, 20) }"
    )

    assert lines(page)[0] == 'e1 button "Go"'


@pytest.mark.parametrize(
    "note",
    [
        "e.__reactProps$x1 = {onClick() {}}",
        "e._vei = {onClick() {}}",
        "e.__onclick = () => {}",
        "e.__on = [{type: 'click'}]",
        "e.jQuery311 = {events: {click: []}}",
        "window.jQuery = {_data: (x, k) => x === e && k === 'events' ? {click: []} : null}",
    ],
)
def test_click_handlers_of_common_libraries_are_seen(show: Show, note: str) -> None:
    page = show("<p>a</p><div>Open</div>")
    page.evaluate(f"() => {{ const e = document.querySelector('div'); {note} }}")

    assert lines(page) == ['t "a"', 'e1 clickable "Open"']


def test_a_clickable_row_and_the_icon_in_it_are_both_listed(show: Show) -> None:
    page = show(
        "<div onclick=1><p>Ana</p><p>Hi</p><p>1:00</p><i class=star onclick=1>&nbsp;</i></div>"
    )

    assert lines(page) == ['e1 clickable "Ana Hi 1:00"', "e2 clickable (star)"]


def test_the_list_keeps_its_budget(show: Show) -> None:
    page = show("".join(f"<p>Some text {n}</p><button>Button {n}</button>" for n in range(150)))

    view = small_view(page, budget_tokens=300)

    assert view.truncated
    assert 20 < len(view.elements) < 60
    assert "Button 0" in view.text


def test_a_text_stays_although_an_element_elsewhere_has_that_name(show: Show) -> None:
    page = show(
        "<a href=x>Open</a><table><tr><td>Ticket 7<td>Open<td><button>Close</button></tr></table>"
        "<h2>Receipts</h2><p>None yet.</p><button>Receipts</button>"
    )

    assert lines(page) == [
        'e1 link "Open"',
        't "Ticket 7 | Open"',
        'e2 button "Close"',
        't "Receipts"',
        't "None yet."',
        'e3 button "Receipts"',
    ]


def test_the_text_of_a_label_beside_its_field_is_not_said_twice(show: Show) -> None:
    page = show(
        "<label>City <input></label><label for=a>Street:</label><input id=a>"
        "<label><input type=checkbox><b>Express</b> <small>3 days</small></label>"
    )

    assert lines(page) == [
        'e1 textbox "City"',
        'e2 textbox "Street:"',
        'e3 checkbox "Express 3 days"',
    ]


def test_blocks_in_a_line_are_one_text(show: Show) -> None:
    page = show(
        "<p>Code: "
        + "".join(f"<span style='display:inline-block'>{c}</span>" for c in "aI7")
        + "</p>"
    )

    assert lines(page) == ['t "Code: aI7"']


def test_a_long_region_keeps_its_texts(show: Show) -> None:
    story = "It was a dark night. " * 8
    page = show(f"<div onclick=1><h2>Story</h2><p>{story}</p></div>")

    assert lines(page) == ['e1 clickable "Story"', f't "{story.strip()}"']


def test_a_listed_element_is_recognised_by_a_locator_of_another_page(show: Show) -> None:
    page = show(MANY)

    view = small_view(page)

    for element in view.elements:
        assert listed_by(locator_now(element), view.elements, page) == element
    assert listed_by('page.get_by_role("button")', view.elements, page) is None
    assert listed_by("page.keyboard", view.elements, page) is None


def test_a_page_that_overrides_the_dom_is_still_listed(show: Show) -> None:
    page = show(
        "<form><input name=childNodes aria-label=A><button name=attributes>B</button></form>"
    )
    page.evaluate("() => { Element.prototype.matches = () => { throw 1 } }")

    assert lines(page) == ['e1 textbox "A"', 'e2 button "B"']
