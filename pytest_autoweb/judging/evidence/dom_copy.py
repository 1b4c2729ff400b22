"""Copies of pages as they are at the end of an attempt, which are opened again to judge them."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urlsplit

from playwright.sync_api import Browser, Error, Frame, JSHandle, Page, Route

from pytest_autoweb.base.errors import BrowserError, first_line
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.page.frames import (
    MAX_FRAMES,
    OBSERVE_TIMEOUT_MS,
    run_script,
    run_script_handle,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These lists follow the rules for tree construction in the HTML standard.
_CLOSES_P = _words(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p pre search"
    " section summary table ul dd dt xmp plaintext"
)
_HEADINGS = _words("h1 h2 h3 h4 h5 h6")
_SCOPE = _words("applet caption html table td th marquee object template svg math foreignobject")
_TABLE_PARENTS = {
    "caption": _words("table"),
    "colgroup": _words("table"),
    "col": _words("colgroup"),
    "thead": _words("table"),
    "tbody": _words("table"),
    "tfoot": _words("table"),
    "tr": _words("thead tbody tfoot"),
    "td": _words("tr"),
    "th": _words("tr"),
}
_TABLE_CHILDREN = {
    "table": _words("caption colgroup thead tbody tfoot template"),
    "colgroup": _words("col template"),
    "thead": _words("tr template"),
    "tbody": _words("tr template"),
    "tfoot": _words("tr template"),
    "tr": _words("td th template"),
}
_SELECT_CHILDREN = {
    "select": _words("option optgroup hr template"),
    "optgroup": _words("option hr template"),
    "option": _words("template"),
}
_NEVER_INSIDE_ITSELF = _words("a button form nobr")
_SIBLING_CLOSERS = {"li": _words("li"), "dd": _words("dd dt"), "dt": _words("dd dt")}
_LIST_BARRIERS = _SCOPE | _words("ul ol dl menu button") | (_CLOSES_P - _words("address div p"))
_NOT_AGAIN = _words("html head body frameset frame")


# Scripts build trees that no text gives when it is parsed, such as a table in a paragraph. A copy
# is parsed again, so whatever a parser would move has to be found while it is written.
def is_moved(tag: str, ancestors: Sequence[str]) -> bool:
    """Tell whether a parser would move a start tag, or close an ancestor because of it.

    Args:
        tag: the element's lower-case name.
        ancestors: names of the open elements up to `body`, outermost first. Inside a `template`
            a parser starts afresh.
    """
    if not ancestors or tag == "template":
        return False
    parent = ancestors[-1]
    if parent == "template":
        return tag in _NOT_AGAIN
    if tag in _NOT_AGAIN:
        return True
    if tag in _TABLE_PARENTS and parent not in _TABLE_PARENTS[tag]:
        return True
    if parent in _TABLE_CHILDREN and tag not in _TABLE_CHILDREN[parent]:
        return True
    if parent in _SELECT_CHILDREN and tag not in _SELECT_CHILDREN[parent]:
        return True
    if tag in _HEADINGS and parent in _HEADINGS:
        return True
    return _closes_an_ancestor(tag, ancestors)


def text_is_moved(text: str, parent: str) -> bool:
    """Tell whether a parser would move this text out of its parent, as it does in tables."""
    return parent in _TABLE_CHILDREN and bool(text.strip(" \t\n\f\r"))


def _closes_an_ancestor(tag: str, ancestors: Sequence[str]) -> bool:
    if tag in _CLOSES_P and _open("p", ancestors, _SCOPE | _words("button")):
        return True
    if tag in _NEVER_INSIDE_ITSELF and _open(tag, ancestors, _SCOPE):
        return True
    if tag == "form" and _open("form", ancestors, _words("template")):
        return True
    siblings = _SIBLING_CLOSERS.get(tag, frozenset())
    return any(_open(other, ancestors, _LIST_BARRIERS - siblings) for other in siblings)


def _open(tag: str, ancestors: Sequence[str], barriers: frozenset[str]) -> bool:
    for name in reversed(ancestors):
        if name == tag:
            return True
        if name in barriers:
            return False
    return False


HIDDEN = "<hidden>"
"""Placeholder for the value of a password or hidden field."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
CUT = "data-autoweb-cut"

_VOID = frozenset(
    re.findall(r"\w+", "area base br col embed hr img input link meta source track wbr")
)
_DROPS_FIRST_LINE_BREAK = frozenset({"pre", "textarea"})
# Inside a body, a parser would merge, drop or never close these elements.
_RENAMED = {
    **dict.fromkeys(("frameset", "body", "html", "head"), "div"),
    **dict.fromkeys(("frame", "embed"), "iframe"),
    **dict.fromkeys(("plaintext", "xmp", "listing"), "pre"),
    "image": "span",
}
_TAG = re.compile(r"[a-z][^\s/>\0<]*")
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


