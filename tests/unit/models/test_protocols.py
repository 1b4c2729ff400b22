"""What hosted models are sent, and how their answers count, in the protocols of six services.

litellm speaks them, in the gateway's process, which all these tests share.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from provider_server import REFUSALS, SHAPES, TEXT, TOKEN_PATH, ProviderServer

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.agent_chat import ChatBody, as_message
from pytest_autoweb.models.client import ask_once
from pytest_autoweb.models.gateway import GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.named_specs import load_specs

pytestmark = [
    # To import litellm takes seconds.
    pytest.mark.long,
    pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed"),
]

GPT, CLAUDE, GEMINI = "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"
OLLAMA, ROUTER, VLLM = "ollama_chat/qwen3:8b", "openrouter/nobody/knows-it", "openai/my-vllm"
BEDROCK = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
VERTEX = "vertex_ai/gemini-2.5-flash"
VERTEX_PLACE = (
    "/v1/projects/made-up/locations/us-central1/publishers/google/models/gemini-2.5-flash"
)
# A namespace package may be there without the part that logs in.
GOOGLE = find_spec("google") is not None and find_spec("google.auth") is not None
needs_google = pytest.mark.skipif(not GOOGLE, reason="google-auth is not installed")
PROTOCOLS = {
    GPT: "openai",
    CLAUDE: "anthropic",
    GEMINI: "gemini",
    OLLAMA: "ollama",
    BEDROCK: "bedrock",
}
EFFORTS = [f"{name}@high" for name in (GPT, CLAUDE, GEMINI, OLLAMA, ROUTER, VLLM, BEDROCK)]
SCHEMA = {
    "type": "object",
    "properties": {"mark_id": {"enum": [1, 2]}, "text": {"type": "string", "maxLength": 40}},
    "required": ["mark_id", "text"],
    "additionalProperties": False,
}
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
# Replies that call a tool, as each service sends them.
PRESSED = {"name": "press", "arguments": '{"n": 2}'}
PRESSES: dict[str, dict[str, Any]] = {
    "openai": SHAPES["openai"](finish="tool_calls"),
    "anthropic": SHAPES["anthropic"]("", "tool_use"),
    "gemini": SHAPES["gemini"](""),
    "ollama": SHAPES["ollama"](""),
    "bedrock": SHAPES["bedrock"]("", "tool_use"),
}
PRESSES["openai"]["choices"][0]["message"] |= {
    "content": None,
    "tool_calls": [{"id": "c2", "type": "function", "function": PRESSED}],
}
PRESSES["anthropic"]["content"].append(
    {"type": "tool_use", "id": "toolu_2", "name": "press", "input": {"n": 2}}
)
PRESSES["gemini"]["candidates"][0]["content"] |= {
    "parts": [{"functionCall": {"name": "press", "args": {"n": 2}}}]
}
PRESSES["ollama"]["message"]["tool_calls"] = [
    {"function": {"name": "press", "arguments": {"n": 2}}}
]
PRESSES["bedrock"]["output"]["message"]["content"].append(
    {"toolUse": {"toolUseId": "tooluse_2", "name": "press", "input": {"n": 2}}}
)
TURN = (
    Message(role="system", content="These are the rules."),
    Message(role="user", content="Save the form."),
    Message(role="assistant", content="I open it first."),
    Message(role="user", content="The page now."),
)


class Service(NamedTuple):
    client: GatewayClient
    server: ProviderServer


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("protocols")
    with ProviderServer() as server, pytest.MonkeyPatch.context() as environ:
        environ.setenv("AZURE_API_VERSION", "2025-04-01-preview")
        environ.setenv("AWS_ACCESS_KEY_ID", "AKIAMADEUP")
        environ.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
        environ.setenv("AWS_REGION_NAME", "us-east-1")
        # Without `api_base`, so that calls are signed as the service's own are.
        environ.setenv("AWS_BEDROCK_RUNTIME_ENDPOINT", server.origin)
        if GOOGLE:
            file = service_account(folder, server)
            environ.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        environ.setenv("VERTEXAI_PROJECT", "made-up")
        environ.setenv("VERTEXAI_LOCATION", "us-central1")
        roots = dict.fromkeys([CLAUDE, GEMINI, OLLAMA], server.origin)
        # Older versions of litellm add nothing but the method to it.
        roots[VERTEX] = f"{server.origin}{VERTEX_PLACE}"
        versioned = dict.fromkeys([GPT, ROUTER, VLLM], f"{server.origin}/v1")
        tables: dict[str, dict[str, Any]] = {
            name: {"api_base": base} for name, base in (roots | versioned).items()
        }
        tables["deployed"] = {
            "model": "azure/gpt5_series/my-deployment",
            "api_base": server.origin,
            "reasoning": True,
            "refuses": ["temperature"],
        }
        tables["dear"] = {
            **tables[GPT],
            "model": VLLM,
            "input_cost_per_mtok": 1,
            "output_cost_per_mtok": 2,
            "cached_input_cost_per_mtok": 0.1,
        }
        file = folder / "models.json"
        file.write_text(json.dumps(tables), encoding="utf-8")
        specs = load_specs(
            [*tables, *EFFORTS, BEDROCK, f"{VERTEX}@high", "deployed@low"], models_file=file
        )
        address = start_gateway(
            specs, record_mode="off", cassettes=folder, run_dir=folder, backoff_s=0.01
        )
        yield Service(GatewayClient(address), server)
        stop_gateway(address)


def service_account(folder: Path, server: ProviderServer) -> Path:
    """The file that Google gives to programs; its key is made for this test."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    account = {
        "type": "service_account",
        "project_id": "made-up",
        "private_key_id": "1",
        "private_key": key.private_bytes(*form).decode(),
        "client_email": "made-up@made-up.iam.gserviceaccount.com",
        "token_uri": server.origin + TOKEN_PATH,
    }
    file = folder / "account.json"
    file.write_text(json.dumps(account), encoding="utf-8")
    return file


