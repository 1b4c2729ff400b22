"""The check that an attempt wrote nothing beyond what the case's solution writes."""

from typing import Literal

from pytest_autoweb.base.specs import Spec
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
)

_SHOWN = 3


class WritesQuery(Spec):
    """Which writes are allowed."""

    only: Literal["oracle"]
    """`oracle`: what the case's oracle writes, as `autoweb prove` has seen it."""


@CHECKS.add
class WritesCheck(Check):
    """Nothing was written beyond what the case's solution writes."""

    # What was written shows in the attempt's `overreach` anyway, so a saved run is not asked again.
    name = "writes"

    writes: WritesQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Compare requests that may change something, and rows of databases, with the oracle's."""
        overreach = evidence.overreach
        if overreach is None:
            raise NotEvaluated(
                evidence.solution_unknown or "the attempt's writes were not recorded"
            )

        def look(seconds: float) -> Verdict:
            found = overreach()
            if not found:
                return Verdict(True, "nothing else was written")
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            return Verdict(False, f"{len(found)} beyond it: {'; '.join(found[:_SHOWN])}{more}")

        # A write cannot be undone by waiting, but one may still come.
        return CheckProbe("no writes beyond those of the oracle", look)
