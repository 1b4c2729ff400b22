"""Changes of a page: each does what it says, and the same one each time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from late_pages import wait_until
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.base.variant_names import Perturbation
from pytest_autoweb.browser.page.perturbations import PageChange
from pytest_autoweb.browser.page.unchanged_page import method_as_it_was

HOME = """<!doctype html><title>Shop</title><h1>Shop</h1><button onclick="this.textContent='Bought'"
style="position: fixed; bottom: 4px; left: 4px">Buy</button>"""
FORM = """<!doctype html><title>Shop</title>
<nav><a href="/">Home</a> <a href="/tea">Tea</a> <a href="/help">Help</a></nav>
<ol><li><a href="/1">One</a></li><li><a href="/2">Two</a></li></ol>
<ul><li><a href="/a">Ants</a></li><li><a href="/b">Bees</a></li></ul>
<form><p><label>Name <input id="who" data-testid="who"></label></p>
<p><label>Town <input></label></p><p><button type="button" class="go">Log in</button></p></form>
<div style="display: flex"><aside>Basket</aside><main>Goods</main></div>
<script>
document.querySelector('.go').onclick = () => { document.title = document.forms[0][0].value }
</script>"""
# Runs before anything else of its page, and takes from it what a change could be made with.
ROBBED = """<!doctype html><script>
const refuse = () => { throw new Error("not here") };
const kinds = [Element, Document, Node, CharacterData, EventTarget, TreeWalker, MutationObserver];
for (const kind of kinds)
  for (const [name, own] of Object.entries(Object.getOwnPropertyDescriptors(kind.prototype)))
    if (own.configurable && name !== "constructor" && typeof own.value === "function")
      Object.defineProperty(kind.prototype, name, { value: refuse });
