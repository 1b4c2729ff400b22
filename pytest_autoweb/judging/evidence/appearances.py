"""The texts that appear on the pages of an attempt, also those that are soon gone again.

A script in every frame notes what appears and tells this process at once, so that nothing is lost
when a page is left. It only reads, and shares no name with the page; what it tells is still the
page's own word, like everything that a page shows.
"""

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from msgspec import Struct, field
from playwright.sync_api import BrowserContext, Error, Frame, Page
from pydantic import TypeAdapter, ValidationError

from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import call_within, driver_ended
from pytest_autoweb.browser.page.frames import MAX_FRAMES, MAX_SILENT, script

ENTRIES, ANNOUNCED = 2_000, 1_000
"""Limits on the texts kept for one attempt: of those without a role, and of those with one."""
CHARS = 1_000_000
"""Limit on the characters kept for one attempt."""
_LINES, _LINE_CHARS, _MESSAGE_CHARS = 2_000, 1_000, 1_000_000
_LOST = 200
_LATEST = 4e9
"""Some time in 2096, in seconds since 1970."""
_ASK_MS = 500.0
_ASK = """name => {
  const detail = {};
  dispatchEvent(new CustomEvent(name, { detail }));
  return detail.told || [];
}"""


@dataclass(frozen=True, slots=True)
class Appearance:
    """A text that appeared on a page, as consecutive lines."""

    lines: tuple[str, ...]
    role: str = ""
    """`status`, `alert`, `dialog` …; empty for text that is not announced to anybody."""
    at: float = 0.0
    """When it appeared, in seconds since 1970."""
    lasted: float | None = None
    """For how many seconds it was there; None if it was there to the end."""
    step: str = ""
    """`during step 3`, `after step 3`, or empty if no step is known."""
    tab: int = 1
    """The tab, in the order in which they were opened, from 1."""
    url: str = ""
    """The tab's address at that time."""
    frame: str = ""
    """The address of the frame that showed it; empty if it was the page itself."""
    before: bool = False
    """Whether it was there before the first step, so that it did not appear."""

    @property
    def told(self) -> str:
        """Return in words when it appeared, for how long and during which step."""
        when = f"appeared at {datetime.fromtimestamp(self.at):%H:%M:%S}"
        if self.lasted is not None:
            when += f" for {self.lasted:.1f} s"
        return f"{when}, {self.step}" if self.step else when


@dataclass(frozen=True, slots=True)
class Appearances:
    """What appeared during an attempt, oldest first."""

    entries: Sequence[Appearance] = ()
    lost: Sequence[tuple[str, str]] = ()
    """Role and text of what there was no room for; an empty text stands for any."""


class _Step(Struct):
    index: int
    began: float
    ended: float | None = None


