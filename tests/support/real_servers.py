"""Postgres and Redis as in production, each on a free port with its data in a new folder."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

PASSWORD = "let-me-in/@:7"
QUOTED = "let-me-in%2F%40%3A7"


def postgres_program(name: str) -> str | None:
    """Where a program of Postgres is; Debian keeps them out of the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def postgres() -> Iterator[str]:
    """A new cluster; gives the URL of its first database, without the name of one."""
    folder = Path(tempfile.mkdtemp(prefix="autoweb-pg-"))
    (folder / "password").write_text(PASSWORD)
    user = getpass.getuser()
    if os.geteuid() == 0:  # the server refuses to be run by root
        user = "postgres"
        for path in (folder, folder / "password"):
            shutil.chown(path, user)
    login = f"--username={user} --pwfile={folder}/password --auth=scram-sha-256"
    options = f"{login} --no-sync --encoding=UTF8 --locale=C".split()
    port = free_port()
    url = f"postgresql://{user}:{QUOTED}@127.0.0.1:{port}"
    try:
        init = [str(postgres_program("initdb")), "-D", f"{folder}/data", *options]
        subprocess.run(init, check=True, capture_output=True, user=user)
        serve = f"-D {folder}/data -p {port} -k {folder} -h 127.0.0.1 -F".split()
        program = str(postgres_program("postgres"))
        with _running([program, *serve], folder, lambda: _answers(f"{url}/postgres"), user):
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis() -> Iterator[str]:
    """A new server that wants a password; gives its URL."""
    folder = Path(tempfile.mkdtemp(prefix="autoweb-redis-"))
    port = free_port()
    options = f"--port {port} --bind 127.0.0.1 --save  --requirepass {PASSWORD}".split(" ")
    try:
        program = ["redis-server", "--dir", str(folder), *options]
        with _running(program, folder, lambda: _listens(port), getpass.getuser()):
            yield f"redis://:{QUOTED}@127.0.0.1:{port}/0"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(
    command: list[str], folder: Path, ready: Callable[[], bool], user: str
) -> Iterator[None]:
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, user=user)
    try:
        until = time.monotonic() + 30
        while not ready():
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"no server: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