window.MutationObserver = window.CSSStyleSheet = window.setTimeout = refuse;
</script>"""

Changed = Callable[..., Page]


@pytest.fixture
def changed(browser: Browser, site: Site) -> Any:
    """Opens a page, usually the shop, under a change; an empty one leaves it as it is."""
    opened = []

    def open_page(
        change: Perturbation, html: str = HOME, of: PageChange | None = None, **of_case: Any
    ) -> Page:
        url = site.put("/", html)
        of = of or PageChange(change, "case", entry_url=url, **of_case)
        context = browser.new_context(**of.args({"locale": "en-GB"}))
        opened.append(context)
        page = context.new_page()
        of.begin(page)
        page.goto(url)
        return page

    yield open_page
    for context in opened:
        context.close()


def test_a_banner_is_there_until_it_is_answered_and_does_not_ask_again(changed: Changed) -> None:
    page = changed("banner")
    banner = page.get_by_role("dialog", name="Cookies")
    assert banner.is_visible()
    assert changed("").get_by_role("dialog").count() == 0

    banner.get_by_role("button", name="Only necessary").click()
    assert banner.count() == 0
    page.reload()
    assert banner.count() == 0


def test_zoom_makes_the_window_smaller_and_its_pixels_larger(changed: Changed) -> None:
    seen = "[innerWidth * devicePixelRatio, devicePixelRatio]"
    width, ratio = changed("zoom").evaluate(seen)

    assert ratio > 1
    assert abs(width - 1280) <= ratio
    assert changed("").evaluate(seen) == [1280, 1]


def test_the_browser_asks_in_another_language(changed: Changed) -> None:
    page = changed("language")

    assert page.evaluate("navigator.language") in ("de-DE", "fr-FR", "ja-JP")
    assert changed("").evaluate("navigator.language") == "en-GB"


def test_a_slow_network_takes_at_least_its_latency(changed: Changed) -> None:
    page = changed("slow")
    took = page.evaluate(
        "async () => { const from = performance.now(); await fetch('/?again');"
        " return performance.now() - from }"
    )

    assert took >= 390


def test_what_is_left_open_is_drawn_from_the_case() -> None:
    drawn = {case: PageChange("zoom", case).args({}) for case in "abcdefgh"}

    assert drawn == {case: PageChange("zoom", case).args({}) for case in "abcdefgh"}
    assert len({args["device_scale_factor"] for args in drawn.values()}) > 1


def test_renamed_controls_keep_their_roles_and_have_other_words(changed: Changed) -> None:
    page = changed("rename", FORM)

    assert page.get_by_role("button").count() == 1
    assert page.get_by_role("button", name="Log in").count() == 0
    # Without a synonym, something is around the word.
    assert page.get_by_label("Town").count() == 1
    assert page.get_by_label("Town", exact=True).count() == 0
    assert page.get_by_test_id("who").count() == 0
    assert page.locator("[class=go]").count() == 0
    assert page.get_by_role("heading").count() == 0
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('button'), "
        "{textContent: 'Cancel'}))"
    )
    assert page.get_by_role("button", name="Cancel").count() == 0
    page.get_by_role("button").first.click()


def test_a_label_that_the_task_quotes_keeps_its_word(changed: Changed) -> None:
    page = changed("rename", FORM, user_task='Press "Log in".', checked="Home")

    for role, name in (("button", "Log in"), ("link", "Home")):
        assert page.get_by_role(role, name=name).count() == 1  # type: ignore[arg-type]
        assert page.get_by_role(role, name=name, exact=True).count() == 0  # type: ignore[arg-type]
    assert page.get_by_role("link", name="Help").count() == 0


def test_a_solution_finds_renamed_elements_by_their_former_words(changed: Changed) -> None:
    of = PageChange("rename", "case", proof=True)
    page = changed("rename", FORM, of)
    # As the sandbox does for the case's solution, and for no model.
    former = partial(method_as_it_was, page, undo=of.undo)
    assert page.get_by_label("Name", exact=True).count() == 0

    former("get_by_label")("Name", exact=True).fill("ana")
    former("locator")("form").get_by_role("button", name="Log in").click()
    assert page.title() == "ana"
    former("fill")("[data-testid=who]", "bo")
    former("get_by_text")("Log in", exact=True).click()
    assert page.title() == "bo"
    # What was put back for the search is changed again.
    assert page.get_by_role("button", name="Log in").count() == 0


def test_labels_in_and_through_open_shadow_roots_are_renamed(changed: Changed) -> None:
    html = """<!doctype html><title>Shop</title><x-form></x-form><x-go>Search</x-go>
    <div><template shadowrootmode="open"><button>Cancel</button></template></div><script>
    const define = (name, html) => customElements.define(name, class extends HTMLElement {
      connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = html; }
    });
    define('x-form', '<label>Name <input data-testid="who"></label><x-go>Log in</x-go>');
    define('x-go', `<button onclick="document.title += '!'"><slot></slot></button>`);
    </script>"""
    of = PageChange("rename", "case", proof=True)
    page = changed("rename", html, of)
    named = [("button", name) for name in ("Log in", "Search", "Cancel")] + [("textbox", "Name")]

    assert page.get_by_role("button").count() == 3
    assert page.get_by_test_id("who").count() == 0
    by_role = method_as_it_was(page, "get_by_role", of.undo)
    assert [page.get_by_role(role, name=name).count() for role, name in named] == [0] * 4  # type: ignore[arg-type]
    assert [by_role(role, name=name, exact=True).count() for role, name in named] == [1] * 4
    by_role("button", name="Search", exact=True).click()
    assert page.title() == "Shop!"
    # A text that comes later is one, too.
    page.evaluate("document.querySelector('x-go').firstChild.data = 'Save'")
    assert page.get_by_role("button", name="Save", exact=True).count() == 0
    assert by_role("button", name="Save", exact=True).count() == 1


def test_a_page_that_puts_its_words_back_is_not_fought_for_ever(changed: Changed) -> None:
    page = changed(
        "rename",
        FORM
        + """<script>
