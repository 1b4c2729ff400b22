"""Real web servers in real processes: started once, shared, reset, and never left behind."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import pytest

from pytest_autoweb.base.errors import WebServerError
from pytest_autoweb.cases.webserver_spec import Reset, ServerHandle, Webserver
from pytest_autoweb.session.servers.webservers import ServerPool, stop_all

APP = Path(__file__).parents[3] / "support" / "shop_app.py"
COMMAND = f"{{python}} {APP} {{port}} {{data}}"
SHOP = Webserver(command=COMMAND)
RESET = Webserver(command=COMMAND, reset=Reset(url="{{ webserver.url }}reset"))
RESTART = Webserver(command=COMMAND, reset="restart")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "session"
    stop_all(tmp_path / "session")


@pytest.fixture
def pool(session: Path) -> ServerPool:
    return ServerPool(session, os.getpid())


def shop(handle: ServerHandle) -> tuple[int, int]:
    """The server's process id and the number of its orders."""
    with urlopen(handle.url, timeout=5) as answer:
        pid, orders = answer.read().split()
    return int(pid), int(orders)


def order(handle: ServerHandle) -> None:
    urlopen(Request(f"{handle.url}order", method="POST"), timeout=5).close()


def is_running(pid: int) -> bool:
    # It may end between any two looks at it.
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(holds: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def test_a_server_answers_at_a_free_port_with_a_fresh_folder(pool: ServerPool) -> None:
    with pool.serving(SHOP, None) as handle:
        assert shop(handle)[1] == 0
        assert list(handle.data.iterdir()) == []


def test_a_server_without_reset_keeps_its_state(pool: ServerPool) -> None:
    with pool.serving(SHOP, None) as handle:
        order(handle)
        pid, _ = shop(handle)
    with pool.serving(SHOP, None) as handle:
        assert shop(handle) == (pid, 1)


@pytest.mark.long
def test_two_processes_of_a_session_share_one_server(session: Path) -> None:
    script = (
        "import sys, urllib.request, pathlib\n"
        "from pytest_autoweb.cases.webserver_spec import Webserver\n"
        "from pytest_autoweb.session.servers.webservers import ServerPool\n"
        f"pool = ServerPool(pathlib.Path({str(session)!r}), {os.getpid()})\n"
        f"with pool.serving(Webserver(command={COMMAND!r}), None) as handle:\n"
        "    print(handle.url, urllib.request.urlopen(handle.url).read().split()[0])\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [worker.communicate(timeout=30)[0] for worker in workers]

    assert outputs[0].startswith("http://127.0.0.1:")
    assert outputs[0] == outputs[1]


def test_two_files_have_a_server_each(pool: ServerPool, tmp_path: Path) -> None:
    with pool.serving(SHOP, tmp_path / "a.yaml") as a, pool.serving(SHOP, tmp_path / "b.yaml") as b:
        assert shop(a)[0] != shop(b)[0]


def test_all_servers_end_with_the_session_and_leave_only_their_logs(
    pool: ServerPool, session: Path
) -> None:
    with pool.serving(SHOP, None) as handle:
        pid, _ = shop(handle)

    stop_all(session)

    assert not is_running(pid)
    assert not handle.data.exists()
    assert [log.read_text().splitlines()[0] for log in session.rglob("server.log")] == [
        "shop opens"
    ]


@pytest.mark.parametrize("mode", ["crowd", "stubborn", "detached", "daemon"])
def test_children_and_stubborn_servers_end_too(pool: ServerPool, session: Path, mode: str) -> None:
    with pool.serving(Webserver(command=f"{COMMAND} {mode}"), None) as handle:
        pids = [shop(handle)[0]]
    if mode in ("crowd", "detached"):
        pids.append(int((handle.data.parent / "child").read_text()))
    assert all(is_running(pid) for pid in pids)

    stop_all(session)

    assert not any(is_running(pid) for pid in pids)


@pytest.mark.parametrize("mode", ["", "detached", "daemon"])
def test_a_server_ends_when_its_owner_is_killed(session: Path, mode: str) -> None:
    owner = subprocess.Popen(["sleep", "600"])
    server = Webserver(command=f"{COMMAND} {mode}")
    with ServerPool(session, owner.pid).serving(server, None) as handle:
        pids = [shop(handle)[0]]
    if mode == "detached":
        pids.append(int((handle.data.parent / "child").read_text()))

    owner.send_signal(signal.SIGKILL)

    # Nobody has waited for the owner yet: as a zombie it counts as dead.
    assert until(lambda: not any(is_running(pid) for pid in pids))
    owner.wait()


def test_what_a_server_detached_ends_when_the_server_dies_by_itself(pool: ServerPool) -> None:
    with pool.serving(Webserver(command=f"{COMMAND} detached", reset="restart"), None) as handle:
        pid, child = shop(handle)[0], int((handle.data.parent / "child").read_text())
        assert is_running(child)
        os.kill(pid, signal.SIGKILL)

        assert until(lambda: not is_running(child))


def test_a_private_server_ends_when_its_test_process_is_killed(session: Path) -> None:
    script = (
        "import sys, time, urllib.request, pathlib\n"
        "from pytest_autoweb.cases.webserver_spec import Webserver\n"
        "from pytest_autoweb.session.servers.webservers import ServerPool\n"
        f"pool = ServerPool(pathlib.Path({str(session)!r}), {os.getpid()})\n"
        f"server = Webserver(command={COMMAND!r}, reset='restart')\n"
        "with pool.serving(server, None) as handle:\n"
        "    print(urllib.request.urlopen(handle.url).read().split()[0].decode(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        worker.kill()

    assert until(lambda: not is_running(pid))


@pytest.mark.parametrize("mode", ["", "daemon"])
def test_the_server_of_a_killed_supervisor_is_ended(
    pool: ServerPool, session: Path, mode: str
) -> None:
    with pool.serving(Webserver(command=f"{COMMAND} {mode}"), None) as handle:
        pid, _ = shop(handle)
    supervisor = int((handle.data.parent / "processes").read_text().split()[0])
    os.kill(supervisor, signal.SIGKILL)
    assert until(lambda: not is_running(supervisor))

    stop_all(session)

    assert until(lambda: not is_running(pid))


def test_a_server_starts_although_what_forks_the_supervisors_was_killed(pool: ServerPool) -> None:
    with pool.serving(RESTART, None):
        forking = next(
            child
            for child in psutil.Process().children()
            if any(word.endswith("webserver_process.py") for word in command_of(child))
        )
    forking.kill()
    assert until(lambda: forking.status() == psutil.STATUS_ZOMBIE)

    with pool.serving(RESTART, None) as handle:
        assert shop(handle)[1] == 0


def command_of(child: psutil.Process) -> list[str]:
    """The command of a child; empty for what another test has left unreaped."""
    try:
        return child.cmdline()
    except psutil.ZombieProcess:
        return []


def test_a_server_that_died_is_started_again(pool: ServerPool) -> None:
    with pool.serving(SHOP, None) as handle:
        order(handle)
        pid, _ = shop(handle)
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not is_running(pid))
        assert until(lambda: (handle.data.parent / "exit").exists())
    with pool.serving(SHOP, None) as handle:
        assert shop(handle)[0] != pid
        assert shop(handle)[1] == 0


def test_the_reset_request_is_sent(pool: ServerPool) -> None:
    with pool.serving(RESET, None) as handle:
        order(handle)
        pool.reset(RESET, handle, Reset(url=f"{handle.url}reset"))

        assert shop(handle)[1] == 0


def test_a_failed_reset_is_told(pool: ServerPool) -> None:
    with pool.serving(RESET, None) as handle:
        with pytest.raises(WebServerError, match=r"POST .*broken\) was answered with status 500"):
            pool.reset(RESET, handle, Reset(url=f"{handle.url}broken"))
        with pytest.raises(WebServerError, match=r"die\) failed: "):
            pool.reset(RESET, handle, Reset(url=f"{handle.url}die"))


def test_without_a_reset_nothing_is_sent(pool: ServerPool) -> None:
    with pool.serving(SHOP, None) as handle:
        order(handle)
        pool.reset(SHOP, handle, None)

        assert shop(handle)[1] == 1


@pytest.mark.parametrize(("webserver", "waits"), [(RESET, True), (SHOP, False)])
def test_an_attempt_has_a_server_with_reset_to_itself(
    session: Path, webserver: Webserver, waits: bool
) -> None:
    entered = threading.Event()

    def other_attempt() -> None:
        with ServerPool(session, os.getpid()).serving(webserver, None):
            entered.set()

    other = threading.Thread(target=other_attempt)
    with ServerPool(session, os.getpid()).serving(webserver, None):
        other.start()
        came_in = entered.wait(1 if waits else 10)
    other.join(10)

    assert came_in is not waits
    assert entered.is_set()


def test_restart_gives_each_attempt_a_process_and_a_folder_of_its_own(pool: ServerPool) -> None:
    with pool.serving(RESTART, None) as first, pool.serving(RESTART, None) as second:
        order(first)
        pids = [shop(first)[0], shop(second)[0]]

        assert (shop(first)[1], shop(second)[1]) == (1, 0)
    assert not any(is_running(pid) for pid in pids)
    assert not first.data.exists()


def test_an_early_end_is_told_with_command_code_and_log(pool: ServerPool) -> None:
    broken = Webserver(command="{python} -c 'print(\"\\033[31mno database\"); exit(3)'")

    with pytest.raises(WebServerError) as caught, pool.serving(broken, None):
        pass

    message = str(caught.value)
    assert "ended with exit code 3 before it answered" in message
    assert message.endswith("the end of its log:\nno database")
    assert "exit(3)" in message


def test_a_server_that_cannot_start_is_not_tried_twice(pool: ServerPool, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    script = f"open({str(tries)!r}, 'a').write('x'); exit(1)"
    broken = Webserver(command=f'{{python}} -c "{script}"')

    for _ in range(2):
        with pytest.raises(WebServerError, match="exit code 1"), pool.serving(broken, None):
            pass

    assert tries.read_text() == "x"


@pytest.mark.parametrize(
    ("command", "seconds", "reason"),
    [
        ("sleep 600", 0.5, r"'sleep 600' did not answer at http://127\.0\.0\.1:\d+/ within 0.5 s"),
        # Long enough for a loaded machine to start Python in.
        (f"{COMMAND} busy", 4, "answered only with status 503"),
    ],
)
def test_a_silent_or_busy_server_is_told_and_ended(
    pool: ServerPool, session: Path, command: str, seconds: float, reason: str
) -> None:
    webserver = Webserver(command=command, timeout=seconds)

    with pytest.raises(WebServerError, match=reason), pool.serving(webserver, None):
        pass

    _, pid, *_ = next(session.rglob("processes")).read_text().split()
    assert not is_running(int(pid))


@pytest.mark.parametrize(
    ("webserver", "reason"),
    [
        (Webserver(command="no-such-program-here"), "could not be started.*No such file"),
        (Webserver(command="'"), "is broken: No closing quotation"),
        (Webserver(command=" "), "command is empty"),
        (Webserver(command="sleep 1", cwd="nowhere"), "folder .*nowhere does not exist"),
        (Webserver(static="nowhere/html"), "the package 'nowhere' is not installed"),
        (Webserver(static="hypothesis/nowhere"), "'hypothesis' has no such folder"),
    ],
)
def test_what_cannot_be_started_is_told(
    pool: ServerPool, webserver: Webserver, reason: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(WebServerError, match=rf"(?s){reason}"),
        pool.serving(webserver, tmp_path / "a.yaml"),
    ):
        pass


def test_a_stranger_at_a_fixed_address_is_not_taken_for_the_server(pool: ServerPool) -> None:
    with pool.serving(SHOP, None) as stranger:
        fixed = Webserver(command=f"{{python}} {APP} 1 {{data}}", url=stranger.url)

        with (
            pytest.raises(WebServerError, match=r"already answers at"),
            pool.serving(fixed, None),
        ):
            pass


def test_a_port_taken_in_the_meantime_is_exchanged(pool: ServerPool, tmp_path: Path) -> None:
    wrapper = tmp_path / "unlucky.py"
    wrapper.write_text(
        "import pathlib, sys, runpy\n"
        f"once = pathlib.Path({str(tmp_path / 'once')!r})\n"
        "if not once.exists():\n"
        "    once.touch()\n"
        "    sys.exit('OSError: [Errno 98] Address already in use')\n"
        f"runpy.run_path({str(APP)!r}, run_name='__main__')\n"
    )

    with pool.serving(Webserver(command=f"{{python}} {wrapper} {{port}} {{data}}"), None) as handle:
        assert shop(handle)[1] == 0


def test_a_fixed_address_works(pool: ServerPool) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"

    with pool.serving(Webserver(command=COMMAND.replace("{port}", str(port)), url=url), None) as at:
        assert at.url == url
        assert shop(at)[1] == 0


def test_placeholders_are_filled_and_other_braces_left(pool: ServerPool, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = tmp_path / "app.py"
    script.write_text(
        "import os, runpy, sys\n"
        "port, data, option = sys.argv[1:4]\n"
        f"open({str(seen)!r}, 'w').write(option + os.environ['SHOP_DATA'] + os.getcwd())\n"
        "sys.argv[3:] = []\n"
        f"runpy.run_path({str(APP)!r}, run_name='__main__')\n"
    )
    webserver = Webserver(
        command="{python} app.py {port} {data} '{\"a\": {}}'", env={"SHOP_DATA": "{data}"}
    )

    with pool.serving(webserver, tmp_path / "a.yaml") as handle:
        assert seen.read_text() == f'{{"a": {{}}}}{handle.data}{tmp_path}'
