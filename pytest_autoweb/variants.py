"""Named variants of one thing, such as the check types or the capture modes of a run."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar

from pytest_autoweb.errors import near_miss

# Compiled when first used, because every session of pytest imports this module.
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
AGENT_NAME = r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*"
"""Agents have the names of their projects, e.g. `browser-use`."""


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

    The module `home`, or the modules of the package `home`, add the built-in variants with `add`;
    there is no list to maintain. They are imported at the first use of any, because they need this
    module, and because a session without models must not pay for them.

    Args:
        kind: the term for one of them in messages, such as `capture mode`.
        home: dotted name of the module, or of the package of modules, that adds the built-in ones.
        names: the regular expression that a name must match.
    """

    def __init__(self, kind: str, home: str, names: str = _NAME) -> None:
        self.kind, self._names = kind, names
        self._home: str | None = home
        self._known: dict[str, V] = {}

    def add(self, variant: V) -> V:
        """Add a variant and return it.

        Raises:
            ValueError: the name is not a plain word, or it is taken.
        """
        if not re.fullmatch(self._names, variant.name):
            dash = "" if self._names == _NAME else ", with - between them"
            raise ValueError(
                f"{variant.name!r} cannot name a {self.kind}; use letters, digits and _{dash}"
            )
        if variant.name in self._known:
            raise ValueError(f"there is already a {self.kind} named {variant.name!r}")
        self._known[variant.name] = variant
        return variant

    def remove(self, name: str) -> None:
        """Forget a variant that a session added, when that session ends."""
        self._known.pop(name, None)

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

    def _complete(self) -> dict[str, V]:
        if self._home is not None:
            # Late, because a session without models needs no variant.
            import pkgutil

            # Cleared first, because a module that is being imported may look a variant up.
            name, self._home = self._home, None
            home = import_module(name)
            for module in pkgutil.iter_modules(getattr(home, "__path__", ())):
                import_module(f"{name}.{module.name}")
            # The order of imports varies; that of lists must not.
            self._known = dict(sorted(self._known.items()))
        return self._known

    def __getitem__(self, name: str) -> V:
        return self._complete()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())


def variants_of(module: str, name: str) -> Variants[Any]:
    """Return the variants that a module further up holds.

    Flags, case files and reports name variants, but are read by modules that the variants
    themselves import; an import at the top would be circular.

    Args:
        module: dotted name of the module.
        name: their name in that module.
    """
    found = getattr(import_module(module), name)
    assert isinstance(found, Variants), f"{module}.{name} is not a registry of variants"
    return found


StrategyName = str
"""The name of a registered strategy."""


def known_strategies() -> Variants[Variant]:
    """Return all registered strategies, by name."""
    return variants_of("pytest_autoweb.strategies", "STRATEGIES")


def known_strategy(name: str) -> StrategyName:
    """Return the name unchanged.

    Raises:
        ValueError: no strategy has this name; the message suggests the nearest one.
    """
    return known_strategies().pick(name).name


def contestants(
    models: tuple[str, ...], agents: tuple[StrategyName, ...], ways: tuple[str, ...]
) -> tuple[str, ...]:
    """Return every model once for each agent and way of writing a script, but controls only once.

    The name identifies a contestant: `MODEL@AGENT`, `MODEL@WAY`, or both.

    Args:
        models: the names given.
        agents: fewer than two do not form an axis.
        ways: likewise; only `codegen` writes scripts.
    """
    each_way = tuple(f"@{way}" for way in ways) if len(ways) > 1 else ("",)
    endings = each_way
    if len(agents) > 1:
        endings = tuple(
            f"@{agent}{way}"
            for agent in agents
            for way in (each_way if agent == "codegen" else ("",))
        )
    return tuple(
        name
        for model in models
        for name in ([model] if model.startswith("builtin/") else [model + e for e in endings])
    )
