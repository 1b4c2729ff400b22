"""Which model answered: what servers tell beside their replies, and what a cassette keeps of it."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from ollama_server import VERSION, OllamaServer
from openai_server import Answer, OpenAIServer

from pytest_autoweb.base.errors import CassetteMiss
from pytest_autoweb.models.cassettes import CassetteStore, ReplySource, cassette_path
from pytest_autoweb.models.client import ask_once
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.openai_api import completion
from pytest_autoweb.models.served_facts import ServedFacts
from pytest_autoweb.settings.record_modes import RecordMode
from pytest_autoweb.testing import ScriptedClient

DIGEST = "500a1f067a9f782620b40bee6f7b0c89e17ae61f686b92c24933e4ca4b2b8b41"


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer("http://127.0.0.1:9/v1", models={"qwen3:8b": "served"}) as server:
        yield server


def test_ollama_tells_the_digest_of_what_is_loaded_and_is_asked_once_a_minute(
    ollama: OllamaServer,
) -> None:
    now = [0.0]
    facts = ServedFacts({"OLLAMA_API_BASE": ollama.origin}, lambda: now[0])
    spec = ModelSpec(name="ollama_chat/qwen3:8b")
    ollama.digests = {"other:8b": "0" * 64, "qwen3:8b": DIGEST}

    first = facts.fingerprint(spec)
    # Somebody pulls another file under the same name.
    ollama.digests["qwen3:8b"] = "f" * 64
    soon, now[0] = facts.fingerprint(spec), 61.0
    later = facts.fingerprint(spec)

    assert first == soon == f"sha256 500a1f067a9f, Q4_K_M, ollama {VERSION}"
    assert later == f"sha256 ffffffffffff, Q4_K_M, ollama {VERSION}"


@pytest.mark.parametrize("digests", [{}, {"qwen3:14b": DIGEST}])
def test_what_ollama_does_not_tell_is_unknown(
    ollama: OllamaServer, digests: dict[str, str]
) -> None:
    ollama.digests = digests

    facts = ServedFacts({"OLLAMA_API_BASE": ollama.origin})

    assert facts.fingerprint(ModelSpec(name="ollama/qwen3:8b")) == ""
    gone = ServedFacts({"OLLAMA_API_BASE": "http://127.0.0.1:9"})
    assert gone.fingerprint(ModelSpec(name="ollama/qwen3:8b")) == ""


def test_an_embedded_model_is_known_by_its_file_and_other_servers_are_not_asked() -> None:
    facts = ServedFacts({})

    local = facts.fingerprint(ModelSpec(name="local/smollm2-135m"))

    assert local.startswith("sha256 b179c9523d0e, Q4_1, llama.cpp (xllamacpp")
    assert facts.fingerprint(ModelSpec(name="openai/m", api_base="http://127.0.0.1:9")) == ""


def test_a_fingerprint_of_a_reply_is_kept_with_the_call() -> None:
    with OpenAIServer([Answer(fingerprint="fp_44")]) as server:
        messages = [{"role": "user", "content": "hi"}]
        found = completion(model="m", messages=messages, timeout=5, api_base=server.api_base)

    assert (found.model, found.system_fingerprint) == ("m-served", "fp_44")


def request(text: str = "click", turn: int = 0) -> Request:
    messages = (Message(role="user", content=text),)
    return Request(model="openai/m", messages=messages, stage="generate", case_id="c", turn=turn)


SPEC = ModelSpec(name="openai/m")


def store(folder: Path, mode: RecordMode) -> CassetteStore:
    return CassetteStore(folder, mode, mask=lambda text: text, today=lambda: date(2031, 2, 3))


def recorded(folder: Path) -> Path:
    reply = Reply(text="e1.click()", model_served="m-1", fingerprint="fp_1")
    store(folder, "all").record(request(), SPEC, ReplySource(), reply)
    return cassette_path(folder, "openai/m", "c")


def test_a_cassette_keeps_the_fingerprint_and_an_older_one_is_replayed_without(
    tmp_path: Path,
) -> None:
    file = recorded(tmp_path)

    again = store(tmp_path, "none").replay(request(), SPEC)
    old: Any = json.loads(file.read_text())
    del old["entries"][0]["fingerprint"]
    file.write_text(json.dumps(old))
    older = store(tmp_path, "none").replay(request(), SPEC)

    assert again is not None
    assert (again.model_served, again.fingerprint) == ("m-1", "fp_1")
    assert older is not None
    assert (older.model_served, older.fingerprint) == ("m-1", "")


def test_by_place_an_old_reply_answers_whatever_is_asked_and_nothing_is_recorded(
    tmp_path: Path,
) -> None:
    file = recorded(tmp_path)
    before = file.read_text()
    by_place = store(tmp_path, "place")

    other = by_place.replay(request("the page has changed"), SPEC)
    by_place.record(request("more"), SPEC, ReplySource(), Reply(text="no"))

    assert other is not None
    assert other.text == "e1.click()"
    with pytest.raises(CassetteMiss, match="no recording"):
        by_place.replay(request(turn=1), SPEC)
    assert file.read_text() == before


def test_what_a_server_tells_is_redacted_in_the_record() -> None:
    class Telling(ScriptedClient):
        def complete(self, request: Request) -> Reply:
            told = {"model_served": "m of ana", "fingerprint": "fp of ana"}
            return super().complete(request).model_copy(update=told)

    client = Telling({"generate": "ok"})

    exchange = ask_once(client, request(), lambda text: text.replace("ana", "***")).exchange

    assert (exchange.model_served, exchange.fingerprint) == ("m of ***", "fp of ***")
