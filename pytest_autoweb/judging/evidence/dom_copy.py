"""Copies of pages as they are at the end of an attempt, which are opened again to judge them."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urlsplit

from msgspec import Struct, field
from playwright.sync_api import Browser, Error, Frame, JSHandle, Page, Route

from pytest_autoweb.base.errors import BrowserError, first_line
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.page.frames import (
    MAX_FRAMES,
    OBSERVE_TIMEOUT_MS,
    run_script,
    run_script_handle,
)

HIDDEN = "<hidden>"
"""Placeholder for the value of a password or hidden field."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
CUT = "data-autoweb-cut"

_DOCTYPE = "<!doctype html>"
_START = '<html data-autoweb-format="2"'
"""The start of a copy whose tags, taken one by one, give the tree. Older copies were parsed."""
_VOID = frozenset(
    re.findall(r"\w+", "area base br col embed hr img input link meta source track wbr")
)
# Inside a body, the parser of whoever opens the file would merge, drop or never close these.
_RENAMED = {
    **dict.fromkeys(("frameset", "body", "html", "head"), "div"),
    **dict.fromkeys(("frame", "embed"), "iframe"),
    **dict.fromkeys(("plaintext", "xmp", "listing"), "pre"),
    "image": "span",
}
_TAG = re.compile(r"[a-zA-Z][^\s/>\0<\"]*")
_ATTRIBUTE = re.compile(r"[^\s\"'<>/=\0]+")
_CSS_WORDS = re.compile(r"[a-z -]{1,60}")
_CSS_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# CSS functions that load something, which a copy must never do.
_LOADS = re.compile(r"(?i)(?:url|image|image-set|-webkit-image-set|src)\([^)]*\)?")
_SCRIPT_URL = re.compile(r"(?i)^[\s\0-\x1f]*(?:javascript|vbscript|data:text/html)")

# Of the page's appearance only what decides visibility and accessible names is kept, so every box
# gets a size that is not zero, and those that were empty get `_EMPTY_BOX`.
_BASE = (
    "*{font-size:10px!important;line-height:normal!important;box-sizing:content-box!important;"
    "padding:1px!important;min-width:1px!important;min-height:1px!important;"
    "max-width:none!important;max-height:none!important;position:static!important;"
    "float:none!important;transform:none!important;scale:none!important;zoom:1!important;"
    "content-visibility:visible!important;animation:none!important;transition:none!important}"
)
_EMPTY_BOX = (
    "width:0!important;height:0!important;min-width:0!important;min-height:0!important;"
    "padding:0!important;border:0 none!important;font-size:0!important;overflow:hidden!important"
)


class CopiedDocument(Struct, frozen=True):
    """A document as `js/dom_copy.js` describes it."""

    tokens: Sequence[Any]
    styles: Sequence[str]
    title: str
    standards: bool
    root: Sequence[str]
    """Attributes of the `html` element."""
    root_look: int
    cut: bool


def document_html(
    document: CopiedDocument, frames: Mapping[int, str], redact: Callable[[str], str]
) -> str:
    """Return the document as one HTML text; `frames` holds the inner documents by number."""
    writer = _Writer(frames, redact, _rules(document.styles, redact))
    body = writer.body(document.tokens, document.root_look)
    root = writer.attributes(document.root)
    mark = f' {CUT}=""' if document.cut else ""
    look = f' data-autoweb="{document.root_look}"' if document.root_look >= 0 else ""
    return (
        f"{_DOCTYPE if document.standards else ''}{_START}{root}{look}{mark}><head>"
        f'<meta charset="utf-8"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}"/>'
        f"<title>{html.escape(redact(document.title))}</title>"
        f"<style>{writer.sheet()}</style></head>{body}</html>"
    )


def _rules(styles: Sequence[str], redact: Callable[[str], str]) -> list[str]:
    """Return one CSS rule, with those of its pseudo-elements, for each distinct style."""
    rules: list[str] = []
    for number, text in enumerate(styles):
        display, visibility, position, floats, empty, before, after = read_json(text)
        parts = [("display", display), ("visibility", visibility)]
        if position in ("absolute", "fixed"):
            parts.append(("position", "absolute"))
        if floats in ("left", "right"):
            parts.append(("float", floats))
        body = ";".join(f"{k}:{v}!important" for k, v in parts if _CSS_WORDS.fullmatch(str(v)))
        if empty:
            body += f";{_EMPTY_BOX}"
        rule = f'[data-autoweb="{number}"]{{{body}}}'
        for which, content in (("before", before), ("after", after)):
            if spelled := _content(content, redact):
                rule += f'[data-autoweb="{number}"]::{which}{{content:{spelled}}}'
        rules.append(rule)
    return rules


