import time
from pathlib import Path

from local_site import Site
from playwright.sync_api import Page

from pytest_autoweb.evidence.page_evidence import Watch, shot, take_scene


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
