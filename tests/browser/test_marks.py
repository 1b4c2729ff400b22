from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_site import Site
from playwright.sync_api import Page

from pytest_autoweb.base.xpath import xpath_literal
from pytest_autoweb.browser.marks.mark_list import page_list
from pytest_autoweb.browser.marks.marking import MarkedPage, listing, mark_page, texts_apart

Show = Callable[[str], Page]


def texts(marked: MarkedPage) -> list[str]:
    return [mark.text for mark in marked.marks]


def test_what_can_be_acted_on_is_marked_and_nothing_else(show: Show) -> None:
    page = show(
        """<style>p { height: 20px; margin: 5px }</style>
        <p><a href=/a>link</a> <p><button>button</button> <p><input placeholder=field>
        <p><textarea placeholder=area rows=1></textarea> <p><select><option>choice</select>
        <details><summary>summary</summary>folded <button>no</button></details>
        <p><span role=tab>tab</span> <p><i tabindex=0>focusable</i>
        <div contenteditable>editor</div> <p><b onclick=f()>handler</b>
        <p><span style="cursor: pointer">pointer <em>part</em></span>
        <ul><li data-id=1 style="width: 99px">delegated</ul>
        <label><input type=checkbox style="display: none"> ticked</label>
        <p><svg width=20 height=20 onclick=f() aria-label=icon><rect width=20 height=20 /></svg>
        <p>plain <a>no</a> <input type=hidden> <button hidden>no</button>
        <button style="opacity: 0.05">faint</button>
        <button style="pointer-events: none">no</button>
        <button style="visibility: hidden">no</button><span tabindex=-1>no</span>
        <div inert><button>no</button></div>
        <div style="width: 30px; overflow: hidden; white-space: nowrap">xxxxxxxxx
          <button>no</button></div>
        <button style="position: absolute; top: 2000px">no</button>
        <button style="position: absolute; left: -900px">no</button>"""
    )

    marked = mark_page(page)

    assert texts(marked) == [
        *("link", "button", "field", "area", "choice", "summary", "tab", "focusable", "editor"),
        *("handler", "pointer part", "delegated", "ticked", "icon", "faint"),
    ]
    assert [mark.number for mark in marked.marks] == list(range(1, 16))
    assert [mark.text for mark in marked.marks if mark.revealed] == ["faint"]


ROWS = """<style>.row { padding: 8px } .row button { opacity: 0 }
@media (hover: hover) { .row:hover button { opacity: 1 } }
.mail .acts { visibility: hidden } .mail:hover .acts { visibility: visible }
.note { & .acts { display: none } &:hover .acts { display: inline } }
.task:not(:hover) .acts { display: none }</style>
<div class=row>Figma <button>Disconnect</button></div>
<div class=mail>Mail 1 <span class=acts><a href=/1>Archive</a></span></div>
<div class=note>Note 1 <span class=acts><a href=/2>Edit</a> <a href=/3>Copy</a></span></div>
<div class=task>Task 1 <span class=acts><a href=/4>Close</a></span></div>
<div style="display: none"><button>closed dialog</button></div>
<div style="visibility: hidden"><button>closed menu</button></div>"""


def test_controls_that_appear_under_the_mouse_are_marked_or_their_rows_are(show: Show) -> None:
    marked = mark_page(show(ROWS))

    found = [(mark.text, mark.revealed, mark.reveals) for mark in marked.marks]
    assert found == [
        ("Disconnect", True, ()),
        ("Archive", True, ()),
        ("Note 1", False, ("Edit", "Copy")),
        ("Task 1", False, ("Close",)),
    ]


@pytest.mark.parametrize(
    ("row", "cell", "expected"),
    [
        ("onclick=f()", 'style="cursor: pointer"', ["a b c d", "e f g h"]),
        ("onclick=f()", "tabindex=0", ["a b c d", "e f g h"]),
        ('style="cursor: pointer"', "tabindex=0", ["a b c d", "e f g h"]),
        ("", "onclick=f()", list("abcdefgh")),
        ('style="cursor: pointer"', "onclick=f()", list("abcdefgh")),
    ],
)
def test_the_cells_of_a_row_with_a_handler_are_one_target(
    show: Show, row: str, cell: str, expected: list[str]
) -> None:
    rows = (f"<tr {row}>" + "".join(f"<td {cell}>{n}" for n in four) for four in ("abcd", "efgh"))

    marked = mark_page(show(f"<table cellpadding=9>{''.join(rows)}</table>"))

    assert texts(marked) == expected


