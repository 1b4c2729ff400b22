import time
from collections.abc import Callable
from pathlib import Path

import pytest
from local_site import Site
from PIL import Image
from playwright.sync_api import Browser, Page

from pytest_autoweb.browser.page.page_digest import page_look
from pytest_autoweb.judging.evidence.console import Watch
from pytest_autoweb.judging.evidence.scene import shot, take_scene


def redact(text: str) -> str:
    return text.replace("hunter2", "<secret:pw>")


def test_a_scene_holds_what_the_page_showed_and_said(
    page: Page, site: Site, tmp_path: Path
) -> None:
    watch = Watch(page, redact)
    page.goto(
        site.put(
            "/a",
            "<title>Cart hunter2</title><h1>Cart</h1><img src=/missing>"
            "<script>console.error('bad hunter2'); setTimeout(() => nope())</script>",
        )
    )
    page.wait_for_timeout(200)

    scene = take_scene(
        page, watch, step_index=3, mode="ARIA", folder=tmp_path / "new", redact=redact
    )

    assert (scene.step_index, scene.url) == (3, page.url)
    assert scene.title == "Cart <secret:pw>"
    assert 'heading "Cart"' in scene.snapshot
    assert scene.screenshot is not None
    assert Path(scene.screenshot).read_bytes().startswith(b"\xff\xd8")
    assert any("error: bad <secret:pw>" in line for line in scene.console)
    assert any("uncaught: " in line and "nope" in line for line in scene.console)
    assert scene.failed_requests == (f"GET {site.url}missing: 404",)


def test_only_the_last_lines_are_kept(page: Page) -> None:
    watch = Watch(page)
    page.evaluate("() => { for (let n = 0; n < 200; n++) console.log('x'.repeat(1000), n) }")
    page.wait_for_timeout(100)

    assert len(watch.console) == 50
    assert max(map(len, watch.console)) <= 300


def test_passwords_are_covered_in_pictures(page: Page, tmp_path: Path) -> None:
    page.set_content("<input type=password value=a style='font-size:40px'>")
    assert shot(page, tmp_path / "a.png")
    page.fill("input", "abcdefgh")
    assert shot(page, tmp_path / "b.png")

    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_picture_that_cannot_be_taken_is_no_error(page: Page, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert not shot(page, tmp_path / "file" / "below.jpg")

    page.close()

    assert not shot(page, tmp_path / "closed.jpg")


@pytest.mark.long
def test_a_hanging_page_gives_a_scene_in_bounded_time(page: Page, tmp_path: Path) -> None:
    page.set_content("<h1>busy</h1>")
    watch = Watch(page)
    page.evaluate(
        "() => { setTimeout(() => { const t = Date.now(); while (Date.now() - t < 8000); }) }"
    )
    page.wait_for_timeout(50)
    started = time.monotonic()

    scene = take_scene(page, watch, step_index=1, mode="RAW_HTML", folder=tmp_path, redact=redact)

    assert scene.url == "about:blank"
    assert time.monotonic() - started < 30


def pixels(path: Path) -> bytes:
    """The picture's pixels, rounded, because each JPEG has its own noise."""
    with Image.open(path) as picture:
        return picture.convert("L").resize((64, 36)).quantize(8).tobytes()


def test_a_page_that_needs_no_preparation_is_pictured_at_its_next_frame(
    show: Callable[[str], Page], tmp_path: Path
) -> None:
    page = show("<h1 style='font-size: 300px'>Tea</h1><button>Buy</button>")
    look = page_look(page)
    assert look is not None
    assert look.bare

    assert shot(page, tmp_path / "next.jpg", bare=look.bare)
    assert shot(page, tmp_path / "prepared.jpg")

    assert (tmp_path / "next.jpg").read_bytes().startswith(b"\xff\xd8")
    assert pixels(tmp_path / "next.jpg") == pixels(tmp_path / "prepared.jpg")


@pytest.mark.parametrize(
    "html",
    [
        "<input type=password value=secret>",
        "<input autocomplete=cc-number value=4111>",
        "<style>@keyframes k {to {opacity: 0}} p {animation: k 9s}</style><p>Tea",
    ],
)
def test_a_page_with_what_is_to_be_covered_or_moves_is_prepared(
    show: Callable[[str], Page], html: str
) -> None:
    look = page_look(show(html))

    assert look is not None
    assert not look.bare


def test_a_picture_is_as_large_as_the_page_on_screens_with_small_pixels(
    browser: Browser, tmp_path: Path
) -> None:
    context = browser.new_context(device_scale_factor=2, viewport={"width": 400, "height": 300})
    page = context.new_page()
    look = page_look(page)
    assert look is not None
    assert not look.bare
    assert shot(page, tmp_path / "a.jpg", bare=look.bare)
    context.close()

    with Image.open(tmp_path / "a.jpg") as picture:
        assert picture.size == (400, 300)


def test_a_page_that_is_painted_may_look_different_with_the_same_digest(
    show: Callable[[str], Page],
) -> None:
    looks = [page_look(show(html)) for html in ("<p>Tea", "<p>Tea<canvas></canvas>")]

    assert [look.painted for look in looks if look] == [False, True]


def test_a_field_that_appears_after_the_look_is_covered_all_the_same(
    show: Callable[[str], Page], tmp_path: Path
) -> None:
    look = page_look(show("<p>Tea"))
    assert look is not None
    assert look.bare
    page = show("<input autocomplete=cc-number value=4111 style='font-size: 200px'>")

    assert shot(page, tmp_path / "after.jpg", bare=look.bare)
    assert shot(page, tmp_path / "prepared.jpg")

    assert pixels(tmp_path / "after.jpg") == pixels(tmp_path / "prepared.jpg")
