"""What holds an outside agent: every attack is stopped, and succeeds on a program that is not held.

Where the kernel lacks a wall, the program runs all the same and the words say what is missing.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from attacks.programs import AS_ROOT, FILES, PROCESSES, PROGRAM, SOCKETS, TOO_MUCH

from pytest_autoweb.agents.outside.agent_process import running_agent
from pytest_autoweb.agents.outside.agent_reach import AgentPlaces, reach_of
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.process_tree import (
    NO_LIMITS,
    OVER_MEMORY,
    OVER_PROCESSES,
    TreeLimits,
)
from pytest_autoweb.sandbox.confine import MACHINES
from pytest_autoweb.sandbox.confined_program import ProgramReach, hold_of, walls_here
from pytest_autoweb.sandbox.program_walls import program_filter
from pytest_autoweb.settings.agent_command import AgentCommand

HELD = pytest.mark.skipif(
    bool(hold_of("auto").missing),
    reason="the kernel has no Landlock of ABI 6 with seccomp and namespaces",
)
NEEDS_MORE = {"reads a key of the kernel", "traces a process", "connects by several paths"} | {
    *("queues its calls", "changes a setting of the kernel", "raises its priority")
}
"""Containers and some kernels refuse these to everybody."""


class Place(NamedTuple):
    """A made-up machine: what is outside, and the agent's own folder."""

    rootdir: Path
    own: Path
    known: dict[str, Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    base = tmp_path_factory.mktemp("held")
    outside, own, rootdir = base / "outside", base / "run/cell/agent", base / "project"
    for folder in (outside, own, rootdir / "agents"):
        folder.mkdir(parents=True)
    (outside / "secret").write_text("sk-secret")
    (rootdir / ".env").write_text("KEY=sk-secret")
    (rootdir / "agents" / "attack.py").write_text(PROGRAM)
    names = (outside / "stream.sock", outside / "datagrams.sock", f"\0autoweb-{os.getpid()}")
    with ExitStack() as stack:
        kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_STREAM)
        for name, kind in zip(names, kinds, strict=True):
            server = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            server.bind(str(name))
            if kind == socket.SOCK_STREAM:
                server.listen(50)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=50))
        victim = stack.enter_context(subprocess.Popen(["sleep", "600"], cwd=outside))
        stack.callback(victim.kill)
        yield Place(
            rootdir,
            own,
            {
                **{"FILE": str(outside / "secret"), "OWN": str(own), "VICTIM": victim.pid},
                **{"NAMED": str(names[0]), "DATAGRAMS": str(names[1])},
                **{"ABSTRACT": str(names[2])[1:], "PORT": tcp.getsockname()[1]},
            },
        )


def reach_in(place: Place, command: list[str], **settings: Any) -> ProgramReach:
    given = AgentCommand.model_validate({"command": command, **settings})
    start = {
        "folder": str(place.own),
        "files": [],
        "browser": {"cdp_url": "http://127.0.0.1:9"},
        "model": {"base_url": "http://127.0.0.1:9/v1"},
    }
    places = AgentPlaces(place.rootdir, (place.own.parent, place.rootdir / "cases/shop.yaml"))
    return reach_of(given, start, places, os.environ)


def said_by(
    place: Place,
    command: list[str],
    reach: ProgramReach | None,
    limits: TreeLimits = NO_LIMITS,
    seconds: float = 60,
) -> tuple[int, list[str]]:
    lines: list[str] = []
    deadline = time.monotonic() + seconds
    with running_agent(
        command, folder=place.rootdir, env=dict(os.environ), reach=reach, limits=limits
    ) as agent:
        while (code := agent.status) is None:
            assert time.monotonic() < deadline, lines
            lines += [line.text for line in agent.lines()]
            time.sleep(0.02)
        return code, lines + [line.text for line in agent.lines()]


def clear(folder: Path) -> None:
    for left in folder.iterdir():
        left.unlink()


def harm_done(place: Place, *, held: bool, **settings: Any) -> dict[str, bool]:
    clear(place.own)
    attacks = {**FILES, **SOCKETS, **PROCESSES, **(AS_ROOT if os.geteuid() == 0 else {})}
    command = ["{python}", "agents/attack.py", json.dumps({**place.known, "ATTACKS": attacks})]
    reach = reach_in(place, command[:2], **settings) if held else None
    code, lines = said_by(place, command, reach)
    assert code == 0, lines
    found = {name: harm for name, harm, _ in map(json.loads, lines)}
    assert found.keys() == attacks.keys()
    return found


@HELD
def test_each_attack_is_stopped_and_succeeds_if_nothing_holds_the_program(place: Place) -> None:
    loose = harm_done(place, held=False)
    held = harm_done(place, held=True)

    assert [name for name, harm in held.items() if harm] == []
    assert {name for name, harm in loose.items() if not harm} <= NEEDS_MORE


@HELD
def test_what_settings_allow_is_in_reach_and_nothing_more(place: Place) -> None:
    outside = place.known["FILE"]
    found = harm_done(
        place, held=True, read=[str(Path(outside).parent)], ports=[place.known["PORT"]]
    )

    assert {name for name, harm in found.items() if harm} == {
        *("reads a file", "lists a folder", "reads by a link of its own"),
        *("starts a program that reads", "connects elsewhere"),
    }


