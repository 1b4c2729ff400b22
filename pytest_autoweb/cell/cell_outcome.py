"""The outcome of a cell, given all its attempts."""

from pytest_autoweb.results.records import BROKEN, Attempt, Failure, Outcome

NO_CHECKS = "the case has no checks"


def cell_outcome(
    attempts: list[Attempt], *, has_checks: bool, called: bool = False
) -> tuple[Outcome, str, Failure | None]:
    """Return outcome, one-line reason and failure of a cell, given its attempts.

    Only checks make a cell pass. A repair that breaks down leaves the verdict on the attempt before
    it in force, and a case without checks is at best `ungraded`. A step of a test (`called`) has
    passed once it was carried out, because the test itself judges what came of it.
    """
    last, failure = attempts[-1], attempts[-1].failure
    if failure and failure.kind == "off_record":
        # What would have come of it nobody knows, whatever the checks saw on the page.
        return "off_record", failure.message, failure
    if last.checks_passed:
        return ("passed", "", None) if len(attempts) == 1 else ("healed", "", None)
    reason = failure.message if failure else ""
    if failure and failure.kind in BROKEN:
        if len(attempts) == 1:
            return "broken", reason, failure
        first = attempts[-2].failure
        return "failed", f"{first.message if first else ''} (the repair broke: {reason})", first
    if failure and failure.kind == "question":
        return "needs_input", reason, failure
    if not has_checks:
        if last.executed and called:
            return "passed", "", None
        if last.executed:
            return "ungraded", NO_CHECKS, None
        return "failed", reason, failure
    if last.checks and last.checks_passed is None:
        return "ungraded", _why_ungraded(last), failure
    return "failed", f"{reason}{_question_told(attempts)}", failure


_QUESTION_CHARS = 200


def _question_told(attempts: list[Attempt]) -> str:
    """Return the last question that was asked, for the end of a reason; empty if there was none.

    What a check misses may be what nobody said.
    """
    asked = next((each for each in reversed(attempts) if each.plan_question), None)
    if asked is None:
        return ""
    question, answer = (
        text if len(text) <= _QUESTION_CHARS else f"{text[:_QUESTION_CHARS]}…"
        for text in (" ".join(asked.plan_question.split()), " ".join(asked.plan_answer.split()))
    )
    became = f'was answered "{answer}"' if answer else "nobody answered"
    return f' (the model asked "{question}" and {became})'


def _why_ungraded(last: Attempt) -> str:
    unknown = [c for c in last.checks if c.passed is None and not c.advisory]
    if not unknown:
        return "all checks are advice only (see --autoweb-judge-labels)"
    return f"check {unknown[0].number} ({unknown[0].type}): {unknown[0].message}"
