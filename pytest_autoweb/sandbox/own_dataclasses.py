"""The dataclasses of generated code, the only classes that it may define."""

import builtins
import dataclasses
from typing import Any


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
