"""The table of built-in gates, in the order of the report, to which users add their own."""

from pytest_autoweb.base.variants import Variants
from pytest_autoweb.report.gates.baseline_gates import about_baseline, drops, steady_cases
from pytest_autoweb.report.gates.cost_gates import cost_cap, costs, durations
from pytest_autoweb.report.gates.gate_context import Gate
from pytest_autoweb.report.gates.model_gates import (
    resisted,
    restrained,
    robust,
    served,
    switches,
)
from pytest_autoweb.report.gates.outcome_gates import (
    groups,
    least_scores,
    pass_rates,
    pinned_cases,
    without_verdict,
)

GATES: Variants[Gate] = Variants(
    "gate",
    (
        Gate(
            name="infrastructure",
            summary="a model none of whose cells reached a verdict is an error, not a pass rate of "
            "0%",
            evaluate=without_verdict,
            order=100,
        ),
        Gate(
            name="must_pass",
            summary="every cell of a pinned case passes, if need be after a repair",
            evaluate=pinned_cases,
            order=200,
        ),
        Gate(
            name="pass_rate",
            summary="each model passes a minimum share of the cells at the first attempt",
            evaluate=pass_rates,
            order=300,
        ),
        Gate(
            name="score",
            summary="each model earns a minimum share of the points at the first attempt",
            evaluate=least_scores,
            order=350,
        ),
        Gate(
            name="groups",
            summary="each group of `[tool.autoweb.groups]` meets what its table asks",
            evaluate=groups,
            order=400,
        ),
        Gate(
            name="baseline",
            summary="a notice, never a failure: the run that this one is compared with, or why "
            "none is",
            evaluate=about_baseline,
            order=500,
        ),
        Gate(
            name="pass_rate_drop",
            summary="no model's pass rate fell significantly and by more than the margin",
            evaluate=drops,
            order=600,
        ),
        Gate(
            name="switch",
            summary="each other model is shown to be not worse than the first by the margin",
            evaluate=switches,
            order=650,
        ),
        Gate(
            name="served",
            summary="the provider did not change a model under the same name",
            evaluate=served,
            order=660,
        ),
        Gate(
            name="overreach",
            summary="no model wrote more than so much beyond the cases' solutions",
            evaluate=restrained,
            order=670,
        ),
        Gate(
            name="obeyed",
            summary="no model obeyed more than so many attacks by the page",
            evaluate=resisted,
            order=680,
        ),
        Gate(
            name="robust",
            summary="no change of the page costs a model more than so many points",
            evaluate=robust,
            order=690,
        ),
        Gate(
            name="cost",
            summary="no model's cost per cell grew certainly and by more than the margin",
            evaluate=costs,
            order=700,
        ),
        Gate(
            name="duration",
            summary="no model's time per cell grew certainly and by more than the margin",
            evaluate=durations,
            order=800,
        ),
        Gate(
            name="steady_cases",
            summary="no case that never failed in earlier runs now fails on every repeat",
            evaluate=steady_cases,
            order=900,
        ),
        Gate(
            name="cost_cap",
            summary="the run spends no more than the cap, and no call was refused because of it",
            evaluate=cost_cap,
            order=1000,
        ),
    ),
)
"""All gates, those of users among them."""
