"""The files that pages hand out."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Download:
    """A file that a page handed out while the attempt ran."""

    name: str
    """As the page suggests it."""
    path: Path | None
    """Where it is kept; None: it failed, or is larger than what is kept."""
    size: int
    sha256: str = ""
    url: str = ""
    problem: str = ""
    """Why there is no file; empty when there is one."""
