import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.browser.marks import MarkedPage, mark_page
from pytest_autoweb.browser.marks_xpath import literal

Show = Callable[[str], Page]
Rect = tuple[float, float, float, float]

COLOUR_AT = """async ([png, spots]) => {
  const bytes = Uint8Array.from(atob(png), (char) => char.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
  pen.drawImage(image, 0, 0);
  return spots.map(([x, y]) => Array.from(pen.getImageData(x, y, 1, 1).data.slice(0, 3)));
}"""
MAGENTA = [255, 0, 255]
LABEL = [255, 233, 0]
FAILED_LABEL = [221, 221, 221]


@pytest.fixture(scope="module")
def eye(browser: Browser) -> Iterator[Callable[[bytes, list[tuple[float, float]]], Any]]:
    """Tells the colours of a picture at some points."""
    context = browser.new_context()
    page = context.new_page()

    def look(png: bytes, spots: list[tuple[float, float]]) -> Any:
        return page.evaluate(COLOUR_AT, [base64.b64encode(png).decode(), spots])

    yield look
    context.close()


def texts(marked: MarkedPage) -> list[str]:
    return [mark.text for mark in marked.marks]


def meet(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def common(a: Rect, b: Rect) -> Rect:
    return max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])


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
        <button style="opacity: 0.05">no</button> <button style="pointer-events: none">no</button>
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
        *("handler", "pointer part", "delegated", "ticked", "icon"),
    ]
    assert [mark.number for mark in marked.marks] == list(range(1, 15))


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


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"])))
def test_a_browser_reads_a_literal_as_its_text(blank: Page, text: str) -> None:
    read = "path => document.evaluate(path, document, null, XPathResult.STRING_TYPE).stringValue"

    assert blank.evaluate(read, literal(text)) == text


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


def test_the_text_follows_the_precedence_and_no_secret_is_ever_told(
    show: Show, eye: Callable[..., Any]
) -> None:
    page = show(
        """<button aria-label=label title=title>inner</button><br>
        <button aria-label=label title=title></button><br>
        <input placeholder=hint title=title value=typed><br><input title=title value=typed><br>
        <input value=typed><br><input type=submit value=Go><br>
        <input type=password value=hunter2><br><input value="my s3cret code"><br>
        <a href="/x?t=s3cret">s3cret link</a>"""
    )

    marked = mark_page(page, hide=lambda text: text.replace("s3cret", "<secret>"))

    assert texts(marked) == [
        *("inner", "label", "hint", "title", "typed", "Go", ""),
        *("my <secret> code", "<secret> link"),
    ]
    assert marked.marks[2].texts == ("hint", "title", "typed")
    assert "s3cret" not in repr(marked.marks) + marked.listing()
    assert "hunter2" not in repr(marked.marks)
    boxes = [marked.marks[i].box for i in (6, 7)]
    centres = [(box.x + box.width / 2, box.y + box.height / 2) for box in boxes]
    assert eye(marked.picture, centres) == [[85, 85, 85]] * 2


@pytest.mark.parametrize(
    "text", ["下一页", "次のページへ", "الصفحة التالية", "Nächste Seite »", "→"]
)
def test_texts_of_other_scripts_are_marked_and_found(show: Show, text: str) -> None:
    page = show(f"<html dir=auto><p>{text}: <button>{text}</button> <a href=/x>x</a>")

    marked = mark_page(page)
    number = texts(marked).index(text) + 1

    assert marked.text_of(number) == text
    assert f'[{number}] button role=button "{text}" @(' in marked.listing()


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


def test_an_unchanged_page_gives_the_same_picture(show: Show) -> None:
    page = show("<button>One</button> <a href=/x>two</a> <input placeholder=three>")

    first, second = mark_page(page), mark_page(page)

    assert first.marks == second.marks
    assert first.picture == second.picture


def test_refused_marks_look_different_whatever_their_number_is_now(
    show: Show, eye: Callable[..., Any]
) -> None:
    page = show("<p></p><button>Buy</button> <button>Sell</button>")
    refused = mark_page(page).marks[1]
    page.evaluate("document.querySelector('p').innerHTML = '<button>New</button>'")

    marked = mark_page(page, failed={refused})

    assert [mark.failed for mark in marked.marks] == [False, False, True]
    corners = [(box[0] + 2, box[1] + 2) for box in marked.labels if box]
    assert eye(marked.picture, corners) == [LABEL, LABEL, FAILED_LABEL]


def test_a_second_look_shows_only_the_candidates_numbered_anew(show: Show) -> None:
    page = show("<button>a</button> <button>b</button> <button>c</button> <button>d</button>")
    first = mark_page(page)

    second = mark_page(page, only=[first.marks[3], first.marks[1], first.marks[3]])

    assert [(mark.number, mark.text) for mark in second.marks] == [(1, "d"), (2, "b")]
    assert second.text_of(1) == "d"


