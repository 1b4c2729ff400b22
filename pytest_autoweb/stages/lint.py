"""Refuse code that breaks the sandbox's policy before it runs."""

from pytest_autoweb.attempt.tools import Tools, change, fail
from pytest_autoweb.language import REFUSED_BY_LINT, StepProblem
from pytest_autoweb.results import Attempt, Failure, StepResult
from pytest_autoweb.sandbox.levels import scripts_allowed
from pytest_autoweb.sandbox.lint import lint_code


def lint_script(attempt: Attempt, tools: Tools) -> Attempt:
    """Findings gate execution: with any, every step is `not_run` and repair is offered."""
    scripts = scripts_allowed(tools.settings.sandbox, tools.spec.provider)
    findings = lint_code(attempt.code, scripts=scripts, offered=tools.offered)
    if not findings:
        return attempt
    for finding in findings:
        tools.log.write(f"lint: {finding}")
    steps = tuple(
        StepResult(step_index=step.index, ok=False, status="not_run", error="lint errors")
        for step in attempt.plan_steps
    )
    attempt = change(attempt, lint_errors=findings, step_results=steps)
    first = findings[0]
    failure = Failure(
        kind="lint",
        message=f"{len(findings)} lint error(s), first: {first}",
        rule=first.code,
        line=first.line,
    )
    problems = (StepProblem.of("(lint)", REFUSED_BY_LINT, str(finding)) for finding in findings)
    return fail(attempt, failure, *problems)
