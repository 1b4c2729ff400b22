"""The sentence about missing extras, and the table behind it, which agrees with pyproject.toml."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from pytest_autoweb.base import installation
from pytest_autoweb.base.errors import SettingsError

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def packages_of(extra: str) -> set[str]:
    """What an extra brings, with the extras that it is made of."""
    names: set[str] = set()
    for line in PROJECT["optional-dependencies"][extra]:
        if inner := re.match(r"pytest-autoweb\[(.*)\]", line):
            names |= {name for other in inner[1].split(",") for name in packages_of(other)}
        else:
            names.add(re.split(r"[^A-Za-z0-9-]", line)[0].lower())
    return names


def test_each_extra_is_asked_for_the_packages_that_it_declares() -> None:
    asked = {
        extra: {installation._PACKAGES.get(module, module) for module in modules}
        for extra, modules in installation._MODULES.items()
    }

    assert asked == {extra: packages_of(extra) for extra in asked}
    assert set(PROJECT["optional-dependencies"]) - set(asked) == {"demo", "dev", "docs"}


@pytest.mark.parametrize(
    ("missing", "wanted", "says"),
    [
        (("redis",), ("redis",), "redis is not installed: pip install 'pytest-autoweb[redis]'"),
        (("psycopg",), ("dashboard", "postgres"), "psycopg is not installed: *[postgres]'"),
        (("sqlalchemy", "alembic"), ("dashboard", "store"), "*alembic are *[dashboard]'"),
        (
            ("fastapi", "uvicorn", "psycopg"),
            ("dashboard", "postgres"),
            "fastapi, uvicorn and psycopg are not *[dashboard,postgres]'",
        ),
        (("PIL",), ("testing",), "pillow is not installed*[testing]'"),
    ],
)
def test_one_sentence_names_what_is_missing_and_what_brings_it(
    missing: tuple[str, ...],
    wanted: tuple[str, ...],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(SettingsError) as caught:
        installation.require_extras(*wanted)

    assert re.fullmatch(re.escape(says).replace(r"\*", ".*"), str(caught.value))


@pytest.mark.skipif(not (ROOT / "scripts").is_dir(), reason="the page is about the checkout")
def test_the_page_lists_all_packages_but_litellm_and_every_extra() -> None:
    page = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    listed = re.search(r"^pip install (babel[^`]*)```", page, re.MULTILINE)
    needed = {re.split(r"[^A-Za-z0-9-]", line)[0] for line in PROJECT["dependencies"]}

    assert listed is not None
    assert set(listed[1].replace("\\", "").split()) == needed - {"litellm"}
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(installation._MODULES)


def test_nothing_is_said_of_what_is_there() -> None:
    # Ray is as large as everything else together, so only the tests of clusters have it.
    assert installation.missing_extras(installation._MODULES.keys() - {"cluster"}) is None
