"""Pictures of pages with a numbered box around every actionable element.

Models without vision get a marked page as a list, which also has details that no picture shows.
"""

import json
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace
from playwright.sync_api import Error, JSHandle, Locator, Page

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.marks.drawing import decoded_picture, draw
from pytest_autoweb.browser.marks.find_again import KnownElement, find_again, selectors, xpaths
from pytest_autoweb.browser.page.covered_fields import covers
from pytest_autoweb.browser.page.frames import (
    OBSERVE_TIMEOUT_MS,
    element_script,
    run_on_element,
    run_script_handle,
)
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.browser.page.same_element import (
    ElementIdentity,
    RowsMovedError,
    identity_of,
    pinned,
)

CHARS = 80
"""Limit on the characters of one text."""

LISTED_FOR_MODELS = 60
_NEW = 20
LINE_CHARS = 200
_NAME_CHARS, _VALUE_CHARS, _NEAR_CHARS = 80, 60, 50
_FORMATS = {
    "date": "date, YYYY-MM-DD",
    "time": "time, HH:MM",
    "datetime-local": "YYYY-MM-DDTHH:MM",
    "month": "month, YYYY-MM",
    "password": "password",
    "file": "file",
}
_HOLDS = frozenset({"input", "textarea", "select"})


def texts_near(
    handle: JSHandle,
    texts: Sequence[Sequence[str]],
    icons: Sequence[str],
    clean: Callable[[str], str],
    *,
    together: Sequence[int] = (),
    nameless: Sequence[int] = (),
) -> tuple[tuple[str, ...], ...]:
    """Return the texts around each element that shares a text with another element.

    The texts are read from the inside out. First comes the largest part of the page that contains
    the element but no other one with its text, such as a row or a card. If that part is the element
    itself, the texts before and after it are used. Then comes the heading above it. There are at
    most 42 texts for each shared text.

    Args:
        handle: the handle of the elements from `find_marks`.
        texts: all texts of each element.
        icons: the kind of each element that shows no text; empty for one that does.
        clean: removes secrets from text.
        together: indexes of elements to distinguish, whatever their texts.
        nameless: indexes of fields that are named only by the text next to them.
    """
    groups = [list(together)] if together else groups_by_text(texts, icons)
    if nameless and not together:
        groups.append(list(nameless))
    near: list[tuple[str, ...]] = [()] * len(texts)
    if groups:
        found = read_json(handle.evaluate(element_script("marks_near"), groups))
        for group, around in zip(groups, found, strict=True):
            for index, pieces in zip(group, around, strict=True):
                # Secrets are removed before the text is cut, because a truncated secret is not
                # recognised.
                known = set(map(_key, texts[index]))
                own = [clean(piece)[:CHARS] for piece in pieces if _key(piece) not in known]
                near[index] = tuple(dict.fromkeys((*near[index], *own)))
    return tuple(near)


def groups_by_text(texts: Sequence[Sequence[str]], icons: Sequence[str]) -> list[list[int]]:
    """Return, for each text that several elements share, the indexes of those elements.

    Case, spaces and punctuation are ignored. Icons of the same kind form a group as well, except
    those that already share a name.
    """
    groups: dict[str, list[int]] = {}
    for index, own in enumerate(texts):
        for key in dict.fromkeys(filter(None, map(_key, own))):
            groups.setdefault(key, []).append(index)
    shared = [group for group in groups.values() if len(group) > 1]
    named = {index for group in shared for index in group}
    kinds: dict[str, list[int]] = {}
    for index, kind in enumerate(icons):
        if kind and index not in named:
            kinds.setdefault(kind, []).append(index)
    return [*shared, *(group for group in kinds.values() if len(group) > 1)]


def _key(text: str) -> str:
    # Texts that differ only in width, case or spacing look alike to a model.
    folded = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return "".join(filter(str.isalnum, folded)) or folded


