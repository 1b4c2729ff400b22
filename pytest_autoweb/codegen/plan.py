"""Asking the model for a plan, and answering or refusing its questions."""

from pytest_autoweb.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.language import NO_STEPS, PLAN_ASKS, StepProblem
from pytest_autoweb.llm.plan_syntax import PlanParse, parse_plan
from pytest_autoweb.llm.prompts import render
from pytest_autoweb.results import Attempt, Failure, PlanStep


def plan_case(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a plan; `--autoweb-questions` says what happens if it contains a question."""
    attempt = change(attempt, prompt=_task_text(tools))
    attempt, plan = _ask_plan(attempt, tools, hint=_hint(tools), answer="")
    if plan and plan.has_question and tools.settings.questions == "answer":
        answer = find_answer(tools.case.answers, plan.question)
        if answer:
            attempt, plan = _ask_plan(attempt, tools, hint="", answer=answer, asked=plan)
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
    """Use the task itself as the only step of the plan, without a model call."""
    step = PlanStep(
        index=1,
        description=tools.case.user_task,
        entry_action="Direct URL",
        status="CONFIRMED",
    )
    return change(
        attempt,
        prompt=_task_text(tools),
        plan_text=f"Step 1: {tools.case.user_task}",
        plan_steps=(step,),
        plan_confirmed=True,
    )


def _task_text(tools: Tools) -> str:
    """Return the task as the report shows it; the prompts have a wording of their own."""
    label = "Entry URL" if tools.settings.language == "en" else "入口URL"
    return tools.redact(f"{tools.case.user_task}\n{label}: {tools.case.entry_url}")


def _ask_plan(
    attempt: Attempt, tools: Tools, *, hint: str, answer: str, asked: PlanParse | None = None
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
    attempt, text = ask(attempt, tools, "plan", messages, turn=1 if asked else 0)
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
    """Return what was wrong with the plan of the previous attempt; empty if there was none."""
    if tools.previous and tools.previous.failure:
        return tools.previous.failure.message
    return ""


def find_answer(answers: dict[str, str], question: str) -> str:
    """Return the case's answer to a question that overlaps with this one, or its only answer."""
    asked = question.casefold()
    for known, answer in answers.items():
        if known.casefold().strip(" ?？") in asked or asked.strip(" ?？") in known.casefold():
            return answer
    return next(iter(answers.values())) if len(answers) == 1 else ""
