"""Shows a page as a picture with a numbered box around everything that can be acted on."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_autoweb.browser.covers import covers
from pytest_autoweb.browser.injected import (
    OBSERVE_TIMEOUT_MS,
    element_script,
    run_on_elements,
    run_script,
    run_script_handle,
)
from pytest_autoweb.browser.marks_again import Known, find_again
from pytest_autoweb.browser.marks_board import draw, handed_over
from pytest_autoweb.browser.marks_near import texts_near
from pytest_autoweb.browser.marks_xpath import selectors, xpaths

if TYPE_CHECKING:
    from playwright.sync_api import JSHandle, Locator, Page

MARK_LIMIT = 200
"""Most marks in one picture."""
LISTED = 50
"""Most marks in the list form."""
_LISTED_CHARS = 30
_TEXT_CHARS = 500
_STILL_MS = 100
_QUIET_LIMIT_MS = 1_000
_SHOT_MS = 5_000.0
_READ_MS = 2_000.0
_TICKED = frozenset({"checkbox", "radio", "switch"})


class Box(NamedTuple):
    """A rectangle in CSS pixels, from the top left of the page's viewport."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Mark:
    """One numbered element of a marked picture."""

    number: int
    tag: str
    role: str
    """Empty: none."""
    text: str
    """What it reads, up to 500 characters: the first of `texts`, else its accessible name."""
    name: str
    """Its accessible name."""
    box: Box
    """The visible part."""
    frame: tuple[str, ...] = ()
    """A Playwright selector for each frame around it, outermost first."""
    xpaths: tuple[str, ...] = ()
    """Each finds exactly this element in its document; best first. None within a shadow root."""
    css: str = ""
    """For an element within a shadow root: a Playwright CSS path that leads there."""
    texts: tuple[str, ...] = ()
    """Inner text, `aria-label`, `placeholder`, `title` and value, as far as it has them."""
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Of `type placeholder title aria-label alt name href`, those it has."""
    url: str = ""
    """Where a link leads, absolute."""
    failed: bool = False
    """Was refused before, so it is drawn differently."""
    secret: bool = False
    """A field whose value is never read."""
    states: tuple[str, ...] = ()
    """Of `disabled checked selected pressed expanded`, those that hold."""
    unseen: bool = False
    """It shows no text: its only text is a name, such as the `alt` of a picture in it."""
    near: tuple[str, ...] = ()
    """Where others share a text with it, and of a field without a name: the texts around it,
    nearest first."""

    @property
    def selectors(self) -> tuple[str, ...]:
        """What Playwright can find it by within its frame, best first."""
        return (*(f"xpath={path}" for path in self.xpaths), *([self.css] if self.css else []))

    @property
    def is_nameless_field(self) -> bool:
        """Whether it is a field that only the text beside it can name."""
        return self.tag in ("input", "textarea", "select") and not self.name

    @property
    def identity(self) -> tuple[object, ...]:
        """The same for the same element in a later picture, whatever its number is then."""
        return (self.frame, self.selectors[:1], self.tag, self.text)


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A marked picture, and the way back from its numbers to the page."""

    picture: bytes
    """PNG of the viewport."""
    marks: tuple[Mark, ...]
    """Numbered 1, 2, … by rows from the top, each from the left."""
    scale: float
    """Pixels of the picture for one CSS pixel."""
    viewport: tuple[float, float]
    """Width and height in CSS pixels."""
    complete: bool
    """False: there were more elements than the limit."""
    labels: tuple[tuple[float, float, float, float] | None, ...]
    """Left, top, right, bottom of each mark's number in pixels of the picture; None: no room."""
    _page: "Page"
    _handle: "JSHandle"
    _indexes: tuple[int, ...]

    def mark(self, number: int) -> Mark | None:
        """The mark with this number; None: there is none."""
        return self.marks[number - 1] if 1 <= number <= len(self.marks) else None

    def listing(self, limit: int = LISTED) -> str:
        """The marks as text, one a line, for models that cannot see."""
        lines = [_line(mark) for mark in self.marks[:limit]]
        if len(self.marks) > limit:
            lines.append(f"… and {len(self.marks) - limit} more")
        return "\n".join(lines)

    def locator(self, number: int) -> "Locator | None":
        """What finds the marked element now, and nothing else; None: no such mark, or it is gone.

        While the very element is still in the page, the locator was just found to match it. Once
        it was replaced (by a reload or a new rendering), the first XPath that matches one visible
        element with the mark's tag is taken: compare `text_of` before acting on it.
        """
        mark = self.mark(number)
        if mark is None:
            return None
        known = Known(self._handle, self._indexes[number - 1])
        return find_again(self._page, known, mark.frame, mark.selectors, mark.tag)

    def text_of(self, number: int) -> str | None:
        """What the element reads now: inner text, else label, placeholder, title or value.

        None: no such mark, or it is gone.
        """
        from playwright.sync_api import Error

        found = self.locator(number)
        if found is None:
            return None
        try:
            read = run_on_elements(found, "marks_texts")
        except Error:
            return None
        return str(read[0][0]) if read and read[0] else ""