MARK_LIMIT = 200
"""Limit on the marks in one picture."""
LISTED = 50
"""Limit on the marks in the list form."""
_LISTED_CHARS = 30
_TEXT_CHARS = 500
_HELD_CHARS = 2_000
_SHOT_MS = 5_000.0
_READ_MS = 2_000.0
_LOOKS = 5
"""How often an element is looked for that changes its place meanwhile."""
_TELLING = 4
"""Of the texts that tell an element from its twins, so many are looked for again."""
_TICKED = frozenset({"checkbox", "radio", "switch"})


class PageBox(NamedTuple):
    """A rectangle in CSS pixels, relative to the top left corner of the page's viewport."""

    x: float
    y: float
    width: float
    height: float


class SelectOption(NamedTuple):
    """One option of a select box."""

    text: str
    group: str = ""
    """The label of the group that it is in."""
    chosen: bool = False
    disabled: bool = False


class ScrolledBox(NamedTuple):
    """A box of the page that can be scrolled."""

    name: str
    box: PageBox
    above: int
    """Pixels of its content above what it shows."""
    below: int
    row: int
    """Height of one of its rows, or 0 if it has none."""


class TextLine(NamedTuple):
    """A line of the page's text that belongs to no mark."""

    text: str
    box: PageBox
    seen: bool
    """Whether it is in the viewport."""


class Mark(Struct, frozen=True):
    """One numbered element of a marked picture."""

    number: int
    tag: str
    role: str
    """ARIA role; empty if it has none."""
    text: str
    """Its text, up to 500 characters: the first of `texts`, or else its accessible name."""
    name: str
    """Accessible name."""
    box: PageBox
    """Rectangle of the visible part."""
    frame: tuple[str, ...] = ()
    """A Playwright selector for each frame around it, outermost first."""
    xpaths: tuple[str, ...] = ()
    """XPaths that each find only this element, best first; none in a shadow root."""
    css: str = ""
    """For an element in a shadow root, a Playwright CSS path that leads to it."""
    texts: tuple[str, ...] = ()
    """Its painted text, `aria-label`, `placeholder`, `title` and value, as far as present."""
    painted: tuple[str, ...] | None = None
    """The texts that the page paints for it, including a field's label; None if unknown."""
    lines: tuple[str, ...] = ()
    """The lines of its painted text, if it has several."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Its attributes among `type placeholder title aria-label alt name href`."""
    url: str = ""
    """Absolute address to which a link leads."""
    failed: bool = False
    """Whether it was refused before, so that it is drawn differently."""
    secret: bool = False
    """Whether it is a field whose value must never be read."""
    states: tuple[str, ...] = ()
    """Its states, such as `disabled`, `checked`, `collapsed` or `focused`."""
    options: tuple["SelectOption", ...] = ()
    """The options of a select box."""
    held: str = ""
    """What a field or an editor holds, with its line breaks."""
    editor: Literal["", "plain", "indents"] = ""
    """Whether it is an editor of code, which takes keys and has no value of its own; some indent
    each new line."""
    revealed: bool = False
    """Whether it is hidden until the mouse is over it or its row."""
    reveals: tuple[str, ...] = ()
    """The names of controls that appear when the mouse is over it."""
    unseen: bool = False
    """Whether it shows no text and has only a name, such as the `alt` of a picture in it."""
    hidden: bool = False
    """Whether its name also includes invisible text."""
    near: tuple[str, ...] = ()
    """Surrounding texts, nearest first, of an element that shares a text with others and of a
    field without a name."""

    @property
    def selectors(self) -> tuple[str, ...]:
        """Return Playwright selectors that find it within its frame, best first."""
        return (*(f"xpath={path}" for path in self.xpaths), *([self.css] if self.css else []))

    @property
    def is_nameless_field(self) -> bool:
        """Tell whether it is a field without a label, which the text next to it can name."""
        hints = {"", self.attributes.get("placeholder", ""), self.attributes.get("title", "")}
        return self.tag in ("input", "textarea", "select") and self.name in hints

    @property
    def identity(self) -> tuple[object, ...]:
        """Return a key that is equal for the same element in a later picture."""
        return (self.frame, self.selectors[:1], self.tag, self.text)

    def __hash__(self) -> int:
        # Its attributes are a dict, which has no hash.
        return hash((self.number, self.identity))


