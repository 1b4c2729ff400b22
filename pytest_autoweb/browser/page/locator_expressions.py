"""Locator expressions, and which ones may find an element."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Frame, FrameLocator, Locator, Page

_NAME_CHARS = 200


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
        found: Any = root
        for call in self.calls:
            found = call.on(found)
        located: Locator = found
        return located

    def nth(self, index: int) -> "Expression":
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
