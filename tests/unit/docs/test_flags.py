import re
import runpy
from pathlib import Path

import pytest

from pytest_autoweb.settings.run_settings import OPTIONS

DOCS = Path(__file__).parents[3] / "docs"
EVERYDAY = [option.flag for option in OPTIONS if option.everyday]
OTHERS = [option.flag for option in OPTIONS if not (option.everyday or option.instead)]
OLD = [
    name.flag
    for option in OPTIONS
    for name in option.names
    if option.instead or name.name == option.former
]


@pytest.fixture(scope="module")
def page() -> str:
    """The page of flags as the built site has it."""
    source = [(DOCS / "flags.md").read_text(encoding="utf-8")]
    runpy.run_path(str(DOCS / "conf.py"))["fill"](None, "flags", source)
    return source[0]


@pytest.mark.parametrize(
    ("section", "flags"),
    [("Everyday flags", EVERYDAY), ("All other settings", OTHERS), ("Old names", OLD)],
)
def test_the_site_explains_every_flag_in_its_section(
    page: str, section: str, flags: list[str]
) -> None:
    text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| `--")]

    assert [re.split(r"[\[=`]", row)[1] for row in rows] == flags
    # A bar inside a cell would end it.
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {5}
    assert not re.search(r"\{[a-z_]+\}", text)
