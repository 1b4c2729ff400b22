"""The kernel's walls alone: no lint, no restricted builtins, no audit hook, and still no harm.

Each attack runs twice, so that it is known to be one: without walls it does its harm.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_autoweb.sandbox.confine import ALLOW, FAIL, KILL, MACHINES, Machine, filter_program
from pytest_autoweb.sandbox.levels import Layers, Walls
from pytest_autoweb.sandbox.worker_process import DeadlineError, WorkerGoneError, WorkerProcess

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
NOT_EVERYWHERE = {"watches user faults", "leaves its namespaces", "looks into a process"}
"""Containers and careful kernels refuse these to everybody."""
KERNEL_ONLY, NOTHING = Walls(kernel=True, audit=False), Walls(kernel=False, audit=False)
ALL_OF_PYTHON = """
things = ().__class__.__base__.__subclasses__()
os = [t for t in things if t.__name__ == '_wrap_close'][0].__init__.__globals__
modules = os['sys'].modules
builtins = modules['builtins']
real_type = ().__class__.__class__
for fd in (0, 1, 2):
    os['close'](fd)
"""
"""Everything that the worker's restrictions hide, found again; and room for new descriptors."""

SYSTEM_CALLS = (
    ALL_OF_PYTHON
    + """
data = [t for t in things if t.__name__ == '_CData']
data = data or [builtins.__import__('_ctypes')._SimpleCData.__base__]
kinds = {t.__name__: t for t in data[0].__subclasses__()}
Long = real_type('Long', (kinds['_SimpleCData'],), {'_type_': 'l'})
Function = real_type('Function', (kinds['CFuncPtr'],), {'_flags_': 1, '_restype_': Long})
library = real_type('Library', (), {'_handle': 0})()
syscall = Function(('syscall', library))
def harm(number, *args):
    result = syscall(Long(number), *[Long(a) if builtins.type(a) is int else a for a in args])
    log('HARM' if result >= 0 else 'refused')
"""
)

PYTHON: dict[str, str] = {
    "reads a file": "fd = os['open']('{file}', 0)\nlog(os['read'](fd, 99))",
    "opens with the builtin": "log(builtins.open('{file}').read())",
    "writes a file": "os['open']('{marker}', 0o101)",
    "lists a folder": "log('HARM', os['listdir']('/'))",
    "asks about a file": "log('HARM', os['stat']('{file}').st_size)",
    "changes a file's rights": "os['chmod']('{file}', 0o777)\nlog('HARM')",
    "renames a file": "os['rename']('{file}', '{marker}')",
    "makes a link": "os['symlink']('/', '{marker}')",
    "starts a shell": "os['system']('touch {marker}')",
    "starts a program": "os['waitpid'](os['posix_spawn']('/bin/touch', "
    "['touch', '{marker}'], {}), 0)",
    "becomes a program": "os['execv']('/bin/touch', ['touch', '{marker}'])",
    "forks": "child = os['fork']()\nif not child:\n    os['_exit'](0)\nlog('HARM')",
    "kills a process": "os['kill']({victim}, 9)",
    "makes a nameless file": "log('HARM', os['memfd_create']('x'))",
    "raises its limits": "r = modules['resource']\nr.setrlimit(r.RLIMIT_CORE, (0, 0))\nlog('HARM')",
}
"""Through the modules that Python itself has loaded."""

RAW: dict[str, str] = {
    "opens a socket": "harm(41, 2, 1, 0)",
    "connects": "connect_to({port})",
    "opens a Unix socket": "harm(41, 1, 1, 0)",
    "makes a pair of sockets": "harm(53, 1, 1, 0, b'x' * 8)",
    "looks into a process": "harm(101, 16, {victim}, 0, 0)",
    "opens a process": "harm(434, {victim}, 0)",
    "clones": "result = syscall(Long(56), Long(17), *[Long(0)] * 4)\n"
    "if result == 0:\n    os['_exit'](0)\nlog('HARM' if result > 0 else '')",
    "maps memory to be executed": "harm(9, 0, 4096, 7, 0x22, -1, 0)",
    "makes memory executable": "page_ = syscall(Long(9), Long(0), Long(4096), Long(3), "
    "Long(0x22), Long(-1), Long(0))\nharm(10, page_, 4096, 5)",
    "leaves its namespaces": "harm(272, 0x10000000 | 0x40000000)",
    "watches user faults": "harm(323, 1)",
    "asks who it is": "harm(102)",
    "makes an event": "harm(290, 0, 0)",
}
"""Through the C library's `syscall`, with x86-64's numbers."""
UNREACHABLE = {
    "io_uring": "harm(425, 8, b'\\0' * 120)",
    "bpf": "harm(321, 0, b'\\0' * 64, 64)",
    "perf events": "harm(298, b'\\0' * 112, 0, -1, -1, 0)",
    "memory of a process": "harm(310, {victim}, 0, 0, 0, 0, 0)",
    "keys": "harm(250, 0, -3, 0)",
    "x32": "harm(0x40000000 + 39)",
    "a new filter": "harm(317, 1, 0, b'\\0' * 16)",
    "a new ruleset": "harm(444, 0, 0, 1)",
}
"""What many machines refuse anyway; here only the refusal counts."""
ON_X86 = pytest.mark.skipif(
    not hasattr(os, "uname") or os.uname().machine != "x86_64", reason="numbers of x86-64"
)
CASES = [
    *(pytest.param(ALL_OF_PYTHON, code, name, id=name) for name, code in PYTHON.items()),
    *(
        pytest.param(SYSTEM_CALLS, code, name, id=name, marks=ON_X86)
        for name, code in (RAW | UNREACHABLE).items()
    ),
]


