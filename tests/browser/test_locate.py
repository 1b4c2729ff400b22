"""The vision locator on real pages, answered by a fake that reads the pixels of its pictures."""

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from local_site import Site
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, expect

from pytest_autoweb.agents.locate.interview import VisionModel
from pytest_autoweb.agents.locate.locator import Sight
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.browser.marks.crosshair import MARGIN, take_view
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.report.search_film import render_film
from pytest_autoweb.results.records import Location, LocatorAlgorithm, Probe
from pytest_autoweb.testing.pixels import (
    HORIZONTAL,
    VERTICAL,
    Form,
    Noise,
    PixelReadingClient,
    PixelTarget,
    Where,
    outlined,
    page_in,
    read_drawing,
)

BUSY = "background: repeating-linear-gradient(45deg, #f0f, #0c8 20px, #b01020 40px, #fff 60px)"
SHADOW = """<div id=host></div><script>
  host.attachShadow({mode: 'open'}).innerHTML = '<button>In the shadow</button>';
</script>"""
ROWS = "".join(
    f"<p style='margin: 9px; {BUSY}'>row {row} <button>Edit</button> <button>Delete</button>"
    f" <a href='#{row}'>Order {row}</a></p>"
    for row in range(1, 16)
)
PAGE = f"""<!doctype html><title>Orders</title><body style="margin: 0">
<h1>Orders</h1>
{ROWS}{SHADOW}
<iframe srcdoc="<body style='margin: 0'><h2>Inner</h2><button>In the frame</button>"
  style="position: absolute; left: 700px; top: 300px; width: 300px; height: 150px"></iframe>
<div style="height: 1500px"></div><button>Far down</button>"""


def where(page: Page, *selectors: str) -> Callable[[], PixelTarget | None]:
    """Reads the element's box when asked, within frames if several selectors are given."""
    found: Any = page
    for frame in selectors[:-1]:
        found = found.frame_locator(frame)
    locator = found.locator(selectors[-1])

    def look() -> PixelTarget | None:
        box = locator.bounding_box()
        assert box is not None
        size = page.viewport_size
        assert size is not None
        inside = box["y"] >= 0 and box["y"] + box["height"] <= size["height"]
        return PixelTarget(**box) if inside else None

    return look


def sight(page: Page, client: Client, **more: Any) -> Sight:
    request = Request(model="fake/pixels", messages=(), stage="locate")
    return Sight(page, VisionModel(client, request), **more)


def client_for(page: Page, targets: dict[str, Where], **more: Any) -> PixelReadingClient:
    size = page.viewport_size
    assert size is not None
    return PixelReadingClient(targets, viewport=(size["width"], size["height"]), **more)


@pytest.fixture(scope="module", params=[1, 2, 1.5])
def orders(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(
        device_scale_factor=request.param, viewport={"width": 1024, "height": 640}
    )
    page = context.new_page()
    page.set_content(PAGE)
    yield page
    context.close()


@pytest.fixture(scope="module")
def simple(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 800, "height": 600})
    yield context.new_page()
    context.close()


def test_lines_and_numbers_are_in_the_picture_where_they_belong(orders: Page) -> None:
    orders.evaluate("scrollTo(0, 37)")
    view = take_view(orders)
    boxes = list(enumerate((mark.box for mark in view.marks), 1))[::4]

    png = view.picture(333, 222, boxes)
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    drawing = read_drawing(page_in(picture))

    assert max(picture.size) <= 1568
    assert drawing.x is not None
    assert drawing.y is not None
    assert abs(drawing.x / view.scale - 333) <= 1
    assert abs(drawing.y / view.scale - 222) <= 1
    assert sorted(label.number for label in drawing.labels) == [number for number, _ in boxes]
    for label in drawing.labels:
        box = dict(boxes)[label.number]
        left, top, right, bottom = (edge / view.scale for edge in label.rect)
        assert left <= box.x + box.width + 30
        assert right >= box.x - 30
        assert top <= box.y + box.height + 30
        assert bottom >= box.y - 30


CASES: dict[float, tuple[str, tuple[str, ...], LocatorAlgorithm, Form, float]] = {
    1: ("the button in the frame", ("iframe", "button"), "bayes", "sections", 0),
    2: ("the one in the shadow", ("#host button",), "bayes", "chinese", 60),
    1.5: ("the link Order 3", ("p:nth-of-type(3) a",), "seed", "json", 60),
}


