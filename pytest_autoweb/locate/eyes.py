"""Shows pictures to a vision model and keeps what was said."""

from collections.abc import Callable

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Client, Message, Request
from pytest_autoweb.llm.exchanges import ask_once, redacted_messages
from pytest_autoweb.results import Exchange


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
        turn = len(self.exchanges)
        update = {"messages": redacted_messages(messages, self._redact), "turn": turn}
        request = self._request.model_copy(update=update)
        asked = ask_once(self._client, request, self._redact)
        self.exchanges.append(asked.exchange)
        if isinstance(asked.outcome, ModelError):
            raise asked.outcome
        return asked.outcome.text
