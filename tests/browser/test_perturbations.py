"""Changes of a page: each does what it says, and the same one each time."""

from collections.abc import Callable
from typing import Any

import pytest
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.base.variant_names import Perturbation
from pytest_autoweb.browser.page.perturbations import perturb, perturbed_args

HOME = """<!doctype html><title>Shop</title><h1>Shop</h1><button onclick="this.textContent='Bought'"
style="position: fixed; bottom: 4px; left: 4px">Buy</button>"""

Changed = Callable[[Perturbation], Page]


@pytest.fixture
def changed(browser: Browser, site: Site) -> Any:
    """Opens the shop under a change; an empty one leaves it as it is."""
    url = site.put("/", HOME)
    opened = []

    def open_page(change: Perturbation) -> Page:
        context = browser.new_context(**perturbed_args({"locale": "en-GB"}, change, "case"))
        opened.append(context)
        page = context.new_page()
        perturb(page, change, "case")
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
    drawn = {case: perturbed_args({}, "zoom", case) for case in "abcdefgh"}

    assert drawn == {case: perturbed_args({}, "zoom", case) for case in "abcdefgh"}
    assert len({args["device_scale_factor"] for args in drawn.values()}) > 1
