"""Looks at every value that code comes to hold inside the sandbox worker. Runs in there.

`monitored_worker` puts this module into a real worker, as its last one. Code that was rewritten to
pass each of its values through `_monitor` then tells on itself: a value of a class that the step
language does not hand out is written to the log.
"""

import types
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_autoweb.sandbox import allowed_python, proxies, worker

ESCAPED = "escaped: "
"""Begins a line of the log that tells of a value which code must never hold."""

_STEP = "<step"
_PROXIES = "pytest_autoweb.sandbox.proxies"
_DEEPEST, _LONGEST = 3, 20


def _nothing() -> Iterator[None]:
    yield from ()


_SAMPLES: tuple[Any, ...] = (
    *(None, True, 1, 0.5, 1j, "", b"", ..., NotImplemented, range(1), slice(1)),
    *((), [], {}, set(), frozenset(), {}.keys(), {}.values(), {}.items()),
    *(iter(()), iter([]), iter({}), iter(set()), iter(""), iter("é"), iter(b""), iter(range(1))),
    *(iter(range(1 << 70)), iter({}.values()), iter({}.items()), iter(int, 1)),
    *(reversed([]), reversed({}), reversed({}.values()), reversed({}.items()), reversed(())),
    *(_nothing(), zip(), map(len, ()), filter(None, ()), enumerate(())),
    *(types.SimpleNamespace(), list[int], int | str),
)
_METHODS: tuple[type, ...] = (
    *(types.BuiltinMethodType, types.MethodType, types.MethodDescriptorType),
    *(types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType),
    *(property, types.MethodWrapperType, types.WrapperDescriptorType),
)
_MADE_BY_MODULES = (
    *("SRE_Scanner", "Match", "Pattern", "ParseResult", "SplitResult", "UUID", "DecimalTuple"),
    *("IsoCalendarDate", "_localized_month", "_localized_day", "_reader", "reader", "writer"),
    *("_tuplegetter", "_grouper", "_tee", "KeyWrapper", "islice", "_accumulate", "deque_iterator"),
    *("_deque_iterator", "_deque_reverse_iterator", "odict_iterator", "odict_keys", "odict_values"),
    *("odict_items", "callable_iterator", "partial", "Claims", "Manager", "_AnyType"),
    *("SignalDict", "mappingproxy", "Excel", "unix_dialect"),
    *("ParseResultBytes", "SplitResultBytes"),
)


class ValueMonitor:
    """Knows what the step language hands out.

    Args:
        given: the namespace that code starts with.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        handed = [*given.values(), *given["__builtins__"].values(), *_members(given)]
        self._known = {id(value) for value in handed}
        self._keep = handed
        classes = {value for value in handed if isinstance(value, type)}
        self._classes = (
            classes | {type(sample) for sample in _SAMPLES} | set(proxies.TYPES.values())
        )

    def complaint(self, value: Any, depth: int = 0) -> str:
        """Why code must not hold the value; empty: it may."""
        kind = type(value)
        if id(value) in self._known or depth > _DEEPEST:
            return ""
        if isinstance(value, type):
            return "" if self._is_allowed_class(value) else f"the class {value!r}"
        if kind is types.FunctionType:
            return "" if _is_harmless(value) else f"the function {value.__qualname__}"
        if kind in _METHODS:
            return self._of_method(value)
        if isinstance(value, BaseException):
            fine = isinstance(value, Exception)
            return self._of_items(value.args, depth) if fine else f"a {kind.__name__}"
        if not self._is_allowed_class(kind):
            return f"a {kind.__module__}.{kind.__name__}"
        return self._of_items(_items_of(value), depth)

    def _is_allowed_class(self, kind: type) -> bool:
        known = kind in self._classes or kind.__name__ in _MADE_BY_MODULES
        return known or issubclass(kind, Exception)

    def _of_items(self, items: Iterable[Any], depth: int) -> str:
        found = (self.complaint(item, depth + 1) for item in items)
        return next((text for text in found if text), "")

    def _of_method(self, value: Any) -> str:
        name = getattr(value, "__name__", "") or getattr(value.fget, "__name__", "")
        if (
            name not in allowed_python.ATTRIBUTES and name != "format"
        ):  # the lint wants a literal there
            return f"the method {name}"
        owner = getattr(value, "__self__", None) or getattr(value, "__objclass__", None)
        return "" if owner is None else self.complaint(owner)


def _members(given: dict[str, Any]) -> list[Any]:
    """The stand-ins for all modules, and what they hold."""
    bring = given["__builtins__"]["__import__"]
    # A name that is asked for makes `import a.b` give `b`.
    modules = [
        bring(name, None, None, tuple(allowed_python.MODULES[name])[:1])
        for name in allowed_python.MODULES
    ]
    return [*modules, *(value for module in modules for value in vars(module).values())]


def _is_harmless(function: Any) -> bool:
    """Whether it is of the code itself, or one that a proxy made for it."""
    file = function.__code__.co_filename
    return file.startswith(_STEP) or (file == _PROXIES and "<locals>" in function.__qualname__)


def _items_of(value: Any) -> list[Any]:
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        return list(value)[:_LONGEST]
    if kind is dict:
        return [part for pair in list(value.items())[:_LONGEST] for part in pair]
    return []


class MonitoredWorker(worker.Worker):
    """A worker whose code can show its values to `_monitor`."""

    def _given(self, real: dict[str, types.ModuleType]) -> dict[str, Any]:
        given = super()._given(real)
        eye = ValueMonitor(given)

        def monitor(value: Any) -> Any:
            if text := eye.complaint(value):
                self.pipe.send({"op": "log", "text": ESCAPED + text, "line": None})
            return value

        return {**given, "_monitor": monitor}


def main(limits: dict[str, Any]) -> None:
    """The worker's own main, with the monitor in it."""
    setattr(worker, "Worker", MonitoredWorker)  # noqa: B010  # mypy knows the name as a class
    worker.main(limits)
