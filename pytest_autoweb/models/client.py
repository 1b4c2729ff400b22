"""The interface through which the rest of the package calls a model, and each call's record."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import CassetteMiss, ModelError
from pytest_autoweb.base.waiting.own_time import Stopwatch, own_clock
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.results.records import Exchange, ServedModel, Usage


class Client(Protocol):
    """Anything that answers requests: the gateway, a control, `testing.ScriptedClient`."""

    def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            ModelError: the call failed, or its reply is empty or a refusal.
        """
        ...


class TimedClient:
    """A client that passes requests on and measures the wait, which time limits leave out.

    Args:
        client: answers the requests.

    Attributes:
        sent_picture: whether a request had a picture.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.sent_picture = False
        # The cell's: requests may be made in another thread.
        self._clock = own_clock()
        self._seconds = 0.0
        self._under_way: Stopwatch | None = None

    def complete(self, request: Request) -> Reply:
        """Answer one request; see `Client`."""
        self.sent_picture = self.sent_picture or any(one.images for one in request.messages)
        # Kept during the call, so that `waited` also works while it is under way.
        self._under_way = Stopwatch(self._clock)
        try:
            return self._client.complete(request)
        finally:
            self._seconds, self._under_way = self.waited(), None

    def waited(self) -> float:
        """Return the seconds waited so far, including a request under way."""
        under_way = self._under_way
        return self._seconds + (under_way.seconds if under_way else 0.0)


class Answered(NamedTuple):
    """The outcome of one call."""

    outcome: Reply | ModelError
    """The unmodified reply, or the error."""
    exchange: Exchange
    """The call for the record, without secrets; failed calls have one too."""


def ask_once(
    client: Client,
    request: Request,
    redact: Callable[[str], str],
    *,
    now: Callable[[], float] = time.monotonic,
    usable: Callable[[str], str] = lambda text: "",
) -> Answered:
    """Ask a model and return its reply, or the error, with the exchange to keep.

    A failed call counts as a call, with its waiting time, even when the client cannot report its
    usage. A reply that was cut off is requested once more with more room, if the model has any; the
    usage of both calls counts.

    Args:
        client: answers the request.
        request: the request, sent unchanged.
        redact: removes secrets from what is kept.
        now: a clock in seconds.
        usable: returns the usable part of a text that the token limit cut off; without one, the
            call counts as failed rather than the model.
    """
    started = datetime.now(UTC)
    call = _call(client, request, usable, now)
    if call.cut and call.more_room:
        call = _again(call, _call(client, _roomier(request), usable, now))
    outcome = call.outcome
    exchange = Exchange(
        stage=request.stage,
        turn=request.turn,
        prompt=redact("\n\n".join(f"[{m.role}]\n{m.content}" for m in request.messages)),
        reply=redact(call.text),
        usage=call.usage,
        model=request.model,
        model_served=redact(call.told.served),
        fingerprint=redact(call.told.fingerprint),
        error=redact(outcome.detail) if isinstance(outcome, ModelError) else None,
        cause=outcome.cause if isinstance(outcome, ModelError) else "",
        started=started,
        ended=datetime.now(UTC),
    )
    return Answered(outcome, exchange)


class _Call(NamedTuple):
    """One call and its outcome."""

    outcome: Reply | ModelError
    text: str
    told: ServedModel
    usage: Usage
    more_room: bool = False

    @property
    def cut(self) -> bool:
        return isinstance(self.outcome, ModelError) and self.outcome.cause == "truncated"


def _call(
    client: Client, request: Request, usable: Callable[[str], str], now: Callable[[], float]
) -> _Call:
    began = now()
    try:
        # A thread calls the client of a cell in flight.
        reply = waiting.call_model(lambda: client.complete(request))
    except ModelError as error:
        waited = Usage(calls=1, unpriced_calls=1, latency_s=now() - began)
        return _Call(error, "", ServedModel(), error.usage or waited)
    outcome = _unless_cut(reply, request, usable)
    told = ServedModel(served=reply.model_served, fingerprint=reply.fingerprint)
    return _Call(outcome, reply.text, told, reply.usage, reply.more_room)


def _roomier(request: Request) -> Request:
    return request.model_copy(update={"more_room": True})


def _again(first: _Call, second: _Call) -> _Call:
    """Return the outcome of a call that was repeated because its reply was cut off."""
    if isinstance(second.outcome, CassetteMiss):
        # Recorded by a version that did not repeat such calls.
        return first
    usage = first.usage + second.usage
    outcome = second.outcome
    if isinstance(outcome, Reply):
        return second._replace(outcome=outcome.model_copy(update={"usage": usage}), usage=usage)
    assert isinstance(first.outcome, ModelError)
    why = f"{first.outcome.detail}; asked again with more room: {outcome.cause}: {outcome.detail}"
    error = ModelError("truncated", outcome.model, why, usage=usage)
    told = second.told if second.told.served else first.told
    return _Call(error, second.text or first.text, told, usage)


def _unless_cut(reply: Reply, request: Request, usable: Callable[[str], str]) -> Reply | ModelError:
    """Return a reply that is complete or still usable, else an error."""
    if reply.finish_reason != "length":
        return reply
    if left := usable(reply.text):
        return reply.model_copy(update={"text": left})
    used = reply.usage
    limit = "max_tokens in the model's settings is too low for it"
    if request.more_room:
        limit = "it cannot be longer (max_tokens and output_limit in the model's settings)"
    elif request.max_tokens is not None:
        limit = f"a call of this kind may use {request.max_tokens} tokens, or max_tokens if lower"
    thoughts = f", {used.reasoning_tokens} of them thoughts" if used.reasoning_tokens else ""
    detail = (
        f"the reply was cut off at its limit, after {used.output_tokens} tokens{thoughts}; {limit}"
    )
    return ModelError("truncated", request.model, detail, usage=used)
