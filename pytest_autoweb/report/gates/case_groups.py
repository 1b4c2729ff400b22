"""Groups of cases, declared in `pyproject.toml`, and what each demands of its cases."""

import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from pydantic import ConfigDict, Field, ValidationError

from pytest_autoweb.base.errors import SettingsError, near_miss
from pytest_autoweb.base.specs import Written
from pytest_autoweb.base.values.flag_texts import least_rate, share_problem

TABLE = "tool.autoweb.groups"


class GroupMember(Protocol):
    """A cell or its row, with the fields that groups need."""

    @property
    def case_id(self) -> str: ...

    @property
    def tags(self) -> tuple[str, ...]: ...


class CaseGroup(Written):
    """One group: the cases that belong to it, and what its gates demand of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    tags: list[str] = Field(default_factory=list)
    """A case with one of these tags belongs to the group."""
    cases: list[str] = Field(default_factory=list)
    """A case whose id fits one of these patterns (`*`, `?`, `[ab]`) belongs to it as well."""
    min_pass_rate: float | None = Field(default=None, ge=0, le=100)
    """The least pass rate of first attempts, in percent."""
    confidence: float | None = Field(default=None, gt=50, lt=100)
    """How sure it has to be, in percent, that a rate is lower: the 95 of `80%@95`."""
    must_pass: bool = False
    """Whether every cell has to pass."""
    soft: bool = False
    """Failures are reported but do not fail the run, and other gates leave these cases out."""

    def has(self, member: GroupMember) -> bool:
        return bool(set(self.tags) & set(member.tags)) or any(
            fnmatchcase(member.case_id, pattern) for pattern in self.cases
        )


def read_groups(pyproject: Path) -> tuple[CaseGroup, ...]:
    """Return the groups in the file's order; none if the file is missing.

    Raises:
        SettingsError: the file is not valid TOML, or a table has an invalid key or value.
    """
    try:
        data: Any = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(f"{pyproject}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{pyproject}: not valid TOML: {error}") from None
    for key in TABLE.split("."):
        data = data.get(key, {}) if isinstance(data, dict) else {}
    if not isinstance(data, dict):
        raise SettingsError(f"{pyproject}: [{TABLE}] has to hold one table per group")
    return tuple(_group(name, table, pyproject) for name, table in data.items())


_KEYS = tuple(field for field in CaseGroup.model_fields if field not in ("name", "confidence"))


def groups_file(path: Path) -> tuple[CaseGroup, ...]:
    """Read the groups of an explicitly named file, which must exist.

    Raises:
        SettingsError: it does not exist, or is invalid.
    """
    if not path.is_file():
        raise SettingsError(f"there is no file {path} to read groups from")
    return read_groups(path)


def _group(name: str, table: Any, pyproject: Path) -> CaseGroup:
    where = f"{pyproject}: [{TABLE}.{name}]"
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where}: has to be a table of {_listed_keys()}")
    for key in table:
        # Checked here because pydantic's message about an unknown key cannot suggest the nearest
        # valid one.
        if key not in _KEYS:
            raise SettingsError(f"{where}: unknown key {key!r}{near_miss(key, _KEYS)}")
    try:
        least = _least_rate(table.get("min_pass_rate"))
    except ValueError as error:
        raise SettingsError(f"{where}: min_pass_rate: {error}") from None
    try:
        group = CaseGroup.model_validate({**table, **least, "name": name})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{where}: {field}: {first['msg']}") from None
    if not (group.tags or group.cases):
        raise SettingsError(f"{where}: no case can belong to it; give `tags` or `cases`")
    if group.min_pass_rate is None and not (group.must_pass or group.soft):
        raise SettingsError(
            f"{where}: asks for nothing; give `min_pass_rate`, `must_pass` or `soft`"
        )
    return group


def _least_rate(given: Any) -> dict[str, Any]:
    """Return the rate of a table, which may also be a text such as `90%` or `90%@95`."""
    if isinstance(given, str):
        least = least_rate(given)
        return {"min_pass_rate": least.percent, "confidence": least.confidence}
    if isinstance(given, int | float) and (problem := share_problem(given)):
        raise ValueError(f"{problem}, in quotes")
    return {"min_pass_rate": given}


def _listed_keys() -> str:
    return ", ".join(f"`{key}`" for key in _KEYS)


def empty_group_warning(group: CaseGroup, members: Iterable[GroupMember]) -> str:
    """Return a warning that the group is empty, with the nearest existing tag as a suggestion."""
    known = sorted({tag for member in members for tag in member.tags})
    unknown = [tag for tag in group.tags if tag not in known]
    guess = near_miss(unknown[0], known) if unknown and known else ""
    return f"no case of this run belongs to the group{guess}"