def asked(model: str, **changes: Any) -> Request:
    values: dict[str, Any] = {"model": model, "messages": TURN, "stage": "generate"}
    return Request(**(values | changes))


def body_of(service: Service, model: str, **changes: Any) -> dict[str, Any]:
    """The body of the only request that a call made."""
    service.server.say("", {})
    service.client.complete(asked(model, **changes))
    (seen,) = [seen for seen in service.server.seen if not seen.path.endswith(TOKEN_PATH)]
    return seen.body


@pytest.mark.parametrize(
    ("model", "tokens", "usd"),
    [
        (GPT, (2006, 300, 1920, 192), 86 * 0.25 + 1920 * 0.025 + 300 * 2),
        # Writing to the cache has a price of its own; litellm counts the words of the thoughts.
        (CLAUDE, (2009, 393, 1800, None), 21 * 3 + 188 * 3.75 + 1800 * 0.3 + 393 * 15),
        (GEMINI, (2152, 348, 2027, 337), 125 * 0.3 + 2027 * 0.03 + 348 * 2.5),
        # Bedrock asks a tenth more for models of a region.
        (BEDROCK, (2009, 393, 1800, None), 1.1 * (21 * 3 + 188 * 3.75 + 1800 * 0.3 + 393 * 15)),
        pytest.param(
            *(VERTEX, (2152, 348, 2027, 337), 125 * 0.3 + 2027 * 0.03 + 348 * 2.5),
            marks=needs_google,
        ),
        (OLLAMA, (26, 298, 0, 0), None),
        (VLLM, (2006, 300, 1920, 192), None),
        ("dear", (2006, 300, 1920, 192), 86 * 1 + 1920 * 0.1 + 300 * 2),
    ],
)
def test_tokens_from_the_cache_and_thoughts_are_counted_and_priced(
    service: Service, model: str, tokens: tuple[int, int, int, int | None], usd: float | None
) -> None:
    reply = service.client.complete(asked(model))

    used = reply.usage
    told, made, cached, thoughts = tokens
    assert reply.text == TEXT
    assert (used.input_tokens, used.output_tokens, used.cached_tokens) == (told, made, cached)
    assert used.reasoning_tokens > 0 if thoughts is None else used.reasoning_tokens == thoughts
    assert used.cost_usd == (None if usd is None else pytest.approx(usd / 1e6))


