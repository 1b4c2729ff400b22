"""Pages as numbered lists of what can be acted on, each with a proven locator."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from playwright.sync_api import ElementHandle, Error, Frame, FrameLocator, JSHandle, Locator, Page

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.page.frames import (
    MAX_FRAMES,
    OBSERVE_TIMEOUT_MS,
    RefElement,
    RefView,
    run_on_elements,
    run_script_handle,
)
from pytest_autoweb.browser.page.outline import MARKER_TOKENS, estimate_tokens, truncation_marker
from pytest_autoweb.browser.page.quiet import wait_until_quiet

_AFTER_CHARS = 40

_NAME_CHARS = 200


class Lengths(NamedTuple):
    """How much of its texts a list shows; what is longer ends in an ellipsis."""

    name: int = 80
    text: int = 200
    value: int = 60
    options: int = 30
    """Number of options of a select box."""
    says_more: bool = False
    """Whether a last line says that a document has more elements than are examined."""


SHORT = Lengths()
"""For small models, which read slowly and get lost in long lists."""
_MORE = "...(this page has more elements than are examined; those after these are not listed)"
LONG = Lengths(name=300, text=4_000, value=1_000, options=100, says_more=True)

_FORMATS = {
    "date": "date, YYYY-MM-DD",
    "time": "time, HH:MM",
    "datetime-local": "date and time, YYYY-MM-DDTHH:MM",
    "month": "month, YYYY-MM",
    "week": "week, YYYY-Www",
    "color": "color, #rrggbb",
    "password": "password",
    "email": "email",
    "url": "url",
    "tel": "phone",
    "file": "file",
}
_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "textbox": ("fill", "click", "press"),
    "searchbox": ("fill", "click", "press"),
    "spinbutton": ("fill", "click", "press"),
    "slider": ("fill", "press"),
    "checkbox": ("check", "uncheck"),
    "switch": ("check", "uncheck"),
    "radio": ("check",),
}
_NAMED_BY_TEXT = frozenset({"button", "link", "clickable", "tab", "menuitem"})


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An entry of the walk through the page, with the locator that finds it."""

    entry: Mapping[str, Any]
    locator: str = ""
    """The locator expression; empty for text."""


def ref_view(
    found: Sequence[ListedItem],
    *,
    budget_tokens: int,
    complete: bool = True,
    lengths: Lengths = SHORT,
) -> RefView:
    """Return the list within its budget; text is dropped before elements."""
    items = list(_without_repeats(found))
    of_role = Counter(item.entry["role"] for item in items if item.locator)
    seen: dict[str, int] = {}
    elements: list[RefElement] = []
    lines: list[tuple[str, bool]] = []
    for position, item in enumerate(items):
        if not item.locator:
            lines.append((f't "{_short(item.entry["text"], lengths.text)}"', False))
            continue
        after = _after(items, position)
        if after and lines and not lines[-1][1]:
            # The text is now part of the element's line.
            lines.pop()
        role = item.entry["role"]
        seen[role] = seen.get(role, 0) + 1
        # Elements that a model could not tell apart otherwise are numbered.
        unnamed = not (item.entry["name"] or after or _icon_word(item.entry))
        number = seen[role] if of_role[role] > 1 and unnamed else 0
        element = _element(item, f"e{len(elements) + 1}", after, number, lengths)
        elements.append(element)
        lines.append((element_line(element), True))
    if complete or not lengths.says_more:
        return _fitted(lines, elements, budget_tokens, complete)
    view = _fitted(lines, elements, budget_tokens - MARKER_TOKENS, complete=True)
    return replace(view, text=f"{view.text}\n{_MORE}", truncated=True)


def element_line(element: RefElement) -> str:
    """Return the line of one element, such as `e1 textbox "User" (required)`."""
    parts = [element.ref, element.role]
    if element.name:
        parts.append(f'"{element.name}"')
    if element.hint:
        parts.append(element.hint)
    return " ".join(parts)


