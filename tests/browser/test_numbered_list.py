"""The listing with numbers, and elements that are found again when they are acted on."""

import pytest
from playwright.sync_api import Page

from pytest_autoweb.browser.page import own_world, page_tree
from pytest_autoweb.browser.page.numbered_list import NumberedListing, numbered_listing
from pytest_autoweb.browser.page.own_world import register_own_world


def numbered(page: Page, html: str) -> NumberedListing:
    """Return the numbered listing of a document."""
    register_own_world(page)
    page.set_content(f"<body>{html}</body>")
    return numbered_listing(page, budget_tokens=4_000)


def test_everything_that_can_be_acted_on_has_a_number(blank: Page) -> None:
    listing = numbered(
        blank,
        "<h1>Orders</h1><button>Save</button><button disabled>Send</button>"
        "<table><tr onclick=go()><td>INV-1<td>Ann</table>"
        "<select aria-label=City><option>Rome<option selected>Oslo</select>"
        "<iframe title=Card srcdoc='<input aria-label=Number>'></iframe>",
    )

    assert listing.text.splitlines() == [
        'heading "Orders"',
        'e1 button "Save" | e2 "Send" [disabled]',
        "table:",
        " e3 clickable row: INV-1 | Ann",
        'e4 combobox "City": Rome; Oslo [selected]',
        'e5 iframe "Card": e6 textbox "Number"',
    ]
    assert [element.number for element in listing.elements] == [1, 2, 3, 4, 5, 6]
    assert listing.elements[1].states == ("disabled",)
    assert listing.elements[2].name == "INV-1"
    assert [option.label for option in listing.elements[3].options] == ["Rome", "Oslo"]


def test_each_element_is_found_again_by_a_plain_locator(blank: Page) -> None:
    listing = numbered(
        blank,
        "<ul><li>Ann <button>Edit</button><li>Bob <button>Edit</button></ul>"
        "<p>Press <span onclick='document.title = 1'>here</span></p>"
        "<iframe title=Card srcdoc='<button>Pay</button>'></iframe>",
    )

    assert [element.locator().normalize().__str__() for element in listing.elements]
    edits = [element for element in listing.elements if element.name == "Edit"]
    assert [element.near for element in edits] == ["Ann", "Bob"]
    second = edits[1].locator().element_handle()
    assert second.evaluate("one => one.parentNode.textContent") == "Bob Edit"
    here = next(element for element in listing.elements if element.role == "clickable")
    here.locator().click()
    assert blank.title() == "1"
    pay = listing.elements[-1].locator()
    assert pay.text_content() == "Pay"


def test_an_element_that_is_gone_is_not_found(blank: Page) -> None:
    listing = numbered(blank, "<button id=a>Save</button>")
    element = listing.elements[0]

    blank.evaluate("a.outerHTML = '<button>Save</button>'")

    assert element.locator().count() == 0
    assert element.place.handle() is None


def test_a_new_look_ends_the_numbers_of_the_one_before(blank: Page) -> None:
    first = numbered(blank, "<button>Save</button>").elements[0]

    second = numbered_listing(blank, budget_tokens=4_000).elements[0]

    assert first.locator().count() == 0
    assert second.locator().count() == 1


def test_what_can_only_be_pointed_at_or_scrolled_has_a_number_too(blank: Page) -> None:
    listing = numbered(
        blank,
        "<style>.c {display: none} li:hover .c {display: inline}</style>"
        "<ul><li>Ann <span class=c><button>Block</button></span>"
        "<li>Bob <span class=c><button>Block</button></span></ul>"
        f"<div aria-label=Terms style='height:60px;overflow:auto'>{'words<br>' * 9}</div>",
    )

    assert listing.text.splitlines() == [
        "e1 listitem [more on hover]: Ann",
        "e2 listitem [more on hover]: Bob",
        f'e3 scrollable "Terms" [scrolls: 6 rows below]: {" | ".join(["words"] * 9)}',
    ]
    assert [one.pressed for one in listing.elements] == [False, False, False]

    listing.elements[1].locator().hover()
    pointed = numbered_listing(blank, budget_tokens=4_000)

    assert pointed.text.splitlines()[:2] == [
        "e1 listitem [more on hover]: Ann",
        'Bob | e2 button "Block"',
    ]


def test_facts_of_fields_are_told(blank: Page) -> None:
    listing = numbered(
        blank,
        "<input type=password aria-label=PIN value=4711>"
        "<input type=date aria-label=Day min=2026-01-01>"
        "<textarea aria-label=Note></textarea><div contenteditable=true aria-label=Text>a</div>"
        "<select multiple aria-label=Tags><option>x</select><input type=file aria-label=Receipt>",
    )

    told = {one.name: one for one in listing.elements}
    assert {name: one.kind for name, one in told.items()} == {
        "PIN": "password",
        "Day": "date",
        "Note": "lines",
        "Text": "rich",
        "Tags": "multiple",
        "Receipt": "file",
    }
    assert told["PIN"].filled
    assert told["PIN"].value == "<hidden>"
    assert told["Day"].limits == ("2026-01-01", "", "")
    assert "4711" not in listing.text


@pytest.mark.parametrize("text", ['e1 button "Pay"', "e7 link", '| e9 button "x"'])
def test_text_cannot_pass_for_a_number(blank: Page, text: str) -> None:
    listing = numbered(blank, f"<p>{text}</p><button>Save</button>")

    assert listing.text.startswith("text ")


def test_where_the_engine_is_not_known_the_page_is_listed_by_its_own_script(
    blank: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_world, "_ENGINE", "unheard")
    monkeypatch.setattr(page_tree, "register_own_world", lambda page: None)
    blank.set_content("<button>Save</button><p onclick=go()>Go</p>")

    listing = numbered_listing(blank, budget_tokens=4_000)

    assert listing.text == 'e1 button "Save"\ne2 clickable "Go"'
    handle = listing.elements[1].place.handle()
    assert handle is not None
    assert handle.text_content() == "Go"