def mark_page(
    page: "Page",
    *,
    only: Sequence[Mark] | None = None,
    failed: Collection[Mark] = (),
    limit: int = MARK_LIMIT,
    hide: Callable[[str], str] | None = None,
) -> MarkedPage:
    """A picture of the viewport with a numbered box around each element that can be acted on.

    Open shadow roots and frames of the same origin are looked into. The page is read only: boxes
    are drawn outside of it. Waits (1 s at most) until the page has stopped changing.

    Args:
        page: what to show.
        only: marks of an earlier picture: just these are drawn, as 1 to k in this order, as far
            as they are still there.
        failed: marks of an earlier picture that were refused: drawn grey, dashed and crossed.
        limit: most marks; the surest are kept.
        hide: takes the case's secrets out of text. Fields that hold one are covered like password
            fields are, and no text of a mark holds one.

    Raises:
        Error: Playwright's, when the page does not answer even at a second try.
    """
    from playwright.sync_api import Error

    try:
        return _marked(page, only, failed, limit, hide)
    except Error:
        # A navigation may have taken the page away meanwhile.
        return _marked(page, only, failed, limit, hide)


def _marked(
    page: "Page",
    only: Sequence[Mark] | None,
    failed: Collection[Mark],
    limit: int,
    hide: Callable[[str], str] | None,
) -> MarkedPage:
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    run_script(page, "quiet", {"still": _STILL_MS, "limit": _QUIET_LIMIT_MS})
    # The caret is left alone: hiding it would put a style into the page.
    shot = page.screenshot(
        type="png", animations="disabled", caret="initial", scale="device", timeout=_SHOT_MS
    )
    with handed_over(page, shot) as picture:
        handle, seen, found = find_marks(page, limit=limit, hide=hide)
        chosen = _chosen(found, only)
        found = _with_near(handle, found, hide, () if only is None else chosen)
        bad = {mark.identity for mark in failed}
        marks = tuple(
            replace(found[index], number=number, failed=found[index].identity in bad)
            for number, index in enumerate(chosen, 1)
        )
        shapes = [
            {**seen["marks"][index], "number": mark.number, "failed": mark.failed}
            for index, mark in zip(chosen, marks, strict=True)
        ]
        drawing = draw(
            page,
            picture,
            marks=shapes,
            hidden=hidden_boxes(page, hide),
            page_text=seen["page"],
            port=seen["port"],
        )
    return MarkedPage(
        picture=drawing.picture,
        marks=marks,
        scale=drawing.scale,
        viewport=(seen["port"]["width"], seen["port"]["height"]),
        complete=bool(seen["complete"]),
        labels=drawing.labels,
        _page=page,
        _handle=handle,
        _indexes=tuple(chosen),
    )


