"""Ask a model once and keep what was said: the only place that makes an `Exchange` of a call."""

import time
from collections.abc import Callable
from typing import NamedTuple

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Client, Message, Reply, Request
from pytest_autoweb.results import Exchange, Usage


class Answered(NamedTuple):
    """What came of one call."""

    outcome: Reply | ModelError
    """The reply as it came, or why there is none."""
    exchange: Exchange
    """The call for the record, without secrets; failed calls have one too."""


def ask_once(
    client: Client,
    request: Request,
    redact: Callable[[str], str],
    *,
    now: Callable[[], float] = time.monotonic,
) -> Answered:
    """Ask a model and return its reply, or the error, with the exchange to keep.

    A failed call counts as a call, with the time that was waited for it, even when the client
    cannot say what it used up.

    Args:
        client: answers the request.
        request: what is sent, as it is.
        redact: removes secrets from what is kept.
        now: a clock in seconds.
    """
    began = now()
    outcome: Reply | ModelError
    try:
        outcome = client.complete(request)
    except ModelError as error:
        outcome = error
    if isinstance(outcome, Reply):
        text, usage, why = outcome.text, outcome.usage, None
    else:
        waited = Usage(calls=1, unpriced_calls=1, latency_s=now() - began)
        text, usage, why = "", outcome.usage or waited, redact(outcome.detail)
    exchange = Exchange(
        stage=request.stage,
        turn=request.turn,
        prompt=redact("\n\n".join(f"[{m.role}]\n{m.content}" for m in request.messages)),
        reply=redact(text),
        usage=usage,
        model_served=outcome.model_served if isinstance(outcome, Reply) else "",
        error=why,
    )
    return Answered(outcome, exchange)


def redacted_messages(
    messages: tuple[Message, ...], redact: Callable[[str], str]
) -> tuple[Message, ...]:
    """Return the messages with `redact` applied to all but the system's, which are ours alone."""
    return tuple(
        message
        if message.role == "system"
        else message.model_copy(update={"content": redact(message.content)})
        for message in messages
    )
