"""The values behind `<secret:NAME>`."""

from collections.abc import Mapping
from pathlib import Path

from pytest_autoweb.cases.model import Case
from pytest_autoweb.errors import CaseError


def resolve_secrets(
    case: Case, environ: Mapping[str, str], path: Path | None = None
) -> dict[str, str]:
    """Name -> value: the environment variable when it holds something, else the default.

    Raises:
        CaseError: a variable is not set and there is no default.
    """
    values: dict[str, str] = {}
    for name, source in case.secrets.items():
        # CI systems set variables of missing secrets to nothing.
        value = (environ.get(source.env) if source.env else None) or source.default
        if value is None:
            raise CaseError(
                f"case {case.id!r} needs the environment variable {source.env}",
                path=path,
                field=f"secrets.{name}",
            )
        values[name] = value
    return values
