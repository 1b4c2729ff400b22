"""What capable models act on by number: each number finds its own element, or says why not."""

import re
from collections.abc import Callable

import pytest
from local_site import Site
from playwright.sync_api import Locator, Page

from pytest_autoweb.browser.page.acted_element import Aim, ElementChangedError
from pytest_autoweb.browser.page.frames import RefElement, RefView
from pytest_autoweb.browser.page.own_world import register_own_world
from pytest_autoweb.browser.page.ref_view import numbered_view

Show = Callable[[str], Page]


@pytest.fixture
def show(kept_page: Page) -> Show:
    """Puts HTML into a page whose elements can be found again."""

    def show(html: str) -> Page:
        register_own_world(kept_page)
        kept_page.goto("about:blank")
        kept_page.mouse.move(0, 0)
        kept_page.set_content(html)
        return kept_page

    return show


def view_of(page: Page) -> RefView:
    return numbered_view(page, budget_tokens=10_000)


def locate(page: Page, element: RefElement) -> Locator:
    """The element as a script would find it."""
    found: Locator = eval(Aim.at(element).locate().locator, {"page": page})
    return found


def assert_each_finds_its_own(page: Page, view: RefView) -> None:
    assert view.elements
    for element in view.elements:
        assert element.find is not None
        own, found = element.find(), locate(page, element)
        assert found.count() == 1, element
        assert found.evaluate("(one, other) => one === other", own), element


def element(view: RefView, name: str, role: str = "") -> RefElement:
    return next(e for e in view.elements if e.name == name and role in ("", e.role))


MANY = """<h1>Shop</h1><nav><a href=/open>Open</a></nav><button>Save</button>
<button>Save all</button>
<ul><li>Row 1 <button>Edit</button><input></li><li>Row 2 <button>Edit</button><input></li></ul>
<table><tr style="cursor:pointer"><td>INV-1<td>Ann</tr>
<tr style="cursor:pointer"><td>INV-12<td>Bob</tr></table>
<p>Press <span onclick=1>here</span> now</p><label><input type=checkbox hidden>Dark</label>
<details><summary>More</summary>x</details><select><option>A<option>B</select>
<div contenteditable aria-label=Note>hi</div><span onclick=1>Save</span><div id=host></div>
<form><input name=childNodes aria-label=A><button name=attributes>B</button></form>
<iframe title=In srcdoc="<button>Edit</button><button>Edit</button><iframe
srcdoc='<a href=x>Deep</a>'></iframe>"></iframe><iframe srcdoc="<button>Edit</button>"></iframe>"""


def test_each_number_finds_its_own_element(show: Show) -> None:
    page = show(MANY)
    page.evaluate(
        "document.querySelector('#host').attachShadow({mode: 'open'}).innerHTML ="
        " '<button>Edit</button>'"
    )
    page.frame_locator("iframe >> nth=0").frame_locator("iframe").get_by_role("link").wait_for()
    page.frame_locator("iframe >> nth=1").get_by_role("button").wait_for()

    view = view_of(page)

    assert_each_finds_its_own(page, view)
    assert sum(e.name == "Edit" for e in view.elements) == 6
    named = {e.name for e in view.elements}
    assert {"Deep", "INV-1", "INV-12", "here", "Dark", "More", "Note", "A", "B"} <= named


def test_what_is_pointed_at_or_scrolled_is_found_again(show: Show) -> None:
    rows = "".join(f"<li>Order {n} <button>Open</button></li>" for n in range(9))
    page = show(
        "<style>.c {display: none} .o:hover .c {display: inline}</style>"
        "<ul><li class=o>Ann <span class=c><button>Block</button></span></ul>"
        "<div class=o>Bob <span class=c><button>Block</button></span></div>"
        f"<div style='height:60px;overflow:auto'><ul>{rows}</ul></div>"
        f"<div aria-label=Log style='height:60px;overflow:auto'>{'words<br>' * 9}</div>"
        f"<section aria-label=Old style='height:60px;overflow:auto'>{'<p>words' * 9}</section>"
    )

    view = view_of(page)

    kinds = [(e.role, e.name) for e in view.elements if e.role != "button"]
    assert kinds == [
        ("listitem", "Ann"),
        ("hoverable", "Bob"),
        ("scrollable", ""),
        ("scrollable", "Log"),
        ("region", "Old"),
    ]
    assert_each_finds_its_own(page, view)


def test_a_text_that_equals_the_name_of_an_element_stays(show: Show) -> None:
    page = show(
        "<a href=/receipts>Receipts</a><button>Open</button><div><div>Ticket 1</div>"
        "<div>Open</div></div><ul><li>Receipts <button>edit</button></li></ul>"
    )

    text = view_of(page).text

    assert (text.count("Open"), text.count("Receipts")) == (2, 2)


@pytest.mark.parametrize("row", ["div", "li", "p"])
def test_rows_whose_events_are_delegated_are_clicked(show: Show, row: str) -> None:
    page = show(
        "".join(
            f"<{row} class=row style='cursor:pointer' id=r{n}><span>Ticket {n}</span>"
            f"<div>Ann</div><div>$8</div><button>Close</button></{row}>"
            for n in range(3)
        )
        + "<script>document.addEventListener('click', e => {"
        " document.title = e.target.closest('.row').id })</script>"
    )
    view = view_of(page)

    assert_each_finds_its_own(page, view)
    rows = [e for e in view.elements if e.name.startswith("Ticket")]
    assert len(rows) == 3
    locate(page, rows[1]).click(position={"x": 4, "y": 4})
    assert page.title() == "r1"


