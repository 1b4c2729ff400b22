"""Translates the worker's `call` frames into Playwright calls, limited to the allow-list."""

from typing import Any, NamedTuple

from playwright.sync_api import Frame, Page, expect

from pytest_autoweb.sandbox.allowed_members import (
    CLAIMS_OF,
    CLASSES,
    FUNCTIONS,
    MANAGER_EXIT,
    OF_THE_PAGE,
    READ_FILE,
    ApiMember,
    member_of,
)
from pytest_autoweb.sandbox.crossing_values import (
    Handle,
    Handles,
    LocatorText,
    Refusal,
    format_arguments,
)
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.frame_codec import WireError, decode
from pytest_autoweb.sandbox.frame_rules import check_chain
from pytest_autoweb.sandbox.size_limits import check_sizes

_EXIT = ApiMember("call")
_PERFORMED = frozenset({"call", "get", "manage", "listen", "find", "function"})
_TAKES_PREDICATES = frozenset({"frame", "wait_for_event", "wait_for_url"})


class Receiver(NamedTuple):
    """The object on which a call is made."""

    object: Any
    kind: str
    text: str
    subject: Any = None
    """What assertions are about; None for everything else."""


class Bound(NamedTuple):
    """An allowed call with its receiver and arguments decoded."""

    receiver: Receiver
    method: str
    member: ApiMember
    args: list[Any]
    kwargs: dict[str, Any]
    arguments: str
    """The arguments as a report shows them; secrets are still placeholders."""
    page: Any
    """The page whose browser performs the call."""


class Binder:
    """A decoder for `call` frames that lets only listed receivers and arguments pass."""

    def __init__(self, border: SandboxBorder, handles: Handles) -> None:
        self._border, self._handles = border, handles

    def bind(self, frame: dict[str, Any]) -> Bound:
        """Return the call that a frame asks for.

        Raises:
            Refusal: the call is not on the list.
            WireError: the arguments cannot be decoded.
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
        check_sizes(receiver.kind, method, args, kwargs)
        # The text for the report is made before placeholders are replaced by real secrets.
        text = self._border.redact(format_arguments(args, kwargs))
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
                raise Refusal("AW504", f"{kind} has no member {name[:60]!r} that returns a locator")
            # `page` may stand for a frame, which lacks these members.
            if isinstance(item, Frame) and name in OF_THE_PAGE:
                item = item.page
            if wanted == "link":
                item, text = getattr(item, name), f"{text}.{name}"
            else:
                args = [self._argument(value, False) for value in segment[1]]
                kwargs = {k: self._argument(value, False) for k, value in segment[2].items()}
                check_sizes(kind, name, args, kwargs)
                text = f"{text}.{name}({format_arguments(args, kwargs)})"
                real = {k: _real(value) for k, value in kwargs.items()}
                item = getattr(item, name)(*[_real(value) for value in args], **real)
            kind = member.returns
        return Receiver(item, kind, text)

    def _member(self, receiver: Receiver, method: str) -> tuple[Receiver, ApiMember]:
        item, kind, text, _ = receiver
        if kind == "EventInfo" and method == MANAGER_EXIT:
            return receiver, _EXIT
        if kind == "Page" and method == READ_FILE:
            return Receiver(item, kind, "file"), _EXIT
        # A global function such as `collect_urls` is sent as a call of the page, because every call
        # has a receiver.
        if kind == "Page" and method in FUNCTIONS:
            return Receiver(item, kind, "step"), FUNCTIONS[method]
        member = member_of(kind, method)
        if member is None or member.kind not in _PERFORMED:
            raise Refusal("AW504", f"{kind}.{method[:60]} may not be used by generated code")
        if kind == "Page" and isinstance(item, Frame):
            if method in OF_THE_PAGE:
                return Receiver(item.page, "Page", text), member
            return Receiver(item, "Frame", text), member_of("Frame", method) or member
        return receiver, member

    def _claims(
        self, receiver: Receiver, method: str, message: str | None
    ) -> tuple[Receiver, ApiMember]:
        kind = CLAIMS_OF.get(receiver.kind, "")
        member = CLASSES.get(kind, {}).get(method)
        if member is None:
            raise Refusal("AW504", f"expect({receiver.kind}).{method[:60]} is not available")
        item = receiver.object
        # Playwright's `expect` takes no frame.
        actual = item.page if isinstance(item, Frame) else item
        return Receiver(expect(actual, message), kind, f"expect({receiver.text})", actual), member

    def _argument(self, data: Any, callbacks: bool) -> Any:
        def special(tag: str, inner: Any) -> Any:
            if tag == "$p" and isinstance(inner, dict) and isinstance(inner.get("root"), str):
                # The check of the whole frame did not look inside arguments, which may be any data.
                check_chain(inner.get("chain"))
                found = self._resolve(inner["root"], inner["chain"])
                if found.kind not in {"Locator", "FrameLocator"}:
                    raise TypeError(f"a {found.kind} cannot be an argument")
                return LocatorArgument(found.text, found.object)
            # `isinstance` would accept True as a number.
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
    """A function that exists only in the worker, known by its number."""

    number: int

    def __repr__(self) -> str:
        return "<function>"


class LocatorArgument(LocatorText):
    """A locator given as an argument, together with Playwright's own object."""

    def __init__(self, text: str, real: Any) -> None:
        super().__init__(text)
        self.real = real


def _real(value: Any) -> Any:
    """Return the argument as Playwright takes it: real locators, and lists for tuples and sets."""
    if isinstance(value, LocatorArgument):
        return value.real
    if isinstance(value, Callback):
        return value
    if isinstance(value, list | tuple | set):
        return [_real(item) for item in value]
    if isinstance(value, dict):
        return {key: _real(item) for key, item in value.items()}
    return value
