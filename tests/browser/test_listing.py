"""What the listing for capable models has: everything a person sees, where a person sees it."""

import re
from collections.abc import Callable

import pytest
from local_site import Site
from playwright.sync_api import Page

from pytest_autoweb.browser.page import page_tree
from pytest_autoweb.browser.page.brief_listing import brief_outline
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.numbered_list import numbered_listing
from pytest_autoweb.browser.page.outline import Folds, fit_outline
from pytest_autoweb.browser.page.own_world import register_own_world
from pytest_autoweb.browser.page.page_tree import RowsToRead, every, read_page

Show = Callable[[str], str]
LINES = "words\n" * 90
POINTER = "style='cursor:pointer'"


@pytest.fixture
def show(blank: Page) -> Show:
    """Returns the listing of a document."""
    register_own_world(blank)

    def show(html: str) -> str:
        blank.set_content(f"<body>{html}</body>")
        return listed(blank)

    return show


def listed(page: Page) -> str:
    taken = capture_snapshot(
        page,
        "ARIA",
        url="",
        entry_action="",
        step_indexes=(),
        budget_tokens=4_000,
        folds=Folds(),
    )
    return taken.text


PRESSED = {
    "row": (
        f"<table><tr onclick=go() {POINTER}><td>INV-1<td>Ann</table>",
        "clickable row: INV-1 | Ann",
    ),
    "cell": (
        f"<table><tr><td onclick=go() {POINTER}>INV-1<td>Ann</table>",
        'clickable "INV-1" | Ann',
    ),
    "sorted header": (
        f"<table><tr><th {POINTER} aria-sort=ascending>Name<th>Age</table>",
        'header row: clickable "Name" [ascending] | Age',
    ),
    "drawing": (
        f"<svg {POINTER} width=20 height=20 class=pin><path d='M0 0h9v9'/></svg>",
        "clickable .pin",
    ),
    "without role": (
        "<div onclick=go()>One</div><div onclick=go()>Two</div>",
        'clickable "One" | "Two"',
    ),
    "title only": (
        "<div onclick=go() title='Change picture'>&nbsp;</div>",
        'clickable title "Change picture"',
    ),
    "alone in an item": ("<ul><li><span onclick=go()>Go</span></ul>", 'clickable "Go"'),
    "alone in a cell": ("<table><tr><td><div onclick=go()>Go</div></table>", 'row: clickable "Go"'),
    "in a text": (
        "<p>Press <span onclick=go()>here</span> now</p>",
        'Press | clickable "here" | now',
    ),
    "a sign": ("<i title=Delete onclick=go()>✖</i>", 'clickable "✖" title "Delete"'),
    "by listener": (
        "<a id=a>Like</a><script>a.addEventListener('click', () => 1)</script>",
        'clickable "Like"',
    ),
    "by a library's listener": (
        "<a id=a>Like</a><script>a.__onclick = () => 1</script>",
        'clickable "Like"',
    ),
    "by keyboard": ("<span tabindex=0>Like</span>", 'clickable "Like"'),
    "of several blocks": (
        f"<div {POINTER}><div>Draft</div><div>3</div><div>$8</div></div><p>x</p>",
        'clickable "Draft 3 $8"',
    ),
    "delegated row with controls": (
        f"<table><tr {POINTER}><td><input type=checkbox><td>Ann<td><button>☆</button></table>",
        'clickable row: checkbox | Ann | button "☆"',
    ),
    "delegated region with controls": (
        f"<div {POINTER}><input type=checkbox aria-label=Choose><b>Ann</b><p>Lunch?</p></div>",
        'clickable: checkbox "Choose" | Ann | Lunch?',
    ),
    "control in a host with a pointer": (
        f"<my-b id=h {POINTER}></my-b><script>h.attachShadow({{mode: 'open'}}).innerHTML ="
        " '<button disabled>Approve</button>'</script>",
        'button "Approve" [disabled]',
    ),
    "label told apart": (
        f"<div {POINTER} aria-label='May 5, 2026'>5</div>",
        'clickable "5" label "May 5, 2026"',
    ),
}


@pytest.mark.parametrize(("html", "line"), PRESSED.values(), ids=PRESSED)
def test_what_can_be_pressed_without_a_role_is_listed(show: Show, html: str, line: str) -> None:
    assert line in show(html)


