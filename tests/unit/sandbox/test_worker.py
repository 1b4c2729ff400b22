"""The worker process without a browser: what it computes, and what it cannot do even unlinted."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from pytest_autoweb.results.records import ToolCall
from pytest_autoweb.sandbox.engine import Limits, SandboxBorder, StepOutcome
from pytest_autoweb.sandbox.host import WorkerEngine

if TYPE_CHECKING:
    from playwright.sync_api import Page

LIMITS = Limits(step_s=5)
NO_PAGE = cast("Page", object())
"""For what does not touch the page."""
SHORT = Limits(step_s=0.5, memory_mb=256, output_chars=2_000, calls=50)
# For what ends before its time: a busy machine may need longer than half a second until then.
ENDS_EARLY = Limits(step_s=10, memory_mb=256, output_chars=2_000, calls=50)
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory limits are kept on Linux")


class Runner:
    """Runs blocks one after the other without a page."""

    def __init__(self, engine: WorkerEngine, border: SandboxBorder) -> None:
        self.engine, self.border, self.index = engine, border, 0

    def __call__(self, code: str, limits: Limits = LIMITS, index: int | None = None) -> StepOutcome:
        self.index = self.index + 1 if index is None else index
        return self.engine.run_step(self.index, code, root=self.border.page, limits=limits)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Runner]:
    border = SandboxBorder(page=NO_PAGE, artifacts=tmp_path / "artifacts")
    with WorkerEngine(border) as engine:
        yield Runner(engine, border)


def failure_of(outcome: StepOutcome) -> tuple[str, str]:
    assert outcome.failure is not None
    return outcome.failure.kind, outcome.failure.message


def test_a_block_computes_logs_and_answers(run: Runner) -> None:
    outcome = run("import math\nprint('sum', sum([1, 2]), sep='=')\nanswer({'pi': math.pi})")

    assert (outcome.ok, outcome.log) == (True, "sum=3")
    assert run.engine.answer == (True, {"pi": 3.141592653589793})


def test_variables_and_functions_are_shared_by_the_steps(run: Runner) -> None:
    run("import json\ntotal = 2\ndef double(x):\n    return 2 * x")

    outcome = run("total = double(total)\nprint(json.dumps([total]))")

    assert outcome.log == "[4]"
    assert outcome.names == ("total", "double")


def test_a_block_without_a_call_or_an_answer_has_no_calls(run: Runner) -> None:
    assert run("x = 1\nprint(x)").calls == ()
    assert [call.method for call in run("answer(x)").calls] == ["answer"]


@pytest.mark.parametrize(
    "code",
    [
        "del __builtins__",
        "__builtins__ = {}",
        "__builtins__['open'] = print",
        "try:\n    1 / 0\nexcept ZeroDivisionError as __builtins__:\n    pass",
    ],
)
def test_a_block_that_loses_its_builtins_gives_the_next_one_no_others(
    run: Runner, code: str
) -> None:
    run(code)

    assert failure_of(run("print(len('ab'))\neval"))[1] == "NameError: name 'eval' is not defined"


def test_an_error_names_its_type_its_first_line_and_its_line(run: Runner) -> None:
    outcome = run("x = 1\ndef f():\n    return y\nf()\n")

    assert failure_of(outcome) == ("step", "NameError: name 'y' is not defined")
    assert outcome.failure is not None
    assert outcome.failure.line == 3
    assert outcome.names == ("x", "f")


def test_an_error_in_a_function_of_an_earlier_step_points_at_the_call(run: Runner) -> None:
    run("def f():\n    raise ValueError('no\\nsecond line')")

    outcome = run("\n\nf()")

    assert failure_of(outcome) == ("step", "ValueError: no")
    assert outcome.failure is not None
    assert outcome.failure.line == 3


def test_lines_are_told_as_they_are_logged(tmp_path: Path) -> None:
    lines: list[str] = []
    border = SandboxBorder(page=NO_PAGE, artifacts=tmp_path, on_log=lines.append)
    with WorkerEngine(border) as engine:
        engine.run_step(1, "log('a')\nprint('b\\nc')", root=border.page, limits=LIMITS)

    assert lines == ["a", "b", "c"]


def test_secrets_are_taken_out_of_logs_answers_and_errors(tmp_path: Path) -> None:
    border = SandboxBorder(
        page=NO_PAGE, artifacts=tmp_path, redact=lambda text: text.replace("hunter2", "***")
    )
    with WorkerEngine(border) as engine:
        code = "s = 'hunter' + '2'\nprint(s)\nanswer([{s: s}])\nraise ValueError(s)"
        outcome = engine.run_step(1, code, root=border.page, limits=LIMITS)

        assert engine.answer == (True, [{"***": "***"}])
    assert "hunter2" not in repr(outcome)


@pytest.mark.parametrize(
    ("value", "answered"),
    [
        ("None", None),
        ("(1, 2.5, 'a')", [1, 2.5, "a"]),
        ("{1: {True: [None]}}", {"1": {"True": [None]}}),
        ("__import__('datetime').date(2024, 2, 29)", "2024-02-29"),
        ("{'$re': 1}", {"$re": 1}),
        ("'\\ud800'", "\ufffd"),
    ],
)
def test_an_answer_is_a_json_value(run: Runner, value: str, answered: object) -> None:
    run(f"answer({value})")

    assert run.engine.answer == (True, answered)


@pytest.mark.parametrize("value", ["page", "print", "object", "b'x'", "x"])
def test_an_answer_that_is_no_json_value_is_an_error_of_the_block(run: Runner, value: str) -> None:
    outcome = run(f"x = []\nx.append(x)\nanswer({value})")

    assert failure_of(outcome)[0] == "step"
    assert run.engine.answer == (False, None)


def test_a_step_run_again_starts_with_the_variables_it_started_with(run: Runner) -> None:
    run("seen = []\nalias = seen")
    code = "seen.append(1)\nextra = 1\nprint(len(seen), alias is seen)\nanswer(len(seen))"

    first, again = run(code), run(code, index=2)

    assert (first.log, again.log) == ("1 True", "1 True")


def test_another_block_of_the_same_step_goes_on_with_the_variables(run: Runner) -> None:
    run("x = [1]", index=1)
    outcome = run("x.append(2)\nprint(x)", index=1)

    assert outcome.log == "[1, 2]"


def test_a_continued_step_that_never_ran_is_a_failure(run: Runner) -> None:
    call = ToolCall(
        step_index=1,
        seq=0,
        target="page",
        method="click",
        arguments="",
        acting=True,
        ok=True,
        duration_ms=1,
    )

    outcome = run.engine.run_step(1, "x = 1", root=run.border.page, limits=LIMITS, resume=(call,))

    assert failure_of(outcome)[0] == "step"


@pytest.mark.long
def test_a_block_that_computes_for_ever_is_stopped_and_the_last_good_values_are_there(
    run: Runner,
) -> None:
    run("kept = {'a': [1, (2, 3)]}\nwhen = __import__('datetime').date(2024, 1, 2)\ndef f(): pass")

    began = time.monotonic()
    outcome = run("kept['a'] = 'spoilt'\nnew = 1\nwhile new:\n    pass", SHORT)

    assert time.monotonic() - began < 4
    assert outcome.killed
    assert failure_of(outcome)[0] == "timeout"
    assert outcome.names == ("kept", "when")
    assert run("print(kept, when.year)").log == "{'a': [1, (2, 3)]} 2024"
    assert failure_of(run("f()"))[1].startswith("NameError")


@ON_LINUX
def test_memory_beyond_the_limit_is_named(run: Runner) -> None:
    outcome = run("x = 'a' * 10 ** 9", SHORT)

    assert failure_of(outcome) == ("sandbox", "the code used more than 256 MB of memory")
    assert outcome.killed


@pytest.mark.long
@ON_LINUX
def test_processor_time_beyond_the_limit_is_named(run: Runner) -> None:
    outcome = run("x = 1\nwhile x:\n    pass", Limits(step_s=10, cpu_s=1))

    assert failure_of(outcome) == ("sandbox", "the code used more than 1 s of processor time")


def test_output_beyond_the_limit_ends_the_step(run: Runner) -> None:
    outcome = run("while True:\n    print('x' * 100)", ENDS_EARLY)

    assert failure_of(outcome) == ("sandbox", "the step wrote more than 2000 characters")
    assert len(outcome.log) <= 2_000


def test_calls_beyond_the_limit_end_the_step(run: Runner) -> None:
    outcome = run("for i in range(100):\n    answer(i)", ENDS_EARLY)

    assert failure_of(outcome) == ("sandbox", "the step made more than 50 calls")
    assert len(outcome.calls) == 50


def test_the_worker_has_no_environment_no_files_and_no_folder(run: Runner) -> None:
    process = run.engine._worker
    process.wait_ready()
    folder = Path(f"/proc/{process.pid}")
    if not folder.exists():
        pytest.skip("needs /proc")
    names = [str(link.readlink()) for link in (folder / "fd").iterdir()]

    given = (folder / "environ").read_bytes().split(b"\0")
    assert {entry.partition(b"=")[0] for entry in given} <= {b"", b"TZ"}
    assert (folder / "cwd").readlink() == Path("/")
    assert sorted(name.split(":")[0] for name in names) == ["/dev/null"] * 3 + ["pipe"] * 2


def test_a_closed_engine_leaves_no_process(tmp_path: Path) -> None:
    engine = WorkerEngine(SandboxBorder(page=NO_PAGE, artifacts=tmp_path))
    pid = engine._worker.pid
    engine.close()
    engine.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


class Protected(NamedTuple):
    """What the attacks are after."""

    secret_file: Path
    marker: Path
    server: socket.socket


@pytest.fixture
def protected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Protected]:
    secret = tmp_path / "secret.txt"
    secret.write_text("CANARY-IN-A-FILE", encoding="utf-8")
    monkeypatch.setenv("AUTOWEB_TEST_CANARY", "CANARY-IN-THE-ENVIRONMENT")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield Protected(secret, tmp_path / "marker", server)


FULL_PYTHON = (
    "b = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']\n"
)
"""How to reach `os` in the worker once nothing is linted."""
OS = FULL_PYTHON + "os = b[0].__init__.__globals__\n"


@pytest.mark.parametrize(
    ("code", "denied"),
    [
        ("os['open']('{file}', 0)", "open"),
        ("os['system']('touch {marker}')", "os.system"),
        ("os['posix_spawn']('/bin/sh', ['sh'], {})", "os.posix_spawn"),
        ("os['execv']('/bin/sh', ['sh'])", "os.exec"),
        ("os['fork']()", "os.fork"),
        ("os['kill'](1, 9)", "os.kill"),
        ("os['listdir']('/')", "os.listdir"),
        ("os['remove']('{file}')", "os.remove"),
        ("os['mkdir']('{marker}')", "os.mkdir"),
        ("os['putenv']('a', 'b')", "os.putenv"),
        ("os['sys'].modules['builtins'].open('{file}')", "open"),
        ("os['sys'].addaudithook(print)", "sys.addaudithook"),
        ("os['sys'].settrace(print)", "sys.settrace"),
        ("(lambda: 0).__code__.replace(co_consts=())", "code.__new__"),
        ("f = lambda: 0\nf.__code__ = f.__code__", "object.__setattr__"),
    ],
)
def test_what_only_the_system_can_grant_ends_the_worker(
    run: Runner, protected: Protected, code: str, denied: str
) -> None:
    filled = code.replace("{file}", str(protected.secret_file)).replace(
        "{marker}", str(protected.marker)
    )
    outcome = run(OS + filled)

    assert outcome.killed
    assert failure_of(outcome) == ("sandbox", f"the code tried {denied!r}, which is refused")
    assert protected.secret_file.exists()
    assert not protected.marker.exists()


def test_the_worker_that_reaches_os_finds_an_empty_environment(run: Runner) -> None:
    assert run(OS + "print(sorted(set(os['environ']) - {'TZ'}))").log == "[]"


def test_no_module_can_be_imported_late(run: Runner) -> None:
    outcome = run(OS + "os['sys'].modules['builtins'].__import__('ctypes')")

    assert failure_of(outcome) == ("step", "ImportError: no module can be imported here")


def test_a_worker_that_floods_the_pipe_is_stopped(run: Runner) -> None:
    frame = "page._border.pipe.send({'op': 'log', 'text': 'x' * 1_000_000, 'line': 1})"

    outcome = run(f"while True:\n    {frame}", SHORT)

    assert failure_of(outcome) == ("sandbox", "the step wrote more than 2000 characters")


def test_a_worker_that_is_killed_from_outside_is_replaced(run: Runner) -> None:
    run("x = 5")
    run.engine._worker.kill()
    time.sleep(0.2)

    assert run("print(x)").log == "5"