@ON_LINUX
@pytest.mark.parametrize(("prelude", "code", "name"), CASES)
def test_the_kernel_alone_keeps_a_broken_interpreter_from_harm(
    protected: Protected, prelude: str, code: str, name: str
) -> None:
    held = attacked(KERNEL_ONLY, protected, prelude + code)

    assert not protected.harmed(held), held
    assert re.search(r"refused|AW508|PermissionError|not permitted|OSError|ValueError", held), held
    if name not in NOT_EVERYWHERE | set(UNREACHABLE):
        assert protected.harmed_in_time(attacked(NOTHING, protected, prelude + code)), (
            "it does nothing"
        )


@ON_LINUX
def test_what_no_library_does_in_passing_ends_the_worker(protected: Protected) -> None:
    held = attacked(KERNEL_ONLY, protected, ALL_OF_PYTHON + "os['fork']()")

    assert held == "AW508: the code made a system call that is refused"


@ON_LINUX
def test_a_worker_says_which_walls_it_raised() -> None:
    worker = WorkerProcess(memory_mb=512, cpu_s=5)
    layers = worker.wait_ready()
    status = Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8")
    worker.close()

    assert ("Seccomp:\t2" in status) is layers.seccomp
    assert ("NoNewPrivs:\t1" in status) is layers.confined


def test_layers_are_told_in_one_line() -> None:
    assert str(Layers(7, True, True)) == "lint, worker, facade, audit hook, landlock abi 7, seccomp"
    assert str(Layers(0, False, False)) == "lint, worker, facade"


# -- the filter as a program, also for the machine that is not here -------------------------


def verdict(program: bytes, number: int, arch: int, args: tuple[int, ...] = ()) -> int:
    """What the kernel would say: the few instructions that the filter uses."""
    padded = (*args, *[0] * (6 - len(args)))
    call = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    lines = list(struct.iter_unpack("<HBBI", program))
    word, place = 0, 0
    while True:
        code, then, otherwise, value = lines[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            (word,) = struct.unpack_from("<I", call, value)
            continue
        true = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
        place += then if true else otherwise


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())
def test_the_filter_lets_through_what_computing_needs_and_nothing_else(machine: Machine) -> None:
    program = filter_program(machine, pid=77)
    answers = {number: verdict(program, number, machine.arch, (77,)) for number in range(600)}

    assert {n for n, a in answers.items() if a == ALLOW} == set(machine.computing.values())
    assert {n for n, a in answers.items() if a == KILL} == set(machine.breaking_out.values())
    assert set(answers.values()) == {ALLOW, KILL, FAIL}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())
