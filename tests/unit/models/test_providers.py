"""Providers of OpenAI's API, called without litellm at the address that litellm would call."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, Seen

from pytest_autoweb.models.litellm_client import LiteLLMClient
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_facts import entry_of
from pytest_autoweb.models.model_spec import ModelSpec, resolve_target
from pytest_autoweb.models.providers import PROVIDERS, Provider, calls_directly, priced_entry
from pytest_autoweb.models.spending import Reservation
from pytest_autoweb.models.table_prices import BilledTokens, cost_of_call

HAS_LITELLM = find_spec("litellm") is not None


class Free(Reservation):
    """Money that nobody counts."""

    def __init__(self) -> None:
        pass

    def settle(self, cost: float | None) -> None:
        pass


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the variables of all providers out of the environment."""
    for provider in PROVIDERS.values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([Answer("done")]) as server:
        yield server


def called(spec: ModelSpec, server: OpenAIServer) -> tuple[Seen, float | None]:
    """Call a model once; return what the server saw, and the cost."""
    client = LiteLLMClient(tries=1)
    target = resolve_target(spec, os.environ)
    assert client.provider_problem(spec, target) is None
    request = Request(model=spec.name, messages=(Message(role="user", content="hi"),), stage="plan")
    reply = client.complete(spec, request, target, Free)
    assert reply.text == "done"
    assert not client.loaded
    return server.requests[-1], reply.usage.cost_usd


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda each: each.name)
def test_a_provider_is_called_by_its_name_with_its_key_at_its_address(
    provider: Provider, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(provider.addresses[-1], server.api_base)
    monkeypatch.setenv(provider.keys[-1], "the-key-of-this-one")
    seen, _ = called(ModelSpec(name=f"{provider.name}/maker/model", seed=7), server)

    # The address of the environment, in place of the provider's own.
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["Authorization"] == "Bearer the-key-of-this-one"
    assert seen.body["model"] == "maker/model"
    assert seen.body[provider.renamed.get("seed", "seed")] == 7
    assert provider.added.items() <= seen.body.items()


def test_names_are_those_that_the_servers_know(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIREWORKS_API_KEY", "k")
    monkeypatch.setenv("GROQ_API_KEY", "k")
    names = {
        "fireworks_ai/kimi": "accounts/fireworks/models/kimi",
        # The maker's name is a part of the model's, although a provider has the same.
        "groq/openai/gpt-oss-120b": "openai/gpt-oss-120b",
    }
    for name, known in names.items():
        seen, _ = called(ModelSpec(name=name, api_base=server.api_base, api_key_env=None), server)
        assert seen.body["model"] == known


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *(
            (f"{name}/m", "KEY in the environment")
            for name, one in PROVIDERS.items()
            if one.needs_key
        ),
        ("hosted_vllm/m", "no address for provider hosted_vllm: set HOSTED_VLLM_API_BASE in"),
        ("lm_studio/m", None),
        ("ollama_chat/m", None),
        ("qwen3:8b", "litellm knows no provider for 'qwen3:8b'"),
        ("nobody/m", "litellm knows no provider for 'nobody/m'"),
    ],
)
@pytest.mark.skipif(not HAS_LITELLM, reason="litellm is not installed")
def test_what_is_missing_is_told_by_the_name_alone(name: str, problem: str | None) -> None:
    client, spec = LiteLLMClient(), ModelSpec(name=name)
    told = client.provider_problem(spec, resolve_target(spec, {}))

    assert told is None if problem is None else told is not None and problem in told
    assert not client.loaded


@pytest.mark.parametrize(
    ("settings", "directly"),
    [
        ({"name": "openai/gpt-4o"}, True),
        ({"name": "groq/any"}, True),
        ({"name": "groq/any", "reasoning_effort": "high"}, True),
        ({"name": "mistral/any", "reasoning_effort": "high"}, False),
        ({"name": "openai/gpt-5-codex"}, False),
        ({"name": "anthropic/any"}, False),
        ({"name": "azure/any"}, False),
    ],
)
@pytest.mark.skipif(not HAS_LITELLM, reason="litellm is not installed")
def test_what_only_litellm_can_translate_goes_through_it(
    settings: dict[str, Any], directly: bool
) -> None:
    if settings["name"] == "openai/gpt-5-codex" and entry_of("gpt-5-codex") is None:
        pytest.skip("this version of litellm does not list the model")
    assert (calls_directly(ModelSpec(**settings)) is not None) == directly