def _content(content: str, redact: Callable[[str], str]) -> str:
    """Return the texts of a CSS `content` in a form that cannot end the rule or style element."""
    shown, slash, instead = _outside_strings(content)
    spelled = " ".join(_css_string(redact(text)) for text in shown)
    if slash:
        other = " ".join(_css_string(redact(text)) for text in instead) or '""'
        return f"{spelled or chr(34) * 2} / {other}"
    return spelled


def _outside_strings(content: str) -> tuple[list[str], bool, list[str]]:
    before: list[str] = []
    after: list[str] = []
    slash, at = False, 0
    for match in _CSS_STRINGS.finditer(content):
        slash = slash or "/" in _LOADS.sub("", content[at : match.start()])
        (after if slash else before).append(_unescaped(match[0][1:-1]))
        at = match.end()
    return before, slash, after


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if code is None:
            return match[2] or ""
        number = int(code, 16)
        return chr(number) if 0 < number < 0x110000 else "\ufffd"

    return re.sub(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", plain, text, flags=re.DOTALL)


def _css_string(text: str) -> str:
    safe = (c if c.isalnum() or c in " .,:;!?*()+-" else f"\\{ord(c):x} " for c in text)
    return f'"{"".join(safe)}"'


class _Open(NamedTuple):
    """An element that has not ended yet."""

    end: str
    space: int
    """Number of its namespace: 0 for HTML."""


class _Writer(Struct):
    frames: Mapping[int, str]
    redact: Callable[[str], str]
    rules: Sequence[str]
    out: list[str] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    used: list[set[int]] = field(default_factory=list)
    """Rules used in the document and in each open shadow root, which needs a style sheet itself."""
    muted: int | None = None
    """Number of open elements when a frame or void element began, whose content is not written."""

    def body(self, tokens: Sequence[Any], root_look: int) -> str:
        self.used.append({root_look})
        for token in tokens:
            if isinstance(token, str):
                self.put(html.escape(self.redact(token), quote=False))
            elif token == 0:
                self.end()
            elif token == 1:
                self.put('<template shadowrootmode="open">')
                self.used.append(set())
            elif token == 2:
                self.put(f"<style>{self.sheet()}</style></template>")
            else:
                self.start(*token)
        return "".join(self.out)

    def sheet(self) -> str:
        """Return the style sheet of the innermost tree, which ends here."""
        return _BASE + "".join(self.rules[number] for number in sorted(self.used.pop() - {-1}))

    def put(self, text: str) -> None:
        if self.muted is None:
            self.out.append(text)

    def start(
        self, tag: str, space: int, given: Sequence[str], look: int, state: Mapping[str, Any]
    ) -> None:
        name = self.name(tag, space, state)
        mark = f' data-autoweb="{look}"' if look >= 0 else ""
        if space != (self.open[-1].space if self.open else 0):
            mark += f' data-autoweb-space="{space}"'
        self.used[-1].add(look)
        void = space == 0 and name in _VOID
        self.put(f"<{name}{self.attributes(given)}{mark}{self.state(state)}{'/' * void}>")
        self.open.append(_Open("" if void else f"</{name}>", space))
        if (void or name == "iframe") and self.muted is None:
            self.muted = len(self.open)

    def name(self, tag: str, space: int, state: Mapping[str, Any]) -> str:
        if not self.open:
            return "body"
        if not _TAG.fullmatch(tag):
            return "span"
        if space:
            return tag
        return "iframe" if state.get("frame") in self.frames else _RENAMED.get(tag, tag)

    def end(self) -> None:
        if self.muted == len(self.open):
            self.muted = None
        self.put(self.open.pop().end)

    def attributes(self, given: Sequence[str]) -> str:
        parts: list[str] = []
        for name, value in zip(given[::2], given[1::2], strict=True):
            if not _ATTRIBUTE.fullmatch(name):
                continue
            shown = self.redact(value)
            # The copy must load nothing and run nothing, and its own rules are all `!important`.
            if name == "style":
                shown = _LOADS.sub("none", shown.replace("!important", ""))
            elif _SCRIPT_URL.match(shown):
                shown = "javascript:"
            parts.append(f' {name}="{html.escape(shown)}"')
        return "".join(parts)

    def state(self, state: Mapping[str, Any]) -> str:
        parts: list[str] = []
        if "was" in state:
            parts.append(f' data-autoweb-was="{state["was"]}"')
        if "value" in state:
            value = self.redact(state["value"])
            if state.get("secret") and not re.fullmatch(r"<secret:\w+>", value):
                value = HIDDEN
            parts.append(f' data-autoweb-value="{html.escape(value)}"')
        if "checked" in state:
            parts.append(f' data-autoweb-checked="{int(state["checked"])}"')
        if state.get("indeterminate"):
            parts.append(' data-autoweb-indeterminate="1"')
        if "selected" in state:
            parts.append(f' data-autoweb-selected="{" ".join(map(str, state["selected"]))}"')
        if "frame" in state:
            parts.append(f' srcdoc="{html.escape(self.frames.get(state["frame"], ""))}"')
        return "".join(parts)


COPY_CHARS = 4_000_000
"""Limit on a document; a copy cut at this limit cannot decide checks of text and elements."""
STAND_IN_URL = "http://stored.invalid/"
"""Address under which a copy is opened if its page had no http(s) URL."""

_PAGE_MS = 5_000.0
_FRAME_MS = 2_000.0
# A hostile page can nest and multiply frames without end.
_FRAME_DEPTH = 4
_FRAMES = 30


class OpenCopy(NamedTuple):
    """A stored copy that is open in a browser."""

    page: Page
    complete: bool
    """False if the page was too large to be stored in full."""
    has_url: bool
    """False if the page's own URL cannot be opened, so that its address is a stand-in."""


def copy_page(page: Page, redact: Callable[[str], str]) -> str:
    """Return the page and its visible frames as one HTML text that runs and loads nothing.

    The copy contains the live form state and open shadow roots and reflects what is visible. It
    does not contain the values of password and hidden fields.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    return _Copier(redact).document(page.main_frame, _PAGE_MS, 0)


class _Copier:
    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._frames_left = _FRAMES

    def document(self, frame: Frame, timeout_ms: float, depth: int) -> str:
        inner: dict[int, str] = {}
        if depth >= _FRAME_DEPTH or not frame.child_frames:
            told = run_script(frame, "dom_copy", COPY_CHARS, part="json", timeout_ms=timeout_ms)
            seen = read_json(told)
        else:
            handle = run_script_handle(frame, "dom_copy", COPY_CHARS, timeout_ms=timeout_ms)
            try:
                seen = read_json(handle.evaluate("made => made.json"))
                inner = self._inner(frame, handle, depth)
            finally:
                handle.dispose()
        copied = CopiedDocument(
            tokens=seen["tokens"],
            styles=seen["styles"],
            title=str(seen["title"]),
            standards=bool(seen["standards"]),
            root=seen["root"],
            root_look=int(seen["rootLook"]),
            cut=bool(seen["cut"]),
        )
        return document_html(copied, inner, self._redact)

    def _inner(self, frame: Frame, handle: JSHandle, depth: int) -> dict[int, str]:
        found: dict[int, str] = {}
        for child in frame.child_frames[:MAX_FRAMES]:
            if self._frames_left <= 0:
                break
            try:
                element = child.frame_element()
                if not element.is_visible():
                    continue
                number = element.evaluate("(element, made) => made.frames.indexOf(element)", handle)
                if number >= 0:
                    self._frames_left -= 1
                    found[int(number)] = self.document(child, _FRAME_MS, depth + 1)
            except Error:
                # The frame is gone or too busy to answer; live judging skips such frames, too.
                continue
        return found


@contextmanager
def open_copy(browser: Browser, text: str, url: str) -> Iterator[OpenCopy]:
    """Open a stored copy under its original URL, with scripts and network disabled.

    Raises:
        BrowserError: the copy does not open, for instance because of its thousands of frames.
    """
    has_url = urlsplit(url).scheme in ("http", "https")
    address = url if has_url else STAND_IN_URL
    # A copy may come from another machine with a merged run, so nothing in it is trusted. Its
    # scripts do not run, though those that Playwright evaluates do. Being offline, it reaches
    # nothing even if a request should get past the route below.
    context = browser.new_context(
        java_script_enabled=False, offline=True, service_workers="block", accept_downloads=False
    )
    parsed = not text.startswith((_START, _DOCTYPE + _START))

    def answer(route: Route) -> None:
        # The copy keeps its URL, because checks of the URL are judged on it as well.
        if route.request.is_navigation_request() and _same(route.request.url, address):
            headers = {"content-type": "text/html; charset=utf-8"}
            headers["content-security-policy"] = POLICY
            route.fulfill(status=200, headers=headers, body=text if parsed else "")
        else:
            route.abort()

    try:
        context.route("**/*", answer)
        page = context.new_page()
        try:
            page.goto(address, wait_until="load", timeout=OBSERVE_TIMEOUT_MS)
            if not parsed:
                run_script(page, "dom_build", text)
            cut = [bool(run_script(frame, "dom_restore")) for frame in page.frames]
        except Error as error:
            raise BrowserError(f"the stored page does not open: {first_line(error)}") from error
        yield OpenCopy(page, complete=not any(cut), has_url=has_url)
    finally:
        context.close()


def _same(first: str, second: str) -> bool:
    return urldefrag(first).url == urldefrag(second).url
