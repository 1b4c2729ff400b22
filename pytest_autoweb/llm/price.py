"""Prices of a model's tokens, and an upper bound on what a request can cost."""

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.llm.client import Request
from pytest_autoweb.llm.spec import ModelSpec

_MTOK = 1_000_000
# Allowance for what a service adds to each message: roles, separators, a system text.
_MESSAGE_TOKENS = 64
# Allowance for one picture of a page, higher than what any provider counts.
_PICTURE_TOKENS = 40_000


class Price(BaseModel):
    """Price of one token in US dollars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_usd: float
    output_usd: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of that many tokens of prompt and reply."""
        return input_tokens * self.input_usd + output_tokens * self.output_usd


class TokenBound(BaseModel):
    """Upper bound on the tokens for which a request can be billed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_tokens: int
    output_tokens: int


def price_in_spec(spec: ModelSpec) -> Price | None:
    """Return the price that the settings imply; controls and embedded models cost nothing."""
    input_usd, output_usd = spec.input_cost_per_mtok, spec.output_cost_per_mtok
    if input_usd is None and output_usd is None:
        return Price(input_usd=0, output_usd=0) if spec.provider != "litellm" else None
    return Price(input_usd=(input_usd or 0) / _MTOK, output_usd=(output_usd or 0) / _MTOK)


def token_bound(spec: ModelSpec, request: Request) -> TokenBound:
    """Return an upper bound on a request's tokens.

    A token is at least one byte of text, and the length of a reply is limited.
    """
    texts = [message.content for message in request.messages]
    texts += [request.grammar or "", str(request.json_schema or ""), str(spec.extra_body or "")]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    pictures = sum(len(message.images) for message in request.messages) if spec.vision else 0
    input_tokens = size + _MESSAGE_TOKENS * len(request.messages) + _PICTURE_TOKENS * pictures
    return TokenBound(
        input_tokens=input_tokens,
        output_tokens=min(spec.max_tokens, request.max_tokens or spec.max_tokens),
    )
