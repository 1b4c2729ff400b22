"""Pages and frames as the stages see them, and the execution of our scripts in them.

A step is about one of them, which is chosen here. The scripts are in `js/`; each has a deadline
that even a busy page keeps.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from playwright.sync_api import ElementHandle, Error, Frame, JSHandle, Locator, Page

from pytest_autoweb.base import waiting
from pytest_autoweb.base.scripts import east_asian
from pytest_autoweb.base.whole_characters import read_json, whole_json, whole_text
from pytest_autoweb.browser.egress.browser_watch import WATCH, call_within
from pytest_autoweb.browser.egress.request_policy import parse_origin

_FOLDER = Path(__file__).parent / "js"

OBSERVE_TIMEOUT_MS = 10_000.0
"""Time limit for one look at the page."""


MAX_FRAMES = 60
"""Limit on the frames of a page that are looked at, in the order of the page."""
MAX_SILENT = 3
"""Frames that do not answer in time; after this many, no further frames are asked."""


_LEFT = "context was destroyed"
"""In Playwright's error when a page was left while a script ran in it."""


T = TypeVar("T")


class CallResult(NamedTuple):
    """The result of a case author's JavaScript."""

    truthy: bool = False
    shown: str = ""
    """The result as a short text."""
    error: str = ""
    """The error that it threw; empty if it succeeded."""


@cache
def script(name: str) -> str:
    """Return the text of `js/NAME.js` without its leading comment lines."""
    lines = (_FOLDER / f"{name}.js").read_text(encoding="utf-8").splitlines()
    while lines and lines[0].startswith("//"):
        lines.pop(0)
    return "\n".join(lines).strip()


_TOOLS = {
    "aria": "aria",
    "showsBare": "shows_bare",
    "sight": "sight",
    "hovering": "shown_on_hover",
    "longLists": "long_lists",
    "visuals": "visuals",
    "selectors": "selectors",
}
"""What scripts may use besides the DOM, and the file that makes it."""
# `aria` is a tool, `aria-label` is not.
_NAMES = re.compile(r"\w+(?![\w-])")


@cache
def _wrapped(name: str) -> str:
    return f"async arg => {{ {tools_of(name)} const made = ({script(name)})(tools, arg);"


@cache
def tools_of(name: str, *, dom: str = "") -> str:
    """Return statements that make the tools which `js/NAME.js` uses.

    Args:
        name: the script's name.
        dom: an expression of the accessors that all of them use; empty if they are to be made, too.
    """
    text = script(name)
    # Short scripts are sent often, so they do without what they do not use.
    accessors = dom or f"({script('dom')})()"
    made = [f"const tools = {{ dom: {accessors} }}; const {{ dom }} = tools;"]
    used = set(_NAMES.findall(text))
    made += [f"tools.{one} = ({script(file)})(dom);" for one, file in _TOOLS.items() if one in used]
    return " ".join(made)


def run_script(
    context: Page | Frame,
    name: str,
    arg: Any = None,
    *,
    part: str = "",
    timeout_ms: float = OBSERVE_TIMEOUT_MS,
) -> Any:
    """Run `js/NAME.js` and return its result, a JSON value, or one part of it.

    A page in an endless loop fails in time. If it navigates meanwhile, the next page is used.

    Raises:
        Error: Playwright's error if the page does not answer, or the script fails.
    """
    chosen = f"(await made).{part}" if part else "await made"
    code = f"{_wrapped(name)} return dom.stringify({chosen}); }}"
    return read_json(_within(context, timeout_ms, lambda: context.evaluate(code, arg)))


def script_call(name: str) -> str:
    """Return a function that runs `js/NAME.js`, for a call that must not be made twice."""
    return f"{_wrapped(name)} return dom.stringify(await made); }}"


def run_script_handle(
    context: Page | Frame,
    name: str,
    arg: Any = None,
    *,
    timeout_ms: float = OBSERVE_TIMEOUT_MS,
) -> JSHandle:
    """Run `js/NAME.js` and return a handle of its result, an object that stays in the page."""
    code = f"{_wrapped(name)} return made; }}"
    return _within(context, timeout_ms, lambda: context.evaluate_handle(code, arg))


def _within(context: Page | Frame, timeout_ms: float, call: Callable[[], T]) -> T:
    ends = waiting.now() + timeout_ms / 1000
    while True:
        left = max(1.0, (ends - waiting.now()) * 1000)
        try:
            return call_within(context, left, call, limit_ms=timeout_ms)
        except Error as error:
            if _LEFT not in str(error) or waiting.now() >= ends:
                raise


@cache
def element_script(name: str) -> str:
    """Return `js/NAME.js` as a function of elements and an argument, for `evaluate_all`."""
    return of_elements(name, tools_of(name))


def of_elements(name: str, tools: str) -> str:
    """Return `js/NAME.js` as a function of elements and an argument.

    Args:
        name: the script's name.
        tools: statements that make its tools.
    """
    told = f"dom.stringify(({script(name)})({{...tools, elements}}, arg))"
    return f"(elements, arg) => {{ {tools} return {told}; }}"


def run_on_elements(locator: Locator, name: str, arg: Any = None) -> Any:
    """Run `js/NAME.js` on all elements of a locator; this has no timeout of its own."""
    return read_json(locator.evaluate_all(element_script(name), arg))


