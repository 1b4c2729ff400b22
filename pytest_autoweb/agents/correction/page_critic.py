"""The external verifier, which collects evidence from the page instead of a model's opinion.

It parses the failed call's locator and searches the live page for its element again.
"""

import ast
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Error, Frame, Locator, Page

from pytest_autoweb.base.python_source import read_expression
from pytest_autoweb.browser.page.acted_element import located
from pytest_autoweb.browser.page.frames import MAX_FRAMES, RefElement, run_on_elements, run_script
from pytest_autoweb.browser.page.small_list import small_view
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.results.records import Finding, ToolCall
from pytest_autoweb.results.records.record import FindingCode
from pytest_autoweb.sandbox.allowed_members import CLASSES, words

_BY_SELECTOR = words(
    "check click dblclick fill focus hover press select_option set_checked tap type uncheck "
    "inner_text text_content input_value get_attribute is_visible"
)
"""Methods of the page itself whose first argument is a selector."""
_NARROWING = frozenset(
    name
    for kind in ("Page", "Locator", "FrameLocator")
    for name, member in CLASSES[kind].items()
    if member.kind in ("chain", "link") and member.returns in ("Locator", "FrameLocator")
)

MIN_LIKENESS = 0.45
"""Similarity below which an element is not worth naming."""
_SAME_ROLE = 0.15
_ALIKE_ROLES = (
    frozenset({"button", "link", "clickable", "menuitem", "tab"}),
    frozenset({"textbox", "searchbox", "combobox", "spinbutton"}),
    frozenset({"checkbox", "switch", "radio", "option"}),
)
_WORD = re.compile(r"[^\W_]+")


class Narrowing(NamedTuple):
    """One part of a locator: `get_by_role("button", name="Save")`, or the property `first`."""

    method: str
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}
    called: bool = True


class CallTarget(NamedTuple):
    """A locator as data, without parts if it is the page itself."""

    parts: tuple[Narrowing, ...]

    @property
    def role(self) -> str:
        """Return the role that the locator specifies, or empty."""
        last = self._last("get_by_role")
        return str(last.args[0]) if last and last.args else ""

    @property
    def named(self) -> str:
        """Return the name, label or text that the locator specifies, or empty."""
        for part in reversed(self.parts):
            if part.method == "get_by_role":
                return str(part.options.get("name") or "")
            if part.method.startswith("get_by_") and part.args:
                return str(part.args[0])
            if part.options.get("has_text"):
                return str(part.options["has_text"])
        return ""

    def on(self, page: Page | Frame) -> Locator:
        found: Any = page
        for part in self.parts:
            member = getattr(found, part.method)
            found = member(*part.args, **part.options) if part.called else member
        located: Locator = found
        return located

    def with_hidden(self) -> "CallTarget":
        """Return the same target, but including elements that assistive technology cannot see."""
        return CallTarget(
            tuple(
                part._replace(options={**part.options, "include_hidden": True})
                if part.method == "get_by_role"
                else part
                for part in self.parts
            )
        )

    def _last(self, method: str) -> Narrowing | None:
        return next((part for part in reversed(self.parts) if part.method == method), None)


def read_target(text: str) -> CallTarget | None:
    """Return the locator of an expression on `page`, without an `expect(...)` around it.

    The expression comes from a model, so it is only parsed and never executed.

    Returns:
        None if it is not a locator, or contains more than plain values.
    """
    node = read_expression(text.strip())
    if node is None:
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "expect":
        node = node.args[0] if node.args else node
    parts: list[Narrowing] = []
    while not (isinstance(node, ast.Name) and node.id == "page"):
        part, below = _part(node)
        if part is None or below is None:
            return None
        parts.append(part)
        node = below
    return CallTarget(tuple(reversed(parts)))


def target_of(call: ToolCall) -> CallTarget | None:
    """Return the target of a call; for `page.fill("#name", …)`, the locator of the selector."""
    target = read_target(call.target)
    if target is None or target.parts or call.method not in _BY_SELECTOR:
        return target
    arguments = _arguments(call.arguments)
    if not arguments or not isinstance(arguments[0], str):
        return target
    return CallTarget((Narrowing("locator", (arguments[0],)),))


