"""A page as a tree of what a person sees, from Playwright's snapshot and one pass over the DOM.

The snapshot gives roles, names and refs; each of Playwright's refs stands at its element, in the
isolated world of Playwright's scripts. There a script of ours walks through each document and adds
what the snapshot lacks: what can be pressed without a role, values, options, states, what covers
what, and where a text ends. It keeps the elements, so that each is found again when it is acted on.
"""

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from playwright.sync_api import CDPSession, ElementHandle, Error, Frame, JSHandle, Locator, Page

from pytest_autoweb.base import waiting
from pytest_autoweb.base.waiting.playwright_internals import SNAPSHOT_NOTE
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.browser_watch import call_within, debugging_session
from pytest_autoweb.browser.page.accessibility import HIDDEN
from pytest_autoweb.browser.page.frames import (
    MAX_FRAMES,
    MAX_SILENT,
    OBSERVE_TIMEOUT_MS,
    run_script,
    run_script_handle,
    script,
    tools_of,
)
from pytest_autoweb.browser.page.own_world import (
    LateWorldError,
    ask_document,
    register_own_world,
    snapshot_root,
)

LIMITS = {"limit": 60_000, "milliseconds": 3_000, "characters": 4_000_000}
"""The most nodes of a document that are looked at, the time for it, and the most text told."""
SNAPSHOT_MS = 8_000.0
"""Limit on Playwright's own snapshot."""
MORE_ON_HOVER = "more on hover"
"""The state of a part of the page under which the mouse shows controls that are hidden now."""
UNREAD = "unread"
"""The role of what stands for rows of a long list that were not read; its value is their number."""
_FRAME_MS = 2_000.0
_LISTENERS = {"limit": 20_000}
_NOTHING_HEARD: Mapping[str, Any] = {"listening": [], "entered": [], "framed": []}
_LISTENERS_MS = 1_000.0
_FRAMES_LISTENERS_S = 2.0
"""How long documents of frames are asked for what listens."""
_CHARS_A_TOKEN = 4.5
"""A little more than a token's, because the length of a row is only estimated."""


class RowsToRead(NamedTuple):
    """Which rows of very long lists are read: a head and a tail, and a stretch between them."""

    tokens: int
    """About how much of a list can be shown; what is read is a little more."""
    first: int = 0
    """The row, from 1, at which the stretch begins; 0 without one."""

    def as_script(self) -> dict[str, int]:
        return {"chars": int(self.tokens * _CHARS_A_TOKEN), "first": self.first}


class ListedOption(NamedTuple):
    """An option of a select box, or a suggestion of a field."""

    label: str
    value: str
    chosen: bool
    disabled: bool
    group: str


class KeptElement(NamedTuple):
    """An element that is found again, as long as its document is not looked at anew."""

    root: "Page | Frame"
    number: int
    selector: str
    """Empty where the document was open before its world could be asked."""
    made: JSHandle | None = None
    """What the script made there."""

    def locator(self) -> Locator:
        """Return what finds this very element; it finds nothing once the element is gone.

        Only where `locates` says so.
        """
        return self.root.locator(self.selector)

    @property
    def locates(self) -> Callable[[], Locator] | None:
        """Return what makes that locator; None where nothing is kept."""
        return self.locator if self.selector else None

    def handle(self) -> ElementHandle | None:
        """Return this very element; None once it is gone.

        Raises:
            Error: Playwright's error if the page does not answer.
        """
        if self.selector:
            return self.root.query_selector(self.selector)
        assert self.made is not None
        found = self.made.evaluate_handle("(made, n) => made.elements[n]", self.number).as_element()
        return found if found is not None and found.evaluate("one => one.isConnected") else None