_GRAFT = ("<template data-autoweb-graft>", "</template>")


@dataclass(frozen=True, slots=True)
class CopiedDocument:
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
        f"{'<!doctype html>' if document.standards else ''}<html{root}{look}{mark}><head>"
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
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


def _grafted(text: str) -> str:
    """Wrap text that a parser would move, so that it stays in place; opening a copy unwraps it."""
    return _GRAFT[0] + text + _GRAFT[1]


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
    names: int
    """Number of names that it added to the stack of ancestors."""


@dataclass(slots=True)
class _Writer:
    frames: Mapping[int, str]
    redact: Callable[[str], str]
    rules: Sequence[str]
    out: list[str] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    ancestors: list[str] = field(default_factory=list)
    used: list[set[int]] = field(default_factory=list)
    """Rules used in the document and in each open shadow root, which needs a style sheet itself."""
    at_start: bool = False
    """Whether nothing has been written since the last start tag."""
    muted: int | None = None
    """Number of open elements when a frame or void element began, whose content is not written."""

    def body(self, tokens: Sequence[Any], root_look: int) -> str:
        self.used.append({root_look})
        for token in tokens:
            if isinstance(token, str):
                self.text(token)
            elif token == 0:
                self.end()
            elif token == 1:
                self.put('<template shadowrootmode="open">')
                self.ancestors.append("template")
                self.used.append(set())
            elif token == 2:
                self.put(f"<style>{self.sheet()}</style></template>")
                self.ancestors.pop()
            else:
                self.start(*token)
        return "".join(self.out)

    def sheet(self) -> str:
        """Return the style sheet of the innermost tree, which ends here."""
        return _BASE + "".join(self.rules[number] for number in sorted(self.used.pop() - {-1}))

    def put(self, text: str) -> None:
        if self.muted is None:
            self.out.append(text)

    def text(self, text: str) -> None:
        shown = html.escape(self.redact(text), quote=False)
        parent = self.ancestors[-1] if self.ancestors else ""
        # A parser drops the first line break in these elements, so it is written twice.
        if shown.startswith("\n") and parent in _DROPS_FIRST_LINE_BREAK and self.at_start:
            shown = "\n" + shown
        self.at_start = False
        self.put(_grafted(shown) if text_is_moved(text, parent) else shown)

    def start(
        self, tag: str, space: int, given: Sequence[str], look: int, state: Mapping[str, Any]
    ) -> None:
        name = self.name(tag, space, state)
        graft = space == 0 and is_moved(name, self.ancestors)
        before, after = _GRAFT if graft else ("", "")
        mark = f' data-autoweb="{look}"' if look >= 0 else ""
        self.used[-1].add(look)
        self.put(f"{before}<{name}{self.attributes(given)}{mark}{self.state(state)}>")
        void = space == 0 and name in _VOID
        names = ["template", name] if graft else [name]
        self.at_start = True
        self.open.append(_Open(("" if void else f"</{name}>") + after, len(names)))
        self.ancestors.extend(names)
        if (void or name == "iframe") and self.muted is None:
            self.muted = len(self.open)

    def name(self, tag: str, space: int, state: Mapping[str, Any]) -> str:
        if not self.ancestors:
            return "body"
        if not _TAG.fullmatch(tag):
            return "span"
        if space:
            return tag
        return "iframe" if state.get("frame") in self.frames else _RENAMED.get(tag, tag)

    def end(self) -> None:
        if self.muted == len(self.open):
            self.muted = None
        self.at_start = False
        last = self.open.pop()
        self.put(last.end)
        del self.ancestors[len(self.ancestors) - last.names :]

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

    def answer(route: Route) -> None:
        # The copy keeps its URL, because checks of the URL are judged on it as well.
        if route.request.is_navigation_request() and _same(route.request.url, address):
            headers = {"content-type": "text/html; charset=utf-8"}
            headers["content-security-policy"] = POLICY
            route.fulfill(status=200, headers=headers, body=text)
        else:
            route.abort()

    try:
        context.route("**/*", answer)
        page = context.new_page()
        try:
            page.goto(address, wait_until="load", timeout=OBSERVE_TIMEOUT_MS)
            cut = [bool(run_script(frame, "dom_restore")) for frame in page.frames]
        except Error as error:
            raise BrowserError(f"the stored page does not open: {first_line(error)}") from error
        yield OpenCopy(page, complete=not any(cut), has_url=has_url)
    finally:
        context.close()


def _same(first: str, second: str) -> bool:
    return urldefrag(first).url == urldefrag(second).url
