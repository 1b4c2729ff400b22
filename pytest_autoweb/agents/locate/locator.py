"""Finds an element of a page by its description, with a model that sees pictures."""

import hashlib
import json
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace
from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.agents.locate.candidates import (
    Candidate,
    Element,
    Rect,
    Viewport,
    gather,
    weigh,
)
from pytest_autoweb.agents.locate.interview import (
    Asked,
    Questioner,
    VisionModel,
    denied,
    describe_candidate,
    probes_of,
)
from pytest_autoweb.agents.locate.questions import Outcome
from pytest_autoweb.agents.locate.region import search_region
from pytest_autoweb.agents.locate.search import search
from pytest_autoweb.agents.locate.search_limits import SearchLimits
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.browser.marks.crosshair import PageScroller, ViewportView, take_view
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.results.records import Exchange
from pytest_autoweb.results.records.attempt import Location, LocatorAlgorithm, LocatorStatus, Probe


class RememberedSearch(NamedTuple):
    """The result of an earlier search on the same picture."""

    status: LocatorStatus
    chosen: int | None
    """The index of the chosen candidate of the picture; None when none was chosen."""
    confidence: float
    reason: str
    box: Rect | None = None
    """The place of something drawn on a canvas, which is no candidate."""
    point: tuple[float, float] | None = None
    """The point to click on it."""


class Memory:
    """Results of searches, by a key made from everything they depend on."""

    def __init__(self) -> None:
        self._known: dict[str, RememberedSearch] = {}

    def recall(self, key: str) -> RememberedSearch | None:
        """Return the result of an earlier search, or None if there was none."""
        return self._known.get(key)

    def keep(self, key: str, known: RememberedSearch) -> None:
        """Remember a result, unless only the budget ended the search: a retry may get further."""
        if known.status != "budget":
            self._known[key] = known


