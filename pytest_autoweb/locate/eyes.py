"""The calls of a vision model, kept as exchanges for the report."""

import base64
import time
from collections.abc import Callable

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Client, Message, Request
from pytest_autoweb.results import Exchange, Usage


class VisionModel:
    """The vision model of one attempt.

    Args:
        client: the client that answers requests.
        request: the fields that all requests share: the model, the case and the attempt.
        redact: removes the case's secrets from text.
    """

    def __init__(
        self, client: Client, request: Request, redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self._client, self._request, self._redact = client, request, redact
        self.exchanges: list[Exchange] = []
        """All exchanges so far, in order."""

    @property
    def model(self) -> str:
        """The model's name."""
        return self._request.model

    def look(self, messages: tuple[Message, ...]) -> str:
        """Ask the model and return its reply; failed calls are kept as exchanges, too.

        Raises:
            ModelError: the model could not be asked.
        """
        messages = tuple(
            message.model_copy(update={"content": self._redact(message.content)})
            for message in messages
        )
        turn = len(self.exchanges)
        request = self._request.model_copy(update={"messages": messages, "turn": turn})
        prompt = "\n\n".join(f"[{m.role}]\n{m.content}" for m in messages)
        began = time.monotonic()
        try:
            reply = self._client.complete(request)
        except ModelError as error:
            waited = time.monotonic() - began
            usage = error.usage or Usage(calls=1, unpriced_calls=1, latency_s=waited)
            detail = self._redact(error.detail)
            self._keep(turn, prompt, "", usage, error=detail)
            raise
        self._keep(turn, prompt, reply.text, reply.usage, served=reply.model_served)
        return reply.text

    def _keep(
        self,
        turn: int,
        prompt: str,
        reply: str,
        usage: Usage,
        *,
        error: str | None = None,
        served: str = "",
    ) -> None:
        self.exchanges.append(
            Exchange(
                stage="locate",
                turn=turn,
                prompt=prompt,
                reply=self._redact(reply),
                usage=usage,
                error=error,
                model_served=served,
            )
        )


def data_uri(png: bytes) -> str:
    """Return a PNG picture as a data URI, the form in which models receive it."""
    return "data:image/png;base64," + base64.b64encode(png).decode()