class MarkedPage(Struct, frozen=True):
    """A marked picture, with locators for its numbers."""

    picture: bytes
    """The viewport as a PNG."""
    marks: tuple[Mark, ...]
    """The marks, numbered 1, 2, … by rows from the top, and from the left within a row."""
    scale: float
    """Pixels of the picture per CSS pixel."""
    viewport: tuple[float, float]
    """Width and height in CSS pixels."""
    complete: bool
    """False if there were more elements than the limit."""
    labels: tuple[tuple[float, float, float, float] | None, ...]
    """Left, top, right and bottom of each mark's number in pixels; None if there was no room."""
    _page: Page
    _handle: JSHandle
    _indexes: tuple[int, ...]
    lines: tuple[TextLine, ...] = ()
    """The page's text outside of its marks, in the order of the page, if it was asked for."""
    scrolled: tuple[ScrolledBox, ...] = ()
    """The boxes that can be scrolled, if the text was asked for."""
    focus: str = ""
    """Where the focus is; equal as long as it stays on the same element."""

    def mark(self, number: int) -> Mark | None:
        return self.marks[number - 1] if 1 <= number <= len(self.marks) else None

    def listing(self, limit: int = LISTED) -> str:
        """Return the marks as text, one per line, for models that cannot see."""
        lines = [_line(mark) for mark in self.marks[:limit]]
        if len(self.marks) > limit:
            lines.append(f"… and {len(self.marks) - limit} more")
        return "\n".join(lines)

    def locator(self, number: int) -> Locator | None:
        """Return a locator that finds exactly the marked element, or None if it is gone.

        While the original element is still in the page, the locator has just been verified to match
        it. If it was replaced (by a reload or a new rendering), the first XPath that matches one
        visible element with the mark's tag is used; then compare `text_of` before acting on it.
        """
        mark = self.mark(number)
        if mark is None:
            return None
        known = KnownElement(self._handle, self._indexes[number - 1])
        return find_again(self._page, known, mark.frame, mark.selectors, mark.tag)

    def kept(self, number: int) -> Locator | None:
        """Return a locator that keeps to the marked element; None if it is gone.

        Raises:
            RowsMovedError: its place was taken by others again and again.
        """
        known = KnownElement(self._handle, self._indexes[number - 1])
        for _ in range(_LOOKS):
            found = self.locator(number)
            # Rows may have changed places since the locator was made.
            if found is not None and known.is_at(same := pinned(found)):
                return same
            if known.places() is None:
                return None
        raise RowsMovedError(f"the rows moved: element [{number}] changes its place all the time")

    def moved(self, number: int, found: Locator) -> str:
        """Return why an element no longer stands where it did among its twins; empty if it does.

        Its node may show another record by now, with the same text of its own.
        """
        mark = self.mark(number)
        if mark is None or not mark.near:
            return ""
        twins = [other for other in self.marks if other is not mark and _alike(mark, other)]
        # What stands near several of them tells nothing of any.
        others = {piece for other in twins for piece in other.near}
        telling = [piece for piece in mark.near if piece not in others][:_TELLING]
        now = identity_of(found)
        if not telling or now is None:
            return ""
        place = KnownElement(self._handle, self._indexes[number - 1]).near(
            [self._indexes[one.number - 1] for one in (mark, *twins)]
        )
        near = " | ".join(_words(text) for text in (*place, now.beside, now.name))
        kept = [piece for piece in telling if f" {_words(piece)} " in f" {near} "]
        if len(kept) * 2 >= len(telling):
            return ""
        meant = ElementIdentity(mark.role or mark.tag, mark.text, telling[0])
        return f"the rows moved: {meant} is no longer there; {now} is in its place"

    def text_of(self, number: int) -> str | None:
        """Return the element's current text: inner text, or label, placeholder, title or value.

        The result is None if there is no such mark or its element is gone.
        """
        found = self.locator(number)
        return None if found is None else text_at(found)


