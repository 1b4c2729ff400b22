"""One model's settings and its endpoint."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, model_validator

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.redaction import tidy_key
from pytest_autoweb.base.specs import WholeText, Written
from pytest_autoweb.base.variant_names import Perturbation
from pytest_autoweb.results.records import SettingSource
from pytest_autoweb.settings.agent_command import COMMAND, AgentCommand

Dialect = Literal["playwright", "refs"]
"""The two forms of the step language a model may be asked for (docs/models.md)."""
CodegenWay = Literal["auto", "turns", "once"]
"""Whether a script is written turn by turn, with the page in view, or all at once."""
WAYS: tuple[CodegenWay, ...] = ("turns", "once")
"""Endings of a model's name after an @ that compare it with itself; efforts are others."""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model is asked to reason before it replies."""
USUAL_CONTEXT = 32_768
"""Default size of a context, in tokens."""
DEFAULT_PARALLEL = 8
"""Default limit on requests in flight to a model."""
ComputerKind = Literal["computer_use_preview", "computer_20241022", "computer_20250124"]
"""The computer tools of OpenAI and Anthropic, by the types under which they know them."""
SMALL_PARAMETERS = 14.0
"""Size in billions of parameters below which `auto` has a model write its script at once."""
_STREAMING = ("openai", "custom_openai")
_SIZE = re.compile(r"(?<![\w.])(?:\d+x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)


class ModelSpec(Written):
    """Settings of one model, from `[tool.autoweb.models."NAME"]` or a YAML file.

    Any provider that litellm knows needs no more than the name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: WholeText
    """Name as given on the command line and shown in the report."""
    model: WholeText = ""
    """The id sent to litellm if the name is an alias; defaults to the name."""
    api_base: WholeText | None = None
    """Base URL of the server."""
    api_key_env: str | None = None
    """Environment variable that holds the key, if it is not the provider's usual one."""
    temperature: float | None = 0.0
    """None leaves the choice to the service (some models refuse the parameter)."""
    seed: int | None = None
    reasoning: bool | None = None
    """Whether the model can think before it replies; None if nobody knows."""
    reasoning_effort: Effort | None = None
    """How much it is asked to think; None leaves that to the service."""
    max_tokens: int = Field(default=2048, gt=0)
    """Limit on the tokens of a reply, thoughts included."""
    output_limit: int | None = Field(default=None, gt=0)
    """The longest reply that the model can give, up to which a reply that was cut off is asked for
    again."""
    context_tokens: int = Field(default=USUAL_CONTEXT, gt=0)
    """Tokens of prompt and reply together; page captures are shortened to fit."""
    page_tokens: int = Field(default=65_536, gt=0)
    """The most tokens of a prompt that pages may take, however much fits: each one is paid for."""
    turn_page_tokens: int = Field(default=10_000, gt=0)
    """The most tokens of the page in one turn; the model can ask for more of its lists."""
    timeout: float = Field(default=180.0, gt=0)
    """Seconds for one call."""
    stream: bool = False
    """Whether the server sends a reply piece by piece while the model writes it, which keeps alive
    connections that a proxy cuts off when nothing comes for a while. For OpenAI's API only."""
    vision: bool = False
    """Whether pictures may be sent."""
    dialect: Dialect = "playwright"
    codegen: CodegenWay = "auto"
    """How the strategy `codegen` writes scripts in the dialect `playwright`; `auto` decides by the
    size in the model's name, as the dialect `refs` always does."""
    constrained: Literal["none", "gbnf", "json_schema"] = "none"
    """How the server can constrain replies."""
    prompt_caching: bool = False
    """Whether the part of a prompt that stays the same is marked for the service's cache."""
    refuses: tuple[str, ...] = ()
    """Parameters that are not sent because the model refuses them, e.g. `temperature`."""
    agent: str | AgentCommand = ""
    """Who drives the browser with it, whatever a case says: the name of an agent, or a program as
    `{command: [...]}`; empty leaves that to case and flags."""
    perturb: Perturbation = ""
    """How pages are changed (docs/perturbations.md); empty leaves them as they are."""
    fences: bool = True
    """Whether prompts mark the text of pages as data, as they usually do (docs/attacks.md)."""
    computer: ComputerKind | None = None
    """The provider's computer tool, through which the strategy `act` drives the model."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Additional fields of the body of every request."""
    max_parallel: int | None = Field(default=None, gt=0)
    """Limit on requests in flight over all workers; default 8, embedded models 2."""
    input_cost_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars per million prompt tokens, if litellm does not know the price."""
    output_cost_per_mtok: float | None = Field(default=None, ge=0)
    cached_input_cost_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars per million prompt tokens that the service reads from its cache; without it they
    cost as much as others."""
    sources: dict[str, SettingSource] = Field(default_factory=dict)
    """Where settings come from, if not from the defaults; kept by `load_specs`."""

    @model_validator(mode="before")
    @classmethod
    def _with_eyes(cls, data: Any) -> Any:
        """Enable vision for a model with a computer tool, which works from pictures alone."""
        if isinstance(data, dict) and data.get("computer"):
            return {"vision": True, **data}
        return data

    @model_validator(mode="after")
    def _streams_as_openai_does(self) -> Self:
        if self.stream and self.litellm_model.partition("/")[0] not in _STREAMING:
            raise ValueError(
                f"`stream` is for servers with OpenAI's API, named openai/NAME, "
                f"and not for {self.litellm_model!r}"
            )
        return self

    @property
    def provider(self) -> Literal["builtin", "local", "litellm"]:
        """Return the provider: a control of this package, the embedded engine, or litellm."""
        prefix = self.litellm_model.partition("/")[0]
        if prefix == "builtin":
            return "builtin"
        return "local" if prefix == "local" else "litellm"

    @property
    def agent_name(self) -> str:
        """Return the name of the agent that drives the browser with it; empty if none is set."""
        return COMMAND if isinstance(self.agent, AgentCommand) else self.agent

    @property
    def small(self) -> bool:
        """Tell whether the model is embedded, or its name gives a size below 14B."""
        return self.provider != "litellm" or _says_small(self.litellm_model)

    @property
    def brief(self) -> bool:
        """Tell whether the strategies that decide by sight use their short prompts."""
        return self.small and self.dialect == "refs" and not self.vision

    @property
    def takes_turns(self) -> bool:
        """Tell whether the strategy `codegen` lets the model write its script in a conversation."""
        if self.dialect == "refs" or self.codegen == "auto":
            return not self.small
        return self.codegen == "turns"

    @property
    def litellm_model(self) -> str:
        """Return the id behind an alias."""
        return self.model or self.name

    @property
    def shown_tokens(self) -> int:
        """Return the number of tokens of the context that pages may fill."""
        return min(self.context_tokens, self.page_tokens)

    @property
    def thinks(self) -> bool:
        """Tell whether a reply's limit must also leave room for reasoning."""
        return has_thoughts(self.reasoning, self.reasoning_effort)

    def is_set(self, setting: str) -> bool:
        """Tell whether a person made a setting, rather than the registry or the defaults."""
        if self.sources:
            return self.sources.get(setting) == "settings"
        return setting in self.model_fields_set

    def as_set(self) -> "ModelSpec":
        """Return the settings without the registry's values, which differ between versions."""
        fields = type(self).model_fields
        told = [name for name, source in self.sources.items() if source != "settings"]
        return self.model_copy(update={name: fields[name].default for name in told})

    def reply_limit(self, own: int | None = None, *, more_room: bool = False) -> int:
        """Return the token limit of a reply.

        Args:
            own: the limit of this kind of call, meant for replies without reasoning.
            more_room: the reply was cut off before.
        """
        limit = self.max_tokens if own is None or self.thinks else min(self.max_tokens, own)
        if not more_room or self.provider != "litellm":
            return limit
        # The limit for small models in the dialect refs was measured; a higher one would not help.
        if own is not None and self.dialect == "refs":
            return limit
        most = min(self.output_limit or limit * MORE_ROOM, self.context_tokens // 2)
        return max(limit, min(limit * MORE_ROOM, most))


@cache
def _says_small(model: str) -> bool:
    return any(float(size) < SMALL_PARAMETERS for size in _SIZE.findall(model))


def has_thoughts(reasoning: bool | None, effort: str | None) -> bool:
    """Tell whether a model reasons before it replies, as these two settings say."""
    return bool(reasoning) if effort is None else effort != "none"


MORE_ROOM = 4
"""The factor on the length of a reply that is requested again because it was cut off."""

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
        ModelError: the spec names a key variable that is not set, or whose value is no key.
    """
    key = None
    if spec.api_key_env:
        key = tidy_key(environ.get(spec.api_key_env) or "")
        if not key:
            raise ModelError(
                "auth", spec.name, f"the environment variable {spec.api_key_env} is not set"
            )
        if problem := key_problem(spec.api_key_env, key):
            raise ModelError("auth", spec.name, problem)
    base = base_url(spec, environ)
    if key is None and spec.api_base and is_loopback(spec.api_base):
        # litellm would send the provider's real key, which a local server must not receive.
        key = "none"
    return Endpoint(spec.litellm_model, base, key)


def key_problem(variable: str, key: str) -> str | None:
    """Return why the value of a variable cannot be sent as a key, or None.

    HTTP libraries report such a key in words of their own, and quote it.
    """
    if key.isascii() and key.isprintable():
        return None
    wrong = "a line break" if re.search(r"[\r\n]", key) else "a character that no key has"
    return (
        f"the value of the environment variable {variable} holds {wrong}; set it to the key alone"
    )


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