STATES = {
    "collapsed": ("<button aria-expanded=false>More</button>", 'button "More" [collapsed]'),
    "details": (
        "<details><summary>Advanced</summary>x</details>",
        'clickable "Advanced" [collapsed]',
    ),
    "open details": (
        "<details open><summary>Advanced</summary>x</details>",
        'clickable "Advanced" [expanded]',
    ),
    "toggle by class": (
        f"Sound <span class='toggle-switch active' {POINTER}>&nbsp;</span>",
        "clickable .toggle-switch.active [on]",
    ),
    "toggle by class, off": (
        f"Sound <span class=toggle {POINTER}>&nbsp;</span>",
        "clickable .toggle [off]",
    ),
    "tab by class": (
        f"<i {POINTER} class='t active'>A</i><i {POINTER} class=t>B</i>",
        '"A" [active]',
    ),
    "selected row": (
        "<table><tr class=selected><td>Ann<tr><td>Bob</table>",
        "row [selected]: Ann",
    ),
    "selected item": (
        "<ul><li class=selected><a href=/a>All</a><li><a href=/y>Yes</a></ul>",
        'link "All" [selected] | "Yes"',
    ),
    "unread rows": (
        "<table><tr style='font-weight:bold'><td>Ann<tr><td>Bob<tr><td>Cleo</table>",
        "row [bold]: Ann",
    ),
    "required and wrong": (
        "<input aria-label=Mail required aria-invalid=true value=abc>",
        'textbox "Mail" [required] [invalid]: abc',
    ),
    "read only": ("<input aria-label=Mail readonly value=abc>", 'textbox "Mail" [readonly]: abc'),
    "current": ("<a href=/ aria-current=page>Home</a>", 'link "Home" [current]'),
    "scrolled box": (
        "<div id=b style='height:60px;overflow:auto'>"
        + "".join(f"<div style='height:20px'>Row {n}</div>" for n in range(51))
        + "</div>",
        "scrollable #b [scrolls: 48 rows below]:",
    ),
    "scrolled box with a label": (
        f"<div aria-label=Terms style='height:60px;overflow:auto'>{'words<br>' * 90}</div>",
        'scrollable "Terms" [scrolls: ',
    ),
    "scrolled box for the keyboard": (
        f"<pre aria-label=Log tabindex=0 style='height:60px;overflow:auto'>{LINES}</pre>",
        'scrollable "Log" [scrolls: ',
    ),
    "scrolled box without text": (
        "<div aria-label=Map style='height:60px;overflow:auto'><p style='height:999px'></div>",
        'scrollable "Map" [scrolls: ',
    ),
    "row with controls under the pointer": (
        "<style>.c {display: none} tr:focus-within .c, tr:hover .c {display: inline}</style>"
        "<table><tr><td>Ann<td><span class=c><button>Block</button></span><tr><td>Bob</table>",
        "row [more on hover]: Ann",
    ),
    "part with controls under the pointer": (
        "<style>.c {visibility: hidden} .o:hover > .c {visibility: visible}</style>"
        "<div class=o>Order 1 <a class=c href=/1>Pay</a></div><p>x</p>",
        'hoverable "Order 1" [more on hover]',
    ),
    "menu under the pointer": (
        "<style>ul ul {display: none} li:hover > ul {display: block}</style>"
        "<ul><li><a href=/p>Products</a><ul><li><a href=/q>Mugs</a></ul><li><a href=/a>About</a>"
        "</ul>",
        'link "Products" [more on hover] | "About"',
    ),
    "row whose listener shows controls": (
        "<table id=t><tr><td>Ann<td><button hidden>Block</button></table><script>"
        "t.rows[0].onmouseenter = () => { t.querySelector('button').hidden = false }</script>",
        "row [more on hover]: Ann",
    ),
    "row whose listener makes controls": (
        "<ul><li id=a>Ann<li>Bob</ul><script>a.addEventListener('pointerenter', () => "
        "a.append(document.createElement('button')))</script>",
        "listitem [more on hover]: Ann",
    ),
    "list whose listener shows controls of a row": (
        "<ul id=l><li>Ann <button style='display:none'>Block</button><li>Bob</ul><script>"
        "l.addEventListener('mouseover', (e) => { e.target.lastElementChild.style = '' })</script>",
        "listitem [more on hover]: Ann",
    ),
    "part whose listener shows controls": (
        "<div id=o>Order 1 <a href=/1 style='visibility:hidden'>Pay</a></div><p>x</p><script>"
        "o.onmouseenter = () => { o.lastElementChild.style = '' }</script>",
        'hoverable "Order 1" [more on hover]',
    ),
    "text under the pointer": (
        "<style>i {display: none} p:hover i {display: inline}</style><p>Ann <i>since 1999</i></p>",
        "Ann",
    ),
}


