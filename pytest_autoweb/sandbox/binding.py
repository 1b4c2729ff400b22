"""Turns a `call` frame of the worker into a real Playwright call, if it is on the list."""

from typing import Any, NamedTuple

from playwright.sync_api import Frame, Page, expect

from pytest_autoweb.sandbox.base import Border
from pytest_autoweb.sandbox.handles import Handle, Handles, Refusal
from pytest_autoweb.sandbox.members import (
    CLAIMS_OF,
    CLASSES,
    FUNCTIONS,
    MANAGER_EXIT,
    OF_THE_PAGE,
    Member,
    member_of,
)
from pytest_autoweb.sandbox.protocol import check_chain
from pytest_autoweb.sandbox.values import Expression, shown
from pytest_autoweb.sandbox.wire import WireError, decode

_EXIT = Member("call")
_PERFORMED = frozenset({"call", "get", "manage", "listen", "find"})
_TAKES_PREDICATES = frozenset({"frame", "wait_for_event", "wait_for_url"})


class Receiver(NamedTuple):
    """What a call is made on."""

    object: Any
    kind: str
    text: str


class Bound(NamedTuple):
    """A call that is allowed, with everything decoded."""

    receiver: Receiver
    method: str
    member: Member
    args: list[Any]
    kwargs: dict[str, Any]
    arguments: str
    """As a report shows them; secrets are still placeholders."""
    page: Any
    """The page whose browser does the work."""


class Binder:
    """Resolves receivers and arguments through the allow-list."""

    def __init__(self, border: Border, handles: Handles) -> None:
        self._border, self._handles = border, handles

    def bind(self, frame: dict[str, Any]) -> Bound:
        """What a `call` frame asks for.

        Raises:
            Refusal: it is not on the list.
            WireError: its arguments cannot be read.
        """
        receiver = self._resolve(frame["root"], frame["chain"])
        method = frame["method"]
        if frame["expect"]:
            receiver, member = self._claims(receiver, method, frame["message"])
        else:
            receiver, member = self._member(receiver, method)
        callbacks = member.kind in {"manage", "listen"} or method in _TAKES_PREDICATES
        args = [self._argument(value, callbacks) for value in frame["args"]]
        kwargs = {name: self._argument(value, callbacks) for name, value in frame["kwargs"].items()}
        text = self._border.redact(shown(args, kwargs))
        args = [_real(value) for value in args]
        kwargs = {name: _real(value) for name, value in kwargs.items()}
        page = self._page_of(self._handles.get(frame["root"]).object)
        return Bound(receiver, method, member, args, kwargs, text, page)

    def _resolve(self, root: str, chain: list[Any]) -> Receiver:
        handle: Handle = self._handles.get(root)
        item, kind, text = handle.object, handle.kind, handle.label
        for segment in chain:
            name = segment[0]
            member = CLASSES[kind].get(name)
            wanted = "link" if len(segment) == 1 else "chain"
            if member is None or member.kind != wanted:
                raise Refusal("AW504", f"{kind} has no {name[:60]!r} to narrow with")
            if isinstance(item, Frame) and name in OF_THE_PAGE:
                item = item.page
            if wanted == "link":
                item, text = getattr(item, name), f"{text}.{name}"
            else:
                args = [self._argument(value, False) for value in segment[1]]
                kwargs = {k: self._argument(value, False) for k, value in segment[2].items()}
                text = f"{text}.{name}({shown(args, kwargs)})"
                real = {k: _real(value) for k, value in kwargs.items()}
                item = getattr(item, name)(*[_real(value) for value in args], **real)
            kind = member.returns
        return Receiver(item, kind, text)

    def _member(self, receiver: Receiver, method: str) -> tuple[Receiver, Member]:
        item, kind, text = receiver
        if kind == "EventInfo" and method == MANAGER_EXIT:
            return receiver, _EXIT
        if kind == "Page" and method in FUNCTIONS:
            return Receiver(item, kind, "step"), FUNCTIONS[method]
        member = member_of(kind, method)
        if member is None or member.kind not in _PERFORMED:
            raise Refusal("AW504", f"{kind}.{method[:60]} is not for generated code")
        if kind == "Page" and isinstance(item, Frame):
            if method in OF_THE_PAGE:
                return Receiver(item.page, "Page", text), member
            return Receiver(item, "Frame", text), member_of("Frame", method) or member
        return receiver, member

    def _claims(
        self, receiver: Receiver, method: str, message: str | None
    ) -> tuple[Receiver, Member]:
        kind = CLAIMS_OF.get(receiver.kind, "")
        member = CLASSES.get(kind, {}).get(method)
        if member is None:
            raise Refusal("AW504", f"expect({receiver.kind}).{method[:60]} is not available")
        item = receiver.object
        actual = item.page if isinstance(item, Frame) else item
        return Receiver(expect(actual, message), kind, f"expect({receiver.text})"), member

    def _argument(self, data: Any, callbacks: bool) -> Any:
        def special(tag: str, inner: Any) -> Any:
            if tag == "$p" and isinstance(inner, dict) and isinstance(inner.get("root"), str):
                check_chain(inner.get("chain"))
                found = self._resolve(inner["root"], inner["chain"])
                if found.kind not in {"Locator", "FrameLocator"}:
                    raise TypeError(f"a {found.kind} cannot be an argument")
                return Located(found.text, found.object)
            if tag == "$cb" and type(inner) is int:
                if not callbacks:
                    raise TypeError("this call takes no Python function")
                return Callback(inner)
            raise WireError(f"unexpected {tag[:20]}")

        return decode(data, special)

    def _page_of(self, item: Any) -> Any:
        if isinstance(item, Page):
            return item
        page = getattr(item, "page", None)
        return page if isinstance(page, Page) else self._border.page


class Callback(NamedTuple):
    """A function that lives in the worker."""

    number: int

    def __repr__(self) -> str:
        return "<function>"


class Located(Expression):
    """A locator as an argument, together with the real one."""

    def __init__(self, text: str, real: Any) -> None:
        super().__init__(text)
        self.real = real


def _real(value: Any) -> Any:
    """The argument as Playwright takes it: real locators, lists instead of tuples and sets."""
    if isinstance(value, Located):
        return value.real
    if isinstance(value, Callback):
        return value
    if isinstance(value, list | tuple | set):
        return [_real(item) for item in value]
    if isinstance(value, dict):
        return {key: _real(item) for key, item in value.items()}
    return value