def _fitted(
    lines: list[tuple[str, bool]], elements: list[RefElement], budget: int, complete: bool
) -> RefView:
    whole = "\n".join(line for line, _ in lines)
    if complete and estimate_tokens(whole) <= budget:
        return RefView(whole, tuple(elements))
    left = budget - MARKER_TOKENS
    # Elements come first; the remaining room is for text, from the top.
    kept: set[int] = set()
    for wanted in (True, False):
        for index, (line, is_element) in enumerate(lines):
            cost = estimate_tokens(line + "\n")
            if is_element == wanted and cost <= left:
                kept.add(index)
                left -= cost
            elif is_element == wanted:
                break
    shown = [lines[index] for index in sorted(kept)]
    count = sum(is_element for _, is_element in shown)
    text = "\n".join([*(line for line, _ in shown), truncation_marker(count, len(elements))])
    return RefView(text, tuple(elements[:count]), truncated=True)


def _without_repeats(found: Iterable[ListedItem]) -> Iterable[ListedItem]:
    """Yield the items without text that only repeats the previous text or an element's name."""
    items = list(found)
    names = {_key(item.entry["name"]) for item in items if item.locator}
    last = ""
    for item in items:
        if item.locator:
            last = ""
            yield item
            continue
        key = _key(item.entry["text"])
        if key and key != last and key not in names:
            last = key
            yield item


def _after(items: Sequence[ListedItem], position: int) -> str:
    """Return the short text just before a field without a name, as it is probably its label."""
    entry = items[position].entry
    if entry["name"] or entry["role"] in _NAMED_BY_TEXT or position == 0:
        return ""
    before = items[position - 1]
    if before.locator:
        return ""
    text = str(before.entry["text"])
    is_label = len(text) <= _AFTER_CHARS and not text.endswith((".", "!", "?", "。"))
    return _short(text, _AFTER_CHARS) if is_label else ""


def _element(item: ListedItem, ref: str, after: str, number: int, lengths: Lengths) -> RefElement:
    entry = item.entry
    options = tuple(entry["options"])
    return RefElement(
        ref=ref,
        role=_shown_role(entry),
        name=_short(entry["name"], lengths.name),
        hint=_hint(entry, after, number, lengths),
        locator=item.locator,
        actions=_actions(entry),
        options=options,
        takes_files=entry["type"] == "file",
        disabled="disabled" in entry["states"],
    )


def _shown_role(entry: Mapping[str, Any]) -> str:
    return "link" if entry["role"] == "clickable" and entry["tag"] == "a" else str(entry["role"])


def _actions(entry: Mapping[str, Any]) -> tuple[str, ...]:
    if "disabled" in entry["states"] or entry["type"] == "file":
        return ()
    if entry["tag"] == "select":
        return ("select_option",)
    if entry.get("viaLabel"):
        return ("click",)
    if "readonly" in entry["states"]:
        return ("click",)
    if entry["role"] == "combobox":
        return ("fill", "click", "press") if entry["tag"] == "input" else ("click",)
    return _ACTIONS.get(entry["role"], ("click",))


def _hint(entry: Mapping[str, Any], after: str, number: int, lengths: Lengths) -> str:
    facts: list[str] = []
    if kind := _FORMATS.get(entry["type"]):
        facts.append(kind)
    low, high, step = entry["range"]
    if entry["type"] in {"number", "range"} and (low or high):
        facts.append(f"{low or '…'} to {high or '…'}" + (f", step {step}" if step else ""))
    if entry["rich"]:
        facts.append("rich text")
    if word := _icon_word(entry):
        facts.append(word)
    facts.extend(entry["states"])
    if entry["filled"]:
        facts.append("filled")
    parts = [f'after "{after}"'] if after else []
    if number:
        parts.append(f"number {number}")
    if facts:
        parts.append(f"({', '.join(facts)})")
    if entry["value"]:
        parts.append(f'value "{_short(entry["value"], lengths.value)}"')
    if entry["options"]:
        parts.append(_option_text(entry["options"], entry["chosen"], lengths))
    return " ".join(parts)


def _icon_word(entry: Mapping[str, Any]) -> str:
    """Return the id or class of an icon, which has no other name."""
    if entry["name"] or entry["role"] not in _NAMED_BY_TEXT:
        return ""
    return _short(entry["handle"], _AFTER_CHARS)


