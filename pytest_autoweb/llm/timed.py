"""A client that measures how long its callers wait for replies."""

import time

from pytest_autoweb.llm.client import Client, Reply, Request


class TimedClient:
    """A client that passes requests on and measures the wait, which time limits leave out.

    Args:
        client: answers the requests.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seconds = 0.0
        self._since: float | None = None

    def complete(self, request: Request) -> Reply:
        """Answer one request; see `Client`."""
        # Kept during the call, so that `waited` can be asked while it is under way.
        self._since = time.monotonic()
        try:
            return self._client.complete(request)
        finally:
            self._seconds, self._since = self.waited(), None

    def waited(self) -> float:
        """Return the seconds waited so far, including a request under way."""
        since = self._since
        return self._seconds + (0.0 if since is None else time.monotonic() - since)