def test_a_service_of_anthropics_with_no_tokens_left_is_not_asked_before_it_has_some(
    service: Service,
) -> None:
    service.client.complete(asked(CLAUDE))  # The first call of all imports litellm.
    opens = datetime.now(UTC) + timedelta(seconds=1.5)
    left = "anthropic-ratelimit-output-tokens"
    service.server.say("anthropic")
    service.server.headers = {f"{left}-remaining": "9", f"{left}-reset": opens.isoformat()}
    service.client.complete(asked(CLAUDE))
    service.server.headers = {f"{left}-remaining": "8000", f"{left}-reset": opens.isoformat()}
    service.client.complete(asked(CLAUDE))
    assert datetime.now(UTC) >= opens

    service.client.complete(asked(CLAUDE))
    service.server.headers = {}
    _, second, third = (seen.when for seen in service.server.seen)
    assert third - second < 1


def test_what_openrouter_says_that_a_call_cost_counts(service: Service) -> None:
    service.server.say("openai", SHAPES["openai"](cost=0.0123))

    assert service.client.complete(asked(ROUTER)).usage.cost_usd == pytest.approx(0.0123)


EMPTY_AND_CUT = {
    GPT: SHAPES["openai"]("", "length"),
    CLAUDE: SHAPES["anthropic"]("", "max_tokens"),
    GEMINI: SHAPES["gemini"]("", "MAX_TOKENS"),
    OLLAMA: SHAPES["ollama"]("", "length"),
    BEDROCK: SHAPES["bedrock"]("", "max_tokens"),
}


def limit_of(body: dict[str, Any]) -> int:
    """The most tokens of a reply, wherever a protocol says that."""
    inside = ("generationConfig", "options", "inferenceConfig")
    inner = [body, *(body.get(name, {}) for name in inside)]
    names = (
        "max_completion_tokens",
        "max_tokens",
        "max_output_tokens",
        "num_predict",
        "maxTokens",
    )
    return int(next(part[name] for part in inner for name in names if name in part))


@pytest.mark.parametrize(
    ("model", "first"), [(GPT, 16384), (CLAUDE, 16384), (BEDROCK, 16384), (OLLAMA, 2048)]
)
def test_thoughts_that_leave_no_room_for_a_reply_are_truncated_and_get_more(
    service: Service, model: str, first: int
) -> None:
    most = load_specs([model])[model].output_limit
    service.server.say(PROTOCOLS[model], EMPTY_AND_CUT[model])

    outcome, exchange = ask_once(service.client, asked(model), str)

    assert not isinstance(outcome, ModelError)
    assert outcome.text == TEXT
    second = min(4 * first, most) if most else 4 * first
    assert [limit_of(seen.body) for seen in service.server.seen] == [first, second]
    assert exchange.usage.calls == 2


@pytest.mark.parametrize("model", [GPT, CLAUDE, GEMINI, OLLAMA])
def test_a_reply_that_is_cut_off_twice_is_truncated_in_every_protocol(
    service: Service, model: str
) -> None:
    service.server.say(PROTOCOLS[model], EMPTY_AND_CUT[model], EMPTY_AND_CUT[model])

    outcome, exchange = ask_once(service.client, asked(model), str)

    assert isinstance(outcome, ModelError)
    assert (outcome.cause, exchange.usage.calls) == ("truncated", 2)


def test_the_effort_is_sent_in_the_words_of_each_service(service: Service) -> None:
    bodies = [body_of(service, name) for name in EFFORTS]
    gpt, claude, gemini, ollama, router, vllm, bedrock = bodies

    assert (gpt["reasoning_effort"], router["reasoning_effort"]) == ("high", "high")
    assert vllm["reasoning_effort"] == "high"
    assert claude["thinking"]["type"] == "enabled"
    assert 1024 <= claude["thinking"]["budget_tokens"] < claude["max_tokens"]
    assert gemini["generationConfig"]["thinkingConfig"]["thinkingBudget"] > 1024
    assert ollama["think"]
    assert bedrock["additionalModelRequestFields"]["thinking"]["budget_tokens"] > 1024
    others = (gpt, claude, gemini, ollama, bedrock)
    assert all("temperature" not in json.dumps(body) for body in others)


def test_a_deployment_in_azure_is_asked_as_its_settings_say(service: Service) -> None:
    body = body_of(service, "deployed@low")

    (seen,) = service.server.seen
    assert seen.path.startswith("/openai/deployments/my-deployment/chat/completions")
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("low", 8192)
    assert "temperature" not in body


