"""What model calls cost."""

from pytest_autoweb.results.record import Record


class Usage(Record):
    """Tokens, money and time of model calls; adds up with `+`."""

    calls: int = 0
    """Model calls, failed ones included."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """US dollars of the priced calls; None when no call had a price."""
    unpriced_calls: int = 0
    """Calls whose model has no known price: then `cost_usd` is a lower bound or unknown."""
    latency_s: float = 0.0
    """Seconds spent waiting for the service (of the recording, when replayed)."""
    replayed_calls: int = 0
    """Calls answered by a cassette."""

    def __add__(self, other: "Usage") -> "Usage":
        costs = [c for c in (self.cost_usd, other.cost_usd) if c is not None]
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(costs) if costs else None,
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
            latency_s=self.latency_s + other.latency_s,
            replayed_calls=self.replayed_calls + other.replayed_calls,
        )