def text_at(found: Locator) -> str | None:
    """Return an element's current text as marks have it; None if it is gone."""
    try:
        read = run_on_element(found, "marks_texts", timeout_ms=_READ_MS)
    except Error:
        return None
    return str(read[0][0]) if read and read[0] else ""


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _alike(mark: Mark, other: Mark) -> bool:
    texts = {_key(text) for text in (*mark.texts, mark.name)} - {""}
    return mark.tag == other.tag and (
        not texts.isdisjoint(map(_key, (*other.texts, other.name)))
        or (mark.unseen and other.unseen and mark.role == other.role)
    )


def mark_page(
    page: Page,
    *,
    only: Sequence[Mark] | None = None,
    failed: Collection[Mark] = (),
    limit: int = MARK_LIMIT,
    hide: Callable[[str], str] | None = None,
    lines: bool = False,
) -> MarkedPage:
    """Return a picture of the viewport with numbered boxes around elements that can be acted on.

    Open shadow roots and frames of the same origin are included. The page is only read: boxes are
    drawn outside of it. Waits until the page is quiet.

    Args:
        page: the page to show.
        only: marks of an earlier picture; only those that still exist are drawn, numbered from 1
            in this order.
        failed: marks of an earlier picture that were refused; they are drawn grey, dashed, crossed.
        limit: limit on the marks; the most certain ones are kept.
        hide: removes the case's secrets from text. Fields that hold one are covered like password
            fields, and no text of a mark contains one.
        lines: also read the page's text outside of the marks.

    Raises:
        Error: Playwright's error if the page does not answer even at the second try.
    """
    try:
        return _marked(page, only, failed, limit, hide, lines)
    except Error:
        # A navigation may have replaced the page in the meantime.
        return _marked(page, only, failed, limit, hide, lines)


def _marked(
    page: Page,
    only: Sequence[Mark] | None,
    failed: Collection[Mark],
    limit: int,
    hide: Callable[[str], str] | None,
    lines: bool,
) -> MarkedPage:
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    wait_until_quiet(page)
    # Hiding the caret would add a style to the page.
    shot = page.screenshot(
        type="png", animations="disabled", caret="initial", scale="device", timeout=_SHOT_MS
    )
    with decoded_picture(page, shot) as picture:
        handle, seen, found = find_marks(page, limit=limit, hide=hide, hover=True, lines=lines)
        chosen = _chosen(found, only)
        found = _with_near(handle, found, hide, () if only is None else chosen)
        bad = {mark.identity for mark in failed}
        marks = tuple(
            replace(found[index], number=number, failed=found[index].identity in bad)
            for number, index in enumerate(chosen, 1)
        )
        shapes = [
            {
                **seen["marks"][index],
                "number": mark.number,
                "failed": mark.failed,
                "waits": mark.revealed or bool(mark.reveals),
            }
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
        lines=tuple(_text_line(line, hide or str) for line in seen["lines"]),
        scrolled=tuple(_scrolled_box(box, hide or str) for box in seen["scrolled"]),
        focus=str(seen["focus"]),
    )


def _text_line(line: Mapping[str, Any], clean: Callable[[str], str]) -> TextLine:
    left, top, right, bottom = line["box"]
    box = PageBox(left, top, right - left, bottom - top)
    return TextLine(clean(line["text"])[:_TEXT_CHARS], box, bool(line["seen"]))


def _scrolled_box(found: Mapping[str, Any], clean: Callable[[str], str]) -> ScrolledBox:
    left, top, right, bottom = found["box"]
    box = PageBox(left, top, right - left, bottom - top)
    return ScrolledBox(clean(found["name"]), box, *found["hidden"])


