"""Errors in the fields of data that people write, each with its place."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

FieldPath = tuple[str | int, ...]
"""The place of a field: keys and list positions from the top of the file."""


class FieldError(Exception):
    """Raised when a field breaks the contract; the loader turns it into a `CaseError`.

    Attributes:
        also: other errors found at the same time.
    """

    def __init__(self, at: FieldPath, reason: str, also: "Sequence[FieldError]" = ()) -> None:
        self.at, self.reason, self.also = at, reason, tuple(also)
        super().__init__(reason)

    def all(self) -> "list[FieldError]":
        """Return this error and the others separately."""
        return [FieldError(self.at, self.reason), *self.also]


class FieldErrors:
    """All errors in one place, so that an author sees them together."""

    def __init__(self) -> None:
        self._found: list[FieldError] = []

    @contextmanager
    def kept(self, below: FieldPath = ()) -> Iterator[None]:
        """Keep the error that ends this block, with `below` in front of its place."""
        try:
            yield
        except FieldError as error:
            self._found += [FieldError((*below, *one.at), one.reason) for one in error.all()]

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, at: FieldPath, reason: str) -> None:
        self._found.append(FieldError(at, reason))

    def all(self) -> tuple[FieldError, ...]:
        """Return each error that was kept."""
        return tuple(self._found)

    def raise_any(self) -> None:
        """Raise the first error, with all others, if there is one."""
        if self._found:
            first, *others = self._found
            raise FieldError(first.at, first.reason, others)
