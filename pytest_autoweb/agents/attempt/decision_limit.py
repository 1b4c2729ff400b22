"""How many decisions an attempt may take that acts by sight."""

from pytest_autoweb.cases.case import Case
from pytest_autoweb.settings.run_settings import Settings

_USUAL = int(Settings.max_decisions.default)
SECONDS_PER_DECISION = 4
"""Seconds of a case's timeout for which it may take one decision."""
SHORT_TASK = 20
"""Words up to which a task gets no further decisions."""
WORDS_PER_DECISION = 3


def decision_limit(settings: Settings, case: Case) -> int:
    """Return the limit that is set, or else one that grows with the task and with its timeout."""
    source = settings.sources.get("max_decisions", "default")
    if source != "default" or settings.max_decisions != _USUAL:
        return settings.max_decisions
    further = max(0, len(case.user_task.split()) - SHORT_TASK) // WORDS_PER_DECISION
    return max(_USUAL + further, int(case.timeout / SECONDS_PER_DECISION))