def test_a_call_has_the_price_of_the_table_or_the_one_that_the_service_reports(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not HAS_LITELLM:
        pytest.skip("the table comes with litellm")
    _, cost = called(ModelSpec(name="openai/gpt-4o", api_base=server.api_base), server)
    # 11 tokens for 2.50 and 7 for 10 dollars a million.
    assert cost == pytest.approx(11 * 2.5e-6 + 7 * 10e-6)

    told = json.loads(Answer("done").body("m"))
    told["usage"]["cost"] = 0.125
    with OpenAIServer([Answer(raw=json.dumps(told))]) as reporting:
        _, cost = called(ModelSpec(name="openrouter/a/b", api_base=reporting.api_base), reporting)
    assert cost == 0.125


ASKED_OF_LITELLM = """
import json, os, sys
from pytest_autoweb.models.litellm_client import _import_litellm
litellm = _import_litellm()
names, calls = json.load(sys.stdin)
bases = {}
for name in names:
    _, _, key, base = litellm.get_llm_provider(f"{name}/model")
    bases[name] = base
costs = []
for model, prompt, reply, cached, thoughts in calls:
    usage = litellm.Usage(
        prompt_tokens=prompt, completion_tokens=reply, total_tokens=prompt + reply,
        prompt_tokens_details={"cached_tokens": cached},
        completion_tokens_details={"reasoning_tokens": thoughts},
    )
    try:
        response = litellm.ModelResponse(model=model.partition("/")[2], usage=usage)
        costs.append(litellm.completion_cost(completion_response=response, model=model))
    except Exception as error:
        costs.append(repr(error))
print(json.dumps([bases, costs]))
"""


@pytest.mark.long
@pytest.mark.skipif(not HAS_LITELLM, reason="litellm is not installed")
def test_addresses_and_prices_are_litellms() -> None:
    models = [
        f"{name}/{model}"
        for name, model in (
            ("openai", "gpt-4o"),
            ("openai", "gpt-5-mini"),
            ("openai", "gpt-4.1"),
            ("groq", "llama-3.3-70b-versatile"),
            ("mistral", "mistral-large-latest"),
            ("xai", "grok-3"),
            ("deepseek", "deepseek-chat"),
            ("together_ai", "deepseek-ai/DeepSeek-V3"),
            ("fireworks_ai", "accounts/fireworks/models/deepseek-v3"),
            ("cerebras", "llama-3.3-70b"),
        )
    ]
    known = [model for model in models if priced_entry(model)[1]]
    calls = []
    for model in known:
        # Where the table has no price for tokens of the cache, litellm has rules for some services.
        cached = 100_000 * ("cache_read_input_token_cost" in priced_entry(model)[1])
        calls += [(model, 1_000, 500, 0, 0), (model, 300_000, 2_000, cached, 500)]
    asked = subprocess.run(
        [sys.executable, "-c", ASKED_OF_LITELLM],
        input=json.dumps([list(PROVIDERS), calls]),
        capture_output=True,
        text=True,
        check=True,
    )
    bases, costs = json.loads(asked.stdout.splitlines()[-1])

    assert len(known) > 4
    own = {name: one.address for name, one in PROVIDERS.items()}
    # litellm leaves these to its code for the provider, or has no address for them.
    assert {name: base or own[name] for name, base in bases.items()} == own
    for (model, prompt, reply, cached, thoughts), cost in zip(calls, costs, strict=True):
        tokens = BilledTokens(prompt, reply, read_from_cache=cached, reasoning=thoughts)
        assert cost_of_call(priced_entry(model)[1], tokens) == pytest.approx(cost), model
