"""A client that knows how long it has been waited for."""

import time

from pytest_autoweb.llm.client import Client, Reply, Request


class TimedClient:
    """Passes requests on and adds up the waiting, so that it can be left out of time limits.

    Args:
        client: answers the requests.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seconds = 0.0
        self._since: float | None = None

    def complete(self, request: Request) -> Reply:
        """Answer one request; see `Client`."""
        self._since = time.monotonic()
        try:
            return self._client.complete(request)
        finally:
            self._seconds, self._since = self.waited(), None

    def waited(self) -> float:
        """Seconds so far, those of a request under way included."""
        since = self._since
        return self._seconds + (0.0 if since is None else time.monotonic() - since)
