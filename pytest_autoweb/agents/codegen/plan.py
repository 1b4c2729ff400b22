"""Ask the model for a plan, whose questions are answered or refused."""

from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.base.language import (
    NO_STEPS,
    PLAN_ASKS,
    StepProblem,
)
from pytest_autoweb.cases.case import Case
from pytest_autoweb.models.prompts import render
from pytest_autoweb.models.replies import (
    PlanParse,
    parse_plan,
)
from pytest_autoweb.results.records import Attempt, Failure


def plan_case(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a plan; `--autoweb-questions` decides what happens if it contains a question."""
    attempt = change(attempt, prompt=task_text(tools.case, tools))
    attempt, plan = _ask_plan(attempt, tools, hint=_hint(tools))
    # Each answer may lead to one more question.
    for turn in range(1, len(tools.case.answers) + 1 if tools.settings.answers else 1):
        asks = plan.question if plan and plan.has_question else ""
        answer = find_answer(tools.case.answers, asks) if asks else ""
        if not answer:
            break
        attempt, plan = _ask_plan(attempt, tools, answer=answer, asked=plan, turn=turn)
        attempt = change(
            attempt,
            plan_question=attempt.plan_question or asks,
            plan_answer="" if attempt.plan_question else tools.redact(answer),
        )
    if plan is None:
        return attempt
    if plan.has_question and tools.settings.questions != "record":
        failure = Failure(kind="question", message=f"the plan needs input: {plan.question}")
        return fail(attempt, failure, StepProblem.of("(plan)", PLAN_ASKS, plan.question))
    if not plan.steps:
        failure = Failure(kind="plan", message="the reply holds no plan steps")
        return fail(attempt, failure, StepProblem.of("(plan)", NO_STEPS))
    return attempt


def plan_as_task(attempt: Attempt, tools: Tools) -> Attempt:
    """Use the task as the plan, without a call to the model."""
    return change(attempt, prompt=task_text(tools.case, tools))


def plan_for(attempt: Attempt, tools: Tools) -> str:
    """Return the plan as a prompt shows it; without one, the task is its only step."""
    return attempt.plan_text or f"Step 1: {tools.case.user_task}"


def task_text(case: Case, tools: Tools) -> str:
    """Return a task as shown in the report; the prompts have their own wording."""
    label = "Entry URL" if tools.settings.language == "en" else "入口URL"
    return tools.redact(f"{case.user_task}\n{label}: {case.entry_url}")


def _ask_plan(
    attempt: Attempt,
    tools: Tools,
    *,
    hint: str = "",
    answer: str = "",
    asked: PlanParse | None = None,
    turn: int = 0,
) -> tuple[Attempt, PlanParse | None]:
    messages = render(
        "plan",
        mode="PLAN_REFINE" if asked or hint else "PLAN_ONLY",
        task=tools.case.user_task,
        url=tools.case.entry_url,
        hint=hint,
        earlier_plan=asked.text if asked else "",
        question=asked.question if asked else "",
        answer=answer,
    )
    attempt, text = ask(attempt, tools, "plan", messages, turn=turn)
    if attempt.failure:
        return attempt, None
    plan = parse_plan(text)
    attempt = change(
        attempt,
        plan_text=tools.redact(plan.text),
        plan_steps=plan.steps,
        plan_confirmed=plan.confirmed,
        plan_has_question=plan.has_question,
        plan_question=plan.question,
    )
    tools.log.write(f"plan: {len(plan.steps)} steps, confirmed={plan.confirmed}")
    return attempt, plan


def _hint(tools: Tools) -> str:
    """Return the problem with the previous attempt's plan; empty if there was none."""
    if tools.previous and tools.previous.failure:
        return tools.previous.failure.message
    return ""


def find_answer(answers: dict[str, str], question: str) -> str:
    """Return the case's answers to questions that overlap with this one, or its only answer."""
    asked = question.casefold()
    fitting = [
        answer
        for known, answer in answers.items()
        if known.casefold().strip(" ?？") in asked or asked.strip(" ?？") in known.casefold()
    ]
    if len(answers) == 1:
        return next(iter(answers.values()))
    return " ".join(dict.fromkeys(fitting))