def _option_text(options: Sequence[str], chosen: Sequence[str], lengths: Lengths) -> str:
    most = lengths.options
    shown = [f'"{_short(option, lengths.name)}"' for option in options[:most]]
    more = [f"{len(options) - most} more"] if len(options) > most else []
    text = "options " + ", ".join([*shown, *more])
    picked = ", ".join(f'"{_short(option, lengths.name)}"' for option in chosen[:3] if option)
    return f"{text}; selected {picked}" if picked else text


def _short(text: str, limit: int) -> str:
    # Quotes of the page must not end the quotes of the list; icon fonts have no readable text.
    text = re.sub(r"[\ue000-\uf8ff]", "", text.replace('"', "'"))
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _key(text: str) -> str:
    return re.sub(r"[\s:*]+", " ", text).strip().casefold()


@dataclass(frozen=True, slots=True)
class Call:
    """One method call of a locator expression."""

    method: str
    argument: str | int
    name: str | None = None
    exact: bool = False

    def __str__(self) -> str:
        parts = [_literal(self.argument)]
        if self.name is not None:
            parts.append(f"name={_literal(self.name)}")
        if self.exact:
            parts.append("exact=True")
        return f".{self.method}({', '.join(parts)})"

    def on(self, root: Any) -> Any:
        """Make the call on a page, frame or locator."""
        options: dict[str, Any] = {"exact": True} if self.exact else {}
        if self.name is not None:
            options["name"] = self.name
        return getattr(root, self.method)(self.argument, **options)


@dataclass(frozen=True, slots=True)
class Expression:
    """A locator expression: a chain of calls that starts at `page`."""

    calls: tuple[Call, ...]

    def __str__(self) -> str:
        return "page" + "".join(map(str, self.calls))

    def on(self, root: Page | Frame | FrameLocator) -> Locator:
        """Return the locator on a live page or frame."""
        found: Any = root
        for call in self.calls:
            found = call.on(found)
        located: Locator = found
        return located

    def nth(self, index: int) -> "Expression":
        """Return this expression narrowed to one of its matches."""
        return Expression((*self.calls, Call("nth", index)))

    def inside(self, frames: tuple[Call, ...]) -> "Expression":
        """Return this expression as seen from the page that contains the frames."""
        return Expression((*frames, *self.calls))


def candidates(entry: Mapping[str, Any]) -> Iterator[Expression]:
    """Yield expressions that may find the element, the most descriptive first.

    The last one always matches the element; whether one is unique has to be tested on the page.
    """
    role, name, bare = entry["role"], entry["name"], entry.get("bare", False)
    short = bool(name) and len(name) <= _NAME_CHARS
    if not bare and short:
        yield Expression((Call("get_by_role", role, name=name, exact=True),))
    # A test id is unique by intention, but tells a model less than role and name do.
    if entry["testid"]:
        yield Expression((Call("get_by_test_id", entry["testid"]),))
    if entry["label"] and not bare:
        yield Expression((Call("get_by_label", entry["label"], exact=True),))
    if entry["placeholder"]:
        yield Expression((Call("get_by_placeholder", entry["placeholder"], exact=True),))
    if bare and short and role != "textbox":
        yield Expression((Call("get_by_text", name, exact=True),))
    for css in entry["css"]:
        yield Expression((Call("locator", css),))


def last_resort(entry: Mapping[str, Any]) -> Iterator[Expression]:
    """Yield expressions that match several similar elements, to be narrowed by position."""
    if not entry.get("bare", False):
        if entry["name"] and len(entry["name"]) <= _NAME_CHARS:
            yield Expression((Call("get_by_role", entry["role"], name=entry["name"], exact=True),))
        yield Expression((Call("get_by_role", entry["role"]),))
    elif entry["name"] and entry["role"] != "textbox":
        yield Expression((Call("get_by_text", entry["name"], exact=True),))
    yield Expression((Call("locator", entry["tag"]),))


def _literal(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)


ELEMENT_LIMIT = 400
"""Limit on the elements that are examined in one document."""
_FRAME_DEPTH = 4
_FRAME_MS = 3_000.0
_BATCH = 40


def observe(page: Page | Frame, *, budget_tokens: int = 1_500, lengths: Lengths = SHORT) -> RefView:
    """Return the page as a numbered list, including frames and open shadow roots.

    Waits until the page is quiet, so that the effects of an action are on the list. Every locator
    was verified to match exactly its element when the list was made. The page is only read.

    Raises:
        Error: Playwright's error if the page does not answer even at the second try.
    """
    try:
        return _view(page, budget_tokens, lengths)
    except Error:
        # A navigation may have replaced the page in the meantime.
        return _view(page, budget_tokens, lengths)


