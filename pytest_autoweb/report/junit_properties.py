"""A cell as properties of its test in a JUnit file."""

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import what_failed
from pytest_autoweb.results.records import CellResult

PREFIX = "autoweb."


def junit_properties(cell: CellResult) -> list[tuple[str, str]]:
    """Return the properties, with prefixed names and values free of characters that XML forbids."""
    usage = cell.total_usage
    last = cell.attempts[-1] if cell.attempts else None
    facts: dict[str, object] = {
        "case": cell.case_id,
        "model": cell.model,
        "capture_mode": cell.capture_mode,
        "repeat": cell.repeat,
        "strategy": cell.strategy,
        "outcome": cell.outcome,
        "slow": cell.slow,
        "attempts": len(cell.attempts),
        "duration_s": f"{cell.duration_ms / 1000:.3f}",
        "model_calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost_usd": _cost(usage.cost_usd, usage.calls, usage.unpriced_calls),
    }
    if cell.must_pass:
        facts["must_pass"] = True
    if last is not None:
        evaluated = [check for check in last.checks if check.passed is not None]
        facts["executed"] = last.executed
        facts["false_success"] = last.false_success
        facts["checks"] = f"{sum(c.passed is True for c in evaluated)}/{len(last.checks)}"
    if cell.failure is not None:
        facts["failure_kind"] = cell.failure.kind
    if cell.without_checks:
        facts["without_checks"] = True
    if last is not None and (steps := last.failed_steps()) and not cell.passed:
        facts["failed_steps"] = steps
    if failed := what_failed(cell):
        facts["failed"] = failed
    if cell.reason:
        facts["reason"] = cell.reason
    return [(PREFIX + name, _value(value)) for name, value in facts.items()]


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else one_line(str(value), 500)


def _cost(usd: float | None, calls: int, unpriced: int) -> str:
    if calls == 0:
        return "0"
    if usd is None:
        return "unknown"
    return f"{'>=' if unpriced else ''}{usd:.6f}"
