"""Acting on the element that a locator found first, while rows move under it."""

import pytest
from moving_lists import KINDS, page_of
from playwright.sync_api import Error, Locator, Page, TimeoutError

from pytest_autoweb.browser.page import same_element
from pytest_autoweb.browser.page.same_element import (
    ElementIdentity,
    RowsMovedError,
    identity_of,
    is_positional,
    on_same,
    pinned,
)

LATE = 20_000.0
BY_TIMERS = {"sorted", "growing"}
"""Pages whose rows move by themselves, also while a busy machine presses one."""


def record_of(button: Locator) -> int:
    return int(str(button.locator("..").inner_text()).split()[1])


def done(page: Page) -> list[int]:
    return list(page.evaluate("window.done"))


def click(found: Locator) -> str:
    """Click, and return what was acted on, or why nothing was."""
    try:
        _, element = on_same(found, "click", lambda one: one.click(timeout=LATE))
    except RowsMovedError as moved:
        return str(moved)
    return str(element)


def was_too_slow(page: Page, told: str) -> bool:
    """Whether rows moved while a busy machine drew or pressed, so that nothing was clicked."""
    return not done(page) and told.startswith("the rows moved")


def test_playwright_itself_acts_on_another_record(blank: Page) -> None:
    blank.set_content(page_of("redrawn"))
    twelfth = blank.get_by_role("button", name="Delete").nth(11)
    meant = record_of(twelfth)

    twelfth.click()

    assert done(blank) != [meant]