@pytest.mark.parametrize(("html", "line"), STATES.values(), ids=STATES)
def test_states_that_a_person_sees_are_listed(show: Show, html: str, line: str) -> None:
    assert line in show(html)


FIELDS = {
    "option by label": (
        "<select aria-label=Milestone><option label='(unset)'><option>2.4</select>",
        'combobox "Milestone": "(unset)" [selected]; 2.4',
    ),
    "groups of options": (
        "<select aria-label=Region><optgroup label=Europe><option>Oslo<option selected>Rome"
        "</optgroup><optgroup label=Asia><option>Tokyo</select>",
        'combobox "Region": (Europe) Oslo; Rome [selected]; (Asia) Tokyo',
    ),
    "disabled option": (
        "<select aria-label=Size><option>S<option disabled>M</select>",
        'combobox "Size": S [selected]; M [disabled]',
    ),
    "placeholder of a search": (
        "<input type=search aria-label=S placeholder=ana>",
        'searchbox "S" placeholder "ana"',
    ),
    "placeholder of a labelled field": (
        "<label>Name <input placeholder='As on the invoice'></label>",
        'textbox "Name" placeholder "As on the invoice"',
    ),
    "placeholder of a combobox": (
        "<input role=combobox aria-label=Payee placeholder=Who>",
        'combobox "Payee" placeholder "Who"',
    ),
    "placeholder of a number": (
        "<input type=number aria-label=Seats placeholder=7 min=1 max=9>",
        'spinbutton "Seats" placeholder "7" (1 to 9)',
    ),
    "date": (
        "<input type=date aria-label=Day value=2026-05-01>",
        'textbox "Day" (YYYY-MM-DD): 2026-05-01',
    ),
    "suggestions": (
        "<input aria-label=City list=l>"
        "<datalist id=l><option value=Oslo><option value=Rome></datalist>",
        'combobox "City" (suggests Oslo, Rome)',
    ),
    "progress": ("<progress value=40 max=100></progress>", "progressbar: 40"),
    "line breaks": ("<textarea aria-label=Note>one\ntwo</textarea>", 'textbox "Note": one⏎two'),
    "rich text": (
        "<div contenteditable=true aria-label=Note><p>one</p>two</div>",
        'textbox "Note": one⏎⏎two',
    ),
    "code editor": (
        "<div class=CodeMirror><textarea style='position:absolute;width:1px;height:1px'></textarea>"
        "<pre class=CodeMirror-line>a = 1</pre><pre class=CodeMirror-line>b = 2</pre></div>",
        "a = 1⏎b = 2",
    ),
    "editor of an application's own": (
        "<div class=ed style='position:relative'><textarea style='position:absolute;opacity:0;"
        "width:1px;height:1em;padding:0;border:0'></textarea><div style='white-space:pre'>"
        "if a:</div><div style='white-space:pre'>  <b>b</b> = 2</div></div>",
        "textbox .ed: if a:⏎  b = 2",
    ),
    "file": ("<input type=file aria-label=Receipt>", 'button "Receipt" (file)'),
    "hidden file field": (
        "<input type=file id=f style='display:none'>",
        "button #f [not visible] (file)",
    ),
    "filled password": (
        "<input type=password aria-label=PIN value=4711>",
        'textbox "PIN": <hidden>',
    ),
}


@pytest.mark.parametrize(("html", "line"), FIELDS.values(), ids=FIELDS)
def test_fields_are_listed_with_what_they_hold_and_take(show: Show, html: str, line: str) -> None:
    text = show(html)

    assert line in text
    assert "4711" not in text