class Node(Struct, eq=False):
    """A text or an element of a page."""

    role: str
    """An ARIA role; `text`, `clickable`, `scrollable`; empty for a block that only holds others."""
    name: str = ""
    states: list[str] = field(default_factory=list)
    value: str = ""
    below: list["Node"] = field(default_factory=list)
    placeholder: str = ""
    url: str = ""
    label: str = ""
    """The `aria-label` of a clickable, where a person sees another text or none."""
    title: str = ""
    handle: str = ""
    """A selector by id, name or class, for what has no name."""
    kind: str = ""
    """The input's type; `select`, `multiple`, `lines` (a textarea), `rich` (any other editor); of a
    clickable, `a` for a link without an address."""
    filled: bool = False
    limits: tuple[str, str, str] = ("", "", "")
    """The least and the greatest value, and the step."""
    options: tuple[ListedOption, ...] = ()
    scroll: tuple[int, int, int] = (0, 0, 0)
    """Pixels above and below what a scrolled box shows, and the height of its rows."""
    clickable: bool = False
    """A row or an item that can be pressed."""
    bold: bool = False
    layer: str | None = None
    """The name of what covers it."""
    in_front: bool = False
    """The dialog or layer that must be answered first."""
    place: KeptElement | None = None
    """Of what can be acted on."""
    ref: str = ""
    number: int = 0
    beside: str = ""
    """The text it stands beside."""
    joint: str | None = None
    """Of a text that goes on in the line of the one before, what is between them."""

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it, in reading order."""
        # Not recursive, because a hostile page can be very deep.
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            if node.below:
                pending.extend(node.below[::-1])


def every(nodes: Iterable[Node]) -> list[Node]:
    """Return nodes and all below them, in reading order."""
    found: list[Node] = []
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        found.append(node)
        if node.below:
            pending += node.below[::-1]
    return found


class PageTree(Struct, frozen=True):
    """What a person sees of a page."""

    nodes: tuple[Node, ...]
    overlaid: bool = False
    """A dialog or another layer lies over the whole page."""
    complete: bool = True


def read_page(root: Page | Frame, rows: RowsToRead | None = None) -> PageTree:
    """Return what a person sees of a page or frame, with its frames in their places.

    Args:
        root: the page or frame.
        rows: which rows of very long lists are needed; all of them without it.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    register_own_world(root if isinstance(root, Page) else root.page)
    # The listeners are asked for at the same time as the snapshot.
    asked = waiting.start_call(root, lambda: _listeners(root))
    try:
        _note(root, rows, SNAPSHOT_MS)
    finally:
        heard = asked()
    own = {"listening": heard[0].found, "entered": heard[0].over} if heard else {}
    main = _document(root, own, rows, OBSERVE_TIMEOUT_MS)
    documents = [main, *_inner_documents(root, heard[1:], rows)]
    if rows and any(one.told.get("overlaid") and one.told.get("unread") for one in documents):
        # What lies behind a layer is counted, and the layer may be in any row.
        return read_page(root)
    nodes = _joined(documents)
    _hide(nodes, documents)
    complete = all(bool(document.told.get("full")) for document in documents)
    overlaid = any(bool(document.told.get("overlaid")) for document in documents)
    return PageTree(tuple(nodes), overlaid, complete)


def _note(root: Page | Frame, rows: RowsToRead | None, timeout_ms: float) -> None:
    """Have Playwright note roles, names and refs at the elements of one document."""
    # Its text, which nobody reads, would take long. With a depth, what is deeper is noted all the
    # same. Of a page that is nested too deeply for it, and of one
    # that was open before the engine was known, roles and names come from our own script.
    with suppress(Error):
        begins = snapshot_root(root, rows and rows.as_script())
        begins.aria_snapshot(mode="ai", depth=1, timeout=timeout_ms)


class _Document(NamedTuple):
    root: "Page | Frame"
    told: Mapping[str, Any]
    kept: Callable[[int], str]
    """Returns what finds an element that the script kept, by its number."""
    made: JSHandle | None = None


def _inner_documents(
    root: Page | Frame, heard: Sequence["_Heard"], rows: RowsToRead | None
) -> Iterator[_Document]:
    silent = 0
    for frame in inner_frames(root):
        fitting = [one._asdict() for one in heard if one.url == frame.url]
        try:
            _note(frame, rows, _FRAME_MS)
            yield _document(frame, {"framed": fitting}, rows, _FRAME_MS)
        except Error:
            silent += 1
            if silent >= MAX_SILENT:
                return


def inner_frames(root: Page | Frame) -> tuple[Frame, ...]:
    """Return the frames below the page's main frame, or below a frame, the outer ones first.

    Of a page with very many frames only the first ones count.
    """
    pending = list(root.main_frame.child_frames if isinstance(root, Page) else root.child_frames)
    found: list[Frame] = []
    while pending and len(found) < MAX_FRAMES:
        frame = pending.pop(0)
        found.append(frame)
        pending = [*frame.child_frames, *pending]
    return tuple(found)