def test_a_row_with_controls_of_its_own_is_a_target_too(show: Show) -> None:
    row = (
        '<div class=row style="cursor: pointer">{0} <b>{1}</b> <button>☆</button> <a href=/x>x</a> '
    )
    row += "<input type=checkbox aria-label=tick></div>"
    rows = "".join(row.format(name, "of a long title") for name in ("Ann", "Ben", "Cid"))

    marked = mark_page(show(rows))

    assert [mark.tag for mark in marked.marks].count("div") == 3
    assert len(marked.marks) == 12


FORM = """<label>Name <input placeholder="As on the invoice" required></label>
<label><input type=checkbox checked> Urgent</label> <button aria-pressed=true>Bold</button>
<button aria-expanded=false>More</button> <button disabled>Save</button>
<details><summary>Advanced</summary></details> <details open><summary>History</summary></details>
<label>Paper <select><optgroup label=Fine><option>Matt, 120 g<option selected>Gloss, 90 g</optgroup>
<option disabled>Rag, 310 g<option label="(unset)" value=""></select></label>
<button>Open</button><p>Ticket 1</p><p>Open</p>"""


def test_the_list_says_states_options_placeholders_and_each_text_once(show: Show) -> None:
    marked = mark_page(show(FORM), lines=True)

    assert page_list(marked, marked.marks, max_chars=1000).splitlines() == [
        '[1] textbox "Name" placeholder "As on the invoice" (required)',
        '[2] checkbox "Urgent" (checked)',
        '[3] button "Bold" (pressed)',
        '[4] button "More" (collapsed)',
        '[5] button "Save" (disabled)',
        '[6] summary "Advanced" (collapsed)',
        '[7] summary "History" (expanded)',
        '[8] combobox "Paper" holds "Gloss, 90 g"',
        '[8] options: Fine: "Matt, 120 g" | "Gloss, 90 g" (chosen) | "Rag, 310 g" (disabled) '
        '| "(unset)"',
        '[9] button "Open"',
        "text: Ticket 1",
        "text: Open",
    ]


def test_text_stands_where_it_is_and_what_is_new_is_said(show: Show) -> None:
    page = show(
        "<p>Receipts <a href=/1>edit</a></p><p><b>Travel</b> <b>May</b> <a href=/2>edit</a></p>"
        "<a href=/r>Receipts</a><div style='height: 2000px'></div><p>Imprint</p>"
    )
    marked = mark_page(page, lines=True)

    assert page_list(
        marked, marked.marks, max_chars=1000, before={"Receipts", "May"}
    ).splitlines() == [
        *("text: Receipts", '[1] link "edit"', "new text: Travel May", '[2] link "edit"'),
        *('[3] link "Receipts"', "(out of view)", "new text: Imprint"),
    ]
    assert "text: …" in page_list(marked, marked.marks, max_chars=9)


LOOKS = """<style>.switch { cursor: pointer } .ace_editor textarea { position: absolute; width: 1px;
height: 1em; opacity: 0; padding: 0; border: 0 } .row { height: 40px }</style>
<p><b>Jo Park</b> <a href=/1>The contract</a> <i title="Has attachment">
<svg width=18 height=18></svg></i> <button title=Archive><svg width=18 height=18></svg></button></p>
<span class="switch on">Light</span> <span class=switch>Alarm</span>
<p>Note</p><textarea rows=3>Come to the yard door.
The lane is narrow.</textarea>
<div class=ace_editor style="width: 400px"><div class=ace_line>Saturday 10-16</div>
<div class=ace_line>Sunday closed</div><textarea aria-label="Text of the notice"></textarea></div>
<div aria-label=Orders style="height: 90px; overflow: auto"><div>"""
LOOKS += "".join(f"<div class=row>No. {n}</div>" for n in range(9)) + "</div></div>"


def test_the_list_says_what_a_look_tells(show: Show) -> None:
    marked = mark_page(show(LOOKS), lines=True)

    listed = page_list(marked, marked.marks, max_chars=1000).partition("(out of view)")[0]
    assert listed.splitlines() == [
        "text: Jo Park",
        '[1] link "The contract"',
        'text: img "Has attachment"',
        '[2] button "Archive"',
        '[3] clickable "Light" (on)',
        '[4] clickable "Alarm" (off)',
        "text: Note",
        '[5] textbox "" holds "Come to the yard door.⏎The lane is narrow."',
        '[6] textbox "Text of the notice" holds "Saturday 10-16⏎Sunday closed"',
        'scrollable "Orders" (7 rows below)',
        "text: No. 0",
        "text: No. 1",
        "text: No. 2",
    ]