@pytest.mark.long
def test_what_is_described_is_found_at_any_scale(orders: Page) -> None:
    what, path, algorithm, form, scrolled = CASES[orders.evaluate("devicePixelRatio")]
    orders.evaluate(f"scrollTo(0, {scrolled})")
    before = orders.content()
    noise = Noise(slack=8, unreadable=0.15)
    target = where(orders, *path)
    client = client_for(orders, {what: target}, form=form, noise=noise, seed=2)

    result = sight(orders, client, algorithm=algorithm).locate(what)

    assert (result.status, result.location.algorithm) == ("found", algorithm)
    assert result.element is not None
    box = result.element.bounding_box()
    assert box is not None
    assert target() == PixelTarget(**box)
    assert result.location.calls == len(client.requests) == len(result.transcript)
    assert result.confidence >= 0.95
    assert orders.content() == before


@pytest.mark.long
def test_a_target_below_is_found_by_scrolling_and_a_missing_one_is_not_found(simple: Page) -> None:
    simple.set_content(PAGE)
    targets: dict[str, Where] = {"far": where(simple, "body > button"), "nowhere": None}
    looking = sight(simple, client_for(simple, targets))

    far = looking.locate("far")
    assert far.element is not None
    expect(far.element).to_have_text("Far down")
    simple.evaluate("scrollTo(0, 0)")
    simple.set_content("<button>Save</button><p>Some text</p>")
    nowhere = looking.locate("nowhere")

    assert (nowhere.status, nowhere.element) == ("not_found", None)
    # The model was shown the whole view, so it is not asked about texts as well.
    assert nowhere.location.calls <= 3
    assert far.location.probes[0].answer == "not found"


def test_texts_are_found_where_nothing_that_can_be_acted_on_fits(simple: Page) -> None:
    simple.set_content("<button>Pay</button><p>Total</p><p id=sum>12.50</p>")
    client = client_for(simple, {"the sum to pay": where(simple, "#sum")})

    result = sight(simple, client).locate("the sum to pay")

    assert result.element is not None
    assert result.element.inner_text() == "12.50"


def test_what_is_drawn_on_a_canvas_has_a_place_to_click(simple: Page) -> None:
    simple.set_content(
        '<button>Help</button><br><canvas width=600 height=400 onclick="document.title ='
        " event.offsetX + ' ' + event.offsetY\" style='border: 3px solid'></canvas>"
    )
    box = simple.locator("canvas").bounding_box()
    assert box is not None
    ball = PixelTarget(box["x"] + 350, box["y"] + 120, 90, 80)

    client = PixelReadingClient({"the ball": ball}, viewport=(800, 600))
    result = sight(simple, client).locate("the ball")

    assert result.status == "found"
    assert result.point is not None
    assert ball.x < result.point[0] < ball.x + ball.width
    assert ball.y < result.point[1] < ball.y + ball.height
    simple.mouse.click(*result.point)
    assert simple.title() != ""


def test_a_place_on_a_canvas_is_searched_once_and_no_picture_is_shown_twice(simple: Page) -> None:
    simple.set_content("<button>Help</button><br><canvas width=600 height=400></canvas>")
    box = simple.locator("canvas").bounding_box()
    assert box is not None
    ball = PixelTarget(box["x"] + 350, box["y"] + 120, 90, 80)
    client = PixelReadingClient({"the ball": ball}, viewport=(800, 600))
    looking = sight(simple, client)

    first, again = looking.locate("the ball"), looking.locate("the ball")

    shown = [
        message.images for one in client.requests for message in one.messages if message.images
    ]
    assert len(set(shown)) == len(shown) == first.location.calls
    assert (again.point, again.location.calls) == (first.point, 0)


def test_a_view_that_shows_nothing_new_is_skipped(simple: Page) -> None:
    simple.set_content(
        "<button>Save</button><p>Some text</p><div style='height: 1400px'></div>"
        "<button id=far>Far</button><div style='height: 1000px'></div>"
    )
    client = client_for(simple, {"nowhere": None})

    nowhere = sight(simple, client).locate("nowhere")

    # Of the five positions that cover the page, only the first and that of "Far" have elements.
    assert nowhere.status == "not_found"
    assert nowhere.location.calls == 2


def test_text_under_a_line_stays_readable(simple: Page) -> None:
    simple.set_content("<body style='margin: 0'><p style='font: 40px serif'>Readable text</p>")
    view = take_view(simple)
    bare, lined = (
        page_in(Image.open(io.BytesIO(png)).convert("RGB"))
        for png in (view.picture(), view.picture(x=100, y=70))
    )

    changed = ImageChops.difference(bare, lined).crop((200, 0, 600, 500)).getbbox()
    opaque = [y for y in range(500) if lined.getpixel((300, y)) == HORIZONTAL]

    assert changed is not None
    assert changed[3] - changed[1] <= 5
    assert len(opaque) == 1


