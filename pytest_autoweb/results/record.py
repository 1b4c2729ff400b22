"""What everything saved is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

VARIANT_NAME = r"^[A-Za-z][A-Za-z0-9_]*$"

VariantName = Annotated[str, Field(pattern=VARIANT_NAME)]
"""Names of registered variants are plain words, so they are safe in folder names and in Markdown.

Whether there is such a variant is not asked: results of other machines, and of projects that
register variants of their own, must stay readable.
"""

CaptureModeName = VariantName
"""How the page was shown to the model."""

CorrectionArmName = VariantName
"""How a failed attempt was tried again."""


class Record(BaseModel):
    """Base of everything saved: frozen, unknown fields refused, docstrings become the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
