"""Ask the model what to do otherwise, from evidence; it may also give up."""

from pytest_autoweb.attempt.asking import ask
from pytest_autoweb.attempt.guided import evidence_text
from pytest_autoweb.attempt.tools import Tools, change, fail
from pytest_autoweb.calibrate.policy import LEAST_CONFIDENCE
from pytest_autoweb.calibrate.reflection import SCHEMA, past_reflections, read_reflection
from pytest_autoweb.language import Reason, StepProblem
from pytest_autoweb.llm.prompts import fence, render
from pytest_autoweb.results import Attempt, Failure
from pytest_autoweb.stages.repair import execution_output

REPLY_TOKENS = 1_000


def reflect(attempt: Attempt, tools: Tools) -> Attempt:
    """One call; what it says is on the attempt's correction.

    Giving up, or a confidence below 0.3, ends the attempt before it acts.
    """
    guidance, made = tools.guidance, attempt.correction
    assert guidance is not None, "only a correction reflects"
    assert made is not None, "it began with its correction"
    failed = guidance.failed
    messages = render(
        "reflect",
        task=tools.case.user_task,
        advice=guidance.recovery.user_prompt,
        code=fence(failed.code or failed.plan_text, "code"),
        output=fence(execution_output(failed), "output"),
        evidence=evidence_text(tools),
        past=fence(past, "past") if (past := past_reflections(guidance.attempts)) else "",
    )
    schema = SCHEMA if tools.spec.constrained != "none" else None
    attempt, reply = ask(
        attempt, tools, "reflect", messages, json_schema=schema, max_tokens=REPLY_TOKENS
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
    unsure = said.confidence is not None and said.confidence < LEAST_CONFIDENCE
    if said.strategy != "ABANDON" and not unsure:
        return attempt
    why = "ABANDON" if said.strategy == "ABANDON" else f"confidence {said.confidence:g}"
    failure = Failure(kind="repair", message=f"the correction gave up ({why})")
    return fail(attempt, failure, StepProblem.of("(reflect)", Reason(failure.message, "放弃修正")))
