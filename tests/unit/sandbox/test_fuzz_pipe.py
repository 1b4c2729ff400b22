"""The pipe, with the worst at its other end: for the host a hostile worker, and the other way.

`benchmarks/fuzz_sandbox.py` does the same for as long as one likes, with other seeds.
"""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_frames import FAKES, SECRET, Call, ScriptedWorkers, border_of, line_of, script_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pytest_autoweb.results.records import Failure
from pytest_autoweb.results.runs.saving import json_text
from pytest_autoweb.sandbox.engine import Limits
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.worker_process import WorkerGoneError, WorkerProcess

BOUNDED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
SEEDS = st.integers(0, 1 << 32)
LIMITS = Limits(step_s=0.3, calls=50, output_chars=20_000)
LONGEST_S = 15.0


@pytest.fixture(scope="module")
def scripted() -> Iterator[ScriptedWorkers]:
    scripted = ScriptedWorkers("off")
    yield scripted
    scripted.close()


@settings(BOUNDED, max_examples=15)
@given(seed=SEEDS)
def test_a_hostile_worker_gets_a_failure_and_no_call_beyond_the_list(
    scripted: ScriptedWorkers, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    rng, calls = random.Random(seed), list[Call]()
    page = FAKES["Page"](calls, rng)
    began = time.monotonic()
    with WorkerEngine(border_of(page, folder), limits=LIMITS, workers=scripted) as engine:
        for index in (1, 2, 3):
            outcome = engine.run_step(index, script_of(rng), root=page, limits=LIMITS)

            assert outcome.ok is (outcome.failure is None)
            assert outcome.failure is None or isinstance(outcome.failure, Failure)
            assert SECRET not in json_text([outcome.failure, *outcome.calls, outcome.log])
            assert SECRET not in json_text(engine.answer)
    assert time.monotonic() - began < LONGEST_S
    assert [text for call in calls if (text := call.complaint(folder))] == []


@settings(BOUNDED, max_examples=8)
@given(seed=SEEDS)
def test_a_worker_that_is_sent_garbage_ends_or_answers(seed: int) -> None:
    rng = random.Random(seed)
    worker = WorkerProcess(memory_mb=256, cpu_s=5)
    try:
        worker.wait_ready()
        assert worker._process.stdin is not None
        os.write(worker._process.stdin.fileno(), line_of(rng)[:60_000] + line_of(rng)[:60_000])
        worker._process.stdin.close()
        with pytest.raises(WorkerGoneError) as gone:
            _hear_out(worker)
    finally:
        worker.close()

    assert gone.value.rule in {"AW506", "AW508"}


def _hear_out(worker: WorkerProcess) -> None:
    while True:
        said = worker.receive(time.monotonic() + LONGEST_S)

        assert said["op"] in {"begun", "done", "cbdone", "log"}


def test_numbers_made_to_collide_do_not_stop_the_host(
    scripted: ScriptedWorkers, tmp_path: Path
) -> None:
    """Each is equal to the others modulo the size of Python's hashes."""
    numbers = [n * ((1 << 61) - 1) for n in range(1, 60_001)]
    frame = (
        '{"op":"call","id":1,"root":"h1","chain":[],"expect":false,"message":null,'
        f'"method":"evaluate","args":["x => x",{{"$set":{numbers}}}],"kwargs":{{}},"line":1}}\n'
    )
    page = FAKES["Page"]([], random.Random(1))
    began = time.monotonic()
    with WorkerEngine(border_of(page, tmp_path), limits=LIMITS, workers=scripted) as engine:
        script = f'[["say","{frame.encode().hex()}"],["die",0]]'
        outcome = engine.run_step(1, script, root=page, limits=Limits(step_s=10))

    assert outcome.failure is not None
    assert outcome.failure.rule == "AW507"
    assert time.monotonic() - began < LONGEST_S