def test_the_filter_looks_at_arguments_and_at_the_kind_of_call(machine: Machine) -> None:
    program, arch = filter_program(machine, pid=77), machine.arch
    names = machine.computing

    assert verdict(program, names["mmap"], arch, (0, 4096, 3)) == ALLOW
    assert verdict(program, names["mmap"], arch, (0, 4096, 7)) == FAIL
    assert verdict(program, names["mprotect"], arch, (0, 4096, 5)) == FAIL
    assert verdict(program, names["tgkill"], arch, (78, 78, 6)) == KILL
    assert verdict(program, names["read"], 0x4000_0003) == KILL
    assert verdict(program, 0x4000_0000 + names["read"], arch) == KILL


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str, header: str) -> None:
    if not Path(header).is_file():
        pytest.skip("no kernel headers here")
    pattern = re.compile(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", re.MULTILINE)
    known = dict(pattern.findall(Path(header).read_text(encoding="utf-8")))
    numbers = MACHINES[machine].computing | MACHINES[machine].breaking_out

    assert {name: int(known[name]) for name in numbers} == numbers


COMPUTING = """
import base64, calendar, csv, datetime, decimal, fractions, html, io, json, math, random, re
import statistics, string, textwrap, time, unicodedata, urllib.parse, uuid
noon = datetime.datetime(2024, 7, 1, 12)
said = [
    datetime.datetime.strptime('1 July 2024', '%d %B %Y').isoformat(),
    noon.astimezone().isoformat(), noon.strftime('%A %x %Z'), time.strftime('%Y')[:2],
    calendar.month_name[7], unicodedata.name('ß'), unicodedata.normalize('NFKC', 'ﬁ'),
    'münchen.de'.encode('idna').decode(), 'naïve'.encode('cp1252').decode('latin-1'),
    b'a\\xff'.decode('utf-8', 'replace'), 'x'.encode('utf-16').hex(), html.unescape('&eacute;'),
    urllib.parse.urlsplit('http://[::1]:80/?q=é').port, str(decimal.Decimal(1) / 3),
    str(fractions.Fraction('0.5')), statistics.stdev([1, 2, 4]), math.comb(40, 20),
    re.sub(r'(?i)\\bÉ\\w+', '*', 'étude'), textwrap.fill('a b c', 3), f'{1234.5:,.2f}',
    list(csv.reader(io.StringIO('a,"b,c"'))), json.dumps({'k': [None, 1e300]}),
    str(base64.b64encode(b'x')), sum(sorted(range(200_000), key=lambda n: -n)),
]
random.shuffle(said[:])
uuid.uuid4()
try:
    float('x')
except ValueError as error:
    said.append(str(error))
"""


@pytest.fixture(params=["", "Asia/Tokyo"])
def _time_zone(request: pytest.FixtureRequest) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("no time zones to set")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_time_zone")
def test_what_computing_needs_works_behind_all_walls() -> None:
    worker = WorkerProcess(memory_mb=512, cpu_s=5)
    held = said_by(worker, COMPUTING + "log(said)")
    worker.close()
    free: dict[str, list[object]] = {}
    exec(COMPUTING, free)

    assert held == f"{free['said']}\nNone"


class Protected(NamedTuple):
    """What the attacks are after."""

    file: Path
    marker: Path
    server: socket.socket
    victim: subprocess.Popen[bytes]

    def filled(self, code: str) -> str:
        port = self.server.getsockname()[1]
        address = struct.pack("<H", 2) + struct.pack(">H", port) + bytes([127, 0, 0, 1]) + bytes(8)
        code = code.replace("connect_to({port})", f"s = syscall(Long(41), Long(2), Long(1), "
                            f"Long(0))\nharm(42, s, {address!r}, 16)")  # fmt: skip
        for name, value in (("file", self.file), ("marker", self.marker)):
            code = code.replace("{" + name + "}", str(value))
        return code.replace("{victim}", str(self.victim.pid))

    def harmed(self, said: str) -> bool:
        """Whether anything happened out here, or was told in there."""
        gone = self.marker.exists() or self.marker.is_symlink() or not self.file.exists()
        return gone or self.victim.poll() is not None or "HARM" in said or "CANARY" in said

    def harmed_in_time(self, said: str) -> bool:
        """The same, with the time that a killed process may need to be gone."""
        until = time.monotonic() + 10
        while not self.harmed(said) and time.monotonic() < until:
            time.sleep(0.05)
        return self.harmed(said)


@pytest.fixture
def protected(tmp_path: Path) -> Iterator[Protected]:
    file = tmp_path / "secret.txt"
    file.write_text("CANARY-IN-A-FILE", encoding="utf-8")
    victim = subprocess.Popen(["sleep", "60"])
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Protected(file, tmp_path / "marker", server, victim)
    victim.kill()
    victim.wait()


def said_by(worker: WorkerProcess, code: str) -> str:
    """What a block logs and how it ends; there is no page, and nobody serves calls."""
    worker.wait_ready()
    frame = {"op": "run", "index": 1, "code": code, "root": ["p", "Page"], "rerun": False}
    worker.send(frame)
    said: list[str] = []
    try:
        while True:
            frame = worker.receive(time.monotonic() + 10)
            if frame["op"] == "done":
                return "\n".join([*said, str(frame["error"])])
            if frame["op"] == "log":
                said.append(str(frame["text"]))
    except WorkerGoneError as gone:
        return "\n".join([*said, f"{gone.rule}: {gone.reason}"])
    except DeadlineError:
        return "silence"


def attacked(walls: Walls, protected: Protected, code: str) -> str:
    worker = WorkerProcess(memory_mb=512, cpu_s=5, walls=walls)
    try:
        return said_by(worker, protected.filled(code))
    finally:
        worker.close()
