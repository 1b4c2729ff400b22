"""What a report panel of the user's own may hold: text and numbers, no markup and no script."""

from pydantic import Field, FiniteFloat, model_validator

from pytest_autoweb.results import Record

MAX_ROWS = 1000
"""Rows of a panel's table that are kept."""

Scalar = str | bool | int | FiniteFloat | None
"""One value of a table or a list; None is shown as a dash."""


class PanelContent(Record):
    """What a panel shows, in this order; whatever is empty is left out."""

    note: str = ""
    """A sentence under the heading."""
    facts: dict[str, Scalar] = Field(default_factory=dict)
    """Names with their values, shown as a list."""
    columns: tuple[str, ...] = ()
    """Heads of the table."""
    rows: tuple[tuple[Scalar, ...], ...] = ()
    """Rows of the table; each has as many values as there are columns."""

    @model_validator(mode="after")
    def _rows_fit_the_columns(self) -> "PanelContent":
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} has {len(row)} values, but there are {len(self.columns)} columns"
                )
        return self


class ReportedPanel(PanelContent):
    """One panel of the user's own, as it stands in the report."""

    name: str
    """The name under which it was registered."""
    title: str
    """Its heading."""
    order: int
    """Its place among all panels: those with a lower number stand above it."""
    rows_left_out: int = 0
    """Rows beyond the first 1,000, which the report does not keep."""
    error: str = ""
    """Why there is nothing to show: the panel's function failed."""