@needs_google
def test_bedrock_and_vertex_are_logged_in_to_with_what_their_clouds_give(service: Service) -> None:
    body = body_of(service, BEDROCK, json_schema=SCHEMA)
    (signed,) = service.server.seen

    assert signed.path.endswith("claude-sonnet-4-5-20250929-v1%3A0/converse")
    assert signed.login.startswith("AWS4-HMAC-SHA256 Credential=AKIAMADEUP/")
    assert body["system"][-1] == {"cachePoint": {"type": "default"}}
    assert "mark_id" in json.dumps(body)
    body = body_of(service, f"{VERTEX}@high", json_schema=SCHEMA)
    called = service.server.seen[-1]
    assert called.path == f"{VERTEX_PLACE}:generateContent"
    assert called.login == "Bearer ya29.made-up"
    assert "mark_id" in json.dumps(body)
    assert body["generationConfig"]["thinkingConfig"]["thinkingBudget"] > 1024


def test_models_that_do_not_think_much_keep_temperature_zero(service: Service) -> None:
    assert body_of(service, CLAUDE)["temperature"] == 0
    assert body_of(service, GEMINI)["generationConfig"]["temperature"] == 0
    assert "temperature" not in body_of(service, GPT)


def test_the_limit_of_a_call_holds_for_replies_and_not_for_thoughts(service: Service) -> None:
    limits = [limit_of(body_of(service, name, max_tokens=60)) for name in (GPT, VLLM)]

    assert limits == [16384, 60]


def test_what_stays_the_same_is_marked_for_the_cache_where_the_service_needs_that(
    service: Service,
) -> None:
    claude = body_of(service, CLAUDE)

    assert claude["system"][-1]["cache_control"] == {"type": "ephemeral"}
    marked = ["cache_control" in message["content"][-1] for message in claude["messages"]]
    assert marked == [False, True, False]
    assert all("cache_control" not in json.dumps(body_of(service, m)) for m in (GPT, GEMINI, VLLM))


@pytest.mark.parametrize("model", [GPT, CLAUDE, GEMINI])
def test_a_decision_is_held_to_its_schema_where_the_registry_knows_that_it_can_be(
    service: Service, model: str
) -> None:
    body = json.dumps(body_of(service, model, json_schema=SCHEMA, stage="decide"))

    assert "mark_id" in body
    assert "maxLength" not in body
    assert "mark_id" not in json.dumps(body_of(service, model, stage="decide"))


@pytest.mark.parametrize("model", PROTOCOLS)
def test_an_agents_chat_keeps_its_tools_and_pictures_in_every_protocol(
    service: Service, model: str
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "press", "arguments": '{"n": 1}'}}
    given = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    about = {"name": "press", "description": "Press it.", "parameters": given}
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    chat = ChatBody(
        messages=(
            {"role": "system", "content": "These are the rules."},
            {"role": "user", "content": [{"type": "text", "text": "Look."}, picture]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "it was pressed"},
        ),
        tools=({"type": "function", "function": about},),
        tool_choice="auto",
    )
    protocol = PROTOCOLS[model]
    service.server.say(protocol, PRESSES[protocol])

    reply = service.client.complete(asked(model, messages=(), stage="agent", chat=chat))

    (answered,) = as_message(reply.text)["tool_calls"]
    assert answered["function"]["name"] == "press"
    assert json.loads(answered["function"]["arguments"]) == {"n": 2}
    (seen,) = service.server.seen
    body = json.dumps(seen.body)
    assert all(words in body for words in ("Press it.", "it was pressed", "These are the rules."))
    # This model of Ollama's does not see.
    assert (PIXEL in body) == (model != OLLAMA)
    assert reply.usage.output_tokens > 0


def test_a_model_of_which_nothing_is_known_answers_in_free_text(service: Service) -> None:
    assert "response_format" not in body_of(service, VLLM, json_schema=SCHEMA)


@pytest.mark.parametrize("model", [GPT, CLAUDE, GEMINI])
def test_a_schema_that_is_refused_is_left_out_from_then_on(service: Service, model: str) -> None:
    protocol, request = PROTOCOLS[model], asked(model, json_schema=SCHEMA, stage="judge")
    service.server.say(protocol, REFUSALS[protocol])

    first, second = (service.client.complete(request) for _ in range(2))

    assert (first.text, first.usage.calls, second.usage.calls) == (TEXT, 2, 1)
    held = ["mark_id" in json.dumps(seen.body) for seen in service.server.seen]
    assert held == [True, False, False]
    other = body_of(service, model, json_schema=SCHEMA, stage="classify")
    assert "mark_id" in json.dumps(other)