def find_marks(
    page: "Page",
    *,
    limit: int = MARK_LIMIT,
    hide: Callable[[str], str] | None = None,
    texts: bool = False,
) -> tuple["JSHandle", Mapping[str, Any], list[Mark]]:
    """The elements that get marks, without a picture.

    Args:
        page: where to look.
        limit: most elements; the surest are kept.
        hide: see `mark_page`.
        texts: also elements that only show text or a picture.

    Returns:
        The elements in the page, what the script saw, and the marks in order.
    """
    handle = run_script_handle(page, "marks", {"limit": limit, "texts": texts})
    seen = json.loads(handle.evaluate("made => made.json"))
    paths = json.loads(handle.evaluate(element_script("marks_paths")))
    read = json.loads(handle.evaluate(element_script("marks_texts"), True))
    clean = hide or (lambda text: text)
    marks = [
        _mark(number, {**shape, **facts}, path, clean)
        for number, (shape, facts, path) in enumerate(
            zip(seen["marks"], read, paths, strict=True), 1
        )
    ]
    return handle, seen, marks


def _mark(
    number: int, shape: Mapping[str, Any], path: Mapping[str, Any], clean: Callable[[str], str]
) -> Mark:
    # Cleaned before it is cut: half a secret is not recognised any more.
    texts = tuple(clean(text)[:_TEXT_CHARS] for text in shape["texts"])
    name = clean(shape["name"])[:_TEXT_CHARS]
    left, top, right, bottom = shape["box"]
    own = path["own"]
    return Mark(
        number=number,
        tag=shape["tag"],
        role=shape["role"],
        text=texts[0] if texts else name,
        name=name,
        box=Box(left, top, right - left, bottom - top),
        frame=tuple(selectors(facts)[0] for facts in path["frames"]),
        xpaths=tuple(found for found in xpaths(own) if clean(found) == found),
        css=own["css"],
        texts=texts,
        attributes={key: clean(value) for key, value in shape["attributes"].items()},
        url=clean(shape["url"]),
        secret=bool(shape["secret"]),
        states=tuple(shape["states"]),
        unseen=bool(shape["unseen"]),
    )


def _with_near(
    handle: "JSHandle",
    marks: Sequence[Mark],
    hide: Callable[[str], str] | None,
    together: Sequence[int],
) -> list[Mark]:
    texts = [(*mark.texts, mark.name) for mark in marks]
    kinds = [mark.role if mark.tag == "input" or mark.role in _TICKED else "icon" for mark in marks]
    icons = [kind if mark.unseen else "" for kind, mark in zip(kinds, marks, strict=True)]
    clean = hide or (lambda text: text)
    nameless = [index for index, mark in enumerate(marks) if mark.is_nameless_field]
    near = texts_near(handle, texts, icons, clean, together=together, nameless=nameless)
    return [
        replace(mark, near=pieces) if pieces else mark
        for mark, pieces in zip(marks, near, strict=True)
    ]


def _chosen(found: Sequence[Mark], only: Sequence[Mark] | None) -> list[int]:
    if only is None:
        return list(range(len(found)))
    places = {mark.identity: index for index, mark in enumerate(found)}
    wanted = dict.fromkeys(mark.identity for mark in only)
    return [places[identity] for identity in wanted if identity in places]


def hidden_boxes(page: "Page", hide: Callable[[str], str] | None) -> list[Sequence[float]]:
    """Boxes of the fields that the picture must not show.

    Playwright's own masks would be put into the page.
    """
    boxes: list[Sequence[float]] = []
    for field_ in covers(page, hide):
        for one in field_.all():
            box = one.bounding_box(timeout=_READ_MS)
            if box:
                x, y = box["x"], box["y"]
                boxes.append((x, y, x + box["width"], y + box["height"]))
    return boxes


def _line(mark: Mark) -> str:
    words = [f"[{mark.number}]", mark.tag, f"role={mark.role}" if mark.role else ""]
    words.append(_quoted(mark.text))
    for key in ("aria-label", "placeholder", "href", "type"):
        value = mark.attributes.get(key, "")
        if value and value != mark.text:
            words.append(f"{key}={_quoted(value)}")
    words += mark.states
    x, y = mark.box.x + mark.box.width / 2, mark.box.y + mark.box.height / 2
    words.append(f"@({x:.0f},{y:.0f})")
    return " ".join(word for word in words if word)


def _quoted(text: str) -> str:
    return json.dumps(text[:_LISTED_CHARS], ensure_ascii=False)