def test_marks_are_numbered_by_rows_and_a_child_within_a_card_keeps_its_own(show: Show) -> None:
    at = "position: absolute; width: 80px; height: 30px;"
    page = show(
        f"""<button style="{at} top: 104px; left: 10px">3</button>
        <button style="{at} top: 5px; left: 200px">2</button>
        <button style="{at} top: 12px; left: 10px">1</button>
        <button style="{at} top: 100px; left: 200px">4</button>
        <a href=/card style="position: absolute; top: 200px; width: 300px; height: 90px">card
          <button style="{at} top: 50px; left: 200px">buy</button></a>
        <div onclick=f() style="position: absolute; top: 400px"><button>one thing</button></div>
        <div tabindex=0 style="position: absolute; top: 450px; width: 500px"><a href=/1>a</a> long
          <a href=/2>b</a> row <a href=/3>c</a></div>"""
    )

    marked = mark_page(page)

    assert texts(marked) == ["1", "2", "3", "4", "card buy", "buy", "one thing", "a", "b", "c"]
    assert marked.marks[6].tag == "button"


def test_what_lies_behind_a_dialog_has_no_mark(show: Show) -> None:
    page = show(
        """<button>behind</button><div style="position: fixed; inset: 0; background: #0008">
        <dialog open><button>Close</button></dialog></div>"""
    )

    assert texts(mark_page(page)) == ["Close"]

    page = show("<button>behind</button><dialog><button>Yes</button></dialog>")
    page.evaluate("document.querySelector('dialog').showModal()")

    assert texts(mark_page(page)) == ["Yes"]


def test_the_limit_keeps_the_surest_and_leaves_no_gap_in_the_numbers(show: Show) -> None:
    guesses = "<p style='cursor: pointer; margin: 2px'>guess" * 4
    page = show(guesses + "<button>sure</button> " * 4)

    marked = mark_page(page, limit=6)

    assert texts(marked) == ["guess", "guess", "sure", "sure", "sure", "sure"]
    assert [mark.number for mark in marked.marks] == [1, 2, 3, 4, 5, 6]
    assert not marked.complete


def test_shadow_roots_and_frames_are_looked_into_and_acted_in(show: Show) -> None:
    page = show(
        """<my-card></my-card><br><iframe title=outer width=600 height=300></iframe><script>
        customElements.define('my-card', class extends HTMLElement {
          connectedCallback() {
            this.attachShadow({mode: 'open'}).innerHTML = `<button>first</button>
              <button onclick="this.textContent = 'done'">second</button>`;
          }
        });
        const outer = document.querySelector('iframe');
        outer.srcdoc = `<a href=#x>in frame</a><br><iframe width=400 height=200
          srcdoc="<button onclick=&quot;this.textContent = 'deep done'&quot;>deep</button>">`;
        </script>"""
    )
    page.frame_locator("iframe").frame_locator("iframe").get_by_text("deep").wait_for()

    marked = mark_page(page)
    for text in ("second", "deep"):
        found = marked.locator(texts(marked).index(text) + 1)
        assert found is not None
        found.click()

    assert texts(marked) == ["first", "second", "in frame", "deep"]
    assert [len(mark.frame) for mark in marked.marks] == [0, 0, 1, 2]
    assert [marked.text_of(n) for n in (1, 2, 3, 4)] == ["first", "done", "in frame", "deep done"]


XPATHS_FIND = """([paths, n]) => paths.map((path) => {
  const found = document.evaluate(path, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
  return found.snapshotLength === 1 && found.snapshotItem(0).dataset.n === n;
})"""


