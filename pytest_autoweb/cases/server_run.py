"""One start of a web server: its folder, its port, its supervisor, until it answers or fails."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from pytest_autoweb.cases import supervise
from pytest_autoweb.cases.model import ServerHandle, Webserver
from pytest_autoweb.cases.supervise import Config, is_supervised, start_mark
from pytest_autoweb.errors import WebServerError

_POLL_S = 0.1
_ANSWER_S = 2.0
_STOP_S = 10.0
_LOG_LINES = 20
_LOG_CHARS = 4000
_BIND_TRIES = 3
_PORT_TAKEN = re.compile(r"address (is )?already in use|EADDRINUSE", re.IGNORECASE)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is an answer; where it leads may not be ours to ask."""

    def redirect_request(self, *_: object) -> None:
        return None


_DIRECT = build_opener(ProxyHandler({}), _NoRedirect)


class PortTaken(Exception):
    """Raised when somebody else got the port between the choice and the server's bind."""


@dataclass(frozen=True, slots=True)
class Run:
    """One start of a web server."""

    folder: Path
    handle: ServerHandle

    def is_alive(self) -> bool:
        """Whether the server still runs."""
        return is_supervised(self.folder)


@dataclass(frozen=True, slots=True)
class Placeholders:
    """What `{port}`, `{data}` and `{python}` stand for in one start."""

    port: int
    data: Path

    def fill(self, text: str) -> str:
        """Replace the three and leave every other brace alone."""
        values = {"{port}": str(self.port), "{data}": str(self.data), "{python}": sys.executable}
        return re.sub(r"\{(?:port|data|python)\}", lambda found: values[found.group()], text)


def start(
    webserver: Webserver,
    case_path: Path | None,
    runs: Path,
    *,
    ports: Path,
    owners: tuple[int, ...],
) -> Run:
    """Start a server with a fresh data folder and wait until it answers.

    Args:
        webserver: what to run.
        case_path: the file that names it; None means the current folder.
        runs: where the folder of this start is made.
        ports: where the ports of this session are reserved.
        owners: processes without which the server must end.

    Raises:
        WebServerError: it did not start or did not answer in time.
    """
    tries = _BIND_TRIES if "{port}" in webserver.url else 1
    while True:
        tries -= 1
        try:
            return _start_once(webserver, case_path, runs, ports, owners)
        except PortTaken as error:
            if tries == 0:
                raise WebServerError(str(error)) from error


def _start_once(
    webserver: Webserver, case_path: Path | None, runs: Path, ports: Path, owners: tuple[int, ...]
) -> Run:
    runs.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(dir=runs))
    data = folder / "data"
    data.mkdir()
    base = (case_path.parent if case_path else Path()).resolve()
    if "{port}" not in webserver.url:
        _refuse_strangers(webserver.url)
        port = urlsplit(webserver.url).port or 80
    else:
        port = 0 if webserver.static else _reserved_port(ports)
    values = Placeholders(port, data)
    config = Config(
        command=_argv(webserver, values),
        cwd=str(_working_folder(webserver, base)),
        static=str(static_folder(webserver.static, base)) if webserver.static else "",
        port=port,
        owners=[[str(pid), start_mark(pid)] for pid in owners],
    )
    environ = {name: values.fill(value) for name, value in webserver.env.items()}
    _launch(folder, config, {**os.environ, **environ})
    try:
        return _answering(webserver, folder, config, data)
    except BaseException:
        stop(folder)
        raise


def _argv(webserver: Webserver, values: Placeholders) -> list[str]:
    if webserver.command is None:
        return []
    try:
        words = shlex.split(webserver.command)
    except ValueError as error:
        raise WebServerError(f"the command {webserver.command!r} is broken: {error}") from error
    if not words:
        raise WebServerError("the web server's command is empty")
    # Filled after the split, so that a folder with a space in its name stays one word.
    return [values.fill(word) for word in words]


def _working_folder(webserver: Webserver, base: Path) -> Path:
    folder = base / webserver.cwd if webserver.cwd else base
    if not folder.is_dir():
        raise WebServerError(f"the web server's working folder {folder} does not exist")
    return folder


def static_folder(static: str, base: Path) -> Path:
    """The folder that `static` names: below the case file's folder, or inside a package.

    Raises:
        WebServerError: there is neither.
    """
    if (folder := base / static).is_dir():
        return folder
    package, _, rest = static.partition("/")
    spec = find_spec(package) if package.isidentifier() else None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (inside := Path(place) / rest).is_dir():
            return inside
    found = "has no such folder" if spec else "is not installed"
    raise WebServerError(
        f"static {static!r}: {folder} is no folder, and the package {package!r} {found}"
    )


