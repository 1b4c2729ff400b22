"""Fuzzes the sandbox: the lint, the worker behind it, and the pipe between worker and host.

    python benchmarks/fuzz_sandbox.py --minutes 10 --seed 1

Three arms in turn. `lint`: programs of Python's whole grammar, of the step language and mutants of
both must get an answer, the same one twice, in time. `worker`: what the lint lets through runs in a
real worker, where a monitor looks at each of its values; nothing but limits may end that worker.
`pipe`: a process that plays damaged and forged frames stands in for the worker; the host must
survive, make no call that is not on the list, and give no secret away. Prints each finding with the
seed that makes it again (`--seed N --rounds 1`); ends with 1 if there is one.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from hostile_frames import FAKES, SECRET, Call, ScriptedWorkers, border_of, script_of  # noqa: E402
from monitored_worker import ProgramRunner  # noqa: E402
from random_programs import mutant, random_program, step_language_program  # noqa: E402

from pytest_autoweb.results.runs.saving import json_text  # noqa: E402
from pytest_autoweb.sandbox.engine import Limits  # noqa: E402
from pytest_autoweb.sandbox.host import WorkerEngine  # noqa: E402
from pytest_autoweb.sandbox.lint import lint_code  # noqa: E402

LONGEST_LINT_S, LONGEST_STEPS_S = 3.0, 60.0
"""A worker that does not read is ended fifteen seconds after its step; three steps may do so."""
LIMITS = Limits(step_s=0.3, calls=50, output_chars=20_000)


def main() -> int:
    """Fuzz until the time is over, print the counts, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, metavar="N")
    parser.add_argument("--rounds", type=int, metavar="N", help="end after so many seeds")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the first seed")
    parser.add_argument("--json", type=Path, metavar="PATH")
    parsed = parser.parse_args()
    until, counts, findings = time.monotonic() + parsed.minutes * 60, Counter[str](), list[str]()
    fuzz = Fuzz(counts)
    seed = parsed.seed
    while time.monotonic() < until and seed - parsed.seed != parsed.rounds:
        for found in fuzz.round(seed):
            findings.append(f"seed {seed}: {found}")
            print(f"FINDING {findings[-1]}", flush=True)
        seed += 1
    fuzz.close()
    print(f"seeds {parsed.seed} to {seed - 1}; findings: {len(findings)}")
    print("\n".join(f"{count:>9}  {what}" for what, count in sorted(counts.items())))
    if parsed.json:
        summary = {"first_seed": parsed.seed, "last_seed": seed - 1, "counts": counts}
        parsed.json.write_text(json.dumps({**summary, "findings": findings}, indent=2) + "\n")
    return 1 if findings else 0


class Fuzz:
    """The three arms, and the processes that they keep."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts, self._runner, self._puppets = counts, ProgramRunner(), ScriptedWorkers("off")
        benign = (ROOT / "tests/unit/sandbox/benign.txt").read_text(encoding="utf-8")
        self._corpus = [text.partition("\n")[2] for text in benign.split("\n### ")]

    def close(self) -> None:
        """End the processes."""
        self._runner.close()
        self._puppets.close()

    def round(self, seed: int) -> Iterator[str]:
        """Yield what goes wrong with the ten programs and one dialogue that a seed makes."""
        rng = random.Random(seed)
        programs = [random_program(rng) for _ in range(2)] + [
            step_language_program(rng) for _ in range(5)
        ]
        for code in (*programs, *(mutant(rng, self._corpus) for _ in range(3))):
            yield from self._lint(code)
            if not lint_code(code):
                seen = self._runner.run(code, rng)
                self._counts[f"worker: {seen.how}"] += 1
                if seen.how == "escaped":
                    yield f"worker: {seen.what}\n{code}"
        try:
            yield from self._talk(rng)
        except Exception as error:  # whatever the host raises is what we look for
            yield f"pipe: {type(error).__name__}: {error}"

    def _lint(self, code: str) -> Iterator[str]:
        began = time.perf_counter()
        try:
            findings = lint_code(code)
        except Exception as error:  # it promises never to raise
            yield f"lint: {type(error).__name__}: {error}\n{code!r}"
            return
        self._counts["lint: refused" if findings else "lint: let through"] += 1
        if time.perf_counter() - began > LONGEST_LINT_S:
            yield f"lint: took {time.perf_counter() - began:.1f} s\n{code!r}"
        if findings != lint_code(code):
            yield f"lint: two answers\n{code!r}"

    def _talk(self, rng: random.Random) -> Iterator[str]:
        calls: list[Call] = []
        page = FAKES["Page"](calls, rng)
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            border = border_of(page, Path(name))
            with WorkerEngine(border, limits=LIMITS, workers=self._puppets) as engine:
                for index in (1, 2, 3):
                    outcome = engine.run_step(index, script_of(rng), root=page, limits=LIMITS)
                    rule = outcome.failure.rule if outcome.failure else "ok"
                    self._counts[f"pipe: {rule or 'step'}"] += 1
                    said = [outcome.failure, *outcome.calls, outcome.log, engine.answer]
                    if outcome.ok is (outcome.failure is not None):
                        yield "pipe: neither ok nor a failure"
                    if SECRET in json_text(said):
                        yield "pipe: a secret came out"
            self._counts["pipe: calls on the page"] += len(calls)
            yield from (text for call in calls if (text := call.complaint(Path(name))))
        if time.monotonic() - began > LONGEST_STEPS_S:
            yield f"pipe: took {time.monotonic() - began:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
