"""Hostile code, as the product runs it and with the lint skipped: what it is after stays away.

Every attack says which rule of the lint refuses it and what stops it if it runs all the same. Where
the lint lets it pass, running it is what the product does. What the lint says, and what the border
says about scripts, differs with the level, so both are asked; the rest of the border, the walls
around a worker and the limits do not, so what ends there runs once, at one level or the other.
"""

import re
from collections import Counter
from types import ModuleType

import pytest
from attacks import (
    environment,
    exhaustion,
    files,
    forging,
    imports,
    objects,
    origins,
    playwright_surface,
    processes,
    protocol,
    secrets,
    sockets,
)
from attacks.attack import EGRESS, ERROR, NOTHING, TIMEOUT, Attack
from attacks.target import CANARIES, SECRET, TargetOf

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.results.records import Failure
from pytest_autoweb.sandbox.engine import StepOutcome
from pytest_autoweb.sandbox.levels import WALLS, Level, scripts_allowed
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.sandbox.rules import RULES

pytest_plugins = ["attacks.target"]


LEVELS: tuple[Level, ...] = ("auto", "strict")
CATEGORIES: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        files,
        environment,
        processes,
        sockets,
        imports,
        objects,
        playwright_surface,
        origins,
        exhaustion,
        forging,
        secrets,
        protocol,
    )
}
ATTACKS = [
    pytest.param(level, attack, id=f"{category}: {attack.name} ({level})")
    for level in LEVELS
    for category, module in CATEGORIES.items()
    for number, attack in enumerate(module.ATTACKS)
    if attack.scripts or number % 2 == LEVELS.index(level)
]
FORMS_OF_THE_SECRET = Redactor({"password": SECRET})


def test_every_category_has_its_attacks_and_no_two_are_alike() -> None:
    counts = {name: len(module.ATTACKS) for name, module in CATEGORIES.items()}
    codes = Counter(attack.code for module in CATEGORIES.values() for attack in module.ATTACKS)

    assert min(counts.values()) >= 12, counts
    assert sum(counts.values()) >= 300, counts
    assert [code for code, times in codes.items() if times > 1] == []


def test_the_walls_around_a_worker_are_those_of_both_levels() -> None:
    assert WALLS["auto"] == WALLS["strict"]


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_lint_refuses_what_it_can_tell_at_both_levels(
    target_of: TargetOf, level: Level, category: str
) -> None:
    for attack in CATEGORIES[category].ATTACKS:
        check_lint(target_of(level).filled(attack.code), level, attack.due(level)[0])


@pytest.mark.parametrize(("level", "attack"), ATTACKS)
def test_the_layers_hold(target_of: TargetOf, level: Level, attack: Attack) -> None:
    target = target_of(level)
    _, held = attack.due(level)
    before, asked = target.effects(), target.asked()
    outcome = target.run(attack)
    if EGRESS in held:
        assert target.asked_soon(asked), "it never asked for the other origin"
    told = target.told(outcome)
    after = target.effects()
    target.tidy(outcome)

    assert after == before
    assert [canary for canary in CANARIES if canary in told] == []
    assert FORMS_OF_THE_SECRET(told) == told
    assert EGRESS in held or how_it_ended(outcome) in held, outcome.failure
    if outcome.failure:
        check_sentence(outcome.failure)


def check_lint(code: str, level: Level, rule: str) -> None:
    """The rule that is due refuses the code, and each finding can be acted upon."""
    findings = lint_code(code, scripts=scripts_allowed(level, "some/model"))

    assert bool(findings) == bool(rule), findings
    assert not rule or rule in {finding.code for finding in findings}
    for finding in findings:
        assert finding.code in RULES
        assert 1 <= finding.line <= len(code.splitlines()) + 1
        assert finding.message
        assert "Traceback" not in finding.message


def how_it_ended(outcome: StepOutcome) -> str:
    """In the words of the corpus."""
    if outcome.failure is None:
        return NOTHING
    if outcome.failure.kind == "sandbox":
        return outcome.failure.rule or "no rule"
    return {"step": ERROR, "timeout": TIMEOUT}[outcome.failure.kind]


def check_sentence(failure: Failure) -> None:
    """A refusal names its rule, its line and its reason."""
    assert failure.message
    assert "\x1b" not in failure.message
    if failure.kind == "sandbox":
        assert failure.rule in RULES
        # Whom the kernel ends, who ends itself or forges frames can no longer say where: no code
        # that passes the lint does that.
        silent = "exit status|system call|protocol|out of turn|tried something"
        assert failure.line or re.search(silent, failure.message), failure
