"""Calls of a server with OpenAI's API without litellm, over real HTTP."""

import pytest
from openai_server import Answer, OpenAIServer

from pytest_autoweb.models.openai_api import ServerRefused, completion


def test_a_connection_serves_many_calls_and_outlives_a_refusal() -> None:
    with OpenAIServer(
        [Answer("one \ud83d"), Answer(status=500, error="busy"), Answer("two")]
    ) as server:

        def ask() -> str:
            reply = completion(
                model="openai/m",
                messages=[{"role": "user", "content": "hello"}],
                max_tokens=5,
                timeout=5,
                api_base=server.api_base,
                api_key="k",
            )
            return str(reply.choices[0].message.content)

        assert ask() == "one \ufffd"
        with pytest.raises(ServerRefused, match="busy"):
            ask()
        assert ask() == "two"

    assert len(server.connections) == 1
    with pytest.raises(ConnectionRefusedError):
        ask()
