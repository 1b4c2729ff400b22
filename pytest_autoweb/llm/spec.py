"""The settings of one model: its name, provider and parameters."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Dialect = Literal["playwright", "refs"]
"""The two forms of the step language a model may be asked for (docs/models.md)."""


class ModelSpec(BaseModel):
    """Settings of one model, from `[tool.autoweb.models."NAME"]` or a YAML file.

    Any provider that litellm knows needs no more than the name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """Name as given on the command line and shown in the report."""
    model: str = ""
    """The id sent to litellm if the name is an alias; defaults to the name."""
    api_base: str | None = None
    """Base URL of the server."""
    api_key_env: str | None = None
    """Environment variable that holds the key, if it is not the provider's usual one."""
    temperature: float | None = 0.0
    """None leaves the choice to the service (some models refuse the parameter)."""
    seed: int | None = None
    max_tokens: int = Field(default=2048, gt=0)
    """Limit on the tokens of a reply."""
    context_tokens: int = Field(default=32_768, gt=0)
    """Tokens of prompt and reply together; page captures are shortened to fit."""
    timeout: float = Field(default=180.0, gt=0)
    """Seconds for one call."""
    vision: bool = False
    """Whether pictures may be sent."""
    dialect: Dialect = "playwright"
    constrained: Literal["none", "gbnf", "json_schema"] = "none"
    """How the server can constrain replies."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Additional fields of the body of every request."""
    max_parallel: int | None = Field(default=None, gt=0)
    """Limit on requests in flight over all workers; default 8, embedded models 2."""
    input_cost_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars per million prompt tokens, if litellm does not know the price."""
    output_cost_per_mtok: float | None = Field(default=None, ge=0)

    @property
    def provider(self) -> Literal["builtin", "local", "litellm"]:
        """Tell who answers: a control of this package, the embedded engine, or litellm."""
        prefix = self.litellm_model.partition("/")[0]
        if prefix == "builtin":
            return "builtin"
        return "local" if prefix == "local" else "litellm"

    @property
    def litellm_model(self) -> str:
        """Return the id behind an alias."""
        return self.model or self.name