def _document(
    root: Page | Frame, heard: Mapping[str, Any], rows: RowsToRead | None, timeout_ms: float
) -> _Document:
    asked = {**LIMITS, **_NOTHING_HEARD, **heard, "rows": rows and rows.as_script()}
    try:
        noted = {**asked, "noted": SNAPSHOT_NOTE}
        told = ask_document(root, "page_tree", noted, timeout_ms=timeout_ms)
        return _Document(root, told.value, told.kept)
    except LateWorldError:
        # Without refs, in the page's own world.
        made = run_script_handle(root, "page_tree", asked, timeout_ms=timeout_ms)
    told_there = read_json(made.evaluate("made => made.json"))
    return _Document(root, told_there, lambda number: "", made)


class _Heard(NamedTuple):
    """Which elements of a document listen to the mouse."""

    url: str
    size: int
    """Elements of the document."""
    found: list[int]
    """Those that listen, by their order."""
    over: list[int]
    """Those that listen to the mouse coming over them."""

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "_Heard":
        found, over = ([int(at) for at in told[name]] for name in ("found", "over"))
        return cls(str(told["url"]), int(told["size"]), found, over)


def _listeners(root: Page | Frame) -> list[_Heard]:
    """Return what listens to the mouse: in the main document, and then in those of frames."""
    page = root if isinstance(root, Page) else None
    session = debugging_session(page) if page is not None else None
    found: list[_Heard] = []
    with suppress(Error, KeyError, TypeError, ValueError):
        if page is None or session is None:
            told = run_script(root, "click_listeners", _LISTENERS, timeout_ms=_LISTENERS_MS)
            return [_Heard.read(told)]
        found.append(_heard_in(session))
        # Only code that runs in a document is told what listens there.
        contexts = _contexts(session) if page.main_frame.child_frames else []
        until = waiting.now() + _FRAMES_LISTENERS_S
        for number in contexts[:MAX_FRAMES]:
            if waiting.now() > until:
                break
            with suppress(Error, KeyError, TypeError, ValueError):
                found.append(_heard_in(session, contextId=number))
    return found


def _heard_in(session: CDPSession, **where: int) -> _Heard:
    code = (
        f"(() => {{ {tools_of('click_listeners')} return tools.dom.stringify("
        f"({script('click_listeners')})(tools, {json.dumps(_LISTENERS)})); }})()"
    )
    asked = {
        "expression": code,
        "includeCommandLineAPI": True,
        "returnByValue": True,
        "timeout": _LISTENERS_MS,
    }
    sent = session.send("Runtime.evaluate", {**asked, **where})
    return _Heard.read(read_json(str(sent["result"]["value"])))


_WORLDS: WeakKeyDictionary[CDPSession, dict[int, None]] = WeakKeyDictionary()
"""The worlds that each session was told of and that still exist, in their order."""


def _contexts(session: CDPSession) -> list[int]:
    """Return the worlds in which the scripts of a page and of its frames run.

    The session is told of them from the first time on. If it no longer wanted to be told, Chromium
    would make no world for frames that come later, and Playwright's calls to them would not end.
    """
    if (known := _WORLDS.get(session)) is not None:
        return list(known)
    found: dict[int, None] = {}

    def note(event: Mapping[str, Any]) -> None:
        context = event["context"]
        if context["auxData"]["isDefault"]:
            found[int(context["id"])] = None

    def forget(event: Mapping[str, Any]) -> None:
        found.pop(int(event["executionContextId"]), None)

    session.on("Runtime.executionContextCreated", note)
    session.on("Runtime.executionContextDestroyed", forget)
    session.on("Runtime.executionContextsCleared", lambda event: found.clear())
    # Those that exist are told before the answer.
    session.send("Runtime.enable")
    _WORLDS[session] = found
    return list(found)


# -- from what the script tells --------------------------------------------------------


def _joined(documents: Sequence[_Document]) -> list[Node]:
    """Return the main document's nodes, with the other documents below their frames."""
    made = [_Reader(document).nodes(document.told.get("tree") or ()) for document in documents]
    inner = {document.root: nodes for document, nodes in zip(documents[1:], made[1:], strict=True)}
    tops = itertools.chain.from_iterable(made)
    for node in every(tops) if inner else ():
        if node.role == "iframe" and node.place is not None:
            frame = _frame_in(node.place)
            node.below = inner.pop(frame, []) if frame else []
    return made[0]


def _frame_in(place: KeptElement) -> Frame | None:
    """Return the frame that an element holds."""

    def look() -> Frame | None:
        handle = place.handle()
        return handle.content_frame() if handle else None

    with suppress(Error):
        return call_within(place.root, _FRAME_MS, look)
    return None


