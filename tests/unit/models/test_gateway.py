"""The gateway over real HTTP, in front of a scripted server, with litellm and without it."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from openai_server import OpenAIServer
from scripted_models import SCRIPTS, SECRET, SETTINGS, TOOL

from pytest_autoweb.base.errors import CassetteMiss, ModelError
from pytest_autoweb.models.agent_chat import ChatBody, as_message
from pytest_autoweb.models.client import ask_once
from pytest_autoweb.models.gateway import GatewayAddress, GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_spec import ModelSpec

LITELLM = ("litellm", "httpx", "openai", "tiktoken", "tokenizers", "aiohttp", "boto3")
KNOWN_TO_LITELLM = ("gpt-4o",)
RECORDED = ("openai/recorded", "openai/refused", "openai/counted")


class Session(NamedTuple):
    client: GatewayClient
    server: OpenAIServer
    address: GatewayAddress
    cassettes: Path
    specs: dict[str, ModelSpec]
    lean: bool
    """Whether litellm is not installed."""


# To import litellm takes seconds.
@pytest.fixture(scope="module", params=[pytest.param("litellm", marks=pytest.mark.long), "without"])
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("gateway")
    lean = request.param == "without"
    with OpenAIServer(by_model=SCRIPTS) as server, pytest.MonkeyPatch.context() as environ:
        environ.setenv("OPENAI_API_KEY", "the-real-openai-key")
        environ.setenv("ANTHROPIC_API_KEY", "")
        environ.setenv("AUTOWEB_TEST_API_KEY", "the-servers-own-key")
        environ.setenv("AUTOWEB_TEST_LOGIN", "\ufeff correct horse\r\n")
        environ.setenv("AUTOWEB_TEST_BROKEN", "battery\nstaple is secret")
        if lean:
            blocked = f"import sys\nsys.modules.update(dict.fromkeys({LITELLM}))\n"
            (folder / "sitecustomize.py").write_text(blocked, encoding="utf-8")
            environ.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        # Providers of OpenAI's API are called without litellm, but for this name of them.
        provider = "openai" if lean else "custom_openai"
        specs = {
            f"openai/{name}": ModelSpec(
                name=f"openai/{name}",
                model=f"{'openai' if name in KNOWN_TO_LITELLM else provider}/{name}",
                api_base=server.api_base,
                **SETTINGS.get(name, {}),
            )
            for name in (SCRIPTS | SETTINGS)
        }
        others = ("nobody/knows-it", "anthropic/claude-x", "openai/hosted")
        specs |= {name: ModelSpec(name=name) for name in others}
        specs["openai/off"] = ModelSpec(name="openai/off", api_base="http://127.0.0.1:9/v1")
        specs["openai/odd"] = ModelSpec(name="openai/odd", api_base="localhost:80")
        address = start_gateway(
            specs,
            record_mode="new_episodes",
            cassettes=folder / "cassettes",
            run_dir=folder / "run",
            live=[name for name in specs if name not in RECORDED],
            backoff_s=0.01,
        )
        client = GatewayClient(GatewayAddress.parse(str(address)))
        yield Session(client, server, address, folder / "cassettes", specs, lean)
        stop_gateway(address)


def ask(model: str, text: str = "hi", **changes: Any) -> Request:
    values: dict[str, Any] = {
        "model": f"openai/{model}",
        "messages": (Message(role="user", content=text),),
        "stage": "generate",
        "case_id": "login",
    }
    return Request(**(values | changes))


def failure(session: Session, model: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        session.client.complete(ask(model))
    return caught.value


@pytest.mark.long
def test_a_reply_comes_with_tokens_latency_and_the_name_the_server_gave_itself(
    session: Session,
) -> None:
    reply = session.client.complete(ask("plain"))

    assert (reply.text, reply.model_served, reply.finish_reason) == (
        "hello",
        "plain-served",
        "stop",
    )
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 100, 20)
    assert 0 < reply.usage.latency_s < 30


@pytest.mark.parametrize(
    ("model", "cause", "tries", "says"),
    [
        ("401", "auth", 1, "Incorrect API key provided: <key>"),
        ("403", "auth", 1, "not for you"),
        ("404", "unavailable", 1, "no such model"),
        ("429", "rate_limit", 3, "slow down (after 3 tries)"),
        ("429-for-hours", "rate_limit", 1, "asks to wait 7200 s, and a call waits 60 s at most"),
        ("500", "unavailable", 3, "boom (after 3 tries)"),
        ("400", "unavailable", 1, "unknown field"),
        ("context", "context_window", 1, "maximum context length"),
        ("context-llama", "context_window", 1, "exceeds the available context size"),
        ("policy", "refusal", 1, "safety system"),
        ("filtered", "refusal", 1, "content filter"),
        ("refused", "refusal", 1, "I will not click that."),
        ("empty", "empty", 1, "no text"),
        ("null", "empty", 1, "no text"),
        ("broken-json", "parse", 1, ""),
        ("html", "parse", 1, ""),
        ("no-choices", "empty", 1, "no text"),
        ("slow", "timeout", 3, "no reply in time"),
        ("no-key", "auth", 0, "AUTOWEB_TEST_ABSENT_KEY is not set"),
        ("broken-key", "auth", 0, "AUTOWEB_TEST_BROKEN holds a line break; set it to the key"),
        ("limit-too-large", "unavailable", 1, "is too large"),
        ("429-date", "rate_limit", 1, "s, and a call waits 60 s at most"),
        ("error-200", "unavailable", 3, "the upstream model fell over (after 3 tries)"),
        ("error-200-text", "unavailable", 3, "no such deployment"),
        ("error-200-rate", "rate_limit", 3, "slow down (after 3 tries)"),
        ("error-200-key", "auth", 1, "bad key"),
        ("error-200-long", "context_window", 1, "maximum context length"),
        ("only-thinks", "empty", 1, "instead came 8 characters of reasoning"),
        ("only-thinks-parts", "empty", 1, "instead came 8 characters of reasoning"),
        ("only-tools", "empty", 1, "instead came 1 tool call(s) ('browse')"),
        ("lukewarm-set", "unavailable", 1, "'temperature' does not support 0.0"),
    ],
)
def test_each_failure_has_its_cause_and_only_the_services_own_are_tried_again(
    session: Session, model: str, cause: str, tries: int, says: str
) -> None:
    before = len(session.server.requests_of(model))

    error = failure(session, model)

    assert (error.cause, len(session.server.requests_of(model)) - before) == (cause, tries)
    assert says in error.detail
    assert (error.usage.calls if error.usage else 0) == tries


def test_a_failed_call_tells_what_it_used_up(session: Session) -> None:
    usage = failure(session, "empty").usage

    assert usage is not None
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 11, 7)


@pytest.mark.parametrize("model", ["no-quota", "no-balance", "no-credit", "hard-limit"])
def test_a_service_that_wants_to_be_paid_is_asked_once_and_no_more(
    session: Session, model: str
) -> None:
    first, second = failure(session, model), failure(session, model)

    assert (first.cause, second.cause) == ("auth", "auth")
    assert len(session.server.requests_of(model)) == 1
    assert first.detail.startswith("the service wants to be paid first: ")
    assert "not called: the service asked to be paid earlier in this run" in second.detail


def test_a_quota_of_a_minute_is_waited_for(session: Session) -> None:
    assert session.client.complete(ask("no-quota-now")).text == "a minute later"


def test_a_key_is_sent_without_what_stands_around_it(session: Session) -> None:
    session.client.complete(ask("untidy-key"))

    sent = session.server.requests_of("untidy-key")[-1].headers["Authorization"]
    assert sent == "Bearer correct horse"


def test_no_key_is_in_an_error(session: Session) -> None:
    assert SECRET not in failure(session, "401-secret").detail


def test_a_server_that_stumbles_is_asked_again_and_all_calls_are_counted(session: Session) -> None:
    reply = session.client.complete(ask("500-twice"))

    assert (reply.text, reply.usage.calls) == ("third time lucky", 3)


def test_the_wait_the_service_asks_for_is_kept(session: Session) -> None:
    began = time.monotonic()

    assert session.client.complete(ask("429-once")).text == "after a pause"
    assert time.monotonic() - began >= 0.4


def test_a_wait_in_milliseconds_is_kept_and_goes_before_the_other(session: Session) -> None:
    began = time.monotonic()

    assert session.client.complete(ask("429-ms")).text == "after milliseconds"
    assert 0.4 <= time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("model", "text"), [("parts", "in parts"), ("number", "42"), ("object", '{"mark": 3}')]
)
def test_a_reply_in_parts_or_of_another_kind_is_read_as_text(
    session: Session, model: str, text: str
) -> None:
    assert session.client.complete(ask(model)).text == text


def test_a_reply_that_was_cut_off_comes_with_its_text_and_the_reason(session: Session) -> None:
    reply = session.client.complete(ask("cut"))

    assert (reply.text, reply.finish_reason, reply.more_room) == ("page.goto(", "length", True)


def test_a_model_that_only_thought_until_its_limit_is_truncated_and_not_empty(
    session: Session,
) -> None:
    before = len(session.server.requests_of("spent"))

    asked = ask_once(session.client, ask("spent"), str)

    limits = [seen.body["max_tokens"] for seen in session.server.requests_of("spent")[before:]]
    assert isinstance(asked.outcome, ModelError)
    assert (asked.outcome.cause, limits) == ("truncated", [2048, 8192])
    assert (asked.exchange.usage.calls, asked.exchange.usage.output_tokens) == (2, 128)


@pytest.mark.parametrize("model", ["thinks", "thinks-aloud"])
def test_reasoning_is_not_part_of_the_text(session: Session, model: str) -> None:
    assert session.client.complete(ask(model)).text == "done"


@pytest.mark.parametrize(
    ("model", "cost", "unpriced"),
    [("plain", None, 1), ("priced", 0.007, 0), ("gpt-4o", 0.0075, 0)],
    ids=["unknown", "from the settings", "in the table of litellm"],
)
def test_cost_is_known_or_said_to_be_unknown(
    session: Session, model: str, cost: float | None, unpriced: int
) -> None:
    if session.lean and model == "gpt-4o":
        cost, unpriced = None, 1
    usage = session.client.complete(ask(model)).usage

    assert usage.cost_usd == (cost if cost is None else pytest.approx(cost))
    assert usage.unpriced_calls == unpriced


def body_of(session: Session, model: str, **changes: Any) -> dict[str, Any]:
    session.client.complete(ask(model, **changes))
    return session.server.requests_of(model)[-1].body


def test_settings_reach_the_server_and_nothing_else_does(session: Session) -> None:
    body = body_of(session, "tuned", stop=("END",), max_tokens=900)

    assert body == {
        "model": "tuned",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 50,
        "stop": ["END"],
        "top_k": 1,
    }


def test_a_request_may_ask_for_less_than_the_settings_allow(session: Session) -> None:
    assert body_of(session, "tuned", max_tokens=5)["max_tokens"] == 5


def test_a_temperature_of_none_is_left_to_the_service(session: Session) -> None:
    assert "temperature" not in body_of(session, "hot")


def test_a_server_that_refuses_the_default_temperature_is_asked_without_it_from_then_on(
    session: Session,
) -> None:
    first = session.client.complete(ask("lukewarm"))
    second = session.client.complete(ask("lukewarm"))
    sent = ["temperature" in seen.body for seen in session.server.requests_of("lukewarm")]

    assert (first.text, second.text) == ("warm", "warm again")
    assert sent == [True, False, False]
    assert (first.usage.calls, second.usage.calls) == (2, 1)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("newer-limit", ["max_tokens", "max_completion_tokens", "max_completion_tokens"]),
        ("extra-limit", ["max_tokens", "max_completion_tokens", "max_completion_tokens"]),
        ("newer-limit-set", ["max_completion_tokens"] * 2),
        ("no-limit-set", [""] * 2),
        ("plain", ["max_tokens"] * 2),
    ],
)
def test_the_limit_of_a_reply_is_sent_under_the_name_that_the_server_takes(
    session: Session, model: str, names: list[str]
) -> None:
    before = len(session.server.requests_of(model))
    for _ in range(2):
        session.client.complete(ask(model))

    sent = [seen.body for seen in session.server.requests_of(model)[before:]]
    limits = [{name: body[name] for name in body if name.startswith("max")} for body in sent]
    assert limits == [{name: 2048} if name else {} for name in names]


def test_a_server_without_the_newer_name_is_an_error_where_you_refuse_the_older_one(
    session: Session,
) -> None:
    assert "max_completion_tokens" in failure(session, "older-limit").detail


GRAMMAR = 'root ::= "x"'
SCHEMA = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("model", "grammar_sent", "schema_sent"),
    [("plain", False, False), ("schema", False, True), ("gbnf", True, False)],
)
def test_replies_are_bound_only_as_the_server_can(
    session: Session, model: str, grammar_sent: bool, schema_sent: bool
) -> None:
    body = body_of(session, model, grammar=GRAMMAR, json_schema=SCHEMA)

    assert (body.get("grammar") == GRAMMAR) == grammar_sent
    assert ("response_format" in body) == schema_sent


def test_a_server_with_grammars_takes_a_schema_too(session: Session) -> None:
    form = body_of(session, "gbnf", json_schema=SCHEMA)["response_format"]

    assert form["json_schema"]["schema"] == SCHEMA


def test_pictures_go_to_models_that_see_and_to_no_other(session: Session) -> None:
    uri = "data:image/png;base64,iVBORw0KGgo="
    messages = (Message(role="user", content="look", images=(uri,)),)

    assert body_of(session, "plain", messages=messages)["messages"][0]["content"] == "look"
    assert body_of(session, "seeing", messages=messages)["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": uri}},
    ]


def test_the_chat_of_an_outside_agent_goes_out_and_comes_back_with_its_calls_of_tools(
    session: Session,
) -> None:
    offered = {"type": "function", "function": {"name": "browse", "parameters": {}}}
    said = {"role": "assistant", "content": "hm", "tool_calls": [TOOL]}
    chat = ChatBody(messages=({"role": "user", "content": "hi"}, said), tools=(offered,))

    reply = session.client.complete(ask("only-tools", stage="agent", chat=chat))

    assert json.loads(reply.text) == {"assistant": {"content": None, "tool_calls": [TOOL]}}
    assert as_message(reply.text)["tool_calls"] == [TOOL]
    body = session.server.requests_of("only-tools")[-1].body
    assert (body["messages"], body["tools"]) == ([*chat.messages], [offered])


def test_a_local_server_never_gets_the_providers_key(session: Session) -> None:
    body_of(session, "plain")
    body_of(session, "own-key")
    sent = [
        session.server.requests_of(model)[-1].headers["Authorization"]
        for model in ("plain", "own-key")
    ]

    assert sent == ["Bearer none", "Bearer the-servers-own-key"]


def test_no_more_requests_are_in_flight_than_the_settings_allow(session: Session) -> None:
    threads = [
        threading.Thread(target=session.client.complete, args=(ask("narrow"),)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert session.server.peaks["narrow"] == 2


LEAN = dict.fromkeys(
    ("nobody/knows-it", "anthropic/claude-x"),
    "needs litellm, which is not installed: pip install litellm. Without it, models of openai, ",
)


@pytest.mark.parametrize(
    ("model", "ok", "says"),
    [
        ("openai/plain", True, "can be called"),
        ("openai/hosted", True, "can be called"),
        ("nobody/knows-it", False, "litellm knows no provider for 'nobody/knows-it'"),
        ("anthropic/claude-x", False, "set ANTHROPIC_API_KEY in the environment"),
        ("openai/no-key", False, "AUTOWEB_TEST_ABSENT_KEY is not set"),
        ("openai/off", False, "nothing answers at http://127.0.0.1:9"),
        ("openai/odd", False, "is not a URL; write it as http://host:port/v1"),
        ("openai/never-named", False, "not among the models of this session"),
    ],
)
def test_a_check_says_what_to_do_without_asking_the_model_anything(
    session: Session, model: str, ok: bool, says: str
) -> None:
    before = len(session.server.requests)
    if session.lean:
        says = LEAN.get(model, says)

    (check,) = session.client.check([model])

    assert (check.ok, len(session.server.requests)) == (ok, before)
    assert says in check.detail


CLIENT = """
import sys
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.gateway import GatewayAddress, GatewayClient
client = GatewayClient(GatewayAddress.parse(sys.stdin.readline().strip()))
for number in range(5):
    text = f"open http://127.0.0.1:{sys.argv[2]}/{sys.argv[1]}{number}"
    request = Request(model=sys.argv[3], messages=(Message(role="user", content=text),),
                      stage="generate", case_id=sys.argv[4], turn=number)
    print(client.complete(request).text)
