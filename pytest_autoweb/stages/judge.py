"""Decide success from outside: the case's checks on the live page after the last step."""

from collections.abc import Callable
from typing import Any

from pytest_autoweb.browser.scene import shot, take_scene
from pytest_autoweb.checks.attempt_evidence import Evidence
from pytest_autoweb.checks.check_type import Check
from pytest_autoweb.checks.rubric_checks import JudgeCheck
from pytest_autoweb.judge.checks import judge_checks
from pytest_autoweb.judge.score import score
from pytest_autoweb.results import Attempt, Failure
from pytest_autoweb.stages.base import Tools, change, charge
from pytest_autoweb.stages.critic import with_findings
from pytest_autoweb.stages.evidence import keep_page, keep_records
from pytest_autoweb.stages.execute import relative, relative_scene


def judge_outcome(attempt: Attempt, tools: Tools) -> Attempt:
    """Evaluate every check; an error of a step does not matter here, only the outcome does."""
    evidence = Evidence(
        page=tools.page,
        answered=attempt.answered,
        answer=attempt.answer,
        redact=tools.redact,
        wire=tools.wire,
        downloads=tools.downloads,
        actions=attempt.tool_calls,
        rubric_judge=tools.judge,
        case_path=tools.case_path,
        case_id=tools.case.id,
        entry_url=tools.case.entry_url,
        user_task=tools.case.user_task,
    )
    checks = [_with_secrets(check, tools.reveal) for check in tools.case.expect]
    results = judge_checks(
        checks,
        evidence,
        timeout_s=tools.settings.check_timeout,
        checksums=tools.check_checksums,
    )
    for exchange in tools.judge.exchanges if tools.judge else ():
        attempt = charge(attempt, "judge", exchange)
    # At once: the page may go on changing after the verdict.
    attempt = keep_records(keep_page(attempt, tools), tools)
    passed, points = score(results)
    attempt = change(
        attempt,
        # The checks have seen it as it is; what is kept holds no secrets.
        answer=_mapped(attempt.answer, tools.redact),
        checks=results,
        checks_passed=passed,
        score=points,
        false_success=attempt.executed and passed is False,
        final_url=tools.redact(tools.page.url),
    )
    for result in results:
        verdict = {True: "holds", False: "does not hold", None: "could not be evaluated"}
        tools.log.write(f"check {result.index} {result.type}: {verdict[result.passed]}")
    return _keep_end(attempt, tools)


def _with_secrets(check: Check, reveal: Callable[[str], str]) -> Check:
    """The check with its `<secret:name>` replaced, e.g. in a request's headers.

    Not in what is put to a model.
    """
    if isinstance(check, JudgeCheck):
        return check
    plain = check.model_dump(by_alias=True, exclude_unset=True)
    return type(check).model_validate(_mapped(plain, reveal))


def _mapped(value: Any, change_text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change_text(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change_text) for key, item in value.items()}
    return [_mapped(item, change_text) for item in value] if isinstance(value, list) else value


def _keep_end(attempt: Attempt, tools: Tools) -> Attempt:
    """The last picture, and the scene when steps ran well but a check does not hold."""
    picture = tools.folder / "final.jpg"
    if shot(tools.page, picture, tools.hidden):
        attempt = change(attempt, final_screenshot=relative(picture, tools))
    if attempt.checks_passed is not False or attempt.failure:
        return attempt
    attempt = with_findings(change(attempt, findings=()), tools)
    broken = next(c for c in attempt.checks if c.passed is False and not c.advisory)
    last = attempt.step_results[-1].step_index if attempt.step_results else 0
    scene = take_scene(
        tools.page,
        tools.watch,
        step_index=last,
        mode=tools.mode,
        folder=tools.folder,
        redact=tools.redact,
    )
    failure = Failure(
        kind="check",
        message=f"check {broken.index} ({broken.type}) does not hold: expected "
        f"{broken.expected}, saw {broken.actual}",
    )
    return change(attempt, scene=relative_scene(scene, tools), failure=failure)
