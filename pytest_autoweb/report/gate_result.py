"""What a gate decided."""

from pytest_autoweb.results import Record


class GateResult(Record):
    """One gate's decision."""

    name: str
    """What is asked, e.g. `pass rate` or `group smoke`."""
    model: str = ""
    """Of whom; empty: of the run."""
    passed: bool | None
    """None: not decided, e.g. because there is no run to compare with."""
    message: str
    """One sentence."""
    details: tuple[str, ...] = ()
    """What the decision rests on, a line each."""
    soft: bool = False
    """Reported, but without a say in the exit code."""

    @property
    def failed(self) -> bool:
        """Whether it fails the run."""
        return self.passed is False and not self.soft

    @property
    def title(self) -> str:
        """Name and model."""
        return f"{self.name} ({self.model})" if self.model else self.name
