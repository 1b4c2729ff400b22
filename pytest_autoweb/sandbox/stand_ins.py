"""The names available to generated code: restricted builtins, and stand-ins for modules.

Real module objects lead to `sys` and `os` within one or two attributes, so the code gets plain
objects that hold only the listed members.
"""

import builtins
import importlib
import types
from collections.abc import Callable, Mapping
from typing import Any

from pytest_autoweb.sandbox import allowed_python

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


class _AnyType:
    """A stand-in for every member of `typing`; nothing evaluates annotations."""

    def __getitem__(self, _item: object) -> "_AnyType":
        return self

    def __or__(self, _other: object) -> "_AnyType":
        return self

    __ror__ = __or__

    def __call__(self, *_args: object) -> "_AnyType":
        return self


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