def _reserved_port(ports: Path) -> int:
    """A port that is free now and that no other server of this session was given."""
    ports.mkdir(parents=True, exist_ok=True)
    while True:
        with socket.socket() as probe:
            probe.bind((supervise.HOST, 0))
            port = int(probe.getsockname()[1])
        try:
            (ports / str(port)).touch(exist_ok=False)
        except FileExistsError:
            continue
        return port


def _refuse_strangers(url: str) -> None:
    if _status(url) is not None:
        raise WebServerError(
            f"something answers at {url} already; stop it, or let a free port be chosen by "
            "writing {port} in url and command"
        )


def _launch(folder: Path, config: Config, environ: dict[str, str]) -> None:
    """Start the supervisor; it holds the folder's lock when this returns."""
    (folder / "config.json").write_text(json.dumps(config))
    command = [sys.executable, "-I", "-S", supervise.__file__, str(folder)]
    with (folder / "server.log").open("ab") as log:
        done = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            check=False,
        )
    if done.returncode != 0:
        raise WebServerError(f"the supervisor could not be started{_log_tail(folder)}")


def _answering(webserver: Webserver, folder: Path, config: Config, data: Path) -> Run:
    """Wait for the first answer."""
    name = f"the web server {shlex.join(config['command']) or webserver.static!r}"
    deadline, status = time.monotonic() + webserver.timeout, None
    url = Placeholders(config["port"], data).fill(webserver.url)
    while time.monotonic() < deadline:
        if not is_supervised(folder):
            raise _ended(folder, name)
        if config["static"] and config["port"] == 0:
            url = _static_url(webserver, folder, data) or ""
        status = _status(url) if url else None
        # The port may have been taken by a stranger, who answered while ours failed to bind.
        if status is not None and status < 500 and is_supervised(folder):
            return Run(folder, ServerHandle(url=url, data=data))
        time.sleep(_POLL_S)
    how = "did not answer" if status is None else f"answered only with status {status}"
    raise WebServerError(f"{name} {how} at {url} within {webserver.timeout:g} s{_log_tail(folder)}")


def _static_url(webserver: Webserver, folder: Path, data: Path) -> str | None:
    try:
        port = int((folder / "port").read_text())
    except OSError:
        return None
    return Placeholders(port, data).fill(webserver.url)


def _ended(folder: Path, name: str) -> Exception:
    try:
        code = (folder / "exit").read_text()
    except OSError:
        code = "unknown"
    tail = _log_tail(folder)
    how = f"ended with exit code {code}" if code.lstrip("-").isdigit() else code
    reason = f"{name} {how} before it answered{tail}"
    return PortTaken(reason) if _PORT_TAKEN.search(tail) else WebServerError(reason)


def _log_tail(folder: Path) -> str:
    """The end of what the server wrote, fit for a terminal."""
    text = (folder / "server.log").read_bytes()[-4 * _LOG_CHARS :].decode(errors="replace")
    lines = _CONTROL.sub("", text).strip()[-_LOG_CHARS:].splitlines()[-_LOG_LINES:]
    return "\n".join(("; the end of its log:", *lines)) if lines else "; its log is empty"


def ask(url: str, *, method: str, headers: dict[str, str], body: str | None, timeout: float) -> int:
    """Send one request and give the answer's status; redirects are not followed.

    Raises:
        OSError: nobody answered.
        HTTPException: the answer is not HTTP.
        ValueError: it is no http(s) URL.
    """
    data = None if body is None else body.encode()
    request = Request(url, data=data, headers=headers, method=method)
    if request.type not in ("http", "https"):
        raise ValueError(f"{url} is not an http(s) URL")
    try:
        with _DIRECT.open(request, timeout=timeout) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return int(error.code)


def _status(url: str) -> int | None:
    try:
        return ask(url, method="GET", headers={}, body=None, timeout=_ANSWER_S)
    except (OSError, HTTPException):
        return None


def stop(folder: Path) -> None:
    """End the folder's server and drop its data; safe to call twice."""
    (folder / "stop").touch()
    deadline = time.monotonic() + _STOP_S
    while is_supervised(folder) and time.monotonic() < deadline:
        time.sleep(_POLL_S / 5)
    if not (folder / "exit").exists():
        _kill(folder)
    shutil.rmtree(folder / "data", ignore_errors=True)


def _kill(folder: Path) -> None:
    """For a supervisor that hangs or was killed itself."""
    try:
        supervisor, server, *mark = (folder / "processes").read_text().split()
    except OSError:
        return
    if is_supervised(folder):
        os.kill(int(supervisor), signal.SIGKILL)
    if supervise.is_alive(int(server), mark[0] if mark else ""):
        supervise.kill_group(int(server), signal.SIGKILL)