def _view(page: Page | Frame, budget_tokens: int, lengths: Lengths) -> RefView:
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    wait_until_quiet(page)
    walk = _Walk()
    found = list(walk.document(page, (), 0, None))
    return ref_view(found, budget_tokens=budget_tokens, complete=walk.complete, lengths=lengths)


@dataclass(slots=True)
class _Walk:
    complete: bool = True

    def document(
        self,
        root: Page | Frame,
        frames: tuple[Call, ...],
        depth: int,
        timeout_ms: float | None,
    ) -> Iterator[ListedItem]:
        handle = run_script_handle(
            root, "refs", ELEMENT_LIMIT, timeout_ms=timeout_ms or OBSERVE_TIMEOUT_MS
        )
        try:
            seen = read_json(handle.evaluate("made => made.json"))
            self.complete = self.complete and bool(seen["full"])
            listed = [entry for entry in seen["entries"] if entry["k"] != "t"]
            locators = _Proof(root, handle).prove(listed)
            inner = _inner_frames(root, handle, listed) if depth < _FRAME_DEPTH else {}
        finally:
            handle.dispose()
        for entry in seen["entries"]:
            if entry["k"] == "t":
                yield ListedItem(entry)
            elif entry["k"] == "e" and (expression := locators.get(entry["i"])):
                yield ListedItem(entry, str(expression.inside(frames)))
            elif entry["k"] == "f" and entry["i"] in inner:
                yield from self._frame(inner[entry["i"]], locators.get(entry["i"]), frames, depth)

    def _frame(
        self,
        frame: Frame,
        locator: Expression | None,
        frames: tuple[Call, ...],
        depth: int,
    ) -> Iterator[ListedItem]:
        steps = _as_frame_steps(locator)
        if steps is None:
            return
        try:
            yield from list(self.document(frame, (*frames, *steps), depth + 1, _FRAME_MS))
        except Error:
            # A frame that is gone or hangs is left out, so that the page itself can be shown.
            return


def plain_locator(
    element: Locator, selectors: Callable[[Locator], Sequence[str]] = lambda element: ()
) -> str:
    """Return an expression that starts at `page` and finds exactly this element now.

    It is empty if there is none, because the element or one of its frames is gone.

    Args:
        element: one element.
        selectors: gives selectors to try for an element that is not on its document's list.
    """
    try:
        handle = element.element_handle(timeout=_FRAME_MS)
        frame = handle.owner_frame()
        found = _proven(handle, frame, "e")
        if frame is not None and found is None:
            tries = (Expression((Call("locator", one),)) for one in selectors(element))
            found = next((one for one in tries if one.on(frame).count() == 1), None)
        while found and frame is not None and frame.parent_frame is not None:
            handle, frame = frame.frame_element(), frame.parent_frame
            steps = _as_frame_steps(_proven(handle, frame, "f"))
            found = found.inside(steps) if steps else None
    except Error:
        return ""
    return str(found or "")


def _proven(handle: ElementHandle, frame: Frame | None, kind: str) -> Expression | None:
    """Return an expression for an element or a frame, as seen from its own document."""
    if frame is None:
        return None
    made = run_script_handle(frame, "refs", ELEMENT_LIMIT, timeout_ms=_FRAME_MS)
    try:
        index = handle.evaluate("(element, made) => made.elements.indexOf(element)", made)
        entries = read_json(made.evaluate("made => made.json"))["entries"]
        listed = [entry for entry in entries if entry["k"] == kind and entry["i"] == index]
        return _Proof(frame, made).prove(listed).get(index)
    finally:
        made.dispose()


def _as_frame_steps(locator: Expression | None) -> tuple[Call, ...] | None:
    """Turn `locator(css)` into `frame_locator(css)`, keeping a trailing `nth`."""
    if locator is None or locator.calls[0].method != "locator":
        return None
    first, *rest = locator.calls
    return (Call("frame_locator", first.argument), *rest)


