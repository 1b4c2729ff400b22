"""The frames that a worker may send, and the Playwright calls that `call` frames become.

Frames are validated one by one, because a worker is not trusted. An unknown, malformed or oversized
frame ends the worker. Strings are made encodable here, in one place, so that no code behind this
module meets a lone surrogate. Calls are limited to the allow-list.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from playwright.sync_api import Frame, Page, expect

from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.page.unchanged_page import method_as_it_was
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
from pytest_autoweb.sandbox.border_values import LocatorText, format_arguments
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.frame_codec import (
    MAX_NAME_CHARS,
    WireError,
    check_values,
    decode,
    from_line,
)
from pytest_autoweb.sandbox.handles import Handle, Handles
from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.size_limits import check_sizes
from pytest_autoweb.sandbox.text_on_page import as_on_page

# The host walks a chain step by step, so a hostile worker must not send an endless one.
MAX_CHAIN = 64
MAX_CAUSES = 100

_ANY = object
_OPT_INT = (int, type(None))
_OPT_STR = (str, type(None))

_SHAPES: dict[str, dict[str, Any]] = {
    "ready": {"landlock": int, "seccomp": bool, "audit": bool},
    "begun": {},
    "denied": {"event": str, "line": int},
    "log": {"text": str, "line": _OPT_INT},
    "answer": {"value": _ANY, "line": _OPT_INT},
    "call": {
        "id": int,
        "root": str,
        "chain": list,
        "expect": bool,
        "message": _OPT_STR,
        "method": str,
        "args": list,
        "kwargs": dict,
        "line": _OPT_INT,
    },
    "cbdone": {"id": int, "value": (bool, type(None)), "error": _OPT_STR},
    "done": {
        "ok": bool,
        "error": (dict, type(None)),
        "names": list,
        "vars": (dict, type(None)),
    },
}
_ERROR_SHAPE: dict[str, Any] = {"type": str, "message": str, "causes": list, "line": _OPT_INT}

_EXIT = ApiMember("call")
_PERFORMED = frozenset({"call", "get", "manage", "listen", "find", "function"})
_TAKES_PREDICATES = frozenset({"frame", "wait_for_event", "wait_for_url"})


def read_frame(line: bytes) -> dict[str, Any]:
    """Decode and validate a frame that a worker sent.

    Raises:
        WireError: it does not have the exact shape of a known frame.
    """
    check_values(line)
    frame: dict[str, Any] = _clean(from_line(line), 0)
    op = frame.pop("op", None)
    if not isinstance(op, str) or op not in _SHAPES:
        raise WireError("unknown operation")
    _check_shape(op, frame, _SHAPES[op])
    if op == "call":
        check_chain(frame["chain"])
    if op == "done":
        _check_done(frame)
    return {"op": op, **frame}


def check_chain(chain: Any) -> None:
    """Raise `WireError` unless this is a list of `[name]` and `[name, args, kwargs]`."""
    if not isinstance(chain, list) or len(chain) > MAX_CHAIN:
        raise WireError("a chain is a list of at most 64 steps")
    for segment in chain:
        fits = isinstance(segment, list) and (
            (len(segment) == 1 and isinstance(segment[0], str))
            or (
                len(segment) == 3
                and isinstance(segment[0], str)
                and isinstance(segment[1], list)
                and isinstance(segment[2], dict)
            )
        )
        if not fits:
            raise WireError("malformed step of a chain")


def _check_done(frame: dict[str, Any]) -> None:
    if frame["error"] is not None:
        _check_shape("error", frame["error"], _ERROR_SHAPE)
        _check_causes(frame["error"]["causes"])
    if frame["ok"] is not (frame["error"] is None):
        raise WireError("done is neither ok nor an error")
    if not all(isinstance(name, str) and len(name) <= MAX_NAME_CHARS for name in frame["names"]):
        raise WireError("malformed names")
    frame["names"] = [name for name in frame["names"] if name.isidentifier()][:500]


def _check_causes(causes: list[Any]) -> None:
    if len(causes) > MAX_CAUSES:
        raise WireError("an error has too many causes")
    for cause in causes:
        pair = isinstance(cause, list) and len(cause) == 2
        if not pair or not all(isinstance(text, str) for text in cause):
            raise WireError("malformed error: causes")


def _check_shape(what: str, frame: Mapping[str, Any], shape: Mapping[str, Any]) -> None:
    if frame.keys() != shape.keys():
        raise WireError(f"malformed {what}")
    for key, kind in shape.items():
        value = frame[key]
        # `isinstance` counts a bool as an int, but only a real int is valid here.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, _OPT_INT)):
            raise WireError(f"malformed {what}: {key}")


def _clean(data: Any, depth: int) -> Any:
    if depth > 200:
        raise WireError("data is nested too deeply")
    if isinstance(data, str):
        return whole_text(data)
    if isinstance(data, list):
        return [_clean(item, depth + 1) for item in data]
    if isinstance(data, dict):
        return {_clean(key, 0): _clean(value, depth + 1) for key, value in data.items()}
    return data


class Receiver(NamedTuple):
    """The object on which a call is made."""

    object: Any
    kind: str
    text: str
    subject: Any = None
    """The subject of an assertion; None for everything else."""


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
                args, kwargs = as_on_page(name, args, kwargs)
                real = {k: _real(value) for k, value in kwargs.items()}
                locate = method_as_it_was(item, name, self._border.undo)
                item = locate(*[_real(value) for value in args], **real)
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
                # The check of the whole frame did not look inside the arguments, which may be any
                # data.
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