@HELD
def test_a_held_program_has_its_own_folder_its_imports_and_its_streams(place: Place) -> None:
    clear(place.own)
    (place.rootdir / "agents" / "beside.py").write_text("NAME = 'beside'\n")
    (place.rootdir / "agents" / "mine.py").write_text(
        "import asyncio, json, multiprocessing, os, ssl, subprocess, sys, tempfile, threading\n"
        "import beside, playwright\n"
        "own = sys.argv[1]\n"
        "open(own + '/a', 'w').write('x'); os.rename(own + '/a', own + '/b')\n"
        "print(beside.NAME, sys.stdin.readline().strip())\n"
        "done = subprocess.run(['sh', '-c', 'echo out; exec cat /dev/null'], capture_output=True)\n"
        "print(done.stdout.decode().strip(), os.listdir(own))\n"
        "try:\n    open('.env')\nexcept PermissionError:\n    print('no .env')\n"
        "asyncio.run(asyncio.sleep(0))\n"
    )
    command = ["{python}", "agents/mine.py", str(place.own)]
    with running_agent(
        command, folder=place.rootdir, env=dict(os.environ), reach=reach_in(place, command)
    ) as agent:
        agent.send({"hello": 1})
        deadline, lines = time.monotonic() + 30, list[str]()
        while agent.status is None and time.monotonic() < deadline:
            lines += [line.text for line in agent.lines()]
            time.sleep(0.02)
        lines += [line.text for line in agent.lines()]

    assert lines == ['beside {"hello": 1}', "out ['b']", "no .env"]


@pytest.mark.long
@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_ended_and_said(place: Place, name: str) -> None:
    (place.rootdir / "agents" / "greedy.py").write_text(TOO_MUCH[name])
    # What processes share after a fork counts once.
    limits = TreeLimits(memory_mb=600, processes=300)

    code, lines = said_by(place, ["{python}", "agents/greedy.py", "50"], None, limits)

    expected = OVER_MEMORY if name.startswith("memory") else OVER_PROCESSES
    assert (code, [line for line in lines if "took it" in line]) == (expected, [])


@pytest.mark.long
def test_what_is_within_the_limits_ends_by_itself(place: Place) -> None:
    (place.rootdir / "agents" / "greedy.py").write_text(TOO_MUCH["threads"])

    code, lines = said_by(
        place,
        ["{python}", "agents/greedy.py", "1.5"],
        None,
        TreeLimits(memory_mb=900, processes=900),
    )

    assert (code, lines) == (0, ["took it"])


def test_a_path_that_is_not_there_is_one_sentence(place: Place) -> None:
    with pytest.raises(
        SettingsError, match=r"the agent's `read` names 'gone', and .* is not there"
    ):
        reach_in(place, ["x"], read=["gone"])


def test_a_folder_with_cases_runs_or_a_home_is_never_an_installation(
    place: Place, tmp_path: Path
) -> None:
    (place.rootdir / "cases").mkdir(exist_ok=True)
    for file in ("cases/shop.yaml", "cases/agent.py", "agent.py"):
        (place.rootdir / file).write_text("")
    for words, folder in (
        (["node", "cases/agent.py"], "cases"),
        (["node", "agent.py", "."], "."),
        (["node", str(Path.home())], str(Path.home())),
        (["node", "/"], "/"),
    ):
        assert str((place.rootdir / folder).resolve()) not in reach_in(place, words).read
    assert str(place.rootdir / "agents") in reach_in(place, ["node", "agents/attack.py"]).read


def test_words_say_what_is_missing_at_each_level() -> None:
    assert str(hold_of("off")).startswith("NOT held: files, TCP ports, ")
    if walls_here().landlock >= 6:
        assert str(hold_of("auto")).startswith("held: files, TCP ports, other processes")


@pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
@pytest.mark.parametrize(
    ("walls", "missing"),
    [
        ("landlock", "NOT held: files, TCP ports, other processes, Unix sockets'"),
        ("landlock,seccomp", "NOT held: files, TCP ports, other processes, UDP, Unix sockets'"),
    ],
)
def test_a_kernel_without_walls_is_said_and_refused_only_at_strict(
    walls: str, missing: str
) -> None:
    asks = (
        "from pytest_autoweb.sandbox.confined_program import *\n"
        "print(repr(str(hold_of('auto'))))\n"
        "refuse_gaps('auto', 'mine')\n"
        "try:\n    refuse_gaps('strict', 'mine')\nexcept SandboxError as error:\n    print(error)\n"
    )
    refusing = Path(__file__).parents[3] / "support/refusing_kernel.py"
    done = subprocess.run(
        [sys.executable, refusing, walls, sys.executable, "-c", asks],
        capture_output=True,
        text=True,
        check=True,
    )

    told, refused = done.stdout.splitlines()
    assert missing in told
    assert "the agent 'mine' is to be held strictly, and this machine does not hold" in refused


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_the_filter_has_whole_instructions_and_jumps_inside(machine: Any) -> None:
    program = program_filter(machine)

    lines = [program[at : at + 8] for at in range(0, len(program), 8)]
    assert len(program) % 8 == 0
    assert len(lines) < 4096
    for number, line in enumerate(lines):
        if line[0] & 7 == 5:
            assert number + max(line[2], line[3]) + 1 < len(lines)
