"""Shows pictures to a vision model and keeps what was said."""

import base64
import time
from collections.abc import Callable

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Client, Message, Request
from pytest_autoweb.results import Exchange, Usage


class Eyes:
    """Asks one model, for one attempt.

    Args:
        client: answers requests.
        request: what every request has in common: the model, the case, the attempt.
        redact: takes the case's secrets out of text.
    """

    def __init__(
        self, client: Client, request: Request, redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self._client, self._request, self._redact = client, request, redact
        self.exchanges: list[Exchange] = []
        """Everything that was said so far."""

    @property
    def model(self) -> str:
        """The model's name."""
        return self._request.model

    def look(self, messages: tuple[Message, ...]) -> str:
        """The model's reply, kept as an exchange, also when there is none.

        Raises:
            ModelError: it could not be asked.
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
    """A picture as models take it."""
    return "data:image/png;base64," + base64.b64encode(png).decode()