def value_of(call: ToolCall) -> Any:
    """Return the value that a call fills in or selects, or None if it is not a plain value."""
    target = read_target(call.target)
    arguments = _arguments(call.arguments)
    # A method of the page itself takes a selector first: `page.fill("#name", "Ada")`.
    place = 1 if target is not None and not target.parts else 0
    if arguments is not None and len(arguments) > place:
        return arguments[place]
    tree = read_expression(f"f({call.arguments})")
    if not isinstance(tree, ast.Call):
        return None
    options = {word.arg: word.value for word in tree.keywords}
    for name in ("label", "value"):
        if isinstance(node := options.get(name), ast.Constant):
            return node.value
    return None


def _arguments(text: str) -> list[Any] | None:
    tree = read_expression(f"f({text})")
    if not isinstance(tree, ast.Call) or not all(isinstance(a, ast.Constant) for a in tree.args):
        return None
    return [arg.value for arg in tree.args if isinstance(arg, ast.Constant)]


def _part(node: ast.expr) -> tuple[Narrowing | None, ast.expr | None]:
    if isinstance(node, ast.Attribute) and node.attr in ("first", "last", "content_frame"):
        return Narrowing(node.attr, called=False), node.value
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None, None
    method = node.func.attr
    values = [*node.args, *(word.value for word in node.keywords)]
    plain = all(map(_is_plain, values)) and all(word.arg for word in node.keywords)
    if method not in _NARROWING or not plain:
        return None, None
    args = tuple(ast.literal_eval(arg) for arg in node.args)
    options = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    return Narrowing(method, args, options), node.func.value


def _is_plain(node: ast.expr) -> bool:
    # A negative number is parsed as an operation on a positive one.
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    return isinstance(inner, ast.Constant) and isinstance(inner.value, str | int | float | None)


class SimilarElement(NamedTuple):
    """An element and its similarity to the wanted one, from 0 to 1."""

    element: RefElement
    likeness: float


def likeness(one: str, other: str) -> float:
    """Return the similarity of two names, from 0 to 1, regardless of their order.

    Case, width and punctuation do not count. A name that contains all words of the other one is
    similar to it, because labels get longer ("Save" and "Save changes").
    """
    a, b = _folded(one), _folded(other)
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0
    # The ratio depends on the order of its arguments, but the similarity must not.
    ratio = max(SequenceMatcher(None, a, b).ratio(), SequenceMatcher(None, b, a).ratio())
    words_a, words_b = set(a.split()), set(b.split())
    shared = len(words_a & words_b) / min(len(words_a), len(words_b))
    return min(0.99, max(ratio, 0.9 * shared))


def nearest(
    elements: Sequence[RefElement], *, words: str, role: str, method: str, most: int = 5
) -> tuple[SimilarElement, ...]:
    """Return the elements most similar to the wanted one, best first.

    Args:
        elements: the elements of the page.
        words: the wanted name, label or text.
        role: the wanted role, or empty.
        method: the method to call; elements that do not support it come last.
        most: limit on the elements.
    """
    alike = [each for each in elements if _named_like(each, words) >= MIN_LIKENESS]
    found = [SimilarElement(each, _score(each, words, role, method)) for each in alike]
    return tuple(sorted(found, key=lambda near: -near.likeness)[:most])


def near_texts(texts: Sequence[str], wanted: str, *, most: int = 5) -> tuple[str, ...]:
    """Return the texts most similar to the wanted one, best first, e.g. among options."""
    scored = sorted(((likeness(text, wanted), text) for text in texts), key=lambda pair: -pair[0])
    return tuple(text for score, text in scored[:most] if score >= MIN_LIKENESS)


def _named_like(element: RefElement, words: str) -> float:
    names = (element.name, element.hint.removeprefix("after ").strip('"'))
    return max(likeness(name, words) for name in names) if words else 0.5


