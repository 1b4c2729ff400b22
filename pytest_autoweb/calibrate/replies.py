"""Answer a model call again that was made before, word for word."""

from pytest_autoweb.calibrate.redundancy import TTL_S, Cache, call_hash
from pytest_autoweb.llm.client import Client, Reply, Request
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.results import Usage


class RememberedReplies:
    """A client that answers identical requests from a cache.

    Only where asking again would give the same (temperature 0), and only whole replies; the repeat
    is part of the key, so repeats of a case stay independent. The plain arm of a correction is a
    repetition by design: at temperature 0 it costs nothing this way, and gains nothing.

    Args:
        client: asked for what is not known.
        spec: the model's settings are part of the key.
        cache: where replies are kept.
    """

    def __init__(self, client: Client, spec: ModelSpec, cache: Cache) -> None:
        self._client, self._spec, self._cache = client, spec, cache

    def complete(self, request: Request) -> Reply:
        """Answer one request; see `Client`."""
        if self._spec.temperature != 0:
            return self._client.complete(request)
        # Where in the run a call belongs does not change its answer, but for the repeat.
        fields = request.model_dump(mode="json", exclude={"attempt", "turn", "stage"})
        key = call_hash("model", fields, self._spec.model_dump(mode="json"))
        if (kept := self._cache.get(key)) is not None:
            return Reply.model_validate_json(kept).model_copy(update={"usage": Usage()})
        reply = self._client.complete(request)
        if reply.finish_reason in ("", "stop"):
            self._cache.put(key, reply.model_dump_json(), TTL_S)
        return reply


def remembering(client: Client, spec: ModelSpec, cache: Cache | None) -> Client:
    """The client, with a memory where there is a cache."""
    return client if cache is None else RememberedReplies(client, spec, cache)
