"""The numbered list of what can be acted on: its lines, and what fits its budget."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pytest_autoweb.browser.page.frames import (
    RefElement,
    RefView,
)
from pytest_autoweb.browser.page.outline import MARKER_TOKENS, estimate_tokens, truncation_marker

_AFTER_CHARS = 40


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