def find_marks(
    page: Page,
    *,
    limit: int = MARK_LIMIT,
    hide: Callable[[str], str] | None = None,
    texts: bool = False,
    hover: bool = False,
    lines: bool = False,
) -> tuple[JSHandle, Mapping[str, Any], list[Mark]]:
    """Find the elements that get marks, without drawing a picture.

    Args:
        page: the page to search.
        limit: limit on the elements; the most certain ones are kept.
        hide: see `mark_page`.
        texts: include elements that only show text or a picture.
        hover: include elements that appear under the mouse.
        lines: also read the page's text outside of the marks.

    Returns:
        A handle of the elements, the script's result, and the marks in order.
    """
    asked = {"limit": limit, "texts": texts, "hover": hover, "lines": lines}
    handle = run_script_handle(page, "marks", asked)
    seen = read_json(handle.evaluate("made => made.json"))
    paths = read_json(handle.evaluate(element_script("marks_paths")))
    read = read_json(handle.evaluate(element_script("marks_texts"), True))
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
    # Secrets are removed before the text is cut, because half a secret is not recognised.
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
        box=PageBox(left, top, right - left, bottom - top),
        frame=tuple(selectors(facts)[0] for facts in path["frames"]),
        # A path that quotes a secret would reveal it.
        xpaths=tuple(found for found in xpaths(own) if clean(found) == found),
        css=own["css"],
        texts=texts,
        painted=tuple(clean(text)[:_TEXT_CHARS] for text in shape["painted"]),
        lines=tuple(clean(line)[:_TEXT_CHARS] for line in shape["lines"]),
        attributes={key: clean(value) for key, value in shape["attributes"].items()},
        url=clean(shape["url"]),
        secret=bool(shape["secret"]),
        states=tuple(shape["states"]),
        options=tuple(_option(option, clean) for option in shape["options"]),
        held=clean(shape["held"])[:_HELD_CHARS],
        editor=shape["editor"],
        revealed=bool(shape["revealed"]),
        reveals=tuple(clean(name)[:CHARS] for name in shape["reveals"]),
        unseen=bool(shape["unseen"]),
        hidden=bool(shape["hidden"]),
    )


def _option(option: Mapping[str, Any], clean: Callable[[str], str]) -> SelectOption:
    text, group = (clean(option[key]) for key in ("text", "group"))
    return SelectOption(text, group, bool(option["chosen"]), bool(option["disabled"]))