def test_every_xpath_finds_its_element_and_no_other(show: Show) -> None:
    odd = """it's "both" >> `x`\\"""
    page = show("<ul></ul><ol></ol><svg width=90 height=30></svg>")
    page.evaluate(
        """(odd) => {
        let n = 0;
        const add = (parent, tag, attributes, text) => {
          const made = parent.namespaceURI.endsWith('svg')
            ? document.createElementNS(parent.namespaceURI, tag) : document.createElement(tag);
          for (const [key, value] of Object.entries({...attributes, 'data-n': `${n += 1}`})) {
            made.setAttribute(key, value);
          }
          made.textContent = text;
          parent.append(made, ' ');
        };
        const [ul, ol, svg] = document.querySelectorAll('ul, ol, svg');
        add(ul, 'button', {id: odd}, odd);
        add(ul, 'button', {id: 'twice'}, 'same');
        add(ul, 'button', {id: 'twice'}, 'same');
        add(ol, 'a', {href: '/deep/path/one-item', 'aria-label': odd}, 'Read');
        add(ol, 'a', {href: '/deep/path/two-item/'}, 'Read');
        add(ol, 'a', {href: 'x', 'data-testid': odd}, '');
        ol.lastElementChild.style.cssText = 'display: inline-block; width: 40px; height: 20px';
        add(svg, 'rect', {width: 40, height: 20, tabindex: 0}, '');
        }""",
        odd,
    )

    marked = mark_page(page)

    found = [
        page.evaluate(XPATHS_FIND, [list(mark.xpaths), str(n)])
        for n, mark in enumerate(marked.marks, 1)
    ]
    assert [len(paths) for paths in found] == [3, 1, 1, 3, 2, 2, 1]
    assert all(all(paths) for paths in found)
    assert all(marked.locator(n + 1) for n in range(7))
    assert page.locator(f"xpath={marked.marks[0].xpaths[0]}").count() == 1


@pytest.mark.long
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"])))
def test_a_browser_reads_a_literal_as_its_text(blank: Page, text: str) -> None:
    read = "path => document.evaluate(path, document, null, XPathResult.STRING_TYPE).stringValue"

    assert blank.evaluate(read, xpath_literal(text)) == text


def test_an_element_is_found_again_as_itself_or_by_its_looks_but_never_as_another(
    show: Show,
) -> None:
    page = show("<main><button>Save</button> <button>Send</button> <a id=top href=#>Top</a></main>")
    marked = mark_page(page)

    # Itself, after it moved and its text changed, although another now reads as it did.
    page.evaluate(
        """() => { const [save] = document.querySelectorAll('button');
        save.textContent = 'Saved'; save.parentNode.append(save);
        const first = document.querySelector('button');
        first.insertAdjacentHTML('afterend', '<button>Save</button>') }"""
    )
    assert marked.text_of(1) == "Saved"
    assert marked.text_of(3) == "Top"

    # Drawn anew: what looks alike is taken; what is not there any more is not guessed at.
    page.set_content("<main><a id=top href=#>Up</a></main><p id=far></p>")
    assert marked.text_of(3) == "Up"
    assert marked.locator(1) is None
    assert marked.locator(9) is None
    page.set_content("<div id=top>Another kind of thing</div>")
    assert marked.locator(3) is None


def test_texts_of_other_scripts_are_marked_and_found(show: Show) -> None:
    shown = ["下一页", "次のページへ", "الصفحة التالية", "Nächste Seite »", "→"]
    rows = "".join(f"<p dir=auto>{text}: <button>{text}</button>" for text in shown)
    page = show(rows)

    marked = mark_page(page)

    assert texts(marked) == shown
    for number, text in enumerate(shown, 1):
        assert marked.text_of(number) == text
        assert f'[{number}] button role=button "{text}"' in marked.listing()


def test_the_page_does_not_notice_and_nothing_stays_in_it(site: Site, blank: Page) -> None:
    policy = {"content-security-policy": "default-src 'none'; script-src 'nonce-x'"}
    html = """<style></style><button>One</button><input type=password value=x><input autofocus>
    <script nonce=x>window.seen = []; new MutationObserver((all) => seen.push(...all)).observe(
      document, {subtree: true, childList: true, attributes: true, characterData: true});
    const keys = Object.keys(window).length; window.grown = () => Object.keys(window).length - keys
    </script>"""
    blank.goto(site.put("/strict.html", html, headers=policy))
    before = blank.content()
    counts = "[seen.length, grown()]"
    start = blank.evaluate(counts)

    marked = mark_page(blank, failed=mark_page(blank).marks[:1])
    again = mark_page(blank)
    found = again.locator(1)

    assert found is not None
    assert len(marked.marks) == 3
    assert blank.content() == before
    assert blank.evaluate(counts) == start
    assert blank.context.pages == [blank]


def test_small_models_are_shown_a_text_that_repeats_a_mark_somewhere_else(show: Show) -> None:
    page = show(
        "<button>Open</button><p style='margin-top:200px'>Open</p>"
        "<label for=a style='margin-top:90px'>Name</label> <input id=a aria-label=Name>"
    )
    marked = mark_page(page, lines=True)
    text = page.locator("body").inner_text()

    shown = listing(
        marked.marks, text, max_chars=1_000, apart=texts_apart(marked.marks, marked.lines)
    )

    assert shown.splitlines()[2:] == ["text: Open"]
