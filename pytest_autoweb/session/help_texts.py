"""The help texts of options, in which the registered variants are listed."""

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_autoweb.base.variants import Variants
from pytest_autoweb.browser.page.capture import CAPTURE_MODES
from pytest_autoweb.cell.strategies import ARMS, STRATEGIES
from pytest_autoweb.judging.checks.check_type import CHECKS

HELP_LISTS: Mapping[str, Variants[Any]] = {
    "capture_modes": CAPTURE_MODES,
    "check_types": CHECKS,
    "correction_arms": ARMS,
    "strategies": STRATEGIES,
}
"""The variants that replace `{name}` in the help text of an option."""


def fill_help(config: pytest.Config) -> None:
    """Replace placeholders such as `{check_types}` in help texts with the registered variants."""
    lists = {f"{{{name}}}": f"\n{kind.summaries()}" for name, kind in HELP_LISTS.items()}

    def filled(text: str) -> str:
        for placeholder, listed in lists.items():
            text = text.replace(placeholder, listed)
        return text

    # pytest has no public way to change a help text once its option is declared.
    parser: Any = config._parser
    for action in parser.optparser._actions:
        if isinstance(action.help, str) and "{" in action.help:
            # argparse reads a percent sign as a placeholder.
            action.help = filled(action.help.replace("%%", "%")).replace("%", "%%")
    for name, (help_text, *rest) in parser._inidict.items():
        if isinstance(help_text, str) and "{" in help_text:
            parser._inidict[name] = (filled(help_text), *rest)
