"""What `benchmarks/locator.py` does on real pages: locate in their pictures, or capture them."""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Playwright, sync_playwright

from benchmarks.locator_rows import Row, columns
from benchmarks.marks_pages import all_pages
from pytest_autoweb.agents.locate.candidates import SAME_PLACE, Rect, overlap
from pytest_autoweb.agents.locate.interview import VisionModel
from pytest_autoweb.agents.locate.locator import Sight
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.browser.marks.crosshair import ViewportView, take_view
from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records.attempt import LocatorAlgorithm

VIEWPORTS = ((1280, 720), (1920, 1080))
BUNDLED = ("miniwob", "town", "admin")
NOISE = 0.05
ALGORITHMS: tuple[LocatorAlgorithm, ...] = ("seed", "bayes")


def live(urls: Sequence[str], seed: int, targets: int, every: int) -> dict[str, Any]:
    """Locate on real pages: the model's stand-in reads lines and numbers in the pictures.

    Args:
        urls: The pages; none: MiniWoB++, the bundled town, Django's admin.
        seed: Of the targets and the mistakes.
        targets: Of each page, at most.
        every: Only every so many pages.
    """
    found: list[Row] = []
    shown = opened(urls, VIEWPORTS[:1]) if urls else bundled()
    for number, (name, _, page) in enumerate(shown):
        if number % every == 0:
            for one in searches(name, page, seed, targets):
                print(" ".join(str(value) for value in one.values()), flush=True)
                found.append(one)
    rows = [row for name in ALGORITHMS if (row := live_row(name, found))]
    return {"rows": rows, "live": found}


def live_row(name: str, found: Sequence[Row]) -> Row | None:
    """Return the searches of one algorithm as a row; missing targets are not tried here."""
    mine = [one for one in found if one["algorithm"] == name]
    if not mine:
        return None
    returned = [one["right"] for one in mine if one["status"] == "found"]
    right = sum(returned)
    return columns(name, NOISE, [one["calls"] for one in mine], right, len(returned) - right)


def searches(name: str, page: Page, seed: int, targets: int) -> Iterator[Row]:
    """Yield searches by each algorithm for some marks of a page."""
    # Needs Pillow, which nothing else here does.
    from pytest_autoweb.testing.pixels import Noise, PixelReadingClient, PixelTarget

    noise = Noise(slack=8, wrong_line=NOISE, wrong_mark=NOISE, unseen=0.02)
    view = take_view(page)
    chosen = random.Random(f"{seed} {name}").sample(view.marks, min(targets, len(view.marks)))
    for mark in chosen:
        what = f"target number {mark.number} of {name}"
        client = PixelReadingClient(
            {what: PixelTarget(*mark.box, mark.text)},
            viewport=(view.width, view.height),
            noise=noise,
            seed=seed,
        )
        for algorithm in ALGORITHMS:
            eyes = VisionModel(client, Request(model="fake/pixels", stage="locate", messages=()))
            result = Sight(page, eyes, algorithm=algorithm).locate(what)
            box = result.location.box
            yield {
                "algorithm": algorithm,
                "page": name,
                "candidates": len(view.marks),
                "status": result.status,
                "right": box is not None and overlap(Rect(*box), Rect(*mark.box)) >= SAME_PLACE,
                "calls": result.location.calls,
            }


def bundled() -> Iterator[tuple[str, tuple[int, int], Page]]:
    """Yield the pages that come with the project."""
    width, height = VIEWPORTS[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**_arguments(playwright))
        page = browser.new_page(viewport={"width": width, "height": height})
        for group, name in all_pages(page, BUNDLED):
            yield f"{group} {name}", VIEWPORTS[0], page
        browser.close()


def capture(out: Path, sources: Sequence[str], script: str, cookie: str) -> int:
    """Write what is visible and clickable on pages; pages with fewer than five are left out."""
    pages = []
    groups = [source.partition("=") for source in sources]
    names = {url: group for group, _, url in groups}
    for url, viewport, page in opened(list(names), VIEWPORTS, cookie):
        if script:
            page.evaluate(script)
        elements = elements_of(take_view(page))
        if len(elements) >= 5:
            name = url.rpartition("/")[2] or url
            pages.append(
                {
                    "name": f"{name} {viewport[0]}",
                    "group": names[url],
                    "viewport": viewport,
                    "title": page.title(),
                    "elements": elements,
                }
            )
    lines = ",\n".join(
        json.dumps(page, ensure_ascii=False, separators=(",", ":")) for page in pages
    )
    out.write_text(f'{{"pages": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(pages)} pages, {sum(len(page['elements']) for page in pages)} elements")
    return 0


def elements_of(view: ViewportView) -> list[dict[str, Any]]:
    """Return the elements that the product would search, in the format of --pages."""
    return [
        {
            **{key: round(value, 1) for key, value in zip("xywh", mark.box, strict=True)},
            "tag": mark.tag,
            "role": mark.role,
            "name": (mark.text or mark.name)[:30],
            "own": 1,
            "parent": -1,
        }
        for mark in view.marks
    ]


def opened(
    urls: Sequence[str], viewports: Sequence[tuple[int, int]], cookie: str = ""
) -> Iterator[tuple[str, tuple[int, int], Page]]:
    """Yield each page in each viewport, one after the other."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**_arguments(playwright))
        page = browser.new_page()
        for url, (width, height) in zip(urls, cycle(viewports), strict=False):
            if cookie:
                name, _, value = cookie.partition("=")
                page.context.add_cookies([{"name": name, "value": value, "url": url}])
            page.set_viewport_size({"width": width, "height": height})
            page.goto(url, wait_until="load")
            yield url, (width, height), page
        browser.close()


def _arguments(playwright: Playwright) -> dict[str, Any]:
    executable = playwright.chromium.executable_path
    return launch_args({}, playwright_executable=executable, browser_name="chromium")
