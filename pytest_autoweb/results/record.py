"""What everything saved is made of."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of everything saved: frozen, unknown fields refused, docstrings become the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
