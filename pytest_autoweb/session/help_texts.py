"""The help of pytest: the everyday options, in whose texts the registered variants are listed."""

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_autoweb.base.variants import Variants
from pytest_autoweb.browser.page.capture import CAPTURE_MODES
from pytest_autoweb.cell.strategies import ARMS, STRATEGIES
from pytest_autoweb.judging.checks.check_type import CHECKS
from pytest_autoweb.settings.options import GROUP, unlisted_keys
from pytest_autoweb.settings.run_settings import OPTIONS

HELP_LISTS: Mapping[str, Variants[Any]] = {
    "capture_modes": CAPTURE_MODES,
    "check_types": CHECKS,
    "correction_arms": ARMS,
    "strategies": STRATEGIES,
}
"""The variants that replace `{name}` in the help text of an option."""


_REST = (
    "{count} more settings, for measurements and special places, have a flag, an ini key and a "
    "variable as well: `autoweb debug settings` lists them all."
)


def fill_help(config: pytest.Config) -> None:
    """Replace placeholders such as `{check_types}` in help texts with the registered variants.

    Ini keys of what is not listed are left out, and a closing line says where they are.
    """
    # pytest has no public way to change a help text once its option is declared.
    parser: Any = config._parser
    for action in parser.optparser._actions:
        if isinstance(action.help, str) and "{" in action.help:
            # argparse reads a percent sign as a placeholder.
            action.help = filled(action.help.replace("%%", "%")).replace("%", "%%")
    for name in unlisted_keys():
        parser._inidict.pop(name, None)
    for name, (help_text, *rest) in parser._inidict.items():
        if isinstance(help_text, str) and "{" in help_text:
            parser._inidict[name] = (filled(help_text), *rest)
    groups = parser.optparser._action_groups
    more = parser.optparser.add_argument_group(
        "autoweb: all other settings", _REST.format(count=_unlisted())
    )
    groups.remove(more)
    own = next(place for place, group in enumerate(groups) if group.title == GROUP)
    groups.insert(own + 1, more)


def filled(text: str) -> str:
    """Return a help text with the registered variants in place of `{check_types}` and the like."""
    for name, kind in HELP_LISTS.items():
        text = text.replace(f"{{{name}}}", f"\n{kind.summaries()}")
    return text


def _unlisted() -> int:
    return sum(
        not (option.everyday or option.instead) and option.prefix != "" for option in OPTIONS
    )