def _inner_frames(
    root: Page | Frame, handle: JSHandle, listed: Sequence[Mapping[str, Any]]
) -> dict[int, Frame]:
    if not any(entry["k"] == "f" for entry in listed):
        return {}
    children = root.main_frame.child_frames if isinstance(root, Page) else root.child_frames
    found: dict[int, Frame] = {}
    for child in children[:MAX_FRAMES]:
        try:
            index = child.frame_element().evaluate(
                "(element, made) => made.elements.indexOf(element)", handle
            )
        except Error:
            continue
        if index >= 0:
            found[int(index)] = child
    return found


@dataclass(slots=True)
class _Proof:
    """The search for an expression that matches only the element, for each listed element."""

    root: Page | Frame
    handle: JSHandle
    proven: dict[int, Expression] = field(default_factory=dict)

    def prove(self, listed: Sequence[Mapping[str, Any]]) -> dict[int, Expression]:
        choices = {entry["i"]: list(_choices(entry)) for entry in listed}
        while pending := {i: left.pop(0) for i, left in choices.items() if left}:
            shared = _by_expression(pending)
            single = [(users[0], e) for e, users in shared.items() if len(users) == 1]
            for batch in _batches(single):
                self._try(batch)
            for expression, users in shared.items():
                if len(users) > 1:
                    self._number(expression, users)
            for index in self.proven:
                choices.pop(index, None)
        for entry in listed:
            if entry["i"] not in self.proven:
                self._by_position(entry)
        return self.proven

    def _try(self, batch: Sequence[tuple[int, Expression]]) -> None:
        """Test many locators at once: does their union find exactly their elements?

        If it does not, each half is tested, until the locators at fault are isolated.
        """
        union = batch[0][1].on(self.root)
        for _, expression in batch[1:]:
            union = union.or_(expression.on(self.root))
        found = run_on_elements(union, "positions", self.handle)
        if sorted(found) == sorted(index for index, _ in batch):
            self.proven.update(batch)
        elif len(batch) > 1:
            middle = len(batch) // 2
            self._try(batch[:middle])
            self._try(batch[middle:])

    def _number(self, expression: Expression, users: Sequence[int]) -> None:
        """Distinguish elements that share an expression by their order."""
        found = run_on_elements(expression.on(self.root), "positions", self.handle)
        if sorted(found) == sorted(users):
            for place, index in enumerate(found):
                self.proven[index] = expression.nth(place)

    def _by_position(self, entry: Mapping[str, Any]) -> None:
        for expression in _resorts(entry):
            found = run_on_elements(expression.on(self.root), "positions", self.handle)
            if entry["i"] in found:
                self.proven[entry["i"]] = expression.nth(found.index(entry["i"]))
                return


def _choices(entry: Mapping[str, Any]) -> Iterator[Expression]:
    if entry["k"] == "f":
        return (Expression((Call("locator", css),)) for css in entry["css"])
    return candidates(entry)


def _resorts(entry: Mapping[str, Any]) -> Iterator[Expression]:
    if entry["k"] == "f":
        return iter((Expression((Call("locator", entry["tag"]),)),))
    return last_resort(entry)


def _by_expression(pending: Mapping[int, Expression]) -> Mapping[Expression, list[int]]:
    shared: dict[Expression, list[int]] = {}
    for index, expression in pending.items():
        shared.setdefault(expression, []).append(index)
    return shared


def _batches(
    tries: Sequence[tuple[int, Expression]],
) -> Iterator[Sequence[tuple[int, Expression]]]:
    """Yield groups of expressions that cannot match each other's elements.

    No element has two roles, names, labels, ids or positions, so different locators of one such
    kind are disjoint, and their union can be tested at once. Others are tested one by one.
    """
    kinds: dict[str, list[tuple[int, Expression]]] = {}
    for index, expression in tries:
        kinds.setdefault(_kind(expression), []).append((index, expression))
    for kind, group in kinds.items():
        # A question costs one visit to the page, so as many locators as possible share it.
        size = _BATCH if kind else 1
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _kind(expression: Expression) -> str:
    call = expression.calls[0]
    css = str(call.argument)
    if call.method != "locator":
        return call.method
    if css.startswith("html > "):
        return "place"
    if " " in css:
        return ""
    return "id" if css.startswith("#") else "name" if "[name=" in css else ""