PLACES = {
    "plain": "",
    "scrolled": "<style>body { height: 4000px; padding-top: 900px }</style>",
    "zoomed": "<style>html { zoom: 1.4 }</style>",
    "zoomed body": "<style>body { zoom: 0.7 }</style>",
    "scaled": "<style>main { transform: scale(1.5) translate(20px, 10px); transform-origin: 0 0 }"
    "</style>",
}
TARGET = (
    "<main style='padding: 60px 40px'><button style='all: unset; display: block; width: 120px;"
    " height: 60px; background: #f0f'></button></main>"
)


@pytest.mark.parametrize("framed", [False, True], ids=["page", "frame"])
@pytest.mark.parametrize("place", PLACES)
def test_boxes_are_where_the_pixels_are(
    show: Show, eye: Callable[..., Any], place: str, framed: bool
) -> None:
    inner = f"<iframe width=400 height=250 style='margin: 20px' srcdoc=\"{TARGET}\"></iframe>"
    page = show(PLACES[place] + (f"<main>{inner}</main>" if framed else TARGET))
    if framed:
        page.frame_locator("iframe").locator("button").wait_for()
    if place == "scrolled":
        page.evaluate("scrollTo(0, 800)")

    marked = mark_page(page)

    (box,) = (mark.box for mark in marked.marks)
    left, top, right, bottom = box.x, box.y, box.x + box.width, box.y + box.height
    inside = [(left + 2, top + 2), (right - 3, bottom - 3)]
    outside = [(left - 3, (top + bottom) / 2), ((left + right) / 2, bottom + 3)]
    colours = eye(page.screenshot(), [*inside, *outside])
    assert colours[:2] == [MAGENTA] * 2
    assert MAGENTA not in colours[2:]


def test_a_finer_screen_gives_the_same_marks_in_finer_pixels(
    browser: Browser, eye: Callable[..., Any]
) -> None:
    html = """<style>body > * { position: absolute }</style><button style="top: 40px">One</button>
    <a href=/x style="top: 50px; left: 200px">two</a><input style="top: 120px; left: 90px">"""
    drawn = {}
    for ratio in (1, 2, 3):
        context = browser.new_context(
            viewport={"width": 400, "height": 200}, device_scale_factor=ratio
        )
        page = context.new_page()
        page.set_content(html)
        drawn[ratio] = mark_page(page)
        context.close()

    assert [drawn[ratio].scale for ratio in drawn] == [1, 2, 3]
    for ratio, marked in drawn.items():
        assert int.from_bytes(marked.picture[16:20]) == 400 * ratio
        for label, fine in zip(drawn[1].labels, marked.labels, strict=True):
            assert label is not None
            assert fine is not None
            assert fine == pytest.approx([side * ratio for side in label], abs=3 * ratio)
        corners = [(box[0] + 2, box[1] + 2) for box in marked.labels if box]
        assert eye(marked.picture, corners) == [LABEL] * 3


TEXT_BOXES = """() => Object.fromEntries(Array.from(document.querySelectorAll('button'), (made) => {
  const range = document.createRange();
  range.selectNodeContents(made);
  return [made.id, Array.from(range.getClientRects(), (r) => [r.left, r.top, r.right, r.bottom])];
}))"""
SPOT = st.tuples(
    st.integers(0, 560), st.integers(0, 370), st.integers(20, 240), st.integers(16, 80)
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(spots=st.lists(SPOT, min_size=20, max_size=60))
def test_no_number_covers_another_or_the_text_it_belongs_to(
    small: Page, spots: list[tuple[int, int, int, int]]
) -> None:
    small.set_content(
        "".join(
            f"<button id=b{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]} style='position: absolute;"
            f" left: {x}px; top: {y}px; width: {w}px; height: {h}px; overflow: hidden'>Some {n}"
            "</button>"
            for n, (x, y, w, h) in enumerate(spots)
        )
    )

    marked = mark_page(small)

    labels = [label for label in marked.labels if label]
    read = small.evaluate(TEXT_BOXES)
    assert len(labels) == len(marked.marks)
    assert not any(meet(a, b) for i, a in enumerate(labels) for b in labels[:i])
    for mark, label in zip(marked.marks, labels, strict=True):
        own = read[mark.xpaths[0].split("'")[1]]
        shown = (mark.box.x, mark.box.y, mark.box.x + mark.box.width, mark.box.y + mark.box.height)
        assert not any(meet(label, common(box, shown)) for box in own)
        assert 0 <= label[0] < label[2] <= 640
        assert 0 <= label[1] < label[3] <= 480


@pytest.fixture(scope="module")
def small(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 640, "height": 480})
    yield context.new_page()
    context.close()
