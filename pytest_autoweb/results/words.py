"""The closed sets of words that results use."""

from typing import Literal

Outcome = Literal["passed", "failed", "healed", "broken", "ungraded", "skipped"]
"""Of a cell; `healed` is passed only after repair, `broken` is infrastructure."""

StageName = Literal[
    "plan",
    "capture",
    "visual",
    "generate",
    "lint",
    "execute",
    "judge",
    "repair",
    "analysis",
    "decide",  # strategy act: one decision on the marked page
    "navigate",  # strategy collect, its phases
    "explore",
    "paginate",
    "collect",
    "locate",  # a question of the vision locator
    "reflect",
]

FailureKind = Literal[
    "model",  # the model's service gave no usable reply
    "plan",  # the reply holds no plan, or the plan asks a question nobody answers
    "lint",  # the code is missing, or refused by the sandbox's policy
    "repair",  # the repair says the same again
    "step",  # the code raised while it ran
    "timeout",  # a step ran out of time
    "sandbox",  # a call was refused, or the worker was killed by a limit
    "limit",  # a strategy used up its decisions, calls or repetitions
    "check",  # the steps ran, a check does not hold
    "navigation",  # the entry page could not be opened
    "browser",  # the browser or the page died
    "webserver",  # the case's web server did not start or reset
    "killed",  # the test process died while it ran the cell
    "internal",  # a bug in pytest-autoweb
]

StepStatus = Literal["ok", "failed", "blocked", "skipped", "not_run"]
"""`blocked`: an earlier step failed; `not_run`: nothing was executed (lint, empty plan)."""
