"""Small changes of a page that leave its task as it was: what robustness is measured with.

Each is bounded, and what it leaves open is drawn from a seed, so that every model meets the same.
Whether a case can still be done under a change is proven by its oracle and not promised here.
"""

import json
import random
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from playwright.sync_api import Error, Page

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.base.variant_names import Perturbation
from pytest_autoweb.browser.page.frames import script

_WINDOW = {"width": 1280, "height": 720}
"""Playwright's own window, in CSS pixels."""
_ZOOMS = (1.25, 1.5, 1.75)
_LANGUAGES = ("de-DE", "fr-FR", "ja-JP")
_LATENCIES_MS = (400, 800, 1200)
_HEIGHTS = (20, 25, 30)
"""The heights of a banner, in percent of the window."""
_CONSENT = (
    "We use cookies to improve this site. Please choose what you allow.",
    "Your privacy matters to us. May we and our partners store cookies?",
)


def _draw(change: Perturbation, case_id: str) -> random.Random:
    """Return the source of what a change leaves open for a case, the same on each machine."""
    return random.Random(sha256(f"{case_id}\n{change}".encode()).digest())


def perturbed_args(args: Mapping[str, Any], change: Perturbation, case_id: str) -> dict[str, Any]:
    """Return the arguments of `new_context` under a change.

    Args:
        args: those of the unchanged case.
        change: the change; one that is not of the browser leaves them as they are.
        case_id: the seed.
    """
    draw = _draw(change, case_id)
    if change == "zoom":
        # A browser that zooms tells its pages of a smaller window with larger pixels.
        zoom = draw.choice(_ZOOMS)
        sides = {**(args.get("viewport") or _WINDOW)}
        viewport = {name: round(side / zoom) for name, side in sides.items()}
        return {**args, "viewport": viewport, "device_scale_factor": zoom}
    if change == "language":
        others = [each for each in _LANGUAGES if each != args.get("locale")]
        return {**args, "locale": draw.choice(others)}
    return dict(args)


def perturb(page: Page, change: Perturbation, case_id: str) -> None:
    """Prepare a page that is not opened yet for a change that is not of its browser.

    Raises:
        BrowserError: the browser cannot make its network slower.
    """
    draw = _draw(change, case_id)
    if change == "banner":
        asked = {"text": draw.choice(_CONSENT), "share": draw.choice(_HEIGHTS)}
        shown = script("banner").removesuffix(";")
        page.context.add_init_script(f"({shown})({json.dumps(asked)})")
    if change == "slow":
        _slow_down(page, draw.choice(_LATENCIES_MS))


def _slow_down(page: Page, latency_ms: int) -> None:
    try:
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send(
            "Network.emulateNetworkConditions",
            {
                "offline": False,
                "latency": latency_ms,
                "downloadThroughput": -1,
                "uploadThroughput": -1,
            },
        )
    except Error as error:
        raise BrowserError("the change `slow` needs a Chromium") from error