def test_frames_can_be_told_apart(show: Show) -> None:
    text = show(
        "<iframe title=Card srcdoc='<input aria-label=Number>'></iframe>"
        "<iframe name=help srcdoc='<button>Chat</button>'></iframe><iframe id=ad></iframe>"
    )

    assert text.splitlines() == [
        'iframe "Card": textbox "Number"',
        'iframe "help": button "Chat"',
        "iframe #ad",
    ]


def test_what_listens_in_frames_is_listed(show: Show) -> None:
    inner = "<b id=a>{}</b><script>a.addEventListener(`click`, () => 1)</script>"

    text = show(
        f"<iframe title=One srcdoc='{inner.format('Like')}'></iframe>"
        f"<iframe title=Two srcdoc='<p>x</p>{inner.format('Share')}'></iframe>"
        "<iframe title=Three srcdoc='<p>y</p>'></iframe>"
    )

    assert text.splitlines() == [
        'iframe "One": clickable "Like"',
        'iframe "Two": x | clickable "Share"',
        'iframe "Three": y',
    ]


def test_frames_that_come_after_a_listing_can_be_listed_and_acted_in(
    blank: Page, show: Show
) -> None:
    pane = "<iframe name=pane srcdoc='<button>Confirm</button>'></iframe>"
    renew = "const old = document.querySelector('iframe'); old.replaceWith(old.cloneNode())"
    html = f'{pane}<button onclick="{renew}">Renew</button>'
    assert 'button "Confirm"' in show(html)

    for _ in range(2):
        blank.get_by_role("button", name="Renew").click()
        confirm = blank.frame_locator("iframe").get_by_role("button", name="Confirm")
        confirm.click(timeout=10_000)
        confirm.evaluate("(button) => button.replaceWith('A list')", timeout=10_000)
        assert "A list" in listed(blank)


def test_an_icon_is_named_by_its_title(show: Show) -> None:
    size = "style='display:inline-block;width:9px;height:9px'"

    text = show(
        f"<p>Lunch? <i {size} title='Has attachment'></i></p>"
        f"<svg {size}><title>Starred</title><path d='M0 0h9'/></svg>"
    )

    assert text.splitlines() == ['Lunch? | img "Has attachment"', 'img "Starred"']


def test_texts_of_blocks_and_of_neighbours_are_not_joined(show: Show) -> None:
    text = show(
        "<div>v4.2</div><div>Security Hardening Iteration</div>"
        "<p><span style='padding:0 4px'>edit</span><span>remove</span> <b>al</b>l</p>"
    )

    assert text.splitlines() == ["v4.2", "Security Hardening Iteration", "edit remove all"]


def test_a_text_that_an_element_is_named_by_stays_where_it_is(show: Show) -> None:
    text = show(
        "<button>Open</button><h2>Ticket 1</h2><div>Open</div><h2>Ticket 2</h2><div>Closed</div>"
    )

    assert text.splitlines() == [
        'button "Open"',
        'heading "Ticket 1"',
        "Open",
        'heading "Ticket 2"',
        "Closed",
    ]


def test_twins_stand_beside_the_text_that_tells_them_apart(show: Show) -> None:
    text = show("".join(f"<div><p>Order {n}</p><button>Edit</button></div>" for n in range(3)))

    assert text.splitlines() == [f'Order {n} | button "Edit"' for n in range(3)]


def test_twins_that_stand_alone_are_said_with_the_text_before_them(show: Show) -> None:
    cards = (f"<h2>Order {n}</h2><p>{'words ' * 60}</p><button>Edit</button>" for n in range(2))

    text = show("".join(cards))

    assert 'button "Edit" (beside "Order 0")' in text
    assert 'button "Edit" (beside "Order 1")' in text


def test_a_label_is_said_once(show: Show) -> None:
    text = show("<label for=a>Name</label><input id=a><label><input type=checkbox> Agree</label>")

    assert text.splitlines() == ['textbox "Name"', 'checkbox "Agree"']


def test_closed_popups_in_slots_are_not_listed(show: Show) -> None:
    text = show(
        "<my-m id=m><b slot=menu>Copy</b><button>Menu</button></my-m><script>m.attachShadow("
        "{mode: 'open'}).innerHTML = '<slot></slot><p hidden><slot name=menu></slot></p>'</script>"
    )

    assert text == 'button "Menu"'