# With a dict, because Playwright leaves its wrappers on whoever handles its events.
class AppearanceRecord(Struct, dict=True):
    """A listener to all pages of a context, and the growing list of what appeared on them.

    It costs the pages some time, so it is only started for cases that ask what appeared.
    """

    entries: list[Appearance] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)
    _context: BrowserContext | None = None
    _tabs: Sequence[Page] = ()
    _ask: str = field(default_factory=lambda: f"a{secrets.token_hex(12)}")
    _places: dict[tuple[str, int], int] = field(default_factory=dict)
    """The place in `entries` of what a document calls by a number."""
    _begun: float | None = None
    _documents: set[str] = field(default_factory=set)
    """The documents that were open before the first step."""
    _shown: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often they showed a line."""
    _steps: list[_Step] = field(default_factory=list)
    _chars: int = CHARS

    @property
    def started(self) -> bool:
        """Return whether it listens, or has listened, to any page."""
        return self._context is not None

    def start(self, context: BrowserContext, tabs: Sequence[Page]) -> None:
        """Listen to all documents that pages of a context open from now on.

        Args:
            context: its clock is not set yet, since the script takes its own times.
            tabs: the context's pages in the order of their opening, which grows.
        """
        self._context, self._tabs = context, tabs
        tell = f"t{secrets.token_hex(12)}"
        context.expose_binding(tell, self._on_told)
        names = json.dumps({"tell": tell, "ask": self._ask})
        context.add_init_script(
            f"(() => {{ const dom = ({script('dom')})();"
            f" ({script('appearances')})({{dom}}, {names}); }})()"
        )

    def begin(self) -> None:
        """Take what is shown now as what was there before; the first step begins."""
        if self._context is None or self._begun is not None:
            return
        self.look()
        self._begun = time.time()

    def step_begins(self, index: int) -> None:
        self._steps.append(_Step(index, time.time()))

    def step_ends(self) -> None:
        self._steps[-1].ended = time.time()

    def look(self) -> Appearances:
        """Return what has appeared so far, with what pages have not told yet."""
        context, silent = self._context, 0
        if context is not None and not driver_ended(context):
            for page in context.pages:
                for frame in page.frames[:MAX_FRAMES]:
                    if silent < MAX_SILENT and not self._asked(frame):
                        silent += 1
        return Appearances(tuple(self.entries), tuple(self.lost))

    def _asked(self, frame: Frame) -> bool:
        try:
            told = call_within(frame, _ASK_MS, lambda: frame.evaluate(_ASK, self._ask))
        except Error:
            # Frames come and go, and those that hang have told what they could.
            return frame.page.is_closed()
        for message in told[:MAX_FRAMES] if isinstance(told, list) else ():
            self._take(frame, message)
        return True

    def _on_told(self, source: Mapping[str, Any], message: object = "") -> None:
        self._take(source["frame"], message)

    def _take(self, frame: Frame, message: object) -> None:
        """Note what a document tells; anything else than our script would tell is ignored."""
        if not isinstance(message, str) or len(message) > _MESSAGE_CHARS:
            return
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            told = json.loads(message)
            document, at = str(told["id"])[:80], float(told["at"]) / 1000
            if not 0 < at < _LATEST:
                return
            for group in told["told"]:
                self._add(frame, document, at, group)
            for number in told["gone"]:
                self._end(document, number, at)
            for role, text in told["lost"]:
                self._lose(role, text)

    def _add(self, frame: Frame, document: str, at: float, group: Any) -> None:
        role, number = str(group["role"])[:20], int(group["number"])
        told = [(whole_text(str(text))[:_LINE_CHARS], int(nth)) for text, nth in group["lines"]]
        before = self._begun is None
        if before:
            self._documents.add(document)
            for text, nth in told[:_LINES]:
                self._shown[role, text] = max(self._shown[role, text], nth)
        elif document not in self._documents:
            told = [(text, nth) for text, nth in told if nth > self._shown[role, text]]
        lines = tuple(text for text, _ in told[:_LINES])
        size = sum(map(len, lines))
        if not lines:
            return
        same_kind = sum(bool(entry.role) == bool(role) for entry in self.entries)
        if size > self._chars or same_kind >= (ANNOUNCED if role else ENTRIES):
            self._lose(role, " ".join(lines))
            return
        self._chars -= size
        self._places[document, number] = len(self.entries)
        page = frame.page
        self.entries.append(
            Appearance(
                lines,
                role,
                at,
                step="" if before else self._step_at(at),
                tab=self._number_of(page),
                url=page.url,
                frame="" if frame == page.main_frame else frame.url,
                before=before,
            )
        )

    def _end(self, document: str, number: Any, at: float) -> None:
        place = self._places.pop((document, int(number)), None)
        if place is not None:
            entry = self.entries[place]
            self.entries[place] = replace(entry, lasted=max(0.0, at - entry.at))

    def _lose(self, role: Any, text: Any) -> None:
        if self._begun is not None and len(self.lost) < _LOST:
            full = len(self.lost) == _LOST - 1 or len(str(text)) > _LOST
            self.lost.append((str(role)[:20], "" if full else whole_text(str(text))))

    def _number_of(self, page: Page) -> int:
        return next((n for n, tab in enumerate(self._tabs, start=1) if tab == page), 1)

    def _step_at(self, at: float) -> str:
        begun = [step for step in self._steps if step.began <= at]
        if not begun:
            return ""
        over = begun[-1].ended is not None and begun[-1].ended < at
        return f"{'after' if over else 'during'} step {begun[-1].index}"


@cache
def _kept() -> TypeAdapter[Appearances]:
    # Made when the first cell is saved: it takes as long as to load ten modules.
    return TypeAdapter(Appearances)


def appearances_text(record: Appearances, redact: Callable[[str], str]) -> str:
    """Return what appeared as JSON, without secrets."""
    return json.dumps(map_texts(_kept().dump_python(record, mode="json"), redact), indent=1)


def read_appearances(text: str) -> Appearances:
    """Read what `appearances_text` wrote.

    Raises:
        ValueError: the text is nothing of that kind.
    """
    try:
        return _kept().validate_json(text)
    except ValidationError as error:
        raise ValueError("not a list of appearances") from error
