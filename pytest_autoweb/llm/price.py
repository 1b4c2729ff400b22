"""What a model's tokens cost, and the most a request can cost."""

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.llm.client import Request
from pytest_autoweb.llm.spec import ModelSpec

_MTOK = 1_000_000
_MESSAGE_TOKENS = 64
"""What a service adds around a message: roles, separators, a system text of its own."""
_PICTURE_TOKENS = 40_000
"""More than any provider counts for one picture of a page."""


class Price(BaseModel):
    """US dollars for a token."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_usd: float
    output_usd: float

    def of(self, given: int, made: int) -> float:
        """US dollars for that many tokens of prompt and reply."""
        return given * self.input_usd + made * self.output_usd


class Most(BaseModel):
    """The most tokens a request can be billed for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    given: int
    made: int


def price_in_spec(spec: ModelSpec) -> Price | None:
    """The price that the model's settings give; controls and embedded models cost nothing."""
    given, made = spec.input_cost_per_mtok, spec.output_cost_per_mtok
    if given is None and made is None:
        return Price(input_usd=0, output_usd=0) if spec.provider != "litellm" else None
    return Price(input_usd=(given or 0) / _MTOK, output_usd=(made or 0) / _MTOK)


def most_tokens(spec: ModelSpec, request: Request) -> Most:
    """An upper bound: a token is at least one byte of text, and replies have a limit."""
    texts = [message.content for message in request.messages]
    texts += [request.grammar or "", str(request.json_schema or ""), str(spec.extra_body or "")]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    pictures = sum(len(message.images) for message in request.messages) if spec.vision else 0
    given = size + _MESSAGE_TOKENS * len(request.messages) + _PICTURE_TOKENS * pictures
    return Most(given=given, made=min(spec.max_tokens, request.max_tokens or spec.max_tokens))
