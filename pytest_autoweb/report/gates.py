"""What decides whether a run is good enough: one result per gate, from rows alone; pure."""

from pytest_autoweb.results import Record


class GateResult(Record):
    """One gate's decision."""

    name: str
    """What was gated, e.g. `pass rate openai/gpt-5-mini`."""
    passed: bool | None
    """None: not decided, e.g. because there is no run to compare with."""
    message: str
    """One sentence."""
    details: tuple[str, ...] = ()
    """What the decision rests on, a line each."""
    soft: bool = False
    """Reported, but without a say in the exit code."""
