"""Ask the model to reflect on a failure before it writes again."""

from pytest_autoweb.agents.attempt.outcome_text import outcome_told
from pytest_autoweb.agents.attempt.retry_notes import evidence_text
from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.agents.codegen.plan import plan_for
from pytest_autoweb.agents.correction.reflection import (
    MIN_CONFIDENCE,
    SCHEMA,
    past_reflections,
    read_reflection,
)
from pytest_autoweb.base.language import Reason, StepProblem
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import whole_object
from pytest_autoweb.results.records import Attempt, Failure

REPLY_TOKENS = 1_000


def reflect(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a reflection on the failure and record it on the attempt's correction.

    If the model gives up or its confidence is below 0.3, the attempt ends before it acts.
    """
    guidance, made = tools.guidance, attempt.correction
    assert guidance is not None, "only a correction reflects"
    assert made is not None, "it began with its correction"
    failed = guidance.failed
    messages = render(
        "reflect",
        task=tools.case.user_task,
        advice=guidance.recovery.user_prompt,
        code=fence(code, "code") if (code := failed.code or plan_for(failed, tools)) else "",
        output=outcome_told(failed),
        evidence=evidence_text(tools),
        past=fence(past, "past") if (past := past_reflections(guidance.attempts)) else "",
    )
    schema = SCHEMA if tools.spec.constrained != "none" else None
    attempt, reply = ask(
        attempt,
        tools,
        "reflect",
        messages,
        json_schema=schema,
        max_tokens=REPLY_TOKENS,
        usable=whole_object,
    )
    if attempt.failure:
        return attempt
    said = read_reflection(reply)
    tools.log.write(f"reflection: {said.reflection}")
    attempt = change(
        attempt,
        correction=made.model_copy(
            update={
                "analysis": said.analysis,
                "strategy": said.strategy,
                "reflection": said.reflection,
                "confidence": said.confidence,
            }
        ),
    )
    unsure = said.confidence is not None and said.confidence < MIN_CONFIDENCE
    if said.strategy != "ABANDON" and not unsure:
        return attempt
    why = "ABANDON" if said.strategy == "ABANDON" else f"confidence {said.confidence:g}"
    failure = Failure(kind="repair", message=f"the correction gave up ({why})")
    return fail(attempt, failure, StepProblem.of("(reflect)", Reason(failure.message, "放弃修正")))
