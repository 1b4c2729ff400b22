"""A real small model in the embedded engine, called through the gateway and litellm.

Needs the engine (`pip install 'pytest-autoweb[local]'`) and the model's file
(`autoweb models pull local/smollm2-135m`).
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ollama_server import OllamaServer

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models import engine_pool
from pytest_autoweb.models.engine_pool import EnginePool, engine_problem
from pytest_autoweb.models.gateway import GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.models.local_models import is_present, local_model
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import Endpoint, ModelSpec
from pytest_autoweb.models.named_specs import load_specs

SMALL = "local/smollm2-135m"

needs_model = pytest.mark.skipif(
    not is_present(local_model(SMALL)) or importlib.util.find_spec("xllamacpp") is None,
    reason=f"needs pip install 'pytest-autoweb[local]' and autoweb models pull {SMALL}",
)
RULES = Message(role="system", content="You drive a web page. Answer with one action. " * 10)
SCHEMA = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["click", "fill"]},
        "mark": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["action", "mark"],
    "additionalProperties": False,
}


class Session(NamedTuple):
    client: GatewayClient
    ollama: OllamaServer
    engine: Endpoint


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One engine behind an Ollama-like server, and a gateway that has its own engines."""
    folder = tmp_path_factory.mktemp("local")
    pool = EnginePool(folder, os.environ)
    engine = pool.target(load_specs([SMALL])[SMALL])
    assert engine.api_base is not None
    assert engine.api_key is not None
    with (
        OllamaServer(
            engine.api_base, models={"tiny": "smollm2-135m"}, api_key=engine.api_key
        ) as ollama,
        pytest.MonkeyPatch.context() as environ,
    ):
        environ.setenv("OLLAMA_API_BASE", ollama.origin)
        specs = load_specs([SMALL, "ollama_chat/tiny", "ollama/tiny", "ollama_chat/absent"])
        specs["alias"] = ModelSpec(name="alias", model=SMALL)
        specs["ollama_chat/tiny"] = specs["ollama_chat/tiny"].model_copy(
            update={"constrained": "json_schema", "seed": 5}
        )
        address = start_gateway(specs, record_mode="off", cassettes=folder, run_dir=folder)
        try:
            yield Session(GatewayClient(address), ollama, engine)
        finally:
            stop_gateway(address)
            pool.stop()


def ask(session: Session, model: str, text: str, **changes: Any) -> Reply:
    values: dict[str, Any] = {"max_tokens": 40} | changes
    messages = (RULES, Message(role="user", content=text))
    return session.client.complete(
        Request(model=model, messages=messages, stage="generate", **values)
    )


@pytest.mark.long
@needs_model
def test_a_grammar_holds_the_model_to_what_it_allows(session: Session) -> None:
    reply = ask(session, SMALL, "Press Save.", grammar='root ::= "e" [3-4] ".click()"')

    assert reply.text in ("e3.click()", "e4.click()")
    assert reply.usage.input_tokens > 80
    assert (reply.usage.cost_usd, reply.usage.unpriced_calls) == (0, 0)
    assert reply.model_served == "smollm2-135m"


@pytest.mark.long
@needs_model
def test_a_schema_holds_the_model_to_its_form(session: Session) -> None:
    action = json.loads(ask(session, SMALL, "Click mark 4.", json_schema=SCHEMA).text)

    assert sorted(action) == ["action", "mark"]
    assert action["action"] in ("click", "fill")
    assert 1 <= action["mark"] <= 9


@pytest.mark.long
@needs_model
def test_a_stop_word_ends_the_reply(session: Session) -> None:
    grammar = 'root ::= "alpha " "END" " beta"'

    assert ask(session, SMALL, "go", grammar=grammar, stop=("END",)).text.strip() == "alpha"


@pytest.mark.long
@needs_model
def test_names_of_one_model_share_one_engine(session: Session) -> None:
    for name in (SMALL, "alias"):
        ask(session, name, "hi", max_tokens=2)

    assert session.client.stats().engines.count("smollm2-135m") == 1


@pytest.mark.long
@needs_model
def test_a_prompt_that_does_not_fit_is_told_as_such(session: Session) -> None:
    with pytest.raises(ModelError) as caught:
        ask(session, SMALL, "word " * 9000)

    assert caught.value.cause == "context_window"