def _with_near(
    handle: JSHandle,
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


def hidden_boxes(page: Page, hide: Callable[[str], str] | None) -> list[Sequence[float]]:
    """Return the boxes of the fields that the picture must not show.

    Playwright's own masks cannot be used, because they would be added to the page.
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


def listing(
    marks: Sequence[Mark],
    text: str,
    *,
    max_chars: int,
    apart: Collection[str] = (),
    before: str | None = None,
    near: Mapping[int, str] | None = None,
) -> str:
    """Return the marks, one per line, and the page's other text, as small models get them.

    Args:
        marks: the marks in order.
        text: the page's visible text, one line per block; lines that repeat a mark are dropped.
        apart: texts that stay although they repeat a mark, see `texts_apart`.
        max_chars: limit on the characters of the text.
        before: the text at the previous look at the same page. New lines come last, because they
            are the page's response to the last action.
        near: texts that tell apart marks with the same text, see `disambiguate.ambiguous`.
    """
    known_near = near or {}
    lines = [line_of(mark, known_near.get(mark.number, "")) for mark in marks[:LISTED_FOR_MODELS]]
    if len(marks) > LISTED_FOR_MODELS:
        lines.append(f"({len(marks) - LISTED_FOR_MODELS} more elements are not listed)")
    known = {" ".join(mark.text.split()) for mark in marks} - set(apart)
    kept = [line for line in _lines(text) if line not in known]
    old = kept if before is None else [line for line in kept if line in _lines(before)]
    new = [line for line in kept if line not in old]
    # New text has priority: it shows whether the last action had an effect.
    room = max_chars - sum(min(len(line), LINE_CHARS) for line in new)
    for line in old:
        room -= min(len(line), LINE_CHARS)
        if room < 0:
            lines.append("text: …")
            break
        lines.append(f"text: {line[:LINE_CHARS]}")
    return "\n".join([*lines, *(f"new text: {line[:LINE_CHARS]}" for line in new[:_NEW])])


def texts_apart(marks: Sequence[Mark], lines: Sequence[TextLine]) -> frozenset[str]:
    """Return texts of marks that the page also says elsewhere, where they mean something else.

    A status "Open" is not the button "Open"; the label beside a field is its name.

    Args:
        marks: the marks.
        lines: the text outside of all marks.
    """
    of_text: dict[str, list[PageBox]] = {}
    for mark in marks:
        of_text.setdefault(" ".join(mark.text.split()), []).append(mark.box)
    alike = ((line, of_text.get(" ".join(line.text.split()), ())) for line in lines)
    return frozenset(
        " ".join(line.text.split())
        for line, boxes in alike
        if boxes and not any(_beside(line.box, box) for box in boxes)
    )


def _beside(one: PageBox, other: PageBox) -> bool:
    across = max(one.x - (other.x + other.width), other.x - (one.x + one.width))
    down = max(one.y - (other.y + other.height), other.y - (one.y + one.height))
    return (down < 0 and across <= _ASIDE_PX) or (across < 0 and down <= _ABOVE_PX)


_ASIDE_PX, _ABOVE_PX = 60, 30
_OPTIONS = 30
_OPTION_CHARS = 60


def plain_options(marks: Sequence[Mark]) -> list[str]:
    """Return what each select box offers, as small models get it: `[4] options: Red, Blue`."""
    lines = []
    for mark in marks:
        if mark.tag == "select":
            offered = [shortened(option.text, _OPTION_CHARS) for option in mark.options[:_OPTIONS]]
            more = ", …" if len(mark.options) > _OPTIONS else ""
            lines.append(f"[{mark.number}] options: {', '.join(offered)}{more}")
    return lines


def _lines(text: str) -> dict[str, None]:
    """Return the distinct lines of a text in order."""
    plain = (" ".join(line.split()) for line in text.splitlines())
    return dict.fromkeys(line for line in plain if line)


def line_of(mark: Mark, near: str = "") -> str:
    """Return one mark: `[5] textbox "User" holds "ana"`, or `[6] button "Edit" near "Ben"`."""
    holds = mark.texts[-1] if mark.tag in _HOLDS and mark.texts else ""
    name = _first_of(mark)
    parts = [f"[{mark.number}]", mark.role or mark.tag, f'"{shortened(name, _NAME_CHARS)}"']
    # Text for screen readers may distinguish equal labels, such as which article `Read more` is
    # about.
    if mark.name != name and (label_of(mark) == mark.name or mark.hidden):
        parts.append(f"({shortened(mark.name, _NAME_CHARS)})")
    if shape := _FORMATS.get(mark.attributes.get("type", "")):
        parts.append(f"({shape})")
    if holds and holds not in (name, mark.attributes.get("placeholder"), mark.name):
        parts.append(f'holds "{shortened(holds, _VALUE_CHARS)}"')
    if near:
        parts.append(f'near "{shortened(near, _NEAR_CHARS)}"')
    return " ".join(parts)


def label_of(mark: Mark) -> str:
    """Return a mark's label in its line: its text, or its name if the text is only a symbol."""
    name = _first_of(mark)
    return name if any(map(str.isalnum, name)) else mark.name or name


def _first_of(mark: Mark) -> str:
    if mark.tag not in _HOLDS:
        return mark.text
    return mark.name or mark.attributes.get("placeholder", "")


def shortened(text: str, limit: int) -> str:
    """Return a text on one line, cut with an ellipsis."""
    plain = " ".join(text.split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
