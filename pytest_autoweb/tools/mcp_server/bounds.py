"""What a coding agent may ask for, and how much it is told at once."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.report.foreign_text import clean_lines

TEXT_CHARS = 2_000
"""The most characters of one text in an answer; a context window has better uses."""
LIST_ITEMS = 100
"""The most items of one list in an answer."""


class ServerLimits(Struct, frozen=True):
    """What the person who starts the server allows.

    Args:
        rootdir: the project; nothing outside of it is run, read or written.
        max_cost: the most US dollars that one run may cost.
        models: the models that may be called; none named means any.
        read_only: whether only cases and runs are read, and nothing is run.
    """

    rootdir: Path
    max_cost: float
    models: tuple[str, ...] = ()
    read_only: bool = False

    def inside(self, named: str) -> str:
        """Return a path, or FILE::CASE, that lies in the project, as a command may be given it.

        Raises:
            SettingsError: it lies elsewhere, or would be read as a flag.
        """
        path, colons, case = named.partition("::")
        if not path or path.startswith("-"):
            raise SettingsError(f"{named!r} is no path; name a file or a folder of the project")
        whole = (self.rootdir / path).resolve()
        if not whole.is_relative_to(self.rootdir):
            raise SettingsError(
                f"{named} lies outside of {self.rootdir}, the project of this server"
            )
        return f"{whole.relative_to(self.rootdir).as_posix()}{colons}{case}"

    def run_named(self, named: str) -> str:
        """Return the name of a run, which may be a folder in the project.

        Raises:
            SettingsError: the folder lies elsewhere, or it would be read as a flag.
        """
        is_name = re.fullmatch(r"\w[\w.-]*", named) is not None
        return named if is_name and not (self.rootdir / named).exists() else self.inside(named)

    def models_allowed(self, asked: Sequence[str]) -> str:
        """Return the value of `--autoweb-models` for the models that are asked for.

        Raises:
            SettingsError: none is, or one may not be called.
        """
        names = [name.strip() for entry in asked for name in entry.split(",") if name.strip()]
        if not names:
            raise SettingsError(
                "name at least one model, such as builtin/oracle, which needs no key"
            )
        for name in names:
            # What stands behind @ is the agent.
            plain = name.partition("@")[0]
            if self.models and not {name, plain} & {*self.models} and not _is_control(plain):
                allowed = ", ".join(self.models)
                raise SettingsError(f"{name} may not be called; this server allows {allowed}")
        return ",".join(names)

    def cost_allowed(self, asked: float | None) -> float:
        """Return the cap of a run in US dollars.

        Raises:
            SettingsError: more is asked for than the server allows.
        """
        if asked is None:
            return self.max_cost
        if not 0 <= asked <= self.max_cost:
            raise SettingsError(
                f"max_cost_usd is {asked:g}, and this server allows 0 to {self.max_cost:g}"
            )
        return asked


def _is_control(model: str) -> bool:
    return model.startswith("builtin/")


def bounded(value: Any) -> Any:
    """Return plain values with long texts and lists cut, which say how much is missing.

    Text comes from pages and models, so that characters that are not seen are left out.
    """
    if isinstance(value, str):
        text = clean_lines(value)
        left = len(text) - TEXT_CHARS
        return text if left <= 0 else f"{text[:TEXT_CHARS]}… ({left} more characters)"
    if isinstance(value, dict):
        return {str(name): bounded(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        left = len(value) - LIST_ITEMS
        items = [bounded(item) for item in value[:LIST_ITEMS]]
        return items if left <= 0 else [*items, f"… and {left} more"]
    return value
