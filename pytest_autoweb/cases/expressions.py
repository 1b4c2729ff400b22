"""The `{{ … }}` of case files: the names they may use, and the rendering of a tree of values.

A case file is data, so its expressions are too: no loops, no macros, no global functions, nothing
random, and an undefined name is an error.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from jinja2 import (
    StrictUndefined,
    TemplateError,
    TemplateRuntimeError,
    TemplateSyntaxError,
    Undefined,
    UndefinedError,
    nodes,
)
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from pytest_autoweb.base.errors import near_miss
from pytest_autoweb.base.field_errors import FieldErrors, FieldPath
from pytest_autoweb.cases.deployment import Deployment, missing_variable

_MARKS = ("{{", "{%", "{#")
_MAX_REPEATED = 100_000
_INNER = re.compile(r"\{\{[-+]?(.*?)-?\}\}", re.DOTALL)


class Scope:
    """The values behind one word, such as `vars`; each is rendered on access.

    It is deliberately not a mapping: `vars.items` is the variable of that name, not a method.
    """

    def __init__(
        self,
        label: str,
        values: Mapping[str, Any],
        render: Callable[[str], Any] = lambda text: text,
    ) -> None:
        self._label, self._values, self._render = label, values, render

    def __getitem__(self, key: object) -> Any:
        name = key if isinstance(key, str) else json.dumps(key)
        return self._wrapped(f"{self._label}.{name}", self._values[name])

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        raise TypeError(f"'{self._label}' holds several values; name one of them")

    def _wrapped(self, label: str, value: Any) -> Any:
        if isinstance(value, str):
            return self._render(value)
        if isinstance(value, list):
            return [self._wrapped(f"{label}[{i}]", item) for i, item in enumerate(value)]
        return Scope(label, value, self._render) if isinstance(value, Mapping) else value

    def unknown(self, name: object) -> str:
        """Return the sentence about an unknown name, which suggests the nearest known one."""
        return f"unknown name '{self._label}.{name}'{near_miss(str(name), self._values)}"


class _Variables(Mapping[str, str]):
    """The variables of a deployment, which are sifted once one is asked for: few cases name any."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def __getitem__(self, name: str) -> str:
        return self._deployment.variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._deployment.variables)

    def __len__(self) -> int:
        return len(self._deployment.variables)


class _Environ(Scope):
    """The environment variables behind `env`, without those that hold keys."""

    def __init__(self, label: str, deployment: Deployment) -> None:
        super().__init__(label, _Variables(deployment))
        self._deployment = deployment

    def __iter__(self) -> Iterator[str]:
        raise TypeError("'env' holds all variables; name one of them")

    def unknown(self, name: object) -> str:
        """Return the sentence about a variable that is not set, or holds a secret."""
        return missing_variable(str(name), self._deployment.environ)


class _Undefined(StrictUndefined):
    """An undefined name, whose error message lists the names that exist."""

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: Any = None,
        exc: type[TemplateRuntimeError] = UndefinedError,
    ) -> None:
        if isinstance(obj, Scope):
            hint = obj.unknown(name)
        elif obj is missing and name is not None:
            hint = f"unknown name {name!r}"
        super().__init__(hint, obj, name, exc)


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox that also limits the operators that let a short expression run for hours."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            raise SecurityError("'**' is not available")
        sizes = [len(side) for side in (left, right) if isinstance(side, str | list | tuple)]
        counts = [abs(side) for side in (left, right) if isinstance(side, int)]
        if sizes and counts and sizes[0] * counts[0] > _MAX_REPEATED:
            raise SecurityError("the repeated text is too long")
        return super().call_binop(context, operator, left, right)


def plain(value: Any) -> Any:
    """Return the JSON-like form of an expression's value.

    Raises:
        TypeError: the value is not data, but a method, a generator or the like.
    """
    if isinstance(value, Undefined):
        return str(value)  # Turning it into text raises the error with the message about this name.
    if isinstance(value, Scope):
        return {key: plain(value[key]) for key in value}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"the expression gives a {type(value).__name__}, which is not a value")


def _printable(value: Any) -> Any:
    if isinstance(value, Undefined | Scope):
        return value
    if value is None:
        raise TypeError("the expression gives null, which cannot be part of a text")
    return plain(value)


@cache
def _environment() -> _Environment:
    # Jinja drops a trailing newline by default. Nothing is escaped, because values go into tasks,
    # addresses and checks, not into HTML.
    environment = _Environment(
        undefined=_Undefined, finalize=_printable, keep_trailing_newline=True, autoescape=False
    )
    environment.globals.clear()
    # Every xdist worker must render the same text, which a random filter would prevent.
    del environment.filters["random"]
    environment.filters["tojson"] = lambda value: json.dumps(plain(value), ensure_ascii=False)
    return environment


@lru_cache(maxsize=8192)
def _compiled(text: str) -> tuple[Callable[..., str], Callable[..., Any] | None]:
    """Return the renderer of a text, and its evaluator when the text is exactly one expression."""
    environment = _environment()
    tree = environment.parse(text)
    _refuse_statements(tree)
    render = environment.from_string(text).render
    parts = [part for output in tree.body for part in getattr(output, "nodes", [])]
    inner = _INNER.fullmatch(text.strip())
    if len(parts) != 1 or isinstance(parts[0], nodes.TemplateData) or inner is None:
        return render, None
    return render, environment.compile_expression(inner[1], undefined_to_none=False)