@pytest.mark.long
def test_the_tags_of_lines_hide_nothing_of_the_page(orders: Page) -> None:
    orders.evaluate("scrollTo(0, 0)")
    view = take_view(orders)
    bare, lined = (
        Image.open(io.BytesIO(png)).convert("RGB")
        for png in (view.picture(), view.picture(x=2, y=view.height - 3))
    )

    changed = ImageChops.difference(page_in(bare), page_in(lined)).convert("L")
    thick = round(8 * max(1, view.scale))
    inner = changed.crop((thick, 0, changed.width, changed.height - thick))
    tags = [colour for colour in (VERTICAL, HORIZONTAL) if colour in _colours_of_margin(lined)]

    assert inner.getbbox() is None
    assert tags == [VERTICAL, HORIZONTAL]
    assert _colours_of_margin(bare).isdisjoint({VERTICAL, HORIZONTAL})
    assert page_in(bare).width == round(view.width * view.scale)


def _colours_of_margin(picture: Image.Image) -> set[Any]:
    width, height = picture.size
    strips = ((0, 0, width, MARGIN), (0, height - MARGIN, width, height))
    sides = ((0, 0, MARGIN, height), (width - MARGIN, 0, width, height))
    colours = [picture.crop(box).getcolors(1 << 24) for box in (*strips, *sides)]
    return {colour for found in colours for _, colour in found or ()}


def test_a_number_looks_as_on_marked_pictures_and_is_tied_to_its_box_by_colour(
    simple: Page,
) -> None:
    simple.set_content("<button style='margin: 90px'>Pay</button><button>Go</button>")
    view = take_view(simple)
    png = view.picture(boxes=[(n, mark.box) for n, mark in enumerate(view.marks, 1)])
    picture = page_in(Image.open(io.BytesIO(png)).convert("RGB"))

    labels = read_drawing(picture).labels

    assert sorted(label.number for label in labels) == [1, 2]
    for label in labels:
        box = view.marks[label.number - 1].box
        corners = (box.x, box.y, box.x + box.width, box.y + box.height)
        assert outlined(picture, corners, label.colour) == 1
        left, top, _, _ = label.rect
        assert picture.getpixel((left + 1, top + 1)) == (255, 233, 0)


def test_the_same_question_on_the_same_page_state_is_asked_once(simple: Page) -> None:
    simple.set_content("<button>Yes</button> <button>No</button>")
    client = client_for(simple, {"the No button": where(simple, "button:nth-of-type(2)")})
    looking = sight(simple, client)

    first = looking.locate("the No button")
    asked = len(client.requests)
    again = looking.locate("the No button")
    simple.evaluate("document.body.append('changed')")
    anew = looking.locate("the No button")

    assert [one.location.cached for one in (first, again, anew)] == [False, True, False]
    assert (again.status, again.location.calls, again.probes) == ("found", 0, ())
    assert again.element is not None
    assert again.element.inner_text() == "No"
    assert len(client.requests) > asked


def test_replies_that_say_nothing_and_models_that_fail_find_nothing(simple: Page) -> None:
    simple.set_content("<button>Yes</button> <button>No</button>")
    before = simple.content()
    talker = client_for(simple, {"No": where(simple, "button >> nth=1")}, form="prose")
    said = sight(simple, talker).locate("No")

    class Broken:
        def complete(self, request: Request) -> Reply:
            raise ModelError("rate_limit", request.model, "slow down")

    broken = sight(simple, Broken()).locate("No")

    assert (said.status, said.element) == ("budget", None)
    assert {probe.answer for probe in said.probes} == {""}
    quoted = talker.requests[1].messages[-1].content
    assert "could not be used: it holds no JSON object" in quoted
    assert (broken.status, broken.element) == ("budget", None)
    assert "rate_limit" in broken.location.reason
    assert simple.content() == before


def test_pictures_show_no_password_and_prompts_no_secret(simple: Page) -> None:
    simple.set_content("<input type=password value=hunter2><button>Go hunter2</button>")
    client = client_for(simple, {"Go": where(simple, "button")})

    def hide(text: str) -> str:
        return text.replace("hunter2", "•••")

    result = sight(simple, client, hide=hide).locate("Go")

    png = take_view(simple, hide=hide).picture()
    picture = page_in(Image.open(io.BytesIO(png)).convert("RGB"))
    box = simple.locator("input").bounding_box()
    assert box is not None
    left, top = int(box["x"]) + 1, int(box["y"]) + 1
    field = picture.crop((left, top, left + int(box["width"]) - 2, top + int(box["height"]) - 2))
    assert field.getcolors() == [(field.width * field.height, (85, 85, 85))]
    assert "•••" in result.location.element
    assert "hunter2" not in result.location.model_dump_json()
    assert "hunter2" not in str([request.messages for request in client.requests])


HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


def test_the_film_plays_by_keyboard_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    pixel = io.BytesIO()
    Image.new("RGB", (1280, 720), "white").save(pixel, "png")
    probes = tuple(
        Probe(index=i, kind="both", picture=f"{i}.png", answer=f"{HOSTILE} {i}", surviving=9 - i)
        for i in (1, 2, 3)
    )
    location = Location(
        description=HOSTILE,
        algorithm="bayes",
        status="found",
        element=HOSTILE,
        box=(10, 10, 40, 20),
        viewport=(1280, 720),
        confidence=0.98,
        candidates=12,
        probes=probes,
    )
    file = tmp_path / "film.html"
    pictures = {f"{i}.png": pixel.getvalue() for i in (1, 2, 3)}
    file.write_text(render_film(location, pictures), encoding="utf-8")
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())

    shown = page.locator(".film-told p").first
    expect(shown).to_contain_text("1 of 3")
    page.keyboard.press("ArrowRight")
    expect(shown).to_contain_text("2 of 3")
    page.keyboard.press("End")
    expect(shown).to_contain_text("3 of 3")
    expect(page.locator(".ring-spot")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(shown).to_contain_text("1 of 3")
    page.get_by_role("button", name="Enlarge").click()
    expect(page.locator("#zoom img")).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.title() == "autoweb debug locate"
    assert complaints == []
    context.close()


@pytest.mark.skipif(
    "AUTOWEB_VISION_MODEL" not in os.environ,
    reason="set AUTOWEB_VISION_MODEL (and its key) to ask a real model with vision",
)
def test_a_real_vision_model_finds_a_button(site: Site, tmp_path: Path) -> None:
    model = os.environ["AUTOWEB_VISION_MODEL"]
    (tmp_path / "m.yaml").write_text(json.dumps({"models": {model: {"vision": True}}}))
    url = site.put("/orders", PAGE)
    more = ["--models-file", str(tmp_path / "m.yaml"), "--out", str(tmp_path / "out")]

    code = main(["debug", "locate", url, "the Delete button in row 7", "--model", model, *more])

    assert code == 0


def test_a_view_that_does_not_hold_the_target_is_closed_for_all_kinds(simple: Page) -> None:
    simple.set_content(
        "<button>Yes</button> <button>No</button><p>Some text</p><p>More</p>"
        "<canvas width=300 height=200></canvas>"
    )
    client = client_for(simple, {"the blue horse": None})
    result = sight(simple, client).locate("the blue horse")

    # Two answers that agree are what it takes to be sure; they are about the whole picture.
    assert (result.status, len(client.requests)) == ("not_found", 2)
    assert result.confidence >= 0.97


def test_a_view_with_nothing_new_is_not_asked_about_and_no_picture_is_shown_twice(
    simple: Page,
) -> None:
    rows = "".join(f"<p style='height: 40px'><button>Row {n}</button></p>" for n in range(14))
    simple.set_content(f"{rows}<div style='height: 60px'></div>")
    client = client_for(simple, {"the blue horse": None})
    result = sight(simple, client).locate("the blue horse")

    pictures = [image for asked in client.requests for image in asked.messages[-1].images]
    assert result.status == "not_found"
    assert len(pictures) == len(set(pictures))
    # The page scrolls, but what is below was in full sight before.
    assert simple.evaluate("document.scrollingElement.scrollHeight") > 600
    assert len(client.requests) == 2


def test_a_place_on_a_canvas_is_remembered(simple: Page) -> None:
    simple.set_content("<button>Help</button><br><canvas width=600 height=400></canvas>")
    box = simple.locator("canvas").bounding_box()
    assert box is not None
    ball = PixelTarget(box["x"] + 350, box["y"] + 120, 90, 80)
    client = PixelReadingClient({"the ball": ball}, viewport=(800, 600))
    looking = sight(simple, client)

    first = looking.locate("the ball")
    asked = len(client.requests)
    again = looking.locate("the ball")

    assert (first.status, again.status) == ("found", "found")
    assert (again.point, again.location.cached) == (first.point, True)
    assert len(client.requests) == asked
    # The box is confirmed once, as the last question, after lines; earlier ones are about elements.
    kinds = [probe.kind for probe in first.probes]
    assert kinds[-1] == "confirm"
    assert "confirm" not in kinds[kinds.index("both") : -1]
