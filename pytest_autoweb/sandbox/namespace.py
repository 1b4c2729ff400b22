"""The namespace of generated code: restricted builtins and stand-ins for modules.

Real module objects lead to `sys` and `os` within one or two attributes, so the code gets plain
objects that hold only the listed members.
"""

import builtins
import dataclasses
import importlib
import types
from collections.abc import Callable, Mapping
from typing import Any

from pytest_autoweb.sandbox import allowed_python

# Modules that the standard library imports at first use, when no file can be opened any more.
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
        # Python would give it a docstring later, which the audit hook takes for an attack.
        fixed = {"__doc__": own.get("__doc__") or name, "__module__": self._module}
        made = type(name, (), {**plain, **fixed, "__annotations__": annotations})
        self._built.add(made)
        return made

    def dataclass(self, cls: type | None = None, /, **options: object) -> Any:
        """Stand in for `dataclasses.dataclass`."""
        # Slots only save memory, and classes that have them are made in a way that is refused here.
        options.pop("slots", None)
        if unknown := options.keys() - self._OPTIONS:
            raise TypeError(f"dataclass() takes no {min(unknown)!r} here")

        def make(cls: type) -> type:
            # Python would make code of its fields' names, so they must have been looked at.
            if not isinstance(cls, type) or cls not in self._built:
                raise TypeError("dataclass() takes a class of the code's own")
            made: type = dataclasses.dataclass(**options)(cls)  # type: ignore[call-overload]
            self._made.add(made)
            return made

        return make if cls is None else make(cls)

    def holds(self, value: object) -> bool:
        """Tell whether a value is a record, that is an instance of such a dataclass."""
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
