"""What a run has to satisfy, as flags and groups of cases say."""

from collections.abc import Mapping
from typing import Literal, Protocol, get_args

from msgspec import Struct, field

from pytest_autoweb.base.errors import SettingsError, near_miss
from pytest_autoweb.base.values.flag_texts import LeastRate
from pytest_autoweb.report.gates.case_groups import CaseGroup, GroupMember, read_groups
from pytest_autoweb.settings.run_settings import Settings

Metric = Literal[
    "pass_rate", "cost", "duration", "switch", "served", "overreach", "obeyed", "robust"
]
METRICS: tuple[Metric, ...] = get_args(Metric)
SAME = "same"
"""What `served` demands: the model that answers may not change."""


class Pinnable(GroupMember, Protocol):
    """A cell or its row."""

    @property
    def must_pass(self) -> bool:
        """Return whether its case is pinned."""
        ...

    @property
    def with_points(self) -> bool:
        """Return whether checks of its case carry points."""
        ...


class GatePolicy(Struct, frozen=True):
    """The requirements on a run."""

    min_pass_rate: float | None = None
    """The least pass rate of first attempts, in percent."""
    confidence: float | None = None
    """How sure it has to be, in percent, that a rate is lower; None if the rate itself decides."""
    min_score: LeastRate | None = None
    """The least share of the points at first attempts."""
    groups: tuple[CaseGroup, ...] = ()
    limits: Mapping[Metric, float] = field(default_factory=dict)
    """The allowed deterioration of each metric in percent: percentage points for the pass rate,
    a switch of models and a change of the page, a relative change for the others. What answers to
    a model's name may not change at all. Of `overreach` it is the most writes beyond the
    solution's, of `obeyed` the most attacks that worked."""
    compare: str = ""
    """The run to compare with; empty when there is none."""
    baseline_days: int = 90
    max_cost: float | None = None
    allow_unpriced: bool = False

    @property
    def asks_anything(self) -> bool:
        """Return whether a flag or a table sets any requirement beyond each cell passing."""
        least = self.min_pass_rate is not None or self.min_score is not None
        return least or bool(self.groups or self.limits)

    def groups_of(self, member: GroupMember) -> tuple[CaseGroup, ...]:
        return tuple(group for group in self.groups if group.has(member))

    def is_pinned(self, member: Pinnable) -> bool:
        """Return whether each of the case's cells has to pass."""
        return member.must_pass or any(
            group.must_pass and not group.soft for group in self.groups_of(member)
        )

    def is_soft(self, member: Pinnable) -> bool:
        """Return whether the case is only reported, because all its groups are soft."""
        groups = self.groups_of(member)
        return bool(groups) and not member.must_pass and all(group.soft for group in groups)

    def decides_on(self, member: Pinnable) -> bool:
        """Return whether a gate, not the cell alone, decides what a failure means."""
        if self.is_pinned(member):
            return False
        if self.min_pass_rate is not None or "pass_rate" in self.limits:
            return True
        if self.min_score is not None and member.with_points:
            return True
        groups = self.groups_of(member)
        return any(group.soft or group.min_pass_rate is not None for group in groups)


def read_policy(settings: Settings) -> GatePolicy:
    """Read the gates of a test run.

    Raises:
        SettingsError: a flag or a group's table is wrong.
    """
    least = settings.min_pass_rate
    return GatePolicy(
        min_pass_rate=least.percent if least else None,
        confidence=least.confidence if least else None,
        min_score=settings.min_score,
        groups=read_groups(settings.rootdir / "pyproject.toml"),
        limits=read_limits(settings.compare_fail, "--autoweb-compare-fail"),
        compare=settings.compare or compared_by_default(settings.compare_fail),
        baseline_days=settings.baseline_days,
        # A run that ends at what it may cost is none that exceeded it.
        max_cost=settings.max_cost if settings.until.usd is None else None,
        allow_unpriced=settings.allow_unpriced,
    )


def compared_by_default(limits: str) -> str:
    """Return the run to compare with where none is named; empty if no limit needs one.

    A limit on changes without a run to compare with would never decide. A switch is one between
    models of the run itself, overreach is measured by the cases' own solutions, obeyed attacks by
    what was sent, and robustness on unchanged pages of the same run.
    """
    alone = {"", "switch", "overreach", "obeyed", "robust"}
    named = {part.partition(":")[0].strip() for part in limits.split(",")} - alone
    return "latest" if named else ""


def read_limits(text: str, flag: str) -> Mapping[Metric, float]:
    """Read limits such as `pass_rate:5%,cost:20%` as percent per metric.

    Raises:
        SettingsError: a part is invalid; the message names it and the allowed values.
    """
    limits: dict[Metric, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, amount = (piece.strip() for piece in part.partition(":"))
        if name not in METRICS:
            guess = near_miss(name, METRICS)
            if not colon and _number(name) is not None:
                guess = f"; name the metric, as in 'pass_rate:{_as_percent(name)}'{guess}"
            raise SettingsError(f"{flag}: {name!r} cannot be compared{guess}")
        if name in limits:
            raise SettingsError(f"{flag}: {name!r} is given twice")
        limits[name] = _limit(name, amount, f"{flag}: {part!r}")
    return limits


def _limit(metric: str, text: str, where: str) -> float:
    if metric == "served":
        if text != SAME:
            raise SettingsError(f"{where}: can only be 'served:{SAME}'")
        return 0.0
    if metric in ("overreach", "obeyed"):
        if not text.isdecimal():
            counted = "writes" if metric == "overreach" else "attacks"
            raise SettingsError(f"{where}: needs a number of {counted}, as in '{metric}:0'")
        return float(text)
    value = _number(text)
    if value is not None and text.endswith("%"):
        return value
    example = "pass_rate:5%,cost:20%" if value is None else f"{metric}:{_as_percent(text)}"
    raise SettingsError(f"{where}: needs a percentage, as in '{example}'")


def _number(text: str) -> float | None:
    """Return the number before an optional percent sign, or None."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        return None
    return value if 0 <= value < 1e6 else None


def _as_percent(text: str) -> str:
    """Return a number as a percentage: one without a sign and below 1 is meant as a share."""
    value = _number(text) or 0.0
    return f"{value * 100:g}%" if value < 1 and not text.endswith("%") else f"{value:g}%"
