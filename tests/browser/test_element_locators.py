from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page

from pytest_autoweb.browser.page.element_locators import plain_locator
from pytest_autoweb.browser.page.own_world import register_own_world

Show = Callable[[str], Page]


def assert_finds(page: Page, code: str, element: Locator) -> None:
    found: Locator = eval(code, {"page": page})
    assert found.count() == 1, code
    assert found.evaluate("(one, other) => one === other", element.element_handle()), code


@pytest.mark.parametrize(
    ("html", "css", "code"),
    [
        ("<button>Save</button>", "button", 'page.get_by_role("button", name="Save", exact=True)'),
        (
            "<button>Save</button><button>Save all</button>",
            "button >> nth=0",
            'page.get_by_role("button", name="Save", exact=True)',
        ),
        (
            "<button>Edit</button><button>Edit all</button><button>Edit</button>",
            "button >> nth=2",
            'page.get_by_role("button", name="Edit", exact=True).nth(1)',
        ),
        (
            "<table><tr><td>INV-1<td>INV-22</table>",
            "td >> nth=1",
            'page.get_by_role("cell", name="INV-22", exact=True)',
        ),
        ("<label>Name <input></label>", "input", None),
        ("<div>Draft</div><div>Draft 2</div>", "div >> nth=0", None),
        ("<div>Ticket<div>Open</div></div><button>Open</button>", "div div", None),
        ("<p>a</p><canvas></canvas><canvas></canvas>", "canvas >> nth=1", None),
        ("<button>Say \"hi\" it's\\n &lt;b&gt; é 登录 \U0001f600</button>", "button", None),
        (f"<button>{'long ' * 90}</button><button>long</button>", "button >> nth=0", None),
        ("<button></button><button></button>", "button >> nth=1", None),
        ("<x-y><svg><g><path d='M0 0h9v9z'/></g></svg></x-y>", "path", None),
    ],
)  # fmt: skip
def test_one_element_has_a_locator_of_its_own(
    show: Show, html: str, css: str, code: str | None
) -> None:
    page = show(html)

    found = plain_locator(page.locator(css))

    assert_finds(page, found, page.locator(css))
    assert code is None or found == code


def test_a_name_that_was_cut_is_written_in_full(show: Show) -> None:
    name = "Invoice of the year two thousand and twenty-six, second half, corrected"
    page = show(f"<button>{name}</button><button>{name[:30]}</button>")

    found = plain_locator(page.locator("button >> nth=0"))

    assert found == f'page.get_by_role("button", name="{name}", exact=True)'


def test_frames_within_frames_and_shadow_roots_are_entered(show: Show) -> None:
    page = show(
        "<iframe srcdoc='<iframe srcdoc=\"<button>Go</button><button>Go</button>\"></iframe>'>"
        "</iframe>"
        "<iframe srcdoc='<button>Go</button>'></iframe><div id=host></div>"
    )
    page.evaluate("host.attachShadow({mode: 'open'}).innerHTML = '<a>x</a>'")
    deep = page.frame_locator("iframe >> nth=0").frame_locator("iframe").locator("button >> nth=1")
    second = page.frame_locator("iframe >> nth=1").locator("button")
    second.wait_for()

    for element in (deep, second, page.locator("#host a")):
        assert_finds(page, plain_locator(element), element)
    assert plain_locator(second).startswith('page.frame_locator("iframe").nth(1).')


def test_a_page_that_replaced_the_dom_cannot_change_what_is_found(show: Show) -> None:
    page = show(
        "<form><input name=localName><button name=attributes>B</button></form><button>B</button>"
    )
    page.evaluate("() => { Element.prototype.matches = () => { throw 1 } }")
    element = page.locator("button >> nth=1")

    assert_finds(page, plain_locator(element), element)


HOSTILE = {
    "forges": "Element.prototype.getAttribute = () => 'x'; Array.prototype.indexOf = () => 0;"
    "JSON.stringify = () => '[]'",
    "never answers": "Element.prototype.getAttribute = () => { for (;;); };"
    "Object.defineProperty(Element.prototype, 'localName', { get() { for (;;); } })",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_a_page_cannot_answer_in_place_of_the_proof(blank: Page, code: str) -> None:
    register_own_world(blank)
    # Only documents that open from now on know it.
    blank.goto("about:blank#again")
    blank.reload()
    blank.set_content(
        "<ul><li>Ann <button>Edit</button><li>Bob <button>Edit</button></ul><p onclick=1>Pay</p>"
        f"<script>{code}</script>"
    )
    second, pay = blank.locator("button >> nth=1"), blank.locator("p")

    found = [plain_locator(second), plain_locator(pay)]

    assert found == [
        'page.get_by_role("listitem").filter(has_text="Bob Edit").get_by_role("button")',
        'page.get_by_text("Pay", exact=True)',
    ]


def test_an_element_that_is_gone_has_none(show: Show) -> None:
    page = show("<button>Go</button>")
    element = page.locator("button")
    page.evaluate("document.querySelector('button').remove()")

    assert plain_locator(element) == ""


def test_without_playwrights_own_locators_the_elements_facts_are_tried(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = show(
        "<iframe srcdoc='<button>Go</button><button>Go</button>'></iframe>"
        "<label>Name <input id=n></label><b>Save</b>"
    )
    frame = page.frame_locator("iframe")
    frame.locator("button >> nth=1").wait_for()
    monkeypatch.delattr(Locator, "normalize")

    for element in (frame.locator("button >> nth=1"), page.locator("input"), page.locator("b")):
        assert_finds(page, plain_locator(element), element)
    assert plain_locator(page.locator("b")) == 'page.get_by_text("Save", exact=True)'