assert sys.modules.get("litellm") is None
"""


def run_clients(address: GatewayAddress, model: str, cases: list[str], port: int) -> list[str]:
    """Two test processes at once, as under `pytest -n 2`."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, name, str(port), model, case],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, case in zip("ab", cases, strict=True)
    ]
    outputs = [child.communicate(f"{address}\n", timeout=60)[0] for child in children]

    assert [child.returncode for child in children] == [0, 0]

    return outputs


@pytest.mark.long
def test_two_processes_record_and_two_replay_without_litellm_or_network(
    session: Session, tmp_path: Path
) -> None:
    live = run_clients(session.address, "openai/counted", ["same", "same"], 4001)
    answered = len(session.server.requests_of("counted"))

    player = replaying(session, tmp_path)
    try:
        again = run_clients(player, "openai/counted", ["same", "same"], 5999)
        stats = GatewayClient(player).stats()
    finally:
        stop_gateway(player)

    assert (again, answered) == (live, 10)
    assert len(session.server.requests_of("counted")) == 10
    assert (stats.litellm_loaded, stats.models["openai/counted"].usage.replayed_calls) == (
        False,
        10,
    )


def replaying(session: Session, folder: Path) -> GatewayAddress:
    """A replay-only gateway; the scripted server is out of its reach."""
    specs = {
        name: spec.model_copy(update={"api_base": "http://127.0.0.1:9/v1"})
        for name, spec in session.specs.items()
    }
    return start_gateway(
        specs, record_mode="none", cassettes=session.cassettes, run_dir=folder / "run"
    )


