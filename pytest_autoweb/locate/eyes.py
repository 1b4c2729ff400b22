"""The calls of a vision model, kept as exchanges for the report."""

from collections.abc import Callable

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Client, Message, Request
from pytest_autoweb.llm.exchanges import ask_once, redacted_messages
from pytest_autoweb.results import Exchange


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
        turn = len(self.exchanges)
        update = {"messages": redacted_messages(messages, self._redact), "turn": turn}
        request = self._request.model_copy(update=update)
        asked = ask_once(self._client, request, self._redact)
        self.exchanges.append(asked.exchange)
        if isinstance(asked.outcome, ModelError):
            raise asked.outcome
        return asked.outcome.text
