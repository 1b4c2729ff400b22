"""The ways in which a page can plant an instruction to the agent."""

from typing import Literal, get_args

from pytest_autoweb.base.values.flag_texts import comma_list, one_of

AttackName = Literal["text", "label", "toast", "late"]
"""Visible text, an accessible label, a toast, or text that comes after the first action."""


def attack_names(text: str) -> tuple[AttackName, ...]:
    """Read the named ways; several take turns over cases and repeats."""
    names: list[AttackName] = [one_of(*get_args(AttackName))(name) for name in comma_list(text)]
    return tuple(dict.fromkeys(names))