def _score(element: RefElement, words: str, role: str, method: str) -> float:
    score = _named_like(element, words)
    if role and element.role == role:
        score += _SAME_ROLE
    elif role and not any({role, element.role} <= alike for alike in _ALIKE_ROLES):
        score -= _SAME_ROLE
    if method in _NEEDS and _NEEDS[method] not in element.actions:
        score -= 2 * _SAME_ROLE
    return max(0.0, min(1.0, score))


_NEEDS = {
    "fill": "fill",
    "type": "fill",
    "press_sequentially": "fill",
    "check": "check",
    "uncheck": "uncheck",
    "select_option": "select_option",
}


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(plain)) or " ".join(plain.split())


VIEW_TOKENS = 4_000
MAX_LOCATORS = 80
"""The most elements of a page that are named by a locator each, since each takes a look at it."""
_IN_FRAMES = 10
_LOOK_MS = 2_000.0
_TEXT_CHARS = 160
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_TELLING = frozenset({"document", "xhr", "fetch"})

State = Literal["valid", "invalid", "unverified"]


class PageVerdict(NamedTuple):
    """The verdict on a claim."""

    state: State
    """`unverified` if it could not be examined, which is neither good nor bad."""
    findings: tuple[Finding, ...] = ()


class Claim(NamedTuple):
    """A claim about the page's content; empty fields claim nothing."""

    role: str = ""
    name: str = ""
    text: str = ""
    url: str = ""
    """A part of the address."""
    option: str = ""
    """An option of any select box, or of the one named `name`."""
    row: tuple[str, ...] = ()
    """Texts that are together in one row of a table or list."""


