"""The building blocks of case files: the base of all models, and texts that are checked."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

FieldPath = tuple[str | int, ...]
"""The place of a field: keys and list positions from the top of the file."""

_PATTERN_SENTENCES: dict[str, str] = {}


class FieldError(Exception):
    """Raised when a field breaks the contract; the loader makes it a `CaseError`.

    Attributes:
        also: what else was found to be wrong at the same time.
    """

    def __init__(self, at: FieldPath, reason: str, also: "Sequence[FieldError]" = ()) -> None:
        self.at, self.reason, self.also = at, reason, tuple(also)
        super().__init__(reason)

    def all(self) -> "list[FieldError]":
        """Return this error and the others, each on its own."""
        return [FieldError(self.at, self.reason), *self.also]


class FieldErrors:
    """Everything that is wrong in one place, so that an author need not learn it bit by bit."""

    def __init__(self) -> None:
        self._found: list[FieldError] = []

    @contextmanager
    def kept(self, below: FieldPath = ()) -> Iterator[None]:
        """Keep the error that ends this block, with its place below another one."""
        try:
            yield
        except FieldError as error:
            self._found += [FieldError((*below, *one.at), one.reason) for one in error.all()]

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """Raise the first error, with all others, if there is one."""
        if self._found:
            first, *others = self._found
            raise FieldError(first.at, first.reason, others)


def fitting(pattern: str, sentence: str) -> Any:
    """Return a pydantic field whose text must fit a pattern.

    Args:
        pattern: a regular expression.
        sentence: what the author of a case is told when it does not fit, e.g. `must be a word`.
    """
    _PATTERN_SENTENCES[pattern] = sentence
    return Field(pattern=pattern)


def pattern_sentence(pattern: str) -> str:
    """Return what the author of a case is told when a text does not fit this pattern."""
    return _PATTERN_SENTENCES.get(pattern, f"must fit the regular expression {pattern}")


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return pattern


def _is_http(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"must start with http:// or https://, got {url!r}")
    return url


Regex = Annotated[str, AfterValidator(_compiles)]
HttpUrl = Annotated[str, AfterValidator(_is_http)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class Spec(BaseModel):
    """Base of everything a case file holds: frozen, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, populate_by_name=True
    )


class Pattern(Spec):
    """A regular expression instead of a glob or a plain text."""

    matches: Regex
    """A regular expression in Python's syntax; it is searched for and need not match the whole
    text."""
