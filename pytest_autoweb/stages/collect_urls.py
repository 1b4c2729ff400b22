"""`collect_urls(…)` of the step language: the addresses behind the list that the page shows."""

from typing import Any

from pydantic import ValidationError

from pytest_autoweb.attempt.asking import charge
from pytest_autoweb.attempt.tools import Tools, change
from pytest_autoweb.cases.collect_spec import CollectSpec, Rate
from pytest_autoweb.collect.collection import collection_of
from pytest_autoweb.collect.run import collect
from pytest_autoweb.errors import CaseError
from pytest_autoweb.results import Attempt
from pytest_autoweb.sandbox.base import StepCallError
from pytest_autoweb.stages.collect import Asking, job_of

STEP_SHARE = 0.8
"""Of a step's time: what is found until then is returned, before the step is stopped."""


def collect_urls(tools: Tools, description: str = "", **options: Any) -> list[str]:
    """Collect from the page as it is, page after page.

    Args:
        tools: of the attempt.
        description: what to collect, in words: a model is asked. Not needed with a pattern.
        options: `pattern`, `xpath`, `next`, `target`, `pages`, `scroll`, `explore`, as in a case's
            `collect`; `delay` is that of its `rate`.

    Returns:
        The addresses, each once, in the order of the list.

    Raises:
        StepCallError: an option is wrong, or there is nothing to go by.
    """
    spec = _spec(tools, dict(options))
    known = collection_of(spec, tools.page.url, description)
    if not known.has_pattern and not description:
        raise StepCallError("collect_urls needs a pattern, an xpath, or a description in words")
    asking = Asking(tools, Attempt(attempt_index=_index(tools)), description)
    job = job_of(tools, spec, known, asking, folder=tools.folder)
    began, limit = tools.clock.now(), tools.settings.step_timeout * STEP_SHARE
    waited = tools.budget.waited()
    job.over = lambda: tools.clock.now() - began - (tools.budget.waited() - waited) > limit
    try:
        progress = collect(job)
    except CaseError as error:
        raise StepCallError(error.reason) from None
    finally:
        tools.after_step.append(lambda attempt: _with_calls(attempt, asking.attempt))
    if not progress.urls and progress.status != "done":
        raise StepCallError(progress.pause_reason)
    return list(progress.urls)


def _spec(tools: Tools, options: dict[str, Any]) -> CollectSpec:
    rate = tools.case.collect.rate if tools.case.collect else Rate()
    delay = options.pop("delay", None)
    try:
        if delay is not None:
            rate = Rate(delay=delay, jitter=min(rate.jitter, float(delay)))
        return CollectSpec.model_validate({"navigate": 0, "rate": rate, **options})
    except (ValidationError, ValueError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        said = f"{first['loc'][0]}: {first['msg']}" if first and first["loc"] else str(error)
        raise StepCallError(f"collect_urls: {said}") from None


def _index(tools: Tools) -> int:
    return tools.previous.attempt_index + 1 if tools.previous else 1


def _with_calls(attempt: Attempt, asked: Attempt) -> Attempt:
    """The attempt with the calls and decisions made while its step ran."""
    for exchange in asked.exchanges:
        attempt = charge(attempt, exchange.stage, exchange)
    known = len(attempt.decisions)
    later = tuple(
        decision.model_copy(update={"index": known + number})
        for number, decision in enumerate(asked.decisions, 1)
    )
    return change(attempt, decisions=(*attempt.decisions, *later))