def test_what_a_layer_covers_is_counted(show: Show) -> None:
    buttons = "".join(f"<button style='display:block;height:20px'>B{n}</button>" for n in range(4))

    text = show(
        f"{buttons}<div role=menu aria-label='Sort by' style='position:absolute;inset:0;"
        "height:120px;background:#fff'><div role=menuitem>Name</div></div>"
    )

    assert "B1" not in text
    assert "(4 elements behind Sort by: close it first)" in text
    assert 'menuitem "Name"' in text


def test_many_links_without_a_name_are_folded(blank: Page, show: Show) -> None:
    folds = Folds()
    show("".join(f"<a href=/{n}><i style='padding:5px'></i></a>" for n in range(30)) + "<p>end")

    first = numbered_listing(blank, budget_tokens=4_000, folds=folds)
    folds.ask(1, 5)
    more = numbered_listing(blank, budget_tokens=4_000, folds=folds)

    assert first.text.splitlines()[3:] == [
        "e4 link -> /3",
        "(26 more links without a name; page.show_more(1, 5))",
        "end",
    ]
    assert [one.number for one in first.elements] == [1, 2, 3, 4]
    assert first.left_out == frozenset(range(5, 31))
    assert not first.truncated
    assert "e5 link -> /4" in more.text
    assert "e30 link -> /29" in more.text


def test_a_long_address_ends_in_an_ellipsis(show: Show) -> None:
    text = show(f"<a href='/x/{'a' * 300}'><i style='padding:5px'></i></a>")

    assert text.endswith("…")


def test_hidden_values_are_not_shown_in_names_either(show: Show) -> None:
    text = show("<label>PIN <input type=password value=geheim> for <input value=me></label>")

    assert "geheim" not in text
    assert "me" in text


@pytest.mark.parametrize("tag", ["div", "section role=group"])
def test_pages_that_are_too_deep_for_a_snapshot_are_listed(
    show: Show, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_tree, "SNAPSHOT_MS", 200.0)

    text = show(f"{f'<{tag}>x' * 490}<button>Pay</button>")

    assert 'button "Pay"' in text


def test_a_listener_that_shows_no_control_of_its_part_is_not_announced(show: Show) -> None:
    text = show(
        "<div id=r><div id=tip>Ann</div><ul><li>Bob <button hidden>Block</button></ul></div>"
        "<script>r._reactListening1 = true; for (const one of [r, tip]) "
        "one.addEventListener('mouseover', () => 1)</script>"
    )

    assert text == "Ann | Bob"


def _orders(rows: int) -> str:
    """A list of orders, each with a field, a link with a hidden name and a part of its own role."""
    made = "".join(
        f"<tr><td><input type=checkbox aria-labelledby=n{n}><td id=n{n}>No. {n}<td><b>Ann</b>"
        f"<td><span title='Paid on day {n}' role=img>x</span>"
        f"<td><a href=/{n}><svg><title>Open {n}</title></svg></a><td><h3>Note</h3>"
        for n in range(rows)
    )
    return f"<h1>Orders</h1><table aria-label=Orders><tbody id=t>{made}</table><button>End</button>"


def _listed(page: Page, folds: Folds) -> str:
    return capture_snapshot(
        page,
        "ARIA",
        url="",
        entry_action="",
        step_indexes=(),
        budget_tokens=SMALL_BUDGET,
        folds=folds,
    ).text


@pytest.mark.long
def test_the_rows_of_a_long_list_are_listed_as_those_of_a_short_one(
    blank: Page, show: Show
) -> None:
    show(_orders(40))
    short = numbered_listing(blank, budget_tokens=90_000)
    show(_orders(280))
    long = numbered_listing(blank, budget_tokens=90_000)

    told = short.text.splitlines()
    assert long.text.splitlines()[: len(told) - 1] == told[:-1]
    assert 'checkbox "No. 39"' in short.text
    assert all(one.ref for one in long.elements)
    # What a look hides from Playwright's snapshot is hidden from nobody else, and for no longer.
    assert blank.evaluate("t.firstChild === t.rows[0]")
    assert blank.locator("tbody").aria_snapshot().count("- checkbox") == 280


LONG_TEXT = "".join(f"<p>part {n}" for n in range(40))


