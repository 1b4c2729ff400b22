"""Programs that nobody wrote, against the lint and in a real worker.

`benchmarks/fuzz_sandbox.py` does the same for as long as one likes, with other seeds.
"""

import random
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_corpus import ATTACKS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from monitored_worker import ProgramRunner
from random_programs import mutant, random_program, step_language_program

from pytest_autoweb.sandbox.lint import lint_code

BENIGN = (Path(__file__).parent / "benign.txt").read_text(encoding="utf-8").split("\n### ")
CORPUS = [text.partition("\n")[2] for text in BENIGN]
CORPUS += [code for codes in ATTACKS.values() for code in codes if len(code) < 2_000]
BOUNDED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
SEEDS = st.integers(0, 1 << 32)
LONGEST_S = 3.0
"""Of one answer of the lint; it takes milliseconds, the rest is for a busy machine."""


def programs(seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    yield random_program(rng)
    yield step_language_program(rng)
    yield mutant(rng, CORPUS)


@settings(BOUNDED, max_examples=40)
@given(SEEDS)
def test_the_lint_answers_every_program_at_once_and_always_the_same(seed: int) -> None:
    for code in programs(seed):
        began = time.perf_counter()
        findings = lint_code(code)

        assert time.perf_counter() - began < LONGEST_S
        assert findings == lint_code(code)
        assert all(finding.line >= 1 and finding.message for finding in findings)
        if not findings:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(code, "<step>", "exec")


@settings(BOUNDED, max_examples=60)
@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode("latin-1")))
def test_the_lint_answers_whatever_is_no_program(code: str) -> None:
    assert lint_code(code) == lint_code(code)


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    runner = ProgramRunner()
    yield runner
    runner.close()


@settings(BOUNDED, max_examples=40)
@given(seed=SEEDS)
def test_no_program_that_passes_the_lint_gets_hold_of_what_it_should_not(
    runner: ProgramRunner, seed: int
) -> None:
    rng = random.Random(seed)
    for code in programs(seed):
        if not lint_code(code):
            seen = runner.run(code, rng)

            assert seen.how != "escaped", f"{seen.what}\n{code}"


@pytest.mark.parametrize(
    "code",
    [
        "log(getattr)",
        "x = page._border",
        "x = [f.__globals__ for f in (answer,)]",
        "x = (v for v in ()).gi_frame",
        "open('/etc/hostname')",
    ],
)
def test_the_spy_sees_what_the_lint_would_have_refused(runner: ProgramRunner, code: str) -> None:
    """Else a monitor that is blind would find nothing, too."""
    assert lint_code(code)
    assert runner.run(code, random.Random(1)).how in {"escaped", "raised"}


def test_the_spy_sees_a_class_that_no_code_may_have(runner: ProgramRunner) -> None:
    seen = runner.run("x = (1).__class__.__mro__", random.Random(1))

    assert (seen.how, "object" in seen.what) == ("escaped", True)


@pytest.mark.parametrize("value", ["type", "len", "int", "(lambda: 0)", "answer", "page.goto"])
def test_type_tells_nothing_that_makes_classes_or_functions(
    runner: ProgramRunner, value: str
) -> None:
    assert runner.run(f"x = type({value})", random.Random(1)).what == "TypeError"


@pytest.mark.parametrize(
    "code",
    [
        "return 1",
        "break",
        "def f():\n    x = 1\n    global x",
        "nonlocal x",
        "def f(a, a):\n    pass",
        "x = [y for y in (z := [1])]",
    ],
)
def test_what_only_compiling_tells_is_told_by_the_lint(code: str) -> None:
    """In the worker Python would look for the line in a file, and the worker would be ended."""
    (finding,) = lint_code(code)

    assert finding.code == "AW001"
