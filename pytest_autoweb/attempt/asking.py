"""Ask the cell's model, and leave each call with what it used on the attempt."""

from typing import Any

from pytest_autoweb.attempt.tools import Tools, change, fail
from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Message, Request
from pytest_autoweb.llm.exchanges import ask_once, redacted_messages
from pytest_autoweb.results import Attempt, Exchange, Failure, StageName, Usage


def ask(
    attempt: Attempt,
    tools: Tools,
    stage: StageName,
    messages: tuple[Message, ...],
    *,
    turn: int = 0,
    grammar: str | None = None,
    json_schema: dict[str, Any] | None = None,
    max_tokens: int | None = None,
) -> tuple[Attempt, str]:
    """Ask the model; the exchange and its usage are on the attempt, failed calls included.

    Returns:
        The attempt and the reply's text. When the call failed the text is empty and the
        attempt's failure is of kind `model`.
    """
    request = Request(
        model=tools.spec.name,
        messages=redacted_messages(messages, tools.redact),
        stage=stage,
        case_id=tools.case.id,
        capture_mode=tools.mode,
        repeat=tools.repeat,
        attempt=attempt.attempt_index,
        turn=turn,
        grammar=grammar,
        json_schema=json_schema,
        max_tokens=max_tokens,
    )
    asked = ask_once(tools.client, request, tools.redact, now=tools.clock.now)
    attempt = charge(attempt, stage, asked.exchange)
    if isinstance(asked.outcome, ModelError):
        cause = asked.outcome.cause
        message = f"{stage}: {cause}: {asked.exchange.error}"
        return fail(attempt, Failure(kind="model", cause=cause, message=message)), ""
    return attempt, asked.exchange.reply


def charge(attempt: Attempt, stage: StageName, exchange: Exchange) -> Attempt:
    """Return the attempt with one more exchange, and its usage added to that of the stage."""
    usage = dict(attempt.usage)
    usage[stage] = usage.get(stage, Usage()) + exchange.usage
    return change(attempt, usage=usage, exchanges=(*attempt.exchanges, exchange))
