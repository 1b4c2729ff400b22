"""Providers whose API is OpenAI's, which are called without litellm, and the keys of others.

Names, addresses and variables are those that litellm knows (`get_llm_provider_logic.py` and the
`transformation.py` of each provider in litellm 1.110), so that a model's name means the same with
and without it. LM Studio's address is that of its own documentation.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pytest_autoweb.base.redaction import tidy_key
from pytest_autoweb.models.model_facts import (
    EFFORTS,
    USUAL_EFFORTS,
    entry_of,
    installed_litellm,
    routes_elsewhere,
)
from pytest_autoweb.models.model_spec import OLLAMA_PROVIDERS, Endpoint, ModelSpec, key_problem


class Provider(Struct, frozen=True):
    """One provider with OpenAI's API."""

    name: str
    """As it begins the names of its models."""
    address: str
    """The URL up to the version; empty if each user has a server of their own."""
    keys: tuple[str, ...]
    """Variables that may hold the key; the first that is set counts."""
    addresses: tuple[str, ...]
    """Variables that may hold another address."""
    needs_key: bool = True
    efforts: tuple[str, ...] = ()
    """Values of `reasoning_effort` that it takes as OpenAI does."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Its names for fields that it calls differently."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """Fields that every request has besides."""
    path: str = ""
    """What precedes a model's name that has no path of its own."""

    def key(self, environ: Mapping[str, str]) -> str:
        """Return the key in the environment, or an empty text."""
        return next((key for name in self.keys if (key := tidy_key(environ.get(name, "")))), "")

    def url(self, environ: Mapping[str, str]) -> str:
        """Return the address, as set in the environment or its own; empty if there is none."""
        named = (environ.get(name, "").strip() for name in self.addresses)
        return next(filter(None, named), self.address)

    def endpoint(self, target: Endpoint, environ: Mapping[str, str]) -> Endpoint:
        """Return the endpoint with the model's name as the server knows it, address and key."""
        name = target.model.removeprefix(f"{self.name}/")
        if self.path and "/" not in name:
            name = self.path + name
        # Servers without keys ignore it, and a header must not be empty.
        key = target.api_key or self.key(environ) or "none"
        return Endpoint(name, target.api_base or self.url(environ), key)

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call under this provider's names, with what it needs more."""
        fitted = {self.renamed.get(name, name): value for name, value in arguments.items()}
        if self.added:
            fitted["extra_body"] = {**self.added, **(fitted.get("extra_body") or {})}
        return fitted


_PROVIDERS = (
    Provider(
        "openai",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        efforts=EFFORTS,
    ),
    Provider(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY", "OR_API_KEY"),
        ("OPENROUTER_API_BASE",),
        efforts=EFFORTS[:-1],
        added={"usage": {"include": True}},
    ),
    Provider(
        "groq",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        ("GROQ_API_BASE",),
        efforts=USUAL_EFFORTS,
    ),
    Provider(
        "mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_AZURE_API_KEY", "MISTRAL_API_KEY"),
        ("MISTRAL_AZURE_API_BASE",),
        renamed={"seed": "random_seed"},
    ),
    Provider(
        "deepseek",
        "https://api.deepseek.com/beta",
        ("DEEPSEEK_API_KEY",),
        ("DEEPSEEK_API_BASE",),
    ),
    Provider(
        "together_ai",
        "https://api.together.ai/v1",
        ("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
        ("TOGETHER_AI_API_BASE",),
    ),
    Provider(
        "fireworks_ai",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
        ("FIREWORKS_API_BASE",),
        path="accounts/fireworks/models/",
    ),
    Provider("xai", "https://api.x.ai/v1", ("XAI_API_KEY",), ("XAI_API_BASE",)),
    Provider(
        "cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), ("CEREBRAS_API_BASE",)
    ),
    Provider(
        "nvidia_nim",
        "https://integrate.api.nvidia.com/v1",
        ("NVIDIA_NIM_API_KEY",),
        ("NVIDIA_NIM_API_BASE",),
    ),
    Provider(
        "deepinfra",
        "https://api.deepinfra.com/v1/openai",
        ("DEEPINFRA_API_KEY",),
        ("DEEPINFRA_API_BASE",),
    ),
    Provider(
        "sambanova", "https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",), ("SAMBANOVA_API_BASE",)
    ),
    Provider(
        "hosted_vllm", "", ("HOSTED_VLLM_API_KEY",), ("HOSTED_VLLM_API_BASE",), needs_key=False
    ),
    Provider(
        "lm_studio",
        "http://localhost:1234/v1",
        ("LM_STUDIO_API_KEY",),
        ("LM_STUDIO_API_BASE",),
        needs_key=False,
    ),
)
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _PROVIDERS}
"""The providers that are called without litellm, by name."""

_KEYS_OF_OTHERS: Mapping[str, tuple[str, ...]] = {
    "ai21": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cohere": ("COHERE_API_KEY",),
    "gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "huggingface": ("HUGGINGFACE_API_KEY",),
    "replicate": ("REPLICATE_API_KEY",),
    "vercel_ai_gateway": ("VERCEL_AI_GATEWAY_API_KEY",),
}
"""Providers that litellm calls with one key, of which any variable may hold it."""
_AZURE, _AZURE_KEY, _AZURE_PLACE = "azure", "AZURE_API_KEY", ("AZURE_API_BASE", "AZURE_API_VERSION")
_AZURE_LOGINS = ("AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN", "AZURE_CLIENT_ID")
_RESPONSES_TOOL = "computer_use_preview"
_CHECKSUM = 64
"""The length of the checksum at the end of Replicate's names, by which litellm knows them."""
_ENDPOINTS = "provider_endpoints_support_backup.json"
_MORE_PROVIDERS = Path("llms") / "openai_like" / "providers.json"


