"""What the fields of case files are made of: the base of all models, and checked texts."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return pattern


def _is_http(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"must start with http:// or https://, got {url!r}")
    return url


Regex = Annotated[str, AfterValidator(_compiles)]
HttpUrl = Annotated[str, AfterValidator(_is_http)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class Spec(BaseModel):
    """Base of everything a case file holds: frozen, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, populate_by_name=True
    )


class Pattern(Spec):
    """A regular expression instead of a glob or a plain text."""

    matches: Regex
    """Python's syntax; it is searched, not matched whole."""
