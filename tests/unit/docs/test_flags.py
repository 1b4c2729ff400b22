import re
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.session.help_texts import HELP_LISTS
from pytest_autoweb.settings.run_settings import OPTIONS, Option

FLAGS = Path(__file__).parents[3] / "docs" / "flags.md"
EVERYDAY = [option for option in OPTIONS if option.everyday]
OTHERS = [option for option in OPTIONS if not (option.everyday or option.instead)]
OLD = {
    name.flag: option
    for option in OPTIONS
    for name in option.names
    if option.instead or name.name == option.former
}


def rows_of(section: str) -> dict[str, str]:
    """The rows of a section's table, by the flag that each begins with."""
    text = FLAGS.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| `--")]
    return {re.split(r"[\[=`]", row)[1]: row for row in rows}


@pytest.mark.parametrize(
    ("section", "options"), [("Everyday flags", EVERYDAY), ("All other settings", OTHERS)]
)
def test_every_flag_is_explained_with_its_default(section: str, options: list[Option[Any]]) -> None:
    rows = rows_of(section)

    assert list(rows) == [option.flag for option in options]
    for option in options:
        # Lists of check types stand on lines of their own, for `--help` alone.
        explained = in_a_sentence(option.help.partition("\n")[0])
        assert explained.replace("|", r"\|") in rows[option.flag]
        assert (f"`{option.default}`" if option.default else "| none |") in rows[option.flag]


def test_every_old_name_has_a_row_with_its_successor() -> None:
    rows = rows_of("Old names")

    assert list(rows) == list(OLD)
    for flag, option in OLD.items():
        now = f"--autoweb-{(option.instead or option.name).replace('_', '-')}"
        assert f"| `{now}" in rows[flag]


def in_a_sentence(text: str) -> str:
    """The help with what is registered in the place of each placeholder."""
    for name, kind in HELP_LISTS.items():
        told = (f"{variant.name} ({variant.summary})" for variant in kind.values())
        text = text.replace(f"{{{name}}}", ", ".join(told))
    return text
