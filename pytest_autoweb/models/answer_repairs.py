"""Repairs of what services answer, in the HTTP clients through which litellm calls them.

httpx comes with litellm, so this module is imported together with it, in the gateway process.
"""

import json
from typing import Any

import httpx

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.models.openai_api import EVENTS, error_status, tidy_choices, whole_reply

_OF_BODY = frozenset({"content-type", "content-encoding", "content-length", "transfer-encoding"})


def correct_status(response: httpx.Response) -> None:
    """Give an error that came with status 200 the status that it should have had."""
    if response.status_code != 200 or "json" not in response.headers.get("content-type", ""):
        return
    try:
        status = error_status(read_json(response.read()))
    except ValueError:
        return
    response.status_code = status or response.status_code


def correct_statuses(handler: Any) -> None:
    """Make each client created by a handler class correct the status of its answers.

    Except for OpenAI, litellm calls providers through its own clients, which cannot be replaced
    without losing their settings. Unlike `TidyingClient`, they pass on bodies unchanged, because
    each provider has its own format.

    Args:
        handler: litellm's `HTTPHandler`, whose constructor creates its client.
    """
    made = handler.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.client.event_hooks["response"].append(correct_status)

    handler.__init__ = __init__


class TidyingClient(httpx.Client):
    """An HTTP client for litellm whose answers conform to OpenAI's API.

    Some servers report an error with status 200, and some send the text of a reply in parts or as a
    number; litellm loses the message of the former and cannot read the latter. A streamed reply is
    passed on whole.
    """

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and return the answer in its proper form."""
        response = super().send(request, **options)
        if options.get("stream") or response.status_code != 200:
            return response
        streamed = response.headers.get("content-type", "").startswith(EVENTS)
        try:
            found = whole_reply(response.text) if streamed else read_json(response.content)
        except ValueError:
            return response
        status = error_status(found)
        if status is None and not tidy_choices(found) and not streamed:
            return response
        # The body was replaced, so its type, encoding and length headers no longer apply.
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in _OF_BODY
        ]
        return httpx.Response(
            status or response.status_code,
            headers=[*headers, ("content-type", "application/json")],
            content=json.dumps(found).encode(),
            request=request,
        )