def provider_of(model: str) -> Provider | None:
    """Return the provider with OpenAI's API that a model's name means, or None."""
    name, slash, _ = model.partition("/")
    if not slash:
        # Without litellm there is no table, and only OpenAI's models have no provider in the name.
        listed = entry_of(model) or {} if installed_litellm() else {"litellm_provider": "openai"}
        name = str(listed.get("litellm_provider", ""))
    return PROVIDERS.get(name)


def calls_directly(spec: ModelSpec) -> Provider | None:
    """Return the provider of a model that is called without litellm, or None if it needs it."""
    provider = provider_of(spec.litellm_model)
    if provider is None or (spec.computer and provider.name != "openai"):
        return None
    if spec.reasoning_effort and spec.reasoning_effort not in provider.efforts:
        return None
    # OpenAI serves some models only through its responses API, to which litellm translates.
    _, entry = priced_entry(spec.litellm_model)
    chats = entry.get("mode", "chat") == "chat"
    return provider if chats or spec.computer == _RESPONSES_TOOL else None


def priced_entry(model: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the entry of litellm's table that is about a model of its provider."""
    provider = provider_of(model)
    if provider is None:
        return "", {}
    rest = model.removeprefix(f"{provider.name}/")
    for name in (model, f"{provider.name}/{provider.path}{rest}", rest):
        entry = entry_of(name) or {}
        if entry.get("litellm_provider") == provider.name:
            return name, entry
    return "", {}


def problem_by_name(spec: ModelSpec, target: Endpoint, environ: Mapping[str, str]) -> str | None:
    """Return why a model cannot be called, as far as names tell, without importing litellm.

    Returns:
        "" if nothing is missing, and None if only litellm knows.
    """
    model = spec.litellm_model
    if provider := provider_of(model):
        return _lacking(provider, target, environ)
    if installed_litellm() is None:
        return needs_litellm(model)
    name = model.partition("/")[0] if "/" in model else ""
    if name in OLLAMA_PROVIDERS or (target.api_key and name in (_AZURE, *_KEYS_OF_OTHERS)):
        return ""
    if name == _AZURE:
        return _lacking_at_azure(target, environ)
    if name not in _KEYS_OF_OTHERS:
        return _unknown_provider(model)
    if target.api_base:
        return ""
    names = _KEYS_OF_OTHERS[name]
    for variable in names:
        if environ.get(variable):
            return key_problem(variable, environ[variable]) or ""
    return no_key(name, names if name == "gemini" else names[:1])


def _lacking(provider: Provider, target: Endpoint, environ: Mapping[str, str]) -> str:
    if not (target.api_base or provider.url(environ)):
        return (
            f"no address for provider {provider.name}: set {provider.addresses[0]} in the "
            "environment, or api_base in the model's settings"
        )
    if target.api_key:
        return ""
    for variable in provider.keys:
        if key := tidy_key(environ.get(variable, "")):
            return key_problem(variable, key) or ""
    if target.api_base or not provider.needs_key:
        return ""
    return no_key(provider.name, provider.keys[-1:] if provider.renamed else provider.keys[:1])


def _lacking_at_azure(target: Endpoint, environ: Mapping[str, str]) -> str:
    """Return which of litellm's three variables Azure lacks; an address is no key."""
    if (key := environ.get(_AZURE_KEY)) and (problem := key_problem(_AZURE_KEY, key)):
        return problem
    names = [_AZURE_KEY] if target.api_base else [*_AZURE_PLACE, _AZURE_KEY]
    logged_in = any(map(environ.get, _AZURE_LOGINS))
    lacking = [n for n in names if not (environ.get(n) or (n == _AZURE_KEY and logged_in))]
    return no_key(_AZURE, lacking, join=" and ") if lacking else ""


def no_key(provider: str, names: Iterable[str], *, join: str = " or ") -> str:
    """Return the sentence about a key that is missing."""
    return (
        f"no key for provider {provider}: set {join.join(names)} in the environment or in "
        ".env, or name another variable with api_key_env in the model's settings"
    )


def needs_litellm(model: str) -> str:
    """Return the sentence about a model of a lean installation that only litellm can call."""
    return (
        f"{model!r} needs litellm, which is not installed: pip install litellm. Without it, models "
        f"of {', '.join(PROVIDERS)} can be called, and every server with OpenAI's API, as "
        "openai/NAME with api_base in the model's settings"
    )


def _unknown_provider(model: str) -> str | None:
    """Return that litellm knows no provider for a name, as far as its data tell, or None."""
    place = installed_litellm()
    if place is None or entry_of(model) is not None or routes_elsewhere(model):
        return None
    name, slash, _ = model.partition("/")
    known = _known_to_litellm(place)
    # A version without this list is asked itself.
    if not known or len(model) > _CHECKSUM or (slash and name in known):
        return None
    return no_provider(model)


def no_provider(model: str) -> str:
    """Return the sentence about a model whose provider nobody knows."""
    return (
        f"litellm knows no provider for {model!r}; write it as "
        "provider/model, e.g. openai/gpt-5-mini, ollama_chat/qwen3:8b or, for a server of "
        "your own, openai/NAME with api_base in the model's settings"
    )


@cache
def _known_to_litellm(place: Path) -> frozenset[str]:
    """Return the names of the providers in litellm's own data; none if it has no such file."""
    try:
        listed = json.loads((place / _ENDPOINTS).read_text(encoding="utf-8"))["providers"]
        more = json.loads((place / _MORE_PROVIDERS).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError):
        return frozenset()
    return frozenset({*listed, *more, *PROVIDERS, *_KEYS_OF_OTHERS, "aiohttp_openai"})
