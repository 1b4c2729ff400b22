"""What an attack is: code, and the verdict that each layer owes it."""

from collections.abc import Callable
from typing import NamedTuple

from pytest_autoweb.sandbox.engine import Limits
from pytest_autoweb.sandbox.levels import Level

NOTHING = "nothing"
"""The block runs to its end, and nothing that counts has happened."""
ERROR = "error"
"""The block ends with an ordinary error: what it wants is not there."""
TIMEOUT = "timeout"
"""The time of the step is over."""
EGRESS = "egress"
"""The block asks the other origin, and the proxy refuses."""

SHORT = Limits(step_s=0.25)
LITTLE = Limits(output_chars=2_000, calls=50, exchanged_mb=4)


class Attack(NamedTuple):
    """Code that must not get anywhere.

    In the code `@FILE@` stands for a file whose content must stay secret, `@MARKER@` for a file
    that must not come into being, `@EVIL@` for host and port of a server that nobody may reach,
    `@SHOP@` for the origin that the case allows.
    """

    name: str
    lint: str
    """The rule that refuses it before it runs; empty: that is left to the layers behind."""
    held: str
    """How it ends if it runs all the same: one of the words above, or the rule of the border.
    Several, separated by blanks, where the machine decides."""
    code: str
    scripts: bool = False
    """It brings a script into the page, which `strict` refuses at once."""
    on_page: bool = False
    """It needs the page as a visitor finds it."""
    limits: Limits = Limits(step_s=5)

    def due(self, level: Level) -> tuple[str, frozenset[str]]:
        """The lint's rule and the verdicts of the layers behind, at this level."""
        if self.scripts and level == "strict":
            return self.lint or "AW310", frozenset({"AW510"})
        return self.lint, frozenset(self.held.split())


def rows(*written: tuple[str, str, str, str]) -> list[Attack]:
    """Attacks that need nothing but the worker."""
    return [Attack(*row) for row in written]


def rows_on_page(*written: tuple[str, str, str, str]) -> list[Attack]:
    """Attacks that act on the page."""
    return [Attack(*row, on_page=True) for row in written]


def script_rows(held: str, *written: tuple[str, str]) -> list[Attack]:
    """Attacks by a script in the page, by name and script."""
    make: Callable[[str], str] = "page.evaluate({!r})".format
    return [
        Attack(name, "", held, make(script), scripts=True, on_page=True) for name, script in written
    ]


ALL_OF_PYTHON = (
    "os = [c for c in ().__class__.__base__.__subclasses__() "
    "if c.__name__ == '_wrap_close'][0].__init__.__globals__\n"
)
"""Finds the module `os` in the worker, where no lint is in the way."""