def test_a_recording_replays_on_other_ports_and_a_miss_is_told_apart(
    session: Session, tmp_path: Path
) -> None:
    session.client.complete(ask("recorded", "open http://127.0.0.1:4001/"))
    refused = failure(session, "refused")
    address = replaying(session, tmp_path)
    player = GatewayClient(address)
    try:
        reply = player.complete(ask("recorded", "open http://127.0.0.1:61000/"))
        with pytest.raises(ModelError) as replayed_refusal:
            player.complete(ask("refused"))
        with pytest.raises(CassetteMiss, match="now:      close http://<origin:1>/"):
            player.complete(ask("recorded", "close http://127.0.0.1:61000/"))
        known, unknown = player.check(["openai/recorded", "openai/plain"], ["login"])
        loaded = player.stats().litellm_loaded
    finally:
        stop_gateway(address)

    assert reply.text == "page.goto('http://127.0.0.1:61000/')"
    assert reply.usage.replayed_calls == 1
    assert (replayed_refusal.value.cause, replayed_refusal.value.detail) == (
        "refusal",
        refused.detail,
    )
    assert (known.ok, known.live, unknown.ok, loaded) == (True, False, False, False)
    assert "--autoweb-record-mode=new_episodes" in unknown.detail


def test_what_calls_need_is_loaded_as_soon_as_a_check_finds_that_there_will_be_any(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if session.lean:
        pytest.skip("litellm is what takes long to load")
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    spec = ModelSpec(name="anthropic/claude-sonnet-4-5")
    address = start_gateway(
        {spec.name: spec}, record_mode="off", cassettes=tmp_path, run_dir=tmp_path / "run"
    )
    client = GatewayClient(address)
    try:
        assert not client.stats().litellm_loaded
        assert [check.ok for check in client.check([spec.name])] == [True]
        until = time.monotonic() + 60
        while not client.stats().litellm_loaded and time.monotonic() < until:
            time.sleep(0.1)
        assert client.stats().litellm_loaded
    finally:
        stop_gateway(address)


def test_the_stats_hold_the_calls_of_all_processes_and_failures_by_cause(session: Session) -> None:
    before = session.client.stats().models.get("openai/404")
    failure(session, "404")
    after = session.client.stats().models["openai/404"]

    assert after.failures["unavailable"] == (before.failures["unavailable"] if before else 0) + 1
    assert after.usage.calls == (before.usage.calls if before else 0) + 1
