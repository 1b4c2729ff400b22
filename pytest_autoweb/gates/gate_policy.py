"""Which gates a run has, read once from its settings, and which failed cells they decide on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.near_miss import near_miss
from pytest_autoweb.options import Settings
from pytest_autoweb.report.groups import CaseGroup, GroupMember, read_groups

Metric = Literal["pass_rate", "cost", "duration"]
METRICS: tuple[Metric, ...] = get_args(Metric)


class Pinnable(GroupMember, Protocol):
    """A cell or its row."""

    @property
    def must_pass(self) -> bool:
        """Whether its case is pinned."""
        ...


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What is asked of a run."""

    min_pass_rate: float | None = None
    """Percent."""
    groups: tuple[CaseGroup, ...] = ()
    limits: Mapping[Metric, float] = field(default_factory=dict)
    """Percent by which a metric may get worse: points of the pass rate, else a share."""
    compare: str = ""
    """The run to compare with; empty: none."""
    baseline_days: int = 90
    max_cost: float | None = None
    allow_unpriced: bool = False

    @property
    def asks_anything(self) -> bool:
        """Whether a flag or a table asks for more than that each cell passes."""
        return self.min_pass_rate is not None or bool(self.groups or self.limits)

    def groups_of(self, member: GroupMember) -> tuple[CaseGroup, ...]:
        """The groups the case belongs to."""
        return tuple(group for group in self.groups if group.has(member))

    def is_pinned(self, member: Pinnable) -> bool:
        """Whether each of the case's cells has to pass."""
        return member.must_pass or any(
            group.must_pass and not group.soft for group in self.groups_of(member)
        )

    def is_soft(self, member: Pinnable) -> bool:
        """Whether the case is reported only: it belongs to soft groups and nothing else."""
        groups = self.groups_of(member)
        return bool(groups) and not member.must_pass and all(group.soft for group in groups)

    def decides_on(self, member: Pinnable) -> bool:
        """Whether a gate, not the cell alone, says what its failure means."""
        if self.is_pinned(member):
            return False
        if self.min_pass_rate is not None or "pass_rate" in self.limits:
            return True
        groups = self.groups_of(member)
        return any(group.soft or group.min_pass_rate is not None for group in groups)


def read_policy(settings: Settings) -> GatePolicy:
    """The gates of a test run.

    Raises:
        SettingsError: a flag or a group's table is wrong.
    """
    return GatePolicy(
        min_pass_rate=settings.min_pass_rate,
        groups=read_groups(settings.rootdir / "pyproject.toml"),
        limits=read_limits(settings.compare_fail, "--autoweb-compare-fail"),
        compare=settings.compare or ("latest" if settings.compare_fail else ""),
        baseline_days=settings.baseline_days,
        max_cost=settings.max_cost,
        allow_unpriced=settings.allow_unpriced,
    )


def read_limits(text: str, flag: str) -> Mapping[Metric, float]:
    """`pass_rate:5%,cost:20%` as percent per metric.

    Raises:
        SettingsError: names the part that is wrong and what is allowed.
    """
    limits: dict[Metric, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, amount = (piece.strip() for piece in part.partition(":"))
        if name not in METRICS:
            raise SettingsError(f"{flag}: {name!r} cannot be compared{near_miss(name, METRICS)}")
        if name in limits:
            raise SettingsError(f"{flag}: {name!r} stands there twice")
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
    """The groups of a file that was named, which therefore has to exist.

    Raises:
        SettingsError: it does not, or it is wrong.
    """
    if not path.is_file():
        raise SettingsError(f"there is no file {path} to read groups from")
    return read_groups(path)
