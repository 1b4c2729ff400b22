"""Small changes of a page that leave its task as it was: what robustness is measured with.

Each is bounded, and what it leaves open is drawn from a seed, so that every model meets the same.
Whether a case can still be done under a change is proven by its oracle and not promised here.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from secrets import token_hex
from typing import Any

from msgspec import Struct, field
from playwright.sync_api import Error, Page

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.base.variant_names import Perturbation
from pytest_autoweb.browser.page.disturbances import Disturbance, ErrorOnce, SessionEnd
from pytest_autoweb.browser.page.frames import script
from pytest_autoweb.browser.page.unchanged_page import register_unchanged
from pytest_autoweb.browser.page.wordings import drawn_words

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
_WIDTHS = (600, 720, 860)
_FONTS = ("Georgia, serif", "'Courier New', monospace", "'Trebuchet MS', sans-serif")
_LINE_HEIGHTS = (1.3, 1.6, 1.9)
_QUOTED = re.compile(r"""["“”„«»`]([^"“”„«»`]{1,80})["“”„«»`]|(?<!\w)'([^']{1,80})'(?!\w)""")
_OF_ORDER = re.compile(
    r"(?i)\b(first|second|third|last|top|bottom|next|previous|above|below|left|right|order(ed)?|"
    r"sort(ed)?|\d+(st|nd|rd|th))\b"
)


class PageChange(Struct, frozen=True, dict=True):
    """A change of the pages of one attempt.

    Its seed is the case's id, so that every model meets the same.
    """

    change: Perturbation
    case_id: str
    user_task: str = ""
    checked: str = ""
    """What the case's checks look for, whose words stay."""
    entry_url: str = ""
    proof: bool = False
    """Whether the case's own solution is played: it finds things by the words and the order that it
    knows."""
    note: Callable[[str], None] = field(default=lambda line: None)
    """Gets a sentence on what happened once."""

    @cached_property
    def undo(self) -> str:
        """What lets the solution see the page as it was; empty if nothing has to."""
        return token_hex(16) if self.proof and self.change in ("rename", "reorder") else ""

    @cached_property
    def disturbance(self) -> Disturbance | None:
        """What goes wrong once, if the change is of that kind."""
        if self.change == "error-once":
            return ErrorOnce(self._draw, self.entry_url, self.note)
        if self.change == "session-end":
            return SessionEnd(self._draw, self.note)
        return None

    @property
    def hurdle(self) -> Disturbance | None:
        """What may go wrong once while the case's own solution is played."""
        return self.disturbance if self.proof else None

    @property
    def is_played_again(self) -> bool:
        """Whether a solution that fails at first begins anew, so that no step of it waits long."""
        return self.proof and (self.change == "language" or self.disturbance is not None)

    @property
    def _draw(self) -> random.Random:
        """The source of what the change leaves open, the same on each machine."""
        return random.Random(sha256(f"{self.case_id}\n{self.change}".encode()).digest())

    def args(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `new_context` under the change.

        Args:
            args: those of the unchanged case; a change that is not of the browser leaves them.
        """
        draw = self._draw
        if self.change == "zoom":
            # A browser that zooms tells its pages of a smaller window with larger pixels.
            zoom = draw.choice(_ZOOMS)
            sides = {**(args.get("viewport") or _WINDOW)}
            viewport = {name: round(side / zoom) for name, side in sides.items()}
            return {**args, "viewport": viewport, "device_scale_factor": zoom}
        if self.change == "language":
            others = [each for each in _LANGUAGES if each != args.get("locale")]
            return {**args, "locale": draw.choice(others)}
        return dict(args)

    def begin(self, page: Page) -> None:
        """Prepare a page that is not opened yet, and its tabs, for what is not of the browser.

        Raises:
            BrowserError: the browser cannot make its network slower.
        """
        draw = self._draw
        if self.change == "slow":
            _slow_down(page, draw.choice(_LATENCIES_MS))
        elif self.disturbance is not None:
            self.disturbance.begin(page)
        elif asked := self._asked(draw):
            if self.undo:
                register_unchanged(page)
            shown = script(self.change).removesuffix(";")
            dom = "" if self.change == "banner" else f"({script('first_dom').removesuffix(';')})(),"
            page.context.add_init_script(f"({shown})({dom} {json.dumps(asked)})")

    def _asked(self, draw: random.Random) -> dict[str, Any] | None:
        """Return what the script of the change is told; None if it has none."""
        if self.change == "banner":
            return {"text": draw.choice(_CONSENT), "share": draw.choice(_HEIGHTS)}
        if self.change == "layout":
            width, font = draw.choice(_WIDTHS), draw.choice(_FONTS)
            return {"width": width, "font": font, "height": draw.choice(_LINE_HEIGHTS)}
        if self.change == "reorder":
            # A task that counts or compares places means an order.
            lists = not _OF_ORDER.search(self.user_task)
            return {"turn": draw.random(), "lists": lists, "undo": self.undo}
        if self.change == "rename":
            quoted = (one or other for one, other in _QUOTED.findall(self.user_task))
            kept = [" ".join(text.lower().split()) for text in (*quoted, self.checked)]
            return {**drawn_words(draw, kept), "undo": self.undo}
        return None


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