def test_a_name_is_made_of_what_large_parts_hold(blank: Page) -> None:
    register_own_world(blank)
    blank.set_content(
        f"<a href=/a><section>{LONG_TEXT}</section></a>"
        f"<button aria-labelledby=b>x</button><div id=b><form>{LONG_TEXT}</form></div>"
        f"<label><span>Tell <div tabindex=0>{LONG_TEXT}</div></span><input></label>"
        f"<table><caption>{LONG_TEXT}</caption><tr><th>Tea<tr><td>Oolong</table>"
    )

    listing = numbered_listing(blank, budget_tokens=9_000)

    assert 'table "part 0 part 1 part 2' in listing.text
    listed = listing.elements
    named = {one.role: one.name for one in listed if one.ref and one.role != "clickable"}
    assert [*named] == ["link", "button", "textbox"]
    assert all("part 0" in name and "part 39" in name for name in named.values())


def test_a_table_for_the_layout_has_no_rows(show: Show) -> None:
    told = show(
        "<table role=presentation><tr><td>Left<td><button>A</button><tr><td>"
        "<table><tr><th>Tea<th>Price<tr><td>Oolong<td>4</table></table>"
        "<ul role=none><li>one<li>two</ul>"
    )

    assert told.splitlines() == [
        'Left | button "A"',
        "table:",
        " header row: Tea | Price",
        " row: Oolong | 4",
        "one",
        "two",
    ]


MANY = 420
SMALL_BUDGET = 1_500
ITEMS = "".join(
    f"<li><b>No. {n}</b> <i>2</i> <u>3</u> <s>4</s> <em>5</em> <a href=/{n}>Open</a>"
    for n in range(600)
)
OTHER_ROWS = {
    "hidden rows": "for (const one of t.rows) one.hidden = one.rowIndex % 2 === 1",
    "items": f"t.closest('table').outerHTML = '<ul aria-label=Orders>{ITEMS}</ul>'",
    "a row of another kind": "t.rows[300].setAttribute('role', 'presentation')",
    "a dialog in a row": (
        "t.rows[300].cells[0].innerHTML = '<dialog id=d>Sure? <button>Yes</button></dialog>';"
        "d.showModal()"
    ),
}


@pytest.mark.parametrize("change", [*OTHER_ROWS, ""])
def test_rows_that_are_not_read_change_nothing_of_what_is_shown(
    blank: Page, show: Show, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a busy machine has no time for is not looked at.
    monkeypatch.setitem(page_tree.LIMITS, "milliseconds", 60_000)
    show(_orders(MANY))
    blank.evaluate(OTHER_ROWS.get(change, "0"))
    first, later = Folds(), Folds()
    kind = "list" if change == "items" else "table"
    later.begun, later.listed = True, {1: (f'{kind} "Orders":', "1")}
    later.ask(1, 250)
    wanted = [dict(first.wanted), dict(later.wanted)]

    shown = [_listed(blank, folds) for folds in (first, later)]

    whole = brief_outline(read_page(blank))
    assert shown == [fit_outline(whole, SMALL_BUDGET, Folds(wanted=one)).text for one in wanted]
    assert all("more" in text or "dialog" in change for text in shown)


def test_a_long_list_is_not_read_whole(blank: Page, show: Show) -> None:
    show(_orders(MANY))

    some = read_page(blank, RowsToRead(SMALL_BUDGET))

    assert len(every(some.nodes)) * 3 < len(every(read_page(blank).nodes))
    assert some.complete


STRICT = "default-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'; sandbox"


def test_a_page_that_allows_no_scripts_and_trusts_no_texts_is_listed(
    page: Page, site: Site
) -> None:
    inside = "<iframe srcdoc='<button>Help</button>'></iframe>"
    policy = {"Content-Security-Policy": STRICT}
    register_own_world(page)
    page.goto(site.put("/strict", f"<button>Pay</button>{inside}", headers=policy))

    shown = numbered_listing(page, budget_tokens=4_000)

    assert re.findall(r'button "\w+"', shown.text) == ['button "Pay"', 'button "Help"']
    buttons = [one.place.locator() for one in shown.elements if one.place.locates]
    assert {"Pay", "Help"} <= {one.text_content() for one in buttons}


def test_very_long_pages_are_bounded(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(page_tree.LIMITS, "characters", 500)

    text = show(f"<button>Pay</button>{'<p>some words</p>' * 90}<button>Far</button>")

    assert 'button "Pay"' in text
    assert "Far" not in text
    assert text.endswith("(this page has more elements than are examined)")