class PageCritic:
    """A verifier of one page that changes nothing and never raises because of the page's behaviour.

    Args:
        page: Playwright's page.
        redact: removes secrets from the findings.
    """

    def __init__(self, page: Page, redact: Callable[[str], str] = lambda text: text) -> None:
        self._page, self._redact = page, redact
        self._elements: tuple[RefElement, ...] | None = None

    # -- without a failure: did it have the claimed effect? ----------------------------

    def check(self, result: ToolCall | Claim) -> PageVerdict:
        """Check whether a call had its effect, or whether a claim holds.

        A call is judged by what its field held right after it, since the page that it led to says
        nothing about it. This is needed because Playwright does not raise an error if, say, a date
        field rejects a text. Other calls are not judged.
        """
        try:
            if isinstance(result, Claim):
                findings = tuple(self._mismatches(result))
                return PageVerdict("invalid" if findings else "valid", findings)
            return self._of_call(result)
        except Error:
            return PageVerdict("unverified")

    def _of_call(self, call: ToolCall) -> PageVerdict:
        read = call.read_back
        if not call.ok or read is None:
            return PageVerdict("unverified")
        if read.same:
            return PageVerdict("valid")
        made = f"{call.target}.{call.method}({call.arguments})"
        told = f"{made} ran, but a moment later the field held {self._quoted(read.held)}"
        if call.method in ("check", "set_checked", "uncheck"):
            told = f"{made} ran, but a moment later the box was {read.held}"
        return PageVerdict("invalid", (self._finding("value_differs", told, (call.target,)),))

    def _mismatches(self, claim: Claim) -> Iterable[Finding]:
        page = self._page
        if claim.url and claim.url not in page.url:
            yield self._finding("url_differs", f"the address is {page.url}")
        if claim.text and not page.get_by_text(claim.text).filter(visible=True).count():
            yield self._finding(
                "text_missing", f"the page shows no text {self._quoted(claim.text)}"
            )
        if claim.option:
            yield from self._option(claim)
        elif (claim.role or claim.name) and not self._has(claim):
            named = f"{claim.role or 'element'} {self._quoted(claim.name)}"
            yield self._finding("missing", f"the page shows no {named}")
            yield from self._near(claim.name, claim.role, "")
        if claim.row:
            rows = page.locator("tr, li, [role=row], [role=listitem]").filter(visible=True)
            for text in claim.row:
                rows = rows.filter(has_text=text)
            if not rows.count():
                together = " and ".join(map(self._quoted, claim.row))
                yield self._finding("row_missing", f"no row holds {together}")

    def _has(self, claim: Claim) -> bool:
        if claim.role:
            options = {"name": claim.name} if claim.name else {}
            role = Narrowing("get_by_role", (claim.role,), options)
            return CallTarget((role,)).on(self._page).count() > 0
        return any(each.name.casefold() == claim.name.casefold() for each in self.elements)

    def _option(self, claim: Claim) -> Iterable[Finding]:
        boxes = [e for e in self.elements if e.options and claim.name in ("", e.name)]
        if any(claim.option in box.options for box in boxes):
            return
        listed = [option for box in boxes for option in box.options]
        yield self._missing_option(claim.option, listed)

    # -- after a failure: why? ----------------------------------------------------------

    def context(self, error: ToolCall | None) -> tuple[Finding, ...]:
        """Return findings on a call's failure, or on the page itself if there is no call."""
        try:
            # The only query with a timeout comes first, because the others would wait forever on a
            # page that hangs.
            said = self._page_messages()
        except Error:
            return ()
        why: list[Finding] = []
        listed: list[Finding] = []
        try:
            why = self._why_failed(error)
            listed = self._on_page()
        except Error:
            # The page has navigated in the meantime; the findings so far are kept.
            pass
        return (*why, *said, *listed)

    @property
    def elements(self) -> tuple[RefElement, ...]:
        """Return the elements that can be acted on, in all frames."""
        if self._elements is None:
            self._elements = small_view(self._page, budget_tokens=VIEW_TOKENS).elements
        return self._elements

    def _locators(self, elements: Iterable[RefElement]) -> tuple[str, ...]:
        """Return for each element a locator that finds it, and no other."""
        return tuple(filter(None, (located(each).locator for each in elements)))

    def _why_failed(self, call: ToolCall | None) -> list[Finding]:
        target = target_of(call) if call else None
        if call is None or target is None or not target.parts:
            return []
        seen = self._probe(target)
        what = self._redact(call.target)
        if not seen and self._probe(target.with_hidden()):
            return [self._finding("hidden", f"{what} is there, but it is hidden")]
        if not seen:
            missing = self._finding("missing", f"nothing on the page fits {what}")
            return [
                missing,
                *self._in_other_frames(target),
                *self._near_target(target, call.method),
            ]
        if len(seen) > 1 and not call.method.startswith(("all", "count")):
            return [self._ambiguous(what, target, len(seen))]
        return list(self._obstacles(what, call, seen[0]))

    def _ambiguous(self, what: str, target: CallTarget, count: int) -> Finding:
        near = nearest(self.elements, words=target.named, role=target.role, method="")
        locators = self._locators(each.element for each in near)
        return self._finding("ambiguous", f"{count} elements fit {what}", locators)

    def _obstacles(self, what: str, call: ToolCall, state: dict[str, Any]) -> Iterable[Finding]:
        if not state["visible"]:
            yield self._finding("hidden", f"{what} is there, but it is hidden")
        if state["disabled"]:
            yield self._finding("disabled", f"{what} is disabled")
        if cover := state["cover"]:
            named = f"{cover['role'] or cover['tag']} {self._quoted(cover['name'])}"
            yield self._finding("covered", f"{what} is covered by a {named}")
        if state["outside"]:
            yield self._finding("outside", f"{what} lies outside of what is in view")
        if call.method in ("fill", "type", "press_sequentially"):
            if state["readonly"]:
                yield self._finding("readonly", f"{what} is read-only")
            if not state["editable"]:
                kind = f"a {state['role'] or state['tag']}"
                yield self._finding("wrong_kind", f"{what} is {kind}: it takes no text")
        if call.method == "select_option":
            wanted = value_of(call)
            if state["tag"] != "select":
                yield self._finding("wrong_kind", f"{what} is no select box")
            elif isinstance(wanted, str) and wanted not in state["options"]:
                yield self._missing_option(wanted, state["options"])

    def _in_other_frames(self, target: CallTarget) -> Iterable[Finding]:
        """Yield a finding for each frame in which the same locator finds something."""
        for frame in self._page.frames[:MAX_FRAMES]:
            if frame == self._page.main_frame or not target.on(frame).count():
                continue
            name = frame.name or frame.url
            inside = [each for each in self.elements if each.in_frame][:_IN_FRAMES]
            told = f"it is in the frame {self._quoted(name)}"
            yield self._finding("other_frame", told, self._locators(inside))

    def _near_target(self, target: CallTarget, method: str) -> list[Finding]:
        return self._near(target.named, target.role, method)

    def _near(self, words: str, role: str, method: str) -> list[Finding]:
        near = nearest(self.elements, words=words, role=role, method=method) if words else ()
        if not near:
            return []
        named = [f"{n.element.role} {self._quoted(n.element.name)}" for n in near]
        locators = self._locators(each.element for each in near)
        return [self._finding("near", f"similar: {', '.join(named)}", locators)]

    def _missing_option(self, wanted: str, options: Sequence[str]) -> Finding:
        near = near_texts(options, wanted) or tuple(options[:5])
        shown = ", ".join(map(self._quoted, near)) or "none"
        told = f"there is no option {self._quoted(wanted)}; there are {shown}"
        return self._finding("option_missing", told)

    def _page_messages(self) -> list[Finding]:
        says = run_script(self._page, "page_says", timeout_ms=_LOOK_MS)
        found = [
            self._finding(
                "field_invalid",
                f"the field {self._quoted(field['name'])} refuses its value: {field['message']}",
            )
            for field in says["invalid"]
        ]
        for dialog in says["dialogs"]:
            told = f"a dialog is open: {self._quoted(dialog['name'] or dialog['text'])}"
            found.append(self._finding("dialog_open", told))
        alerts = dict.fromkeys(says["alerts"])
        found += [self._finding("page_says", f"the page says {self._quoted(a)}") for a in alerts]
        return found

    def _on_page(self) -> list[Finding]:
        usable = [each for each in self.elements if each.actions]
        told = f"{len(usable)} elements can be acted on"
        locators = self._locators(usable[:MAX_LOCATORS])
        return [Finding(code="on_page", fact=told, locators=tuple(map(self._redact, locators)))]

    def _probe(self, target: CallTarget) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = run_on_elements(target.on(self._page), "obstacles")
        return found

    def _finding(self, code: FindingCode, fact: str, locators: tuple[str, ...] = ()) -> Finding:
        # Secrets are removed before the text is cut, because half a secret is not recognised.
        text = " ".join(self._redact(fact).split())
        return Finding(
            code=code, fact=text[:600], locators=tuple(self._redact(each) for each in locators)
        )

    def _quoted(self, text: str) -> str:
        clean = " ".join(self._redact(text).split()).replace('"', "'")
        return f'"{clean if len(clean) <= _TEXT_CHARS else clean[: _TEXT_CHARS - 1] + "…"}"'


