"""Finds the functions that `python:` checks name, in the user's own code base."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

_ROOT_FILES = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py")


class FunctionProblem(Exception):
    """Raised when there is no such function, or it cannot be called as the check asks."""


def find_function(
    reference: str, arguments: Mapping[str, Any], case_path: Path | None
) -> Callable[..., Any]:
    """The function of `package.module:function`.

    The module is looked for beside the case file, in the folders above it up to the project's
    root, in the working folder, and then wherever Python finds modules.

    Args:
        reference: names module and function.
        arguments: what it is to be called with, beside the context.
        case_path: the case's file; None for inline cases.

    Raises:
        FunctionProblem: with a reason for the author of the case.
    """
    name, _, attribute = reference.partition(":")
    module = _module(name, _folders(case_path))
    function = getattr(module, attribute, None)
    if not callable(function):
        raise FunctionProblem(f"module {name!r} has no function {attribute!r}")
    if inspect.iscoroutinefunction(function):
        raise FunctionProblem(f"{attribute!r} must not be async")
    try:
        inspect.signature(function).bind(object(), **arguments)
    except (TypeError, ValueError) as error:
        wanted = ", ".join(["context", *(f"{key}=…" for key in arguments)])
        raise FunctionProblem(f"cannot be called as {attribute}({wanted}): {error}") from error
    return function  # type: ignore[no-any-return]


def _folders(case_path: Path | None) -> tuple[Path, ...]:
    here = Path.cwd()
    if case_path is None:
        return (here,)
    found = []
    for folder in case_path.absolute().parents:
        found.append(folder)
        if any((folder / name).is_file() for name in _ROOT_FILES):
            return (*found, here)
    return (found[0], here)


def _module(name: str, folders: tuple[Path, ...]) -> ModuleType:
    inner = Path(*name.split("."))
    for folder in folders:
        for file in (folder / inner.with_suffix(".py"), folder / inner / "__init__.py"):
            if file.is_file():
                return _imported_from(name, file, folder)
    return _imported(name)


def _imported_from(name: str, file: Path, folder: Path) -> ModuleType:
    with _first_on_path(folder):
        module = _imported(name)
    origin = getattr(module, "__file__", None)
    if origin is None or not Path(origin).samefile(file):
        raise FunctionProblem(
            f"another module {name!r} is imported already; give one of them another name"
        )
    return module


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Modules beside the one imported are found first, and later still found."""
    entry = str(folder)
    known = entry in sys.path
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(entry)
        if not known:
            sys.path.append(entry)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise FunctionProblem(f"there is no module {name!r}") from error
        raise FunctionProblem(f"module {name!r} cannot be imported: {error}") from error
    except Exception as error:
        # The module is the user's: it may fail in any way while it is imported.
        reason = f"{type(error).__name__}: {error}"
        raise FunctionProblem(f"module {name!r} cannot be imported: {reason}") from error
