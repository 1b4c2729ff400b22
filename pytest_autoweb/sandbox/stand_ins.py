"""The names available to generated code: restricted builtins, and stand-ins for modules and pages.

Real module objects lead to `sys` and `os` within one or two attributes, so the code gets plain
objects that hold only the listed members.

A proxy holds no Playwright object, only a handle's id and a chain of narrowing steps. Locators are
built here without a message; each action is one message to the host.
"""

import builtins
import dataclasses
import importlib
import types
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol

from pytest_autoweb.sandbox import allowed_python
from pytest_autoweb.sandbox.allowed_members import (
    CLAIMS_OF,
    CLASSES,
    MANAGER_EXIT,
    ApiMember,
    member_of,
)
from pytest_autoweb.sandbox.allowed_python import REFUSED_MEMBERS, SYNONYMS
from pytest_autoweb.sandbox.frame_codec import WireError

Segment = list[Any]
"""A step of a chain, already encoded: `[name]` for a link, else `[name, args, kwargs]`."""

# Modules that the standard library imports at first use, when no file can be opened any longer.
_LOADED_LATE = (
    "_strptime",
    "encodings.ascii",
    "encodings.cp1252",
    "encodings.idna",
    "encodings.iso8859_15",
    "encodings.latin_1",
    "encodings.punycode",
    "encodings.unicode_escape",
    "encodings.utf_16",
    "encodings.utf_16_be",
    "encodings.utf_16_le",
    "encodings.utf_32",
    "encodings.utf_7",
    "encodings.utf_8_sig",
    "html.entities",
    "locale",
)


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


class _AnyType:
    """A stand-in for every member of `typing`; nothing evaluates annotations."""

    def __getitem__(self, _item: object) -> "_AnyType":
        return self

    def __or__(self, _other: object) -> "_AnyType":
        return self

    __ror__ = __or__

    def __call__(self, *_args: object) -> "_AnyType":
        return self


class Records:
    """The dataclasses of generated code, the only classes that it may define."""

    _OPTIONS = frozenset({"eq", "frozen", "kw_only", "order", "repr"})
    _PYTHONS = frozenset(
        {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__"}
        | {"__annotate__", "__annotate_func__", "__annotations_cache__"}
        | {"__static_attributes__", "__firstlineno__"}
    )

    def __init__(self, module: str) -> None:
        self._module = module
        self._built: set[type] = set()
        self._made: set[type] = set()

    def build(self, body: Any, name: str, *bases: object, **keywords: object) -> type:
        """Stand in for `__build_class__`: no bases, no metaclass, no special methods."""
        if bases or keywords:
            raise TypeError("a dataclass has no bases here")
        own = dict(vars(builtins.__build_class__(body, name)))
        annotations = own.get("__annotations__", {})
        plain = {key: value for key, value in own.items() if key not in self._PYTHONS}
        if own["__module__"] != self._module or not all(map(_is_plain, [*plain, *annotations])):
            raise TypeError("a dataclass has plain fields and methods here")
        # Python would otherwise add a docstring later, which the audit hook takes for an attack.
        fixed = {"__doc__": own.get("__doc__") or name, "__module__": self._module}
        made = type(name, (), {**plain, **fixed, "__annotations__": annotations})
        self._built.add(made)
        return made

    def dataclass(self, cls: type | None = None, /, **options: object) -> Any:
        """Stand in for `dataclasses.dataclass`."""
        # Slots only save memory, and classes with them are created in a way that is refused here.
        options.pop("slots", None)
        if unknown := options.keys() - self._OPTIONS:
            raise TypeError(f"dataclass() takes no {min(unknown)!r} here")

        def make(cls: type) -> type:
            # Python generates code from the fields' names, so these must have been checked.
            if not isinstance(cls, type) or cls not in self._built:
                raise TypeError("dataclass() takes a class of the code's own")
            made: type = dataclasses.dataclass(**options)(cls)  # type: ignore[call-overload]
            self._made.add(made)
            return made

        return make if cls is None else make(cls)

    def holds(self, value: object) -> bool:
        """Tell whether a value is an instance of such a dataclass."""
        return type(value) in self._made


def _is_plain(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and not name.startswith("_")


def preload() -> dict[str, types.ModuleType]:
    """Import everything that code may need later; this must run before `confine`."""
    for name in _LOADED_LATE:
        importlib.import_module(name)
    skipped = {"playwright", "playwright.sync_api", "typing"}
    return {
        name: importlib.import_module(name)
        for name in allowed_python.MODULES
        if name not in skipped
    }


def stand_ins(
    real: Mapping[str, types.ModuleType], special: Mapping[str, Mapping[str, Any]]
) -> dict[str, types.SimpleNamespace]:
    """Return one plain object for each module of the policy.

    Args:
        real: what `preload` returned.
        special: replacements for real members, by module.
    """
    modules: dict[str, types.SimpleNamespace] = {}
    for name, members in allowed_python.MODULES.items():
        values: dict[str, Any] = {}
        for member in members:
            if member in special.get(name, {}):
                values[member] = special[name][member]
            elif name == "typing":
                values[member] = _AnyType()
            elif name in real and hasattr(real[name], member):
                values[member] = getattr(real[name], member)
        modules[name] = types.SimpleNamespace(**values)
    # `datetime.strptime` calls `__import__` for this module but then uses the one already loaded.
    modules["_strptime"] = types.SimpleNamespace()
    for name in allowed_python.MODULES:
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, modules[name])
    return modules


def restricted_builtins(
    modules: Mapping[str, types.SimpleNamespace], special: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the `__builtins__` of generated code."""
    allowed = {name: getattr(builtins, name) for name in allowed_python.BUILTINS}
    return {**allowed, "type": _type_of, "__import__": _importer(modules), **special}


def _type_of(value: object) -> type:
    """Return `type(x)` of a value, refusing classes and functions.

    The type of a class makes classes, and the type of a function makes functions from code objects.
    """
    if callable(value):
        raise TypeError("type() takes a value here, not a class or a function")
    return type(value)


def _importer(modules: Mapping[str, types.SimpleNamespace]) -> Callable[..., Any]:
    def import_(
        name: str,
        _globals: object = None,
        _locals: object = None,
        fromlist: tuple[str, ...] | None = (),
        level: int = 0,
    ) -> Any:
        if level or name not in modules:
            raise ImportError(f"the module {name!r} is not available")
        if not fromlist:
            return modules[name.partition(".")[0]]
        for member in fromlist:
            if not hasattr(modules[name], member):
                raise ImportError(f"{name} has no {member!r} here")
        return modules[name]

    return import_