def run_on_element(locator: Locator, name: str, arg: Any = None, *, timeout_ms: float) -> Any:
    """Run `js/NAME.js` on the one element of a locator, which may keep to that element.

    Locators of several elements are looked up among the page's own scripts, where nothing is known
    of an element that was kept to.
    """
    code = f"(one, arg) => ({element_script(name)})([one], arg)"
    return read_json(locator.evaluate(code, arg, timeout=timeout_ms))


def answers(context: Page | Frame, *, timeout_ms: float) -> bool:
    """Tell whether the page answers at all; if not, less patience is had with it from now on."""
    try:
        return call_function(context, "1", timeout_ms=timeout_ms).shown == "1"
    except Error:
        WATCH.trust(again=False)
        return False


def call_function(context: Page | Frame, code: str, *, timeout_ms: float) -> CallResult:
    """Run a case author's JavaScript (function, expression or statements) and await promises.

    The code becomes part of the script instead of an argument to `eval`, which a page's content
    security policy may forbid.
    """
    # The bracket has a line of its own, since the code may end with a comment.
    expression, statements = f"({code}\n)", f"async () => {{ {code}\n}}"
    try:
        told = _call_given(context, expression, timeout_ms)
    except Exception as error:
        # Errors of the code itself are caught in the page, so this one is a compile error.
        if "SyntaxError" not in str(error):
            raise
        told = _call_given(context, statements, timeout_ms)
    found = CallResult(**read_json(told))
    return found._replace(shown=whole_json(found.shown))


def _call_given(context: Page | Frame, given: str, timeout_ms: float) -> Any:
    text = script("call_given").replace("USER_CODE", given)
    return _within(context, timeout_ms, lambda: context.evaluate(text))


class ContextWrapper(NamedTuple):
    """The page or frame in which a step works."""

    context: Any
    """Playwright's Page or Frame object."""
    name: str
    """`page`, or the name or URL of the frame."""


class RefElement(Struct, frozen=True):
    """One element of the numbered list that a model gets in the `refs` dialect."""

    ref: str
    """`e1`, `e2`, … in reading order."""
    role: str
    name: str
    hint: str
    """Input type and format, options, state and nearby label; may be empty."""
    locator: str
    """A Playwright expression that starts at `page` and finds exactly this element.

    Of an element with `find`, it only stands in for that expression, which `acted_element` makes
    when it is needed.
    """
    actions: tuple[str, ...]
    """Those of `click`, `fill`, `check`, `uncheck`, `select_option`, `press` that apply."""
    options: tuple[str, ...] = ()
    """Labels of the options of a select box."""
    takes_files: bool = False
    disabled: bool = False
    near: str = ""
    """A text beside it that tells it from others of its name, such as the first one of its row."""
    find: Callable[[], ElementHandle | None] | None = None
    """Finds the very element, as long as no other list is made of the page."""
    kept: Callable[[], Locator] | None = None
    """Returns the locator that finds it as `find` does."""
    snapshot_ref: str = ""
    """Playwright's own ref of the element, which changes with its role and name."""
    said: str = ""
    """A text that it shows, for elements that a name does not identify."""
    in_frame: bool = False
    """Whether it is in a frame of the page."""


class RefView(Struct, frozen=True):
    """The page as a numbered list of elements."""

    text: str
    """The lines for the model: elements and the page's other visible text, in reading order."""
    elements: tuple[RefElement, ...]
    truncated: bool = False
    left_out: frozenset[str] = frozenset()
    """Numbers of elements that the lines do not show, as far as they are known."""


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
_STOP = set(
    re.findall(
        r"\w+",
        "a an and at by click enter fill find for from go in into is it its of on open or page"
        " press select step that the then this to type use using wait with you your",
    )
)


class FrameFacts(Struct, frozen=True):
    """The facts about a candidate that its score depends on."""

    controls: tuple[str, ...]
    """Role and name of each visible control."""
    text: str
    area_share: float
    """The frame's share of the viewport's area."""
    is_main: bool
    same_origin: bool
    ready: bool = True


def best_context(page: Page, hint: str, *, frameless: bool = False) -> ContextWrapper:
    """Return the page, or the frame that matches the step's text better.

    A page without frames is returned at once. With frames, the function waits until the candidates
    have loaded, for 8 s at most. Size alone never decides, least of all for another origin.

    Args:
        page: the page.
        hint: the step's text.
        frameless: whether a look at the document found no frame a moment ago.
    """
    main = ContextWrapper(page, "page")
    deadline = waiting.now() + _WAIT_S
    while True:
        # An iframe may be in the document before Playwright knows its frame.
        if len(page.frames) < 2 and (frameless or not _has_iframes(page)):
            return main
        looked = list(_look(page))
        if _settled([facts for _, facts in looked], hint) or waiting.now() >= deadline:
            break
        page.wait_for_timeout(_POLL_MS)
    if not looked:
        return main
    frame, facts = max(looked, key=lambda pair: score_frame(pair[1], hint))
    return main if facts.is_main else ContextWrapper(frame, whole_text(frame.name) or frame.url)


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
        if not word.isascii() and east_asian().search(word):
            # These scripts have no spaces, so pairs of characters serve as words.
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif word not in _STOP:
            found.add(word)
    return found


def _has_iframes(page: Page) -> bool:
    try:
        return call_within(page, _LOOK_MS, page.locator("iframe, frame").count) > 0
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
