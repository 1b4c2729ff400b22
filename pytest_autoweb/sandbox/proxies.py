"""Playwright's objects as generated code sees them.

A proxy holds no Playwright object, only a handle's id and a chain of narrowing steps. Locators are
built here without a message; each action is one message to the host.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from pytest_autoweb.sandbox.allowed_members import (
    CLAIMS_OF,
    CLASSES,
    MANAGER_EXIT,
    ApiMember,
    member_of,
)
from pytest_autoweb.sandbox.frame_codec import WireError
from pytest_autoweb.sandbox.refusal_hints import REFUSED_MEMBERS, SYNONYMS

Segment = list[Any]
"""A step of a chain, already encoded: `[name]` for a link, else `[name, args, kwargs]`."""


class HostChannel(Protocol):
    """The worker's connection to the host, as proxies use it."""

    def call(self, target: dict[str, Any], method: str, args: Any, kwargs: Any) -> Any:
        """Have the host perform a call and return its decoded result."""
        ...

    def encode(self, value: Any) -> Any:
        """Encode a value as wire data."""
        ...


class Proxy:
    """A Playwright object as generated code sees it."""

    # The lint lets no code write a name with an underscore in front, so these are out of its reach.
    __slots__ = ("_border", "_chain", "_root")
    kind = ""

    def __init__(self, border: HostChannel, root: str, chain: tuple[Segment, ...] = ()) -> None:
        self._border, self._root, self._chain = border, root, chain

    def __getattr__(self, name: str) -> Any:
        member = member_of(self.kind, name)
        if member is None:
            raise AttributeError(_no_member(self.kind, name))
        if member.kind == "link":
            return make_proxy(member.returns, self._border, self._root, (*self._chain, [name]))
        if member.kind == "get":
            return self._border.call(receiver_of(self), name, [], {})
        return _METHODS[member.kind](self, name, member)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proxy) and (self.kind, self._root, self._chain) == (
            other.kind,
            other._root,
            other._chain,
        )

    def __hash__(self) -> int:
        # The steps of a chain are lists, which have no hash.
        return hash((self.kind, self._root, len(self._chain)))

    def __repr__(self) -> str:
        steps = "".join(f".{segment[0]}" for segment in self._chain)
        return f"<{self.kind} {self._root}{steps}>"

    def __copy__(self) -> "Proxy":
        return self

    def __deepcopy__(self, _memo: object) -> "Proxy":
        return self


TYPES: dict[str, type[Proxy]] = {
    name: type(name, (Proxy,), {"kind": name, "__slots__": ()}) for name in CLASSES
}


def make_proxy(kind: str, border: HostChannel, root: str, chain: tuple[Segment, ...] = ()) -> Proxy:
    """Return a proxy of the class called `kind`."""
    return TYPES[kind](border, root, chain)


def receiver_of(proxy: Proxy) -> dict[str, Any]:
    """Encode a proxy, as the receiver of a call or as an argument."""
    return {"root": proxy._root, "chain": list(proxy._chain)}


def make_expect(border: HostChannel) -> Callable[..., "Claims"]:
    """Return the function `expect` of the step language."""

    def expect(actual: object, message: str | None = None) -> Claims:
        if not isinstance(actual, Proxy) or actual.kind not in CLAIMS_OF:
            raise TypeError(
                f"expect() takes a locator or a page, not {type(actual).__name__}; "
                "compare plain values with assert"
            )
        return Claims(border, actual, message)

    return expect


class Claims:
    """The result of `expect(x)`, whose methods are assertions."""

    __slots__ = ("_actual", "_border", "_message")

    def __init__(self, border: HostChannel, actual: Proxy, message: str | None) -> None:
        self._border, self._actual, self._message = border, actual, message

    def __getattr__(self, name: str) -> Callable[..., None]:
        kind = CLAIMS_OF[self._actual.kind]
        if name not in CLASSES[kind]:
            raise AttributeError(_no_member(kind, name))

        def claim(*args: Any, **kwargs: Any) -> None:
            message = None if self._message is None else str(self._message)
            receiver = {**receiver_of(self._actual), "expect": True, "message": message}
            self._border.call(receiver, name, *encode_arguments(self._border, args, kwargs))

        return claim