def _refuse_statements(tree: nodes.Template) -> None:
    for statement in tree.find_all(nodes.Stmt):
        if not isinstance(statement, nodes.Output | nodes.If):
            name = type(statement).__name__.lower()
            raise TemplateSyntaxError(
                f"a '{name}' block is not available; only expressions, if and raw are",
                statement.lineno,
            )


class Expressions:
    """Renders one case's strings with the names known at that moment."""

    def __init__(
        self,
        *,
        variables: Mapping[str, Any],
        matrix: Mapping[str, Any] | None = None,
        secrets: Mapping[str, Any] | None = None,
        webserver: Mapping[str, str] | None = None,
        webservers: Mapping[str, Mapping[str, str]] | None = None,
        mail: Mapping[str, str] | None = None,
        deployment: Deployment | None = None,
    ) -> None:
        self._rendering: list[str] = []
        self._variables = variables
        self._names: dict[str, Any] = {"vars": Scope("vars", variables, self._variable)}
        if deployment is not None:
            self._names["env"] = _Environ("env", deployment)
            if deployment.base_url:
                self._names["base_url"] = deployment.base_url
        if matrix is not None:
            self._names["matrix"] = Scope("matrix", matrix)
        if secrets is not None:
            # The value itself never enters a rendered case.
            placeholders = {name: f"<secret:{name}>" for name in secrets}
            self._names["secrets"] = Scope("secrets", placeholders)
        if webserver is not None:
            self._names["webserver"] = Scope("webserver", webserver)
        if webservers:
            self._names["webservers"] = Scope("webservers", webservers)
        if mail:
            self._names["mail"] = Scope("mail", mail, self._variable)

    def tree(
        self, value: Any, at: FieldPath, keeps_type: Callable[[FieldPath], bool], wrong: FieldErrors
    ) -> Any:
        """Return a copy of a value with every string in it rendered.

        Args:
            value: the value in the case file.
            at: its place in the file, for errors.
            keeps_type: whether a string at this place that is exactly one expression becomes the
                expression's value; elsewhere it becomes text, unless the value is a list or
                mapping.
            wrong: collects the errors; a string that cannot be rendered stays as written.
        """
        if isinstance(value, list):
            return [
                self.tree(item, (*at, index), keeps_type, wrong) for index, item in enumerate(value)
            ]
        if isinstance(value, Mapping):
            return {
                key: self.tree(item, (*at, key), keeps_type, wrong) for key, item in value.items()
            }
        if not isinstance(value, str):
            return value
        try:
            return self._value(value, keeps_type(at))
        # A user's expression can raise anything, from ZeroDivisionError to a filter's own errors.
        except Exception as error:
            for reason in self._reasons(value, error):
                wrong.add(at, reason)
            return value

    def _reasons(self, text: str, error: Exception) -> list[str]:
        """Return the error of each expression in a text whose first expression failed."""
        reasons = {self._reason(error): None}
        for part in _INNER.finditer(text):
            try:
                self._value(part[0], keeps_type=False)
            except Exception as other:
                reasons.setdefault(self._reason(other))
        return list(reasons)

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TemplateSyntaxError):
            return f"is not a valid expression: {error.message}"
        if isinstance(error, TemplateError):
            return self._unknown(str(error))
        return f"cannot be rendered: {error}"

    def _unknown(self, message: str) -> str:
        """Return Jinja's message about an undefined name, extended with the names that exist."""
        if (lone := re.fullmatch(r"unknown name '(\w+)'", message)) is None:
            return message
        if lone[1] == "base_url":
            return "base_url is not known; give --base-url, or base_url in pytest's ini file"
        if lone[1] == "mail":
            return "mail is not known; hand {mail_port} to a web server, in its command or env"
        if lone[1] in self._variables:
            return f"{message}; write vars.{lone[1]}"
        return message + near_miss(lone[1], self._names)

    def _variable(self, text: str) -> Any:
        if text in self._rendering:
            raise RecursionError("the variable refers to itself")
        self._rendering.append(text)
        try:
            return self._value(text, keeps_type=True)
        finally:
            self._rendering.pop()

    def _value(self, text: str, keeps_type: bool) -> Any:
        if not any(mark in text for mark in _MARKS):
            return text
        render, evaluate = _compiled(text)
        if evaluate is not None:
            value = plain(evaluate(self._names))
            if keeps_type or isinstance(value, list | dict):
                return value
        return render(self._names)


def syntax_error(text: str) -> str | None:
    if not any(mark in text for mark in _MARKS):
        return None
    try:
        _compiled(text)
    except TemplateSyntaxError as error:
        return f"is not a valid expression: {error.message}"
    # Deep nesting overflows Jinja's parser or Python's compiler.
    except (RecursionError, SyntaxError, MemoryError, ValueError) as error:
        return f"is not a valid expression: {error}"
    return None
