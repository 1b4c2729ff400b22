"""The page about the step language, as the built site has it, says what the sandbox does."""

import runpy
from pathlib import Path

import pytest

from pytest_autoweb.sandbox import allowed_python
from pytest_autoweb.sandbox.engine import Limits
from pytest_autoweb.sandbox.frame_codec import MAX_FROM_WORKER, MAX_VALUES_FROM_WORKER
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.sandbox.rules import RULES

DOCS = Path(__file__).parents[3] / "docs"


def as_built() -> str:
    source = [(DOCS / "step-language.md").read_text(encoding="utf-8")]
    runpy.run_path(str(DOCS / "conf.py"))["fill"](None, "step-language", source)
    return source[0]


TEXT = as_built()
LINES = TEXT.splitlines()


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_listed_with_its_text(rule: str) -> None:
    assert f"| {rule} | {RULES[rule]} |" in LINES


def test_no_rule_is_listed_that_does_not_exist() -> None:
    listed = {line.split(" | ")[0].strip("| ") for line in LINES if line.startswith("| AW")}

    assert listed == set(RULES)


@pytest.mark.parametrize("module", sorted(set(allowed_python.MODULES) - {"playwright", "urllib"}))
def test_every_module_is_listed_with_its_members(module: str) -> None:
    members = " ".join(f"`{name}`" for name in sorted(allowed_python.MODULES[module]))

    assert f"| `{module}` | {members} |" in LINES


def test_the_example_is_clean() -> None:
    code = TEXT.split("```python\n")[1].split("```")[0]

    assert lint_code(code) == ()


def test_the_limits_are_those_of_the_code() -> None:
    limits = Limits()
    stated = {line.split(" | ")[1] for line in LINES if line.startswith("| ") and " | " in line}

    assert {
        f"{limits.step_s:g} s",
        f"{limits.cpu_s:g} s",
        f"{limits.memory_mb} MB",
        f"{limits.output_chars:,} characters",
        f"{limits.calls:,}",
        f"{limits.exchanged_mb} MB",
        f"{MAX_FROM_WORKER // 1_000_000} MB and {MAX_VALUES_FROM_WORKER:,} values",
    } <= stated
    assert (
        f"{allowed_python.MAX_SOURCE_CHARS:,} characters, {allowed_python.MAX_NODES:,} parts"
        in TEXT
    )