def key_of(digest: str, *question: object) -> str:
    """Return the key of a search, made from the picture without lines and the target."""
    text = json.dumps([digest, *question], default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


MOST_VIEWS = 6
"""Limit on viewports searched while scrolling down a page."""
SEARCHES = 3
"""The budget for all views together, as a multiple of the calls for one view."""
NOT_IN_A_BOX = "The model sees the target, but in none of the numbered boxes."
WHOLE = 0.6
"""The share of a canvas above which a found place counts as the canvas itself."""
# Less than the whole height, so that an element cut off at the lower edge is whole in the next
# view.
STEP = 0.8
"""The share of the viewport's height by which the page is scrolled for the next view."""


class LocatorResult(Struct, frozen=True):
    """The result of a search.

    Only `found` is a success, and only then is there an element.
    """

    status: LocatorStatus
    element: Locator | None
    """A locator that matches exactly the element that the model saw."""
    confidence: float
    """The probability of what the status claims, from 0 to 1."""
    probes: tuple[Probe, ...]
    transcript: tuple[Exchange, ...]
    """The exchanges with the model."""
    location: Location
    """The result in the form of the report."""
    point: tuple[float, float] | None = None
    """The point to click, in CSS pixels of the viewport, when the target is drawn on a canvas."""
    mark: Mark | None = None
    """What was found, as it was when the picture was taken; for a point, its canvas."""


class _Search(Struct):
    """The state of the search for one description, over all views."""

    description: str
    expected_text: str
    role: str
    within: Rect | None
    calls_left: int
    probes: tuple[Probe, ...] = ()
    calls: int = 0
    candidates: int = 0
    viewport: tuple[float, float] | None = None
    several_views: bool = False
    """The page has more to show than the current view."""
    cached: bool = True
    """No model has been asked so far: all answers came from memory."""
    asked: dict[tuple[Hashable, ...], Asked] = field(default_factory=dict)
    """All questions so far, by picture."""

    def note(self, questioner: Questioner, outcome: Outcome | None, calls: int) -> None:
        """Add the questions of one view and the calls that they took."""
        self.cached = False
        self.calls += calls
        self.calls_left -= calls
        first = len(self.probes) + 1
        self.probes += probes_of(questioner.asked, outcome, questioner.candidates, first)


class _End(Struct, frozen=True):
    """How the search of one view ended."""

    status: LocatorStatus
    confidence: float
    reason: str
    mark: Mark | None = None
    candidate: Candidate | None = None
    point: tuple[float, float] | None = None
    asked: bool = False
    """Whether the view had anything to ask about, so that the model was shown it."""


class Sight:
    """Finds elements of one page.

    Args:
        page: the page to search; it is only read, and scrolled when the target is not in view.
        eyes: the vision model.
        algorithm: `bayes`, or `seed` as the baseline to compare with.
        limits: budget and thresholds for the search of one view.
        hide: removes the case's secrets from text and pictures.
        save: keeps a picture and returns the name by which a report finds it.
        memory: results of earlier searches; by default only those of this object.
    """

    def __init__(
        self,
        page: Page,
        eyes: VisionModel,
        *,
        algorithm: LocatorAlgorithm = "bayes",
        limits: SearchLimits | None = None,
        hide: Callable[[str], str] | None = None,
        save: Callable[[bytes], str | None] = lambda picture: None,
        memory: Memory | None = None,
    ) -> None:
        self._page, self._eyes, self._algorithm = page, eyes, algorithm
        self._limits = limits or SearchLimits()
        self._hide, self._save = hide, save
        self._memory = memory or Memory()

    def locate(
        self, description: str, *, expected_text: str = "", role: str = "", within: Any = None
    ) -> LocatorResult:
        """Find the element that fits the description.

        In each view, interactive elements are searched first, then texts and pictures, then
        canvases. If nothing is found, the page is scrolled to the next view, and finally back.

        Args:
            description: words that someone who sees the page would understand.
            expected_text: the text of the element, if known.
            role: its ARIA role, if known.
            within: a Playwright Frame or Locator that the element must lie in.

        Raises:
            Error: Playwright's error when the page does not respond.
        """
        said = len(self._eyes.exchanges)
        calls = self._calls_of_a_view * SEARCHES
        wanted = _Search(description, expected_text, role, _box_of(within), calls)
        element: Locator | None = None
        try:
            end, element = self._anywhere(wanted)
        except ModelError as error:
            end = _End("budget", 0.0, f"The model could not be asked: {error.cause}.")
        if end.status == "found" and element is None:
            end = _End("inconsistent", 0.0, "The element was gone by the time it was found.")
        location = self._location(wanted, end)
        transcript = tuple(self._eyes.exchanges[said:])
        return LocatorResult(
            status=end.status,
            element=element,
            confidence=end.confidence,
            probes=wanted.probes,
            transcript=transcript,
            location=location,
            point=end.point,
            mark=end.mark,
        )

    @property
    def _calls_of_a_view(self) -> int:
        return self._limits.calls if self._algorithm == "bayes" else self._limits.seed_calls

    def _anywhere(self, wanted: _Search) -> tuple[_End, Locator | None]:
        """Return the end of the first view that ends with anything but `not_found`."""
        scroll = PageScroller(self._page)
        wanted.several_views = wanted.within is None and scroll.can_move()
        views = 0
        while True:
            view, end = self._in_view(wanted)
            if end.status == "found" and end.mark is not None:
                return end, view.locator(end.mark)
            views += 1
            # Any other end means that the target may well be in this view, and scrolling would lose
            # it.
            if end.status != "not_found" or wanted.calls_left < 1:
                break
            if wanted.within is not None or views == MOST_VIEWS or not scroll.next_view(STEP):
                break
        # A search that found nothing leaves the page as it was.
        scroll.back()
        return end, None

    def _in_view(self, wanted: _Search) -> tuple[ViewportView, _End]:
        """Search actionable elements, then elements that only show something, then drawn objects.

        A model that clearly does not see the target was shown the whole view, so it is not asked
        again about other kinds of elements.
        """
        view = take_view(self._page, hide=self._hide)
        end = self._search(view, wanted, "act")
        if end.status == "not_found" and end.asked:
            return view, end
        if end.status in ("not_found", "inconsistent") and wanted.calls_left:
            shown_only = take_view(self._page, hide=self._hide, texts=True)
            second = self._search(shown_only, wanted, "show") if shown_only.marks else end
            # A target drawn on a canvas makes the answers contradict all boxes, so a canvas in this
            # view is worth searching next.
            if second.status in ("found", "not_found") or _canvas_of(shown_only, second):
                view, end = shown_only, second
        canvas = _canvas_of(view, end)
        if canvas is not None and wanted.calls_left:
            drawn = self._on_canvas(view, wanted, canvas)
            end = drawn if drawn.status == "found" or end.mark else end
        return view, end

    def _search(self, view: ViewportView, wanted: _Search, what: str) -> _End:
        marks = [mark for mark in view.marks if _inside(Rect(*mark.box), wanted.within)]
        candidates = weigh(
            gather([_element(mark, what) for mark in marks]),
            expected_text=wanted.expected_text,
            role=wanted.role,
        )
        wanted.candidates = max(wanted.candidates, len(candidates))
        wanted.viewport = (view.width, view.height)
        key = key_of(
            view.digest,
            what,
            wanted.description,
            wanted.expected_text,
            wanted.role,
            wanted.within,
            self._algorithm,
            self._eyes.model,
        )
        known = self._memory.recall(key)
        if known is None:
            drawn = self._limits.drawn_after if what == "show" else self._limits.drawn
            known = self._ask(view, wanted, candidates, drawn)
            self._memory.keep(key, known)
        if known.chosen is None or known.chosen >= len(candidates):
            asked = bool(candidates)
            return _End(known.status, known.confidence, known.reason, asked=asked)
        chosen = candidates[known.chosen]
        mark = marks[chosen.members[0]]
        return _End(known.status, known.confidence, known.reason, mark, chosen)

    def _ask(
        self, view: ViewportView, wanted: _Search, candidates: tuple[Candidate, ...], drawn: float
    ) -> RememberedSearch:
        questioner = self._questioner(view, wanted, candidates)
        viewport = Viewport(view.width, view.height, view.scale)
        limits = replace(_limited(self._limits, wanted.calls_left), drawn=drawn)
        has_canvas = self._page.locator("canvas:visible").count() > 0
        limits = replace(limits, several_views=wanted.several_views, has_canvas=has_canvas)
        outcome = None
        before = len(self._eyes.exchanges)
        try:
            outcome = search(
                candidates, viewport, questioner, limits=limits, algorithm=self._algorithm
            )
        finally:
            wanted.note(questioner, outcome, len(self._eyes.exchanges) - before)
        unsettled = outcome.status in ("found", "ambiguous", "budget")
        if unsettled and outcome.guess is not None and denied(questioner.asked, outcome.guess):
            # The target may be in the picture without being a candidate, which is not a success.
            return RememberedSearch("inconsistent", None, outcome.absent, NOT_IN_A_BOX)
        return RememberedSearch(outcome.status, outcome.chosen, outcome.confidence, outcome.reason)

    def _on_canvas(self, view: ViewportView, wanted: _Search, canvas: Mark) -> _End:
        """Find where on a canvas the target is drawn: all of it, if the canvas itself is meant."""
        whole = Candidate(Rect(*canvas.box), "canvas", canvas.text)
        key = key_of(view.digest, "drawn", whole.box, wanted.description, self._eyes.model)
        known = self._memory.recall(key)
        if known is None:
            known = self._ask_where(view, wanted, whole)
            self._memory.keep(key, known)
        if known.box is None:
            return _End(known.status, known.confidence, known.reason)
        drawn = replace(whole, box=known.box)
        return _End("found", known.confidence, known.reason, canvas, drawn, known.point)

    def _ask_where(self, view: ViewportView, wanted: _Search, whole: Candidate) -> RememberedSearch:
        questioner = self._questioner(view, wanted, (whole,))
        limits = _limited(self._limits, wanted.calls_left)
        before = len(self._eyes.exchanges)
        try:
            # Answers about lines from the search for elements apply to the place too.
            told = [
                (one.question, one.answer)
                for (digest, *_), one in wanted.asked.items()
                if digest == view.digest and one.answer and one.answer.mark in (None, 0)
            ]
            place = search_region(whole.box, questioner, limits=limits, scale=view.scale, told=told)
        finally:
            wanted.note(questioner, None, len(self._eyes.exchanges) - before)
        if place.status != "found" or place.point is None:
            reason = "Its place on a canvas stayed unsure."
            return RememberedSearch(place.status, None, place.confidence, reason)
        if place.estimate.area >= WHOLE * whole.box.area:
            reason = "The canvas itself is meant."
            return RememberedSearch("found", None, place.confidence, reason, whole.box)
        x, y = place.point
        reason = f"It is drawn on a canvas at {x:.0f},{y:.0f}."
        return RememberedSearch(
            "found", None, place.confidence, reason, place.estimate, place.point
        )

    def _questioner(
        self, view: ViewportView, wanted: _Search, candidates: tuple[Candidate, ...]
    ) -> Questioner:
        return Questioner(
            view, self._eyes, wanted.description, candidates, self._save, wanted.asked
        )

    def _location(self, wanted: _Search, end: _End) -> Location:
        hide = self._hide or (lambda text: text)
        return Location(
            description=hide(wanted.description),
            algorithm=self._algorithm,
            status=end.status,
            element=describe_candidate(end.candidate) if end.candidate else "",
            box=end.candidate.box if end.candidate else None,
            viewport=wanted.viewport,
            confidence=end.confidence,
            candidates=wanted.candidates,
            probes=wanted.probes,
            calls=wanted.calls,
            cached=wanted.cached,
            reason=end.reason,
        )


def _canvas_of(view: ViewportView, end: _End) -> Mark | None:
    """Return the canvas that was found, or the largest in view if nothing was found."""
    if end.status == "found":
        return end.mark if end.mark is not None and end.mark.tag == "canvas" else None
    canvases = [mark for mark in view.marks if mark.tag == "canvas"]
    return max(canvases, key=lambda mark: Rect(*mark.box).area, default=None)


def _element(mark: Mark, what: str) -> Element:
    """Return a mark as an element, named by its visible text or else by its accessible name."""
    shows = mark.tag if mark.tag == "canvas" else "text"
    role = mark.role or (shows if what == "show" else "")
    return Element(Rect(*mark.box), role, mark.text or mark.name)


def _limited(limits: SearchLimits, calls: int) -> SearchLimits:
    budgets = {
        name: min(getattr(limits, name), calls) for name in ("calls", "place_calls", "seed_calls")
    }
    return replace(limits, **budgets)


def _box_of(within: Any) -> Rect | None:
    """Return the visible box of a frame or an element that a search is limited to."""
    if (
        within is None
        or isinstance(within, Page)
        or (isinstance(within, Frame) and within.parent_frame is None)
    ):
        return None
    element = within.frame_element() if isinstance(within, Frame) else within
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    if box is None:
        return Rect(0, 0, 0, 0)
    return Rect(box["x"], box["y"], box["width"], box["height"])


def _inside(box: Rect, around: Rect | None) -> bool:
    if around is None:
        return True
    x, y = box.x + box.width / 2, box.y + box.height / 2
    return around.x <= x <= around.right and around.y <= y <= around.bottom