@pytest.mark.parametrize("place", ["first", "2", "last"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_other_record_is_acted_on(blank: Page, kind: str, place: str) -> None:
    blank.set_content(page_of(kind))
    buttons = blank.get_by_role("button", name="Delete")
    button = {"first": buttons.first, "2": buttons.nth(2), "last": buttons.last}[place]
    # Timers move the rows even between these two lines.
    before = identity_of(button)
    assert before is not None

    told = click(button)
    for _ in range(3):
        if kind not in BY_TIMERS or not was_too_slow(blank, told):
            break
        told = click(button)

    acted = done(blank)
    assert len(acted) <= 1
    if acted:
        assert told.startswith('button "Delete" beside "No. ')
        assert f'"No. {acted[0]} ' in told
    else:
        assert told.startswith('the rows moved: button "Delete" beside "No. ')
    if kind not in BY_TIMERS:
        assert str(before) in told
        assert acted in ([], [int(before.beside.split()[1])])
    # Scrolling to the last row gives all nodes other records, whose drawing a slow machine shows
    # too late to find the first one again.
    if kind not in {"pressed", "pointed"} and (kind, place) != ("recycled", "last"):
        assert acted, told


@pytest.mark.parametrize("kind", ["redrawn", "recycled"])
def test_the_record_that_scrolling_moves_is_acted_on(blank: Page, kind: str) -> None:
    blank.set_content(page_of(kind))
    twelfth = blank.get_by_role("button", name="Delete").nth(11)
    meant = record_of(twelfth)

    told = click(twelfth)
    for _ in range(3):
        if not was_too_slow(blank, told):
            break
        meant = record_of(twelfth)
        told = click(twelfth)

    assert done(blank) == [meant]
    assert told.startswith(f'button "Delete" beside "No. {meant} ')


@pytest.mark.parametrize("kind", ["pressed", "pointed"])
def test_nodes_that_show_another_record_are_not_acted_on(blank: Page, kind: str) -> None:
    blank.set_content(page_of(kind))

    told = click(blank.get_by_role("button", name="Delete").nth(1))

    assert done(blank) == []
    assert told.startswith(
        'the rows moved: button "Delete" beside "No. 101 Ben 30.00" is no longer'
    )
    assert 'button "Delete" beside "No. 1' in told.partition(";")[2]


FIELDS = """<div id=box style="height:120px;overflow:auto"></div><script>
  const box = document.getElementById('box');
  let first = 100;
  const draw = () => { [...box.children].forEach((row, at) => {
    row.firstChild.textContent = 'No. ' + (first + at); row.dataset.n = first + at; }); };
  for (let n = 0; n < 8; n += 1) {
    const row = document.createElement('div');
    row.style.height = '40px';
    row.innerHTML = '<b></b> <input aria-label=Amount> <select aria-label=State>'
      + '<option>open<option>paid</select> <input type=checkbox aria-label=Done>';
    box.append(row);
  }
  draw();
  window.written = [];
  for (const kind of ['input', 'change']) box.addEventListener(kind, (event) => {
    window.written.push([event.target.closest('div').dataset.n, event.target.ariaLabel]); });
  box.addEventListener('MOVES', () => { if (first === 100) { first = 130; draw(); } }, true);
</script>"""


@pytest.mark.parametrize("moves", ["focus", "mousedown", "scroll"])
@pytest.mark.parametrize("method", ["fill", "press_sequentially", "check", "press"])
def test_what_is_written_reaches_no_other_record(blank: Page, moves: str, method: str) -> None:
    blank.set_content(FIELDS.replace("MOVES", moves))
    name = "Done" if method == "check" else "Amount"
    field = blank.get_by_label(name).nth(6)
    args = {"fill": ["5"], "press_sequentially": ["5"], "check": [], "press": ["5"]}[method]
    moved = ""
    try:
        on_same(field, method, lambda one: getattr(one, method)(*args, timeout=LATE))
    except RowsMovedError as error:
        moved = str(error)

    written = {number for number, _ in blank.evaluate("window.written")}
    assert written <= {"106"}
    assert written or 'beside "No. 106' in moved


def test_rows_drawn_anew_with_the_same_records_do_not_count_as_moved(blank: Page) -> None:
    blank.set_content(page_of("rendered"))

    assert click(blank.get_by_role("button", name="Delete").nth(3)).startswith("button")
    assert done(blank) == [103]


def test_a_text_that_changes_as_it_is_pointed_at_is_no_move(blank: Page) -> None:
    blank.set_content(page_of("still"))

    assert click(blank.get_by_role("button").nth(3)) == (
        'button "Delete" beside "No. 103 Dora 50.00"'
    )
    assert done(blank) == [103]


def test_an_element_that_is_not_there_yet_is_waited_for(blank: Page) -> None:
    blank.set_content(
        "<ul id=list><li>No. 1 <button>Open</button></li></ul><script>window.done = [];"
        "setTimeout(() => { for (const n of [2, 3]) { list.insertAdjacentHTML('beforeend',"
        "`<li>No. ${n} <button onclick='done.push(${n})'>Open</button></li>`); } }, 200)</script>"
    )

    assert click(blank.get_by_role("button").nth(2)) == 'button "Open" beside "No. 3"'
    assert done(blank) == [3]


def test_errors_are_those_of_playwright(blank: Page) -> None:
    blank.set_content("<button>One</button><button disabled>Two</button>")
    second = blank.get_by_role("button").nth(1)
    with pytest.raises(TimeoutError) as plain:
        second.click(timeout=300)

    with pytest.raises(TimeoutError) as same:
        on_same(second, "click", lambda one: one.click(timeout=300))

    # How often it was looked at within that time differs.
    assert same.value.message.splitlines()[:3] == plain.value.message.splitlines()[:3]
    assert "same=" not in same.value.message


def test_a_locator_that_fits_several_elements_is_refused_as_before(blank: Page) -> None:
    blank.set_content("<button>One</button><button>Two</button>")
    both = blank.get_by_role("button").filter(visible=True)

    with pytest.raises(Error, match="strict mode violation"):
        on_same(both, "click", lambda one: one.click(timeout=500))


def test_frames_and_shadow_roots_are_looked_into(blank: Page) -> None:
    frame = page_of("pressed").replace('"', "&quot;")
    blank.set_content(f'<iframe title="Orders" width=600 height=400 srcdoc="{frame}"></iframe>')
    inner = blank.locator("iframe").content_frame

    told = click(inner.get_by_role("button", name="Delete").nth(2))

    assert told.startswith('the rows moved: button "Delete" beside "No. 102 ')
    assert inner.locator("body").evaluate("() => window.done") == []

    blank.set_content(
        "<div id=host></div><script>window.done = [];"
        "const root = host.attachShadow({ mode: 'open' });"
        "const draw = (first) => { root.innerHTML = [0, 1, 2].map((n) => `<p>No. ${first + n} "
        "<button>Open</button></p>`).join(''); for (const b of root.querySelectorAll('button')) "
        "b.onclick = () => done.push(b.parentNode.textContent); };"
        "draw(1); host.addEventListener('pointermove', () => draw(7), { once: true });</script>"
    )

    told = click(blank.get_by_role("button").nth(1))

    assert told.startswith('the rows moved: button "Open" beside "No. 2" is no longer there')
    assert done(blank) == []


def test_a_click_that_leaves_the_page_is_done(blank: Page) -> None:
    blank.set_content("<a href='about:blank'>Go</a> <a href='about:blank'>Go</a>")

    on_same(blank.get_by_role("link").nth(1), "click", lambda one: one.click())

    assert blank.get_by_role("link").count() == 0


def test_menus_that_close_on_the_press_are_no_moved_rows(blank: Page) -> None:
    blank.set_content(
        "<ul id=menu><li role=option>Red</li><li role=option>Green</li></ul><p id=chosen></p>"
        "<script>menu.onmousedown = (event) => { chosen.textContent = event.target.textContent;"
        "menu.remove(); }</script>"
    )

    on_same(blank.get_by_role("option").nth(1), "click", lambda one: one.click(timeout=LATE))

    assert blank.locator("#chosen").inner_text() == "Green"


def test_a_row_may_be_dragged_onto_another_one(blank: Page) -> None:
    blank.set_content(
        "<ul>" + "".join(f"<li draggable=true>No. {n}</li>" for n in range(4)) + "</ul><script>"
        "let from; for (const li of document.querySelectorAll('li')) {"
        "li.ondragstart = () => { from = li.textContent; };"
        "li.ondragover = (event) => event.preventDefault();"
        "li.ondrop = () => { document.title = from + ' on ' + li.textContent; }; }</script>"
    )
    rows = blank.get_by_role("listitem")

    on_same(rows.nth(0), "drag_to", lambda one: one.drag_to(pinned(rows.nth(3))))

    assert blank.title() == "No. 0 on No. 3"


@pytest.mark.parametrize(
    ("expression", "positional"),
    [
        ("page.get_by_role('button').nth(3)", True),
        ("page.get_by_role('button').first", True),
        ("page.get_by_role('row').last.get_by_role('button')", True),
        ("page.locator('li:nth-child(3) button')", True),
        ("page.locator('li:last-of-type')", True),
        ("page.locator('button >> nth=2')", True),
        ("page.locator('xpath=(//button)[3]')", True),
        ("page.locator('//tr[last()]/td')", True),
        ("page.locator('button:visible')", True),
        ("page.get_by_role('row').filter(visible=True)", True),
        ("page.get_by_role('row').filter(has=page.locator(':checked'))", True),
        ("page.get_by_role('row').filter(has_not_text='paid')", True),
        ("page.frame_locator('iframe').get_by_role('button').nth(1)", True),
        ("page.get_by_role('button', name='Save')", False),
        ("page.get_by_role('row').filter(has_text='Ana').get_by_role('button')", False),
        ("page.get_by_label('Name')", False),
        ("page.locator('#first [data-n=\"3\"]')", False),
    ],
)
def test_positional_is_what_depends_on_other_elements(
    blank: Page, expression: str, positional: bool
) -> None:
    assert is_positional(eval(expression, {"page": blank})) is positional


def test_what_was_shown_is_compared_with_what_is_there(blank: Page) -> None:
    blank.set_content(page_of("still"))
    buttons = blank.get_by_role("button")
    shown = ElementIdentity("button", "Delete", "No. 103")

    assert identity_of(pinned(buttons.nth(3), shown)) == identity_of(buttons.nth(3))
    # The only other one that is as shown is found.
    assert identity_of(pinned(buttons.nth(1), shown)) == identity_of(buttons.nth(3))
    with pytest.raises(RowsMovedError) as moved:
        pinned(buttons.nth(1), ElementIdentity("button", "Delete", "No. 147 A…"))
    assert str(moved.value) == (
        'the rows moved: button "Delete" beside "No. 147 A…" is no longer there; '
        'button "Delete" beside "No. 101 Ben 30.00" is in its place'
    )


@pytest.mark.parametrize(
    ("page_text", "beside"),
    [
        ("<p>No. 1 <button>Open</button></p><p>No. 2 <button>Open</button></p>", "No. 2"),
        ("No. 1 <button>Open</button> No. 2 <button>Open</button> No. 3", "No. 2"),
        ("<table><tr><td>1<td>Ana<td><button>Open</button><tr><td>2<td>Ben<td><button>Open</button>"
         "</table>", "2 Ben"),
        ("<div><h2>Ana</h2><div><button>Edit</button><button>Open</button></div></div>"
         "<div><h2>Ben</h2><div><button>Edit</button><button>Open</button></div></div>", "Ben"),
        ("<button>Open</button><button>Open</button>", ""),
        ("<ul><li><input value=Ana><button>Open</button><li><input value=Ben><button>Open</button>",
         "Ben"),
        ("<ul><li><img alt=Ana><button>Open</button><li><img alt=Ben><button>Open</button>", "Ben"),
    ],
)  # fmt: skip
def test_what_stands_beside_an_element_is_its_rows_text(
    blank: Page, page_text: str, beside: str
) -> None:
    blank.set_content(page_text)

    assert identity_of(blank.get_by_role("button", name="Open").nth(1)) == ElementIdentity(
        "button", "Open", beside
    )


COINS = """<table>{}</table><script>
  window.done = [];
  const rows = [...document.querySelectorAll('tr')];
  document.querySelector('table').addEventListener('click', (event) => {{
    window.done.push(event.target.closest('tr').firstChild.textContent); }});
  let count = 100;
  document.addEventListener('mousemove', () => {{ count += 1; {} }}, true);
</script>"""
COIN = "<tr><td>Coin {0}<td>{1}.50 EUR<td>open<td><button>Buy</button>"
SAME_ROW = {
    "price": "rows[2].children[1].textContent = `${count}.50 EUR`",
    "what is alike in all rows": "rows[2].children[2].textContent = 'closed'",
}
OTHER_ROW = {
    "names": "rows.forEach((row, at) => { row.firstChild.textContent = `Coin ${at + count}`; })",
    "name": "rows[2].firstChild.textContent = 'Coin Z'",
    "all prices": "for (const row of rows) row.children[1].textContent = `${++count}.50 EUR`",
}


def coins(page: Page, change: str) -> str:
    """Buy the third one while its page changes under the mouse; return what was told."""
    rows = "".join(COIN.format(name, at) for at, name in enumerate("ABCDEFG"))
    page.set_content(COINS.format(rows, change))
    return click(page.get_by_role("button", name="Buy").nth(2))


@pytest.mark.parametrize("change", SAME_ROW.values(), ids=SAME_ROW)
def test_a_row_whose_value_changes_is_the_same_row(blank: Page, change: str) -> None:
    told = coins(blank, change)

    assert blank.evaluate("window.done") == ["Coin C"], told


@pytest.mark.parametrize("change", OTHER_ROW.values(), ids=OTHER_ROW)
def test_a_row_that_may_be_another_record_is_not_acted_on(blank: Page, change: str) -> None:
    told = coins(blank, change)

    assert told.startswith('the rows moved: button "Buy" beside "Coin C 2.50 EUR')
    assert done(blank) == []


def test_documents_that_were_open_before_are_looked_at_after_scrolling(
    blank: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_element, "ENGINE", "unheard")
    blank.set_content(page_of("redrawn"))

    told = click(blank.get_by_role("button", name="Delete").nth(11))

    assert told.startswith('the rows moved: button "Delete" beside ')
    assert done(blank) == []

    still = "<h1>Orders</h1><button onclick='window.done = [1]'>Pay</button>"
    blank.set_content(still)
    click(blank.get_by_role("button").first)

    assert done(blank) == [1]
