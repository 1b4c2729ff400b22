"""The endpoint of a model, resolved from its settings just before a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.spec import ModelSpec

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
OLLAMA_PROVIDERS = ("ollama", "ollama_chat")
OLLAMA_DEFAULT_BASE = "http://localhost:11434"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server of a model, as litellm needs it."""

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)


def resolve_target(spec: ModelSpec, environ: Mapping[str, str]) -> Endpoint:
    """Return the base URL and key of a model that is not embedded.

    Raises:
        ModelError: the spec names a key variable that is not set.
    """
    key = None
    if spec.api_key_env:
        key = environ.get(spec.api_key_env)
        if not key:
            raise ModelError(
                "auth", spec.name, f"the environment variable {spec.api_key_env} is not set"
            )
    base = base_url(spec, environ)
    if key is None and spec.api_base and is_loopback(spec.api_base):
        # litellm would send the provider's real key, which a local server must not receive.
        key = "none"
    return Endpoint(spec.litellm_model, base, key)


def base_url(spec: ModelSpec, environ: Mapping[str, str]) -> str | None:
    """Return the server's URL, or None if it is the provider's own."""
    if spec.api_base:
        return spec.api_base.rstrip("/")
    if spec.litellm_model.partition("/")[0] in OLLAMA_PROVIDERS:
        return (environ.get("OLLAMA_API_BASE") or OLLAMA_DEFAULT_BASE).rstrip("/")
    return None


def is_loopback(url: str) -> bool:
    """Tell whether a URL points to this machine."""
    return urlsplit(url).hostname in _LOOPBACK