_STATES = frozenset(
    [
        *("checked", "mixed", "selected", "pressed", "pressed=mixed", "expanded", "collapsed"),
        *("current", "disabled", "readonly", "required", "invalid", "ascending", "descending"),
        *("active", "on", "off", "by label", MORE_ON_HOVER),
    ]
)
_VERDICTS = frozenset(["covered", "clipped", "invisible", "not visible", "by label", "transparent"])


_IN_LINE = ""
"""Where a text ends and the next one goes on in the same line."""


class _Texts(Struct):
    """The parts of a text until it ends."""

    found: list[Node]
    parts: list[str] = field(default_factory=list)
    _joint: str | None = None

    def end(self, *, in_line: bool = False) -> None:
        raw = "".join(self.parts)
        self.parts.clear()
        said = " ".join(raw.split())
        spaced = bool(raw) and raw[0].isspace()
        if said:
            joint = None if self._joint is None else self._joint or " " * spaced
            self.found.append(Node("text", value=said, joint=joint))
            self._joint = " " * raw[-1].isspace()
        elif self._joint is not None:
            self._joint = self._joint or " " * spaced
        if not in_line:
            self._joint = None


class _Reader(Struct, frozen=True):
    """Makes nodes of what a document's script tells; a page may have had a hand in it."""

    document: _Document

    def nodes(self, told: Sequence[Any]) -> list[Node]:
        found: list[Node] = []
        texts = _Texts(found)
        for one in told:
            if isinstance(one, str) and one != _IN_LINE:
                texts.parts.append(one)
                continue
            texts.end(in_line=one == _IN_LINE)
            if isinstance(one, dict):
                found.append(self._node(one))
        texts.end()
        return found

    def _node(self, told: Mapping[str, Any]) -> Node:
        node = Node(
            role=str(told.get("role", "")),
            name=_flat_text(told.get("n")),
            states=[word for word in told.get("s") or () if word in _STATES],
            value=HIDDEN if "v" in told and told["v"] is None else str(told.get("v") or "").strip(),
            below=self.nodes(told["k"]) if told.get("k") else [],
            placeholder=_flat_text(told.get("p")),
            url=str(told.get("u") or told.get("src") or ""),
            label=_flat_text(told.get("la")),
            title=_flat_text(told.get("ti")),
            handle=str(told.get("h") or ""),
            kind=str(told.get("t") or ""),
            filled=bool(told.get("f")),
            clickable=bool(told.get("c")),
            bold=bool(told.get("b")),
            in_front=bool(told.get("front")),
            ref=str(told.get("ref") or ""),
        )
        if node.role == "iframe":
            node.value = str(told.get("fn") or "")
        self._facts(node, told)
        return node

    def _facts(self, node: Node, told: Mapping[str, Any]) -> None:
        document = self.document
        if "i" in told:
            number = int(told["i"])
            node.place = KeptElement(document.root, number, document.kept(number), document.made)
        said = told.get("x")
        if said in _VERDICTS and said not in node.states:
            node.states.append("not visible" if said == "invisible" and node.kind else str(said))
        if "ly" in told:
            layers = self.document.told.get("layers") or ()
            node.layer = _flat_text(layers[int(told["ly"])])
        if told.get("r"):
            low, high, step = (str(one) for one in told["r"])
            node.limits = (low, high, step)
        if told.get("sc"):
            above, below, row = (int(one) for one in told["sc"])
            node.scroll = (above, below, row)
        node.options = tuple(
            ListedOption(
                _flat_text(one[0]), str(one[1]), bool(one[2]), bool(one[3]), _flat_text(one[4])
            )
            for one in told.get("o") or ()
        )


def _flat_text(told: Any) -> str:
    return " ".join(str(told).split()) if told else ""


def _hide(nodes: Sequence[Node], documents: Sequence[_Document]) -> None:
    """Take values of password fields out of names: that of a label includes its field's value."""
    found = {str(value) for one in documents for value in one.told.get("secrets") or ()}
    hidden = sorted((secret for secret in found if secret.strip()), key=len, reverse=True)
    for node in every(nodes) if hidden else ():
        node.name = without_secrets(node.name, hidden)
        if node.role != "text" and node.value.strip() in hidden:
            node.value = HIDDEN


def without_secrets(name: str, hidden: Collection[str]) -> str:
    """Return a name without the values of password fields."""
    for secret in hidden:
        flat = " ".join(secret.split())
        name = re.sub(rf"(?<!\w){re.escape(flat)}(?!\w)", HIDDEN, name)
    return name