def server_findings(
    entries: Iterable[WireEntry], page_url: str, redact: Callable[[str], str]
) -> tuple[Finding, ...]:
    """Return findings on the last five error answers to requests that the code caused.

    Pages count, as do script requests to the page's own server. A 404 for a script's GET is
    ordinary and does not explain a failed step.
    """
    host = urlsplit(page_url).netloc
    found = []
    for entry in entries:
        own = entry.resource_type == "document" or urlsplit(entry.url).netloc == host
        telling = entry.resource_type in _TELLING and own and entry.counted
        asked = entry.resource_type == "document" or entry.method not in _SAFE
        path = urlsplit(entry.url).path
        if telling and asked and entry.status is None:
            why = entry.failed or "not answered yet"
            told = redact(f"{entry.method} {path}: {why}")[:300]
            found.append(Finding(code="no_answer", fact=told))
        if not telling or entry.status is None or entry.status < 400:
            continue
        if entry.resource_type != "document" and entry.method == "GET" and entry.status == 404:
            continue
        told = redact(f"{entry.method} {path} was answered with {entry.status}")[:300]
        found.append(Finding(code="server_status", fact=told, status=entry.status))
    return tuple(found[-5:])


def writes_of(entries: Iterable[WireEntry]) -> int:
    """Count the requests caused by the code that may have changed something on a server."""
    return sum(entry.counted and entry.method not in _SAFE for entry in entries)