new MutationObserver(() => {
  const go = document.querySelector('button');
  if (go.textContent !== 'Log in') go.textContent = 'Log in';
}).observe(document, {subtree: true, childList: true, characterData: true});
document.querySelector('button').textContent = 'Go';
</script>""",
    )

    assert page.get_by_role("button").count() == 1


def test_entries_and_rows_change_places_where_their_order_means_nothing(changed: Changed) -> None:
    def order(page: Page) -> list[str]:
        return [text.strip() for text in page.locator("nav a, ol a, ul a, label").all_inner_texts()]

    plain, page = order(changed("", FORM)), changed("reorder", FORM)
    first, fixed, lists, rows = order(page)[:3], order(page)[3:5], order(page)[5:7], order(page)[7:]
    assert first != plain[:3]
    assert (sorted(first), fixed) == (sorted(plain[:3]), plain[3:5])
    assert (lists, rows) == (["Bees", "Ants"], ["Town", "Name"])
    # The button stays behind the rows, and does what it did.
    assert page.locator("form > :last-child button").count() == 1

    ordered = order(changed("reorder", FORM, user_task="Open the second page of the list."))
    assert ordered[5:7] == ["Ants", "Bees"]


def test_a_solution_finds_entries_and_rows_by_the_places_that_they_had(changed: Changed) -> None:
    of = PageChange("reorder", "case", proof=True)
    page = changed("reorder", FORM, of)
    former = partial(method_as_it_was, page, undo=of.undo)
    now = page.locator("nav").inner_text()

    former("locator")("form input").first.fill("ana")
    entry = former("get_by_role")("navigation").get_by_role("link").nth(1)
    assert entry.inner_text() == "Tea"
    assert page.locator("#who").input_value() == "ana"
    # What was put back for the search is changed again, and a field keeps the cursor meanwhile.
    assert page.locator("nav").inner_text() == now != "Home Tea Help"
    page.get_by_label("Town").focus()
    assert entry.count() == 1
    assert page.evaluate("document.activeElement === document.querySelectorAll('input')[0]")


def test_a_layout_is_narrower_and_has_its_sides_changed(changed: Changed) -> None:
    def places(page: Page) -> tuple[float, bool, str]:
        width, turned, font = page.evaluate(
            "[document.body.clientWidth, document.querySelector('aside').offsetLeft >"
            " document.querySelector('main').offsetLeft,"
            " getComputedStyle(document.querySelector('button')).fontFamily]"
        )
        return width, turned, font

    width, turned, font = places(changed("layout", FORM))
    plain = places(changed("", FORM))
    assert width <= 860 < plain[0]
    assert (turned, plain[1]) == (True, False)
    assert font != plain[2]


@pytest.mark.parametrize("change", ["rename", "reorder", "layout"])
def test_a_page_that_replaces_parts_of_the_dom_is_changed_all_the_same(
    changed: Changed, change: Perturbation
) -> None:
    """And its own work goes on."""
    seen = "[document.body.innerHTML, document.body.clientWidth]"
    robbed = f"{ROBBED}{FORM.split('<script>')[0]}"
    page = changed(change, robbed)

    assert page.evaluate(seen) != changed("", robbed).evaluate(seen)


def test_one_read_is_answered_with_an_error_and_no_write(changed: Changed, site: Site) -> None:
    said: list[str] = []
    page = changed("error-once", note=said.append)
    site.put("/read", "{}")
    ask = """async (method) => {
      const all = [];
      for (let n = 0; n < 5; n++) all.push((await fetch('/read', {method})).status);
      return all;
    }"""
    assert page.evaluate(ask, "POST") == [200] * 5
    assert said == []

    answers = page.evaluate(ask, "GET")
    assert sorted(set(answers) - {200}) in ([500], [503])
    assert answers.count(200) == 4
    assert page.evaluate(ask, "GET") == [200] * 5
    assert len(said) == 1


def test_a_session_ends_once_and_preferences_stay(changed: Changed, site: Site) -> None:
    page = changed("session-end")
    session, taste = "sid=1; HttpOnly; Path=/", "colour=red; Max-Age=9999; Path=/"
    login = site.put("/login", HOME, headers={"Set-Cookie": session})
    shop = site.put("/shop", HOME, headers={"Set-Cookie": taste})
    page.goto(login)
    page.goto(shop)
    page.goto(shop)

    def names() -> list[str]:
        return sorted(cookie["name"] for cookie in page.context.cookies())

    # A busy machine may show the page before its cookies are gone.
    wait_until(page, lambda: "sid" not in names(), 5)
    assert names() == ["colour"]
    page.goto(login)
    page.goto(shop)
    page.goto(shop)
    assert names() == ["colour", "sid"]
