from pathlib import Path

from pytest_autoweb.session.help_texts import HELP_LISTS
from pytest_autoweb.settings.run_settings import OPTIONS

FLAGS = Path(__file__).parents[3] / "docs" / "flags.md"


def test_every_flag_is_explained_with_its_default() -> None:
    rows = {line.split("`")[1].split("=")[0]: line for line in FLAGS.read_text().splitlines()
            if line.startswith("| `--")}  # fmt: skip

    assert list(rows) == [option.flag for option in OPTIONS]
    for option in OPTIONS:
        # Lists of check types stand on lines of their own, for `--help` alone.
        explained = in_a_sentence(option.help.partition("\n")[0])
        assert explained.replace("|", r"\|") in rows[option.flag]
        assert (f"`{option.default}`" if option.default else "| none |") in rows[option.flag]


def in_a_sentence(text: str) -> str:
    """The help with what is registered in the place of each placeholder."""
    for name, kind in HELP_LISTS.items():
        told = (f"{variant.name} ({variant.summary})" for variant in kind.values())
        text = text.replace(f"{{{name}}}", ", ".join(told))
    return text