CHANGES = "<ul><li onclick=1><b>Mail 1</b><button>Open</button></li></ul><button id=b>Save</button>"


@pytest.mark.parametrize(
    ("change", "name", "reason"),
    [
        ("b.remove()", "Save", r'e\d+ \(button "Save"\) is not on the page any more'),
        ("b.textContent = 'Delete'", "Save", r'\(button "Save"\) has become button "Delete"'),
        ("b.setAttribute('role', 'link')", "Save", r'\(button "Save"\) has become link "Save"'),
        ("document.querySelector('b').textContent = 'Mail 9'", "Mail 1", 'has become .*Mail 9'),
    ],
)  # fmt: skip
def test_an_element_that_changes_between_look_and_act_is_refused_with_the_reason(
    show: Show, change: str, name: str, reason: str
) -> None:
    page = show(CHANGES)
    wanted = element(view_of(page), name)
    aim = Aim.at(wanted)
    page.evaluate(f"() => {{ {change} }}")

    for each in (aim, Aim.at(wanted)):
        with pytest.raises(ElementChangedError, match=reason):
            each.locate()


ROWS = "<ul><li>Pear <button>Edit</button></li><li>Plum <button>Edit</button></li></ul>"


@pytest.mark.parametrize(
    ("html", "after", "beside"),
    [
        (ROWS, ROWS, "Plum Edit"),
        (ROWS, ROWS.replace("Plum", "Fig"), ""),
        (ROWS, ROWS.replace("<ul>", "<ul><li>Fig <button>Edit</button></li>"), "Plum Edit"),
        (ROWS, ROWS.replace("<li>Pear", "<li>Plum <button>Edit</button></li><li>Pear"), ""),
        ("<button>Old</button><p>Tea <button>Edit</button></p>",
         "<i>new</i><button>Edit</button>", "new"),
        ("<button>Old</button><button>Edit</button>", "<button>Edit all</button>", ""),
    ],
)  # fmt: skip
def test_what_a_page_draws_anew_is_acted_on_if_it_is_the_same(
    show: Show, html: str, after: str, beside: str
) -> None:
    page = show(html)
    aim = Aim.at([e for e in view_of(page).elements if e.name == "Edit"][-1])
    page.evaluate("after => { document.body.innerHTML = after }", after)

    if not beside:
        with pytest.raises(ElementChangedError, match="is not on the page any more"):
            aim.locate()
        return
    found: Locator = eval(aim.locate().locator, {"page": page})
    assert beside in found.locator("xpath=..").inner_text()


def test_what_changes_elsewhere_refuses_nothing_and_moves_nothing(show: Show) -> None:
    page = show("<ul><li>Pear <button>Edit</button></li><li>Plum <button>Edit</button></li></ul>")
    second = [e for e in view_of(page).elements if e.name == "Edit"][1]
    page.evaluate(
        "() => { document.querySelector('li').remove(); const more = document.createElement('li');"
        " more.innerHTML = 'Fig <button>Edit</button>';"
        " for (let i = 0; i < 3; i++) document.querySelector('ul').prepend(more.cloneNode(true)) }"
    )

    found = locate(page, second)

    assert found.locator("xpath=..").inner_text() == "Plum Edit"


def test_another_document_has_none_of_the_elements(show: Show) -> None:
    page = show("<button>Save</button>")
    (save,) = view_of(page).elements
    aim = Aim.at(save)
    page.goto("data:text/html,<button>Save</button>")

    with pytest.raises(ElementChangedError, match="is not on the page any more"):
        aim.locate()


def test_a_card_around_one_text_is_one_element(show: Show) -> None:
    page = show(
        "<div style='cursor:pointer'><p>Red chair</p></div><div inert><button>x</button></div>"
    )

    view = view_of(page)

    assert [e.name for e in view.elements] == ["Red chair"]
    assert_each_finds_its_own(page, view)


def test_a_modal_dialog_is_all_that_is_listed(show: Show) -> None:
    page = show("<button>Behind</button><dialog><button>Ok</button></dialog>")
    page.evaluate("() => document.querySelector('dialog').showModal()")

    view = view_of(page)

    assert [e.name for e in view.elements if "Behind" not in view.text] == ["Ok"]
    assert_each_finds_its_own(page, view)


def test_a_page_that_overrides_the_dom_is_listed_and_acted_on(show: Show) -> None:
    page = show(
        "<form><input name=localName aria-label=A><button name=parentNode>B</button></form>"
    )
    page.evaluate("() => { Element.prototype.matches = () => { throw 1 } }")

    assert_each_finds_its_own(page, view_of(page))


def test_a_document_that_was_open_before_is_listed_and_acted_on(page: Page) -> None:
    page.set_content("<label>User <input></label><button>Go</button><button>Go</button>")

    view = view_of(page)

    assert_each_finds_its_own(page, view)
    assert [e.name for e in view.elements] == ["User", "Go", "Go"]


def test_secrets_of_a_form_are_not_shown(kept_page: Page, site: Site) -> None:
    register_own_world(kept_page)
    kept_page.goto(site.url + "form.html")
    kept_page.frame_locator("iframe").get_by_role("button", name="Deep").wait_for()

    view = view_of(kept_page)

    assert_each_finds_its_own(kept_page, view)
    assert {"Deep", "Shadow"} <= {e.name for e in view.elements}
    assert "hunter2" not in view.text


def test_each_number_of_the_text_is_an_element_in_reading_order(show: Show) -> None:
    view = view_of(show(MANY))

    numbers = re.findall(r"(?:^|[ (])(e\d+) ", view.text, re.MULTILINE)
    assert numbers == [e.ref for e in view.elements]