def call_engine(engine: Endpoint, text: str, key: str | None) -> dict[str, Any]:
    body = {"messages": [RULES.model_dump(include={"role", "content"})], "max_tokens": 2}
    body["messages"] = [*body["messages"], {"role": "user", "content": text}]  # type: ignore[misc]
    request = urllib.request.Request(
        f"{engine.api_base}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        answer: dict[str, Any] = json.loads(response.read())
    return answer


@pytest.mark.long
@needs_model
def test_the_same_beginning_of_a_prompt_is_not_read_twice(session: Session) -> None:
    call_engine(session.engine, "first page", session.engine.api_key)
    usage = call_engine(session.engine, "second page", session.engine.api_key)["usage"]

    assert usage["prompt_tokens_details"]["cached_tokens"] > 0.8 * usage["prompt_tokens"]


@pytest.mark.long
@needs_model
@pytest.mark.parametrize("key", ["", "guess"])
def test_the_engine_answers_nobody_without_its_key(session: Session, key: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        call_engine(session.engine, "hi", key)
    with caught.value:
        assert caught.value.code == 401


def last_talk(server: OllamaServer) -> dict[str, Any]:
    """The body of the last call that was not a question about the model."""
    return [body for path, body in server.requests if path in ("/api/chat", "/api/generate")][-1]


@pytest.mark.long
@needs_model
@pytest.mark.parametrize("name", ["ollama_chat/tiny", "ollama/tiny"])
def test_ollamas_own_protocol_works_with_a_real_model(session: Session, name: str) -> None:
    reply = ask(session, name, "Say hello.", max_tokens=12)
    body = last_talk(session.ollama)

    assert reply.text.strip()
    assert 0 < reply.usage.output_tokens <= 12
    assert reply.usage.input_tokens > 80
    assert body["options"]["num_predict"] == 12
    # Ollama cuts longer prompts without a word, so it is told how much is meant to fit.
    assert body["options"]["num_ctx"] == 16_384


@pytest.mark.long
@needs_model
def test_ollama_takes_a_schema_and_a_seed(session: Session) -> None:
    reply = ask(session, "ollama_chat/tiny", "Click mark 2.", json_schema=SCHEMA)
    body = last_talk(session.ollama)

    assert sorted(json.loads(reply.text)) == ["action", "mark"]
    assert (body["format"], body["options"]["seed"]) == (SCHEMA, 5)


@pytest.mark.long
@needs_model
def test_a_model_that_ollama_does_not_have_is_unavailable(session: Session) -> None:
    with pytest.raises(ModelError, match="not found") as caught:
        ask(session, "ollama_chat/absent", "hi")

    assert caught.value.cause == "unavailable"


@pytest.mark.long
@needs_model
def test_the_check_finds_models_and_servers(session: Session) -> None:
    checks = session.client.check([SMALL, "ollama_chat/tiny"])

    assert [check.ok for check in checks] == [True, True]


@pytest.mark.long
@needs_model
@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_the_ollama_like_server_streams_lines_of_json(session: Session, path: str) -> None:
    body = {
        "model": "tiny",
        "prompt": "Count to five.",
        "messages": [{"role": "user", "content": "Count to five."}],
        "options": {"num_predict": 8, "temperature": 0},
    }
    request = urllib.request.Request(session.ollama.origin + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=120) as response:
        lines = [json.loads(line) for line in response]

    assert len(lines) > 2
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1]["eval_count"] > 0


@pytest.mark.long
@needs_model
def test_engines_end_with_their_gateway(tmp_path: Path) -> None:
    pool = EnginePool(tmp_path, os.environ)
    target = pool.target(load_specs([SMALL])[SMALL])
    pool.stop()
    time.sleep(0.1)

    with pytest.raises(urllib.error.URLError):
        call_engine(target, "hi", target.api_key)


def test_a_missing_file_is_an_error_that_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOWEB_MODELS_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "xllamacpp", pytest)  # any module: it only has to be there

    assert "autoweb models pull local/smollm2-135m" in str(engine_problem(local_model(SMALL)))


def test_a_missing_engine_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    assert "pip install 'pytest-autoweb[local]'" in str(engine_problem(local_model(SMALL)))


@needs_model
def test_a_damaged_file_is_refused_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = local_model(SMALL)
    with (tmp_path / model.file_name).open("wb") as file:
        file.truncate(model.size)
    monkeypatch.setenv("AUTOWEB_MODELS_DIR", str(tmp_path))

    with pytest.raises(ModelError, match="is damaged: delete it"):
        EnginePool(tmp_path, os.environ).target(load_specs([SMALL])[SMALL])


@pytest.mark.long
@needs_model
def test_the_engine_gets_no_keys_and_shows_none(session: Session) -> None:
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "args"], capture_output=True, text=True, check=True
    )

    assert engine_pool.__name__ in listed.stdout
    assert str(session.engine.api_key) not in listed.stdout
