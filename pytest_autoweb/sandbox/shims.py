"""The namespace of generated code: restricted builtins and stand-ins for modules.

Real module objects lead to `sys` and `os` within one or two attributes, so the code gets plain
objects that hold only the listed members.
"""

import ast
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
    """The dataclasses of generated code, the only classes that it may define.

    Their fields have names of the code's choice, which no list of attributes knows. So where code
    reads a name that is on no list, it is given it from its own dataclasses and stand-ins alone:
    `gi_frame` of a dataclass is a field, `gi_frame` of a generator would be a way out.
    """

    _OPTIONS = frozenset({"eq", "frozen", "kw_only", "order", "repr", "slots"})
    _PYTHONS = frozenset(
        {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__"}
        | {"__annotate__", "__annotate_func__", "__annotations_cache__"}
        | {"__static_attributes__", "__firstlineno__"}
    )

    def __init__(self, module: str, trusted: tuple[type, ...]) -> None:
        self._module, self._trusted = module, trusted
        self._built: set[type] = set()
        self._made: set[type] = set()

    def build(self, body: Any, name: str, *bases: object, **keywords: object) -> type:
        """Stand in for `__build_class__`: no bases, no metaclass, no special methods."""
        if bases or keywords:
            raise TypeError("a dataclass has no bases here")
        made: type = builtins.__build_class__(body, name)
        own = vars(made)
        fields = own.get("__annotations__", {})
        names = [*(own.keys() - self._PYTHONS), *fields]
        if own["__module__"] != self._module or not all(map(_is_plain, names)):
            raise TypeError("a dataclass has plain fields and methods here")
        self._built.add(made)
        return made

    def dataclass(self, cls: type | None = None, /, **options: object) -> Any:
        """Stand in for `dataclasses.dataclass`."""
        if unknown := options.keys() - self._OPTIONS:
            raise TypeError(f"dataclass() takes no {min(unknown)!r} here")

        def make(cls: type) -> type:
            # Python would make code of its fields' names, so they must have been looked at.
            if not isinstance(cls, type) or cls not in self._built:
                raise TypeError("dataclass() takes a class of the code's own")
            made = dataclasses.dataclass(**options)(cls)  # type: ignore[call-overload]
            self._made.add(made)
            return made

        return make if cls is None else make(cls)

    def holds(self, value: object) -> bool:
        """Tell whether a value is a record, that is an instance of such a dataclass."""
        return type(value) in self._made

    def read(self, value: Any, name: str) -> Any:
        """Return an attribute whose name is on no list."""
        owner = value if isinstance(value, type) else type(value)
        if owner in self._made or isinstance(value, self._trusted):
            return getattr(value, name)
        raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r} here")


def _is_plain(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and not name.startswith("_")


READ = "$read"
"""The name of `Records.read` among the builtins; code cannot spell it."""


def compiled(code: str, file: str) -> types.CodeType:
    """Compile a block whose unlisted attributes are read by `Records.read`."""
    tree = _GuardedReads().visit(ast.parse(code, file))
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _GuardedReads(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        listed = node.attr in allowed_python.ATTRIBUTES or node.attr.startswith("_")
        if listed or not isinstance(node.ctx, ast.Load):
            return node
        function = ast.Name(READ, ast.Load())
        call = ast.Call(function, [node.value, ast.Constant(node.attr)], [])
        for part in ast.walk(ast.Tuple([function, call.args[1]], ast.Load())):
            ast.copy_location(part, node)
        return ast.copy_location(call, node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        # A pattern takes no calls; what it reads is only compared.
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.MatchClass:
        for pattern in (*node.patterns, *node.kwd_patterns):
            self.visit(pattern)
        return node


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
