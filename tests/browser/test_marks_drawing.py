import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from pytest_autoweb.browser.marks.marking import mark_page

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


def meet(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def common(a: Rect, b: Rect) -> Rect:
    return max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])


def test_an_unchanged_page_gives_the_same_picture(show: Show) -> None:
    page = show("<button>One</button> <a href=/x>two</a> <input placeholder=three>")

    first, second = mark_page(page), mark_page(page)

    assert first.marks == second.marks
    assert first.picture == second.picture


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

    assert [mark.text for mark in marked.marks] == [
        *("inner", "label", "hint", "title", "typed", "Go", ""),
        *("my <secret> code", "<secret> link"),
    ]
    assert marked.marks[2].texts == ("hint", "title", "typed")
    assert "s3cret" not in repr(marked.marks) + marked.listing()
    assert "hunter2" not in repr(marked.marks)
    boxes = [marked.marks[i].box for i in (6, 7)]
    centres = [(box.x + box.width / 2, box.y + box.height / 2) for box in boxes]
    assert eye(marked.picture, centres) == [[85, 85, 85]] * 2


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


@pytest.mark.parametrize("place", PLACES)
def test_boxes_are_where_the_pixels_are(show: Show, eye: Callable[..., Any], place: str) -> None:
    inner = f"<iframe width=400 height=250 style='margin: 20px' srcdoc=\"{TARGET}\"></iframe>"
    page = show(f"{PLACES[place]}<main>{inner}{TARGET}</main>")
    page.frame_locator("iframe").locator("button").wait_for()
    if place == "scrolled":
        page.evaluate("scrollTo(0, 800)")

    marked = mark_page(page)

    assert [len(mark.frame) for mark in marked.marks] == [1, 0]
    shot = page.screenshot()
    for left, top, width, height in (mark.box for mark in marked.marks):
        right, bottom = left + width, top + height
        inside = [(left + 2, top + 2), (right - 3, bottom - 3)]
        outside = [(left - 3, (top + bottom) / 2), ((left + right) / 2, bottom + 3)]
        colours = eye(shot, [*inside, *outside])
        assert colours[:2] == [MAGENTA] * 2
        assert MAGENTA not in colours[2:]


@pytest.mark.long
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
  return [made.id, Array.from(range.getClientRects(), (r) => {
    // A line is higher than its letters.
    const rim = Math.min(0.14 * r.height, 4);
    return [r.left, r.top + rim, r.right, r.bottom - rim];
  })];
}))"""
SPOT = st.tuples(
    st.integers(0, 560), st.integers(0, 370), st.integers(20, 240), st.integers(16, 80)
)


@pytest.mark.long
@settings(
    max_examples=8,
    deadline=None,
    # To shrink a page of sixty buttons would take minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
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


CALENDAR = """<style>body { font: 14px sans-serif } b { font-weight: normal; cursor: pointer;
display: inline-block; width: 39px; height: HIGHpx; line-height: HIGHpx; text-align: center }
</style>
<h3>Choose a date</h3><div style="width: 290px">Mon Tue Wed Thu Fri Sat Sun<br>"""
CALENDAR += "".join(f"<b onclick=f()>{day}</b>" for day in range(1, 32)) + "</div>"


@pytest.mark.parametrize("high", [32, 26])
def test_the_numbers_of_a_thicket_sit_at_their_elements_and_cover_no_text(
    show: Show, high: int
) -> None:
    page = show(CALENDAR.replace("HIGH", str(high)))

    marked = mark_page(page)

    glyphs = page.evaluate(
        """() => [...document.querySelectorAll('b')].map((day) => {
          const range = document.createRange();
          range.selectNodeContents(day);
          const { left, top, right, bottom } = range.getBoundingClientRect();
          return [left, top + 3, right, bottom - 3];
        })"""
    )
    labels = [label for label in marked.labels if label]
    assert len(labels) == len(glyphs) == 31
    assert not [label for label in labels for glyph in glyphs if meet(label, tuple(glyph))]
    for mark, (left, top, right, bottom) in zip(marked.marks, labels, strict=True):
        x, y, width, height = mark.box
        # Each touches its own element.
        assert meet((left - 6, top - 6, right + 6, bottom + 6), (x, y, x + width, y + height))
