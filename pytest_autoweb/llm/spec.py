"""What is known of one model: its name, provider and settings."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Dialect = Literal["playwright", "refs"]
"""The two forms of the step language a model may be asked for (docs/models.md)."""


class ModelSpec(BaseModel):
    """Settings of one model, from `[tool.autoweb.models."NAME"]` or a YAML file.

    The name alone is enough for every provider litellm knows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """As given on the command line; the report uses it."""
    model: str = ""
    """The id sent to litellm, when the name is an alias; default is the name."""
    api_base: str | None = None
    """Base URL of the server."""
    api_key_env: str | None = None
    """Environment variable that holds the key, when it is not the provider's own."""
    temperature: float | None = 0.0
    """None leaves it to the service (some models refuse the parameter)."""
    seed: int | None = None
    max_tokens: int = Field(default=2048, gt=0)
    """Largest reply."""
    context_tokens: int = Field(default=32_768, gt=0)
    """Prompt and reply together; page captures are cut to fit."""
    timeout: float = Field(default=180.0, gt=0)
    """Seconds for one call."""
    vision: bool = False
    """Whether pictures may be sent."""
    dialect: Dialect = "playwright"
    constrained: Literal["none", "gbnf", "json_schema"] = "none"
    """What the server can hold replies to."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Sent along with every request."""
    max_parallel: int | None = Field(default=None, gt=0)
    """Most requests in flight at once, over all workers; default 8. Embedded models take 2."""
    input_cost_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars per million prompt tokens, when litellm does not know the price."""
    output_cost_per_mtok: float | None = Field(default=None, ge=0)

    @property
    def provider(self) -> Literal["builtin", "local", "litellm"]:
        """Who answers: a control of this package, the embedded engine, or litellm."""
        prefix = self.litellm_model.partition("/")[0]
        if prefix == "builtin":
            return "builtin"
        return "local" if prefix == "local" else "litellm"

    @property
    def litellm_model(self) -> str:
        """The id behind an alias."""
        return self.model or self.name
