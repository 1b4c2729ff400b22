"""Pages and frames as the stages see them, and the choice of the one that a step is about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Error, Frame, Page

from pytest_autoweb import waiting
from pytest_autoweb.egress.request_policy import parse_origin
from pytest_autoweb.page.run_script import MAX_FRAMES, MAX_SILENT, run_script


class ContextWrapper(NamedTuple):
    """The page or frame in which a step works."""

    context: Any
    """Playwright's Page or Frame object."""
    name: str
    """`page`, or the name or URL of the frame."""


@dataclass(frozen=True, slots=True)
class RefElement:
    """One element of the numbered list that a model gets in the `refs` dialect."""

    ref: str
    """`e1`, `e2`, … in reading order."""
    role: str
    name: str
    hint: str
    """Input type and format, options, state and nearby label; may be empty."""
    locator: str
    """A Playwright expression that starts at `page` and finds exactly this element."""
    actions: tuple[str, ...]
    """Those of `click`, `fill`, `check`, `uncheck`, `select_option`, `press` that apply."""
    options: tuple[str, ...] = ()
    """Labels of the options of a select box."""
    takes_files: bool = False
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class RefView:
    """The page as a numbered list of elements."""

    text: str
    """The lines for the model: elements and the page's other visible text, in reading order."""
    elements: tuple[RefElement, ...]
    truncated: bool = False


_POLL_MS = 250.0
_WAIT_S = 8.0
# Smaller frames, such as tracking pixels, are never what a step means.
_MIN_SIDE = 100
_MIN_AREA = 10_000
_LOOK_MS = 3_000.0
# Score of a candidate with a phrase that the step quotes in a control, and thus in its text.
_NAMED = 9.0
_MARKS = '"“”„«»「」『』'
_QUOTES = re.compile(rf"[{_MARKS}]([^{_MARKS}]{{1,80}})[{_MARKS}]|(?<!\w)'([^']{{1,80}})'")
_WORD = re.compile(r"[a-z0-9]+|[^\W\d_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP = set(
    re.findall(
        r"\w+",
        "a an and at by click enter fill find for from go in into is it its of on open or page"
        " press select step that the then this to type use using wait with you your",
    )
)


@dataclass(frozen=True, slots=True)
class FrameFacts:
    """The facts about a candidate that its score depends on."""

    controls: tuple[str, ...]
    """Role and name of each visible control."""
    text: str
    area_share: float
    """The frame's share of the viewport's area."""
    is_main: bool
    same_origin: bool
    ready: bool = True


def best_context(page: Page, hint: str) -> ContextWrapper:
    """Return the page, or the frame that matches the step's text better.

    A page without frames is returned at once. With frames, the function waits until the candidates
    have loaded, for 8 s at most. Size alone never decides, least of all for another origin.
    """
    main = ContextWrapper(page, "page")
    deadline = waiting.now() + _WAIT_S
    while True:
        # An iframe may be in the document before Playwright knows its frame.
        if len(page.frames) < 2 and not _has_iframes(page):
            return main
        looked = list(_look(page))
        if _settled([facts for _, facts in looked], hint) or waiting.now() >= deadline:
            break
        page.wait_for_timeout(_POLL_MS)
    if not looked:
        return main
    frame, facts = max(looked, key=lambda pair: score_frame(pair[1], hint))
    return main if facts.is_main else ContextWrapper(frame, frame.name or frame.url)


def _settled(looked: list[FrameFacts], hint: str) -> bool:
    """Tell whether waiting longer cannot improve the choice.

    Frames of other origins are not waited for, because adverts may load for ever. Nothing is waited
    for once a candidate has a control that the step names.
    """
    named = any(f.ready and score_frame(f, hint) >= _NAMED for f in looked)
    return named or all(f.ready for f in looked if f.same_origin)


def score_frame(facts: FrameFacts, hint: str) -> float:
    """Return how well a candidate matches the step's text."""
    controls = "\n".join(facts.controls).casefold()
    text = facts.text.casefold()
    phrases = [p.casefold() for p in _phrases(hint)]
    words = _words(hint)
    control_words = _words(controls)
    # Phrases that the step quotes count more than single words, and words more than size.
    total = 6.0 * sum(phrase in controls for phrase in phrases)
    total += 3.0 * sum(phrase in text for phrase in phrases)
    if words:
        total += 4.0 * len(words & control_words) / len(words)
        total += 1.0 * len(words & _words(text)) / len(words)
    total += 0.5 * min(len(facts.controls), 20) / 20
    if facts.is_main:
        return total + 0.2
    # A frame of another origin, such as an advert, must match twice as well.
    return total + 0.3 * facts.area_share if facts.same_origin else total / 2


def _phrases(hint: str) -> list[str]:
    return [(a or b).strip() for a, b in _QUOTES.findall(hint) if (a or b).strip()]


def _words(text: str) -> set[str]:
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _CJK.search(word):
            # These scripts have no spaces, so pairs of characters serve as words.
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif word not in _STOP:
            found.add(word)
    return found


def _has_iframes(page: Page) -> bool:
    try:
        return bool(run_script(page, "frame_facts", timeout_ms=_LOOK_MS)["iframes"])
    except Error:
        return False


def _look(page: Page) -> Iterator[tuple[Frame, FrameFacts]]:
    # A page whose window can be resized has no fixed viewport.
    size = page.viewport_size or {"width": 1280, "height": 720}
    viewport = float(size["width"] * size["height"])
    silent = 0
    for frame in page.frames[:MAX_FRAMES]:
        if silent >= MAX_SILENT:
            return
        is_main = frame == page.main_frame
        try:
            area = viewport if is_main else _visible_area(frame)
            if area is None:
                continue
            seen = run_script(frame, "frame_facts", timeout_ms=_LOOK_MS)
        except Error:
            # The frame is gone or too busy; it is not a candidate now, but may be at the next look.
            silent += MAX_SILENT if is_main else 1
            continue
        yield (
            frame,
            FrameFacts(
                controls=tuple(seen["controls"]),
                text=seen["text"],
                area_share=min(1.0, area / viewport),
                is_main=is_main,
                same_origin=is_main or _same_origin(frame.url, page.url),
                ready=bool(seen["ready"]) and (is_main or not _is_pending(frame)),
            ),
        )


def _visible_area(frame: Frame) -> float | None:
    element = frame.frame_element()
    box = element.bounding_box()
    if box is None or not element.is_visible():
        return None
    width, height = box["width"], box["height"]
    if min(width, height) < _MIN_SIDE or width * height < _MIN_AREA:
        return None
    return width * height


def _is_pending(frame: Frame) -> bool:
    """Tell whether the frame still shows the blank document that it starts with."""
    if frame.url not in {"", "about:blank"}:
        return False
    element = frame.frame_element()
    source = element.get_attribute("src") or "about:blank"
    waits = element.get_attribute("srcdoc") is not None or not source.startswith("about:")
    return waits and element.get_attribute("loading") != "lazy"


def _same_origin(url: str, page_url: str) -> bool:
    if url.startswith("about:") or urlsplit(url).scheme == "blob":
        return True
    return parse_origin(url) is not None and parse_origin(url) == parse_origin(page_url)