class Manager:
    """The context manager that `page.expect_popup()` and similar methods return."""

    __slots__ = ("_args", "_info", "_kwargs", "_method", "_proxy")

    def __init__(self, proxy: Proxy, method: str, args: Any, kwargs: Any) -> None:
        self._proxy, self._method, self._args, self._kwargs = proxy, method, args, kwargs
        self._info: Proxy | None = None

    def __enter__(self) -> Proxy:
        border = self._proxy._border
        info: Proxy = border.call(receiver_of(self._proxy), self._method, self._args, self._kwargs)
        self._info = info
        return info

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        assert self._info is not None
        self._proxy._border.call(receiver_of(self._info), MANAGER_EXIT, [kind is not None], {})


def _no_member(kind: str, name: str) -> str:
    text = f"{kind!r} object has no attribute {name!r}"
    near = SYNONYMS.get(name, "")
    if near in CLASSES[kind]:
        return f"{text}; did you mean {near!r}?"
    if name in REFUSED_MEMBERS:
        return f"{text} here; {REFUSED_MEMBERS[name]}"
    owners = [owner for owner in CLASSES if name in CLASSES[owner]]
    return f"{text}; it belongs to {' and '.join(owners[:3])}" if owners else text


def _chain_method(proxy: Proxy, name: str, member: ApiMember) -> Callable[..., Proxy]:
    def narrow(*args: Any, **kwargs: Any) -> Proxy:
        segment = [name, *encode_arguments(proxy._border, args, kwargs)]
        return make_proxy(member.returns, proxy._border, proxy._root, (*proxy._chain, segment))

    return narrow


def _call_method(proxy: Proxy, name: str, _member: ApiMember) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        sent = encode_arguments(proxy._border, args, kwargs)
        return proxy._border.call(receiver_of(proxy), name, *sent)

    return call


def _manage_method(proxy: Proxy, name: str, _member: ApiMember) -> Callable[..., Manager]:
    def manage(*args: Any, **kwargs: Any) -> Manager:
        return Manager(proxy, name, *encode_arguments(proxy._border, args, kwargs))

    return manage


def _local_method(proxy: Proxy, name: str, _member: ApiMember) -> Callable[..., Any]:
    def all_() -> list[Any]:
        return [proxy.nth(i) for i in range(proxy.count())]

    def query_selector(selector: str, **_kwargs: Any) -> Any:
        found = proxy.locator(selector)
        return found.first if found.count() else None

    def query_selector_all(selector: str) -> list[Any]:
        found = proxy.locator(selector)
        return [found.nth(i) for i in range(found.count())]

    def wait_for_selector(selector: str, **kwargs: Any) -> Any:
        first = proxy.locator(selector).first
        # `first` has already resolved the ambiguity that `strict` would report.
        kwargs.pop("strict", None)
        first.wait_for(**kwargs)
        return None if kwargs.get("state") in {"hidden", "detached"} else first

    methods: dict[str, Callable[..., Any]] = {
        "all": all_,
        "query_selector": query_selector,
        "query_selector_all": query_selector_all,
        "wait_for_selector": wait_for_selector,
    }
    return methods[name]


_METHODS: dict[str, Callable[[Proxy, str, ApiMember], Any]] = {
    "chain": _chain_method,
    "local": _local_method,
    "call": _call_method,
    "find": _call_method,
    "function": _call_method,
    "listen": _call_method,
    "manage": _manage_method,
}


def encode_arguments(
    border: HostChannel, args: Any, kwargs: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Encode arguments as wire data; raises TypeError for one that cannot cross the border."""
    try:
        return (
            [border.encode(value) for value in args],
            {name: border.encode(value) for name, value in kwargs.items()},
        )
    except WireError as error:
        raise TypeError(str(error)) from None
