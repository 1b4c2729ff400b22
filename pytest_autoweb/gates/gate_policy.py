"""The gates that a run has, and the failed cells and groups of cases on which they decide."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from pydantic import ConfigDict, Field, ValidationError

from pytest_autoweb.errors import SettingsError, near_miss
from pytest_autoweb.settings import Settings
from pytest_autoweb.specs import Documented

TABLE = "tool.autoweb.groups"


class GroupMember(Protocol):
    """A cell or its row, as far as groups are concerned."""

    @property
    def case_id(self) -> str:
        """Return the case's id."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the case's tags."""
        ...


class CaseGroup(Documented):
    """One group: the cases that belong to it, and what its gates demand of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    tags: list[str] = Field(default_factory=list)
    """A case with one of these tags belongs to the group."""
    cases: list[str] = Field(default_factory=list)
    """A case whose id fits one of these patterns (`*`, `?`, `[ab]`) belongs to it as well."""
    min_pass_rate: float | None = Field(default=None, ge=0, le=100)
    """The least pass rate of first attempts, in percent."""
    must_pass: bool = False
    """Whether every cell has to pass."""
    soft: bool = False
    """Failures are reported but do not fail the run, and other gates leave these cases out."""

    def has(self, member: GroupMember) -> bool:
        """Tell whether a case belongs to the group."""
        return bool(set(self.tags) & set(member.tags)) or any(
            fnmatchcase(member.case_id, pattern) for pattern in self.cases
        )


def read_groups(pyproject: Path) -> tuple[CaseGroup, ...]:
    """Read the groups in the file's order; a missing file has none.

    Raises:
        SettingsError: the file is not valid TOML, or a table has an invalid key or value.
    """
    try:
        data: Any = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(f"{pyproject}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{pyproject}: not valid TOML: {error}") from None
    for key in TABLE.split("."):
        data = data.get(key, {}) if isinstance(data, dict) else {}
    if not isinstance(data, dict):
        raise SettingsError(f"{pyproject}: [{TABLE}] has to hold one table per group")
    return tuple(_group(name, table, pyproject) for name, table in data.items())


def _group(name: str, table: Any, pyproject: Path) -> CaseGroup:
    where = f"{pyproject}: [{TABLE}.{name}]"
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where}: has to be a table of {_listed_keys()}")
    for key in table:
        # Checked here because pydantic's message about an unknown key cannot suggest the nearest
        # one.
        if key not in _KEYS:
            raise SettingsError(f"{where}: unknown key {key!r}{near_miss(key, _KEYS)}")
    try:
        group = CaseGroup.model_validate({**table, "name": name})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{where}: {field}: {first['msg']}") from None
    if not (group.tags or group.cases):
        raise SettingsError(f"{where}: no case can belong to it; give `tags` or `cases`")
    if group.min_pass_rate is None and not (group.must_pass or group.soft):
        raise SettingsError(
            f"{where}: asks for nothing; give `min_pass_rate`, `must_pass` or `soft`"
        )
    return group


def _listed_keys() -> str:
    return ", ".join(f"`{key}`" for key in _KEYS)


def empty_group_warning(group: CaseGroup, members: Iterable[GroupMember]) -> str:
    """Return a sentence that says the group is empty and suggests the nearest existing tag."""
    known = sorted({tag for member in members for tag in member.tags})
    unknown = [tag for tag in group.tags if tag not in known]
    guess = near_miss(unknown[0], known) if unknown and known else ""
    return f"no case of this run belongs to the group{guess}"


_KEYS = tuple(field for field in CaseGroup.model_fields if field != "name")


Metric = Literal["pass_rate", "cost", "duration"]
METRICS: tuple[Metric, ...] = get_args(Metric)


class Pinnable(GroupMember, Protocol):
    """A cell or its row."""

    @property
    def must_pass(self) -> bool:
        """Tell whether its case is pinned."""
        ...


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The demands on a run."""

    min_pass_rate: float | None = None
    """The least pass rate of first attempts, in percent."""
    groups: tuple[CaseGroup, ...] = ()
    limits: Mapping[Metric, float] = field(default_factory=dict)
    """By how many percent each metric may get worse: percentage points for the pass rate, a
    relative change for the others."""
    compare: str = ""
    """The run to compare with; empty when there is none."""
    baseline_days: int = 90
    max_cost: float | None = None
    allow_unpriced: bool = False

    @property
    def asks_anything(self) -> bool:
        """Tell whether a flag or a table demands more than that each cell passes."""
        return self.min_pass_rate is not None or bool(self.groups or self.limits)

    def groups_of(self, member: GroupMember) -> tuple[CaseGroup, ...]:
        """Return the groups to which the case belongs."""
        return tuple(group for group in self.groups if group.has(member))

    def is_pinned(self, member: Pinnable) -> bool:
        """Tell whether each of the case's cells has to pass."""
        return member.must_pass or any(
            group.must_pass and not group.soft for group in self.groups_of(member)
        )

    def is_soft(self, member: Pinnable) -> bool:
        """Tell whether the case is only reported, as it belongs to soft groups and nothing else."""
        groups = self.groups_of(member)
        return bool(groups) and not member.must_pass and all(group.soft for group in groups)

    def decides_on(self, member: Pinnable) -> bool:
        """Tell whether a gate, and not the cell alone, decides what a failure means."""
        if self.is_pinned(member):
            return False
        if self.min_pass_rate is not None or "pass_rate" in self.limits:
            return True
        groups = self.groups_of(member)
        return any(group.soft or group.min_pass_rate is not None for group in groups)


def read_policy(settings: Settings) -> GatePolicy:
    """Read the gates of a test run.

    Raises:
        SettingsError: a flag or a group's table is wrong.
    """
    return GatePolicy(
        min_pass_rate=settings.min_pass_rate,
        groups=read_groups(settings.rootdir / "pyproject.toml"),
        limits=read_limits(settings.compare_fail, "--autoweb-compare-fail"),
        # A limit on changes needs a run to compare with, and without one it would never decide.
        compare=settings.compare or ("latest" if settings.compare_fail else ""),
        baseline_days=settings.baseline_days,
        max_cost=settings.max_cost,
        allow_unpriced=settings.allow_unpriced,
    )


def read_limits(text: str, flag: str) -> Mapping[Metric, float]:
    """Read limits such as `pass_rate:5%,cost:20%` as percent per metric.

    Raises:
        SettingsError: names the part that is wrong and what is allowed.
    """
    limits: dict[Metric, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, amount = (piece.strip() for piece in part.partition(":"))
        if name not in METRICS:
            raise SettingsError(f"{flag}: {name!r} cannot be compared{near_miss(name, METRICS)}")
        if name in limits:
            raise SettingsError(f"{flag}: {name!r} is given twice")
        limits[name] = _percent(amount, f"{flag}: {part!r}" if colon else f"{flag}: {name!r}")
    return limits


def _percent(text: str, where: str) -> float:
    try:
        value = float(text.removesuffix("%")) if text.endswith("%") else -1.0
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise SettingsError(f"{where}: needs a percentage, as in 'pass_rate:5%,cost:20%'")
    return value


def groups_file(path: Path) -> tuple[CaseGroup, ...]:
    """Read the groups of a file that was named and therefore has to exist.

    Raises:
        SettingsError: it does not, or it is wrong.
    """
    if not path.is_file():
        raise SettingsError(f"there is no file {path} to read groups from")
    return read_groups(path)
