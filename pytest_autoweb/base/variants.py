"""Named variants of one thing, such as the check types or the capture modes of a run."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Generic, Protocol, TypeVar

from pytest_autoweb.base.errors import near_miss

# Compiled when first used, because every session of pytest imports this module.
_NAME = r"[A-Za-z][A-Za-z0-9_]*"


class Variant(Protocol):
    """The description common to all variants; each kind adds its behaviour."""

    @property
    def name(self) -> str:
        """Return its name in flags, case files and reports."""
        ...

    @property
    def summary(self) -> str:
        """Return one sentence for `--help` and the documentation."""
        ...


V = TypeVar("V", bound=Variant)


class Variants(Mapping[str, V], Generic[V]):
    """The variants of one kind by name: the built-in ones, sorted, then those of the user.

    Args:
        kind: the term for one of them in messages, such as `capture mode`.
        built_in: those that are there from the start.
        names: the regular expression that a name must match.
    """

    def __init__(self, kind: str, built_in: Iterable[V] = (), names: str = _NAME) -> None:
        self.kind, self.names = kind, names
        self._built_in: dict[str, V] = {}
        self._users: dict[str, V] = {}
        for variant in built_in:
            self.add(variant)

    def add(self, variant: V) -> V:
        """Add a built-in variant and return it.

        Raises:
            ValueError: the name is not a plain word, or it is taken.
        """
        self._refuse(variant.name)
        # The order of imports varies; that of lists must not.
        self._built_in = dict(sorted({**self._built_in, variant.name: variant}.items()))
        return variant

    def register(self, variant: V) -> V:
        """Add a variant of the user's for the length of a session, and return it.

        Raises:
            ValueError: the name is not a plain word, or it is taken.
        """
        self._refuse(variant.name)
        self._users[variant.name] = variant
        return variant

    def is_built_in(self, name: str) -> bool:
        """Tell whether a variant was there before any session registered its own."""
        return name in self._built_in

    def remove(self, name: str) -> None:
        """Forget a variant that a session registered, when that session ends.

        Raises:
            KeyError: no session registered it; the built-in ones stay.
        """
        del self._users[name]

    def pick(self, name: str) -> V:
        """Return the variant of that name.

        Raises:
            ValueError: there is none; the message lists the existing ones.
        """
        if name not in self:
            raise ValueError(f"unknown {self.kind} {name!r}{near_miss(name, self)}")
        return self[name]

    def summaries(self) -> str:
        """Return one line for each variant, `name: summary`, for help texts."""
        return "\n".join(f"{variant.name}: {variant.summary}" for variant in self.values())

    def _refuse(self, name: str) -> None:
        if not re.fullmatch(self.names, name):
            dash = "" if self.names == _NAME else ", with - between them"
            raise ValueError(f"{name!r} cannot name a {self.kind}; use letters, digits and _{dash}")
        if name in self:
            raise ValueError(f"there is already a {self.kind} named {name!r}")

    def __getitem__(self, name: str) -> V:
        return self._built_in[name] if name in self._built_in else self._users[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._built_in, *self._users))

    def __len__(self) -> int:
        return len(self._built_in) + len(self._users)


class BoundVariants(Variants[V]):
    """Variants whose descriptions stand on a lower floor, bound here to what they do.

    Flags, case files and reports only name variants. They are read by modules that the variants
    import, so these modules look names up among the descriptions. A user's variant describes
    itself, and is registered in both places.

    Args:
        described: a description for each of the built-in variants.
    """

    def __init__(self, described: Variants[Any]) -> None:
        super().__init__(described.kind, names=described.names)
        self._described = described

    def about(self, name: str) -> dict[str, Any]:
        """Return the fields of a built-in variant that its description holds.

        Raises:
            KeyError: nothing describes it.
        """
        return asdict(self._described[name])

    def register(self, variant: V) -> V:
        """Add a variant of the user's to both floors, and return it.

        Raises:
            ValueError: the name is not a plain word, or it is taken.
        """
        self._described.register(variant)
        return super().register(variant)

    def remove(self, name: str) -> None:
        """Forget a variant that a session registered, on both floors.

        Raises:
            KeyError: no session registered it.
        """
        self._described.remove(name)
        super().remove(name)
