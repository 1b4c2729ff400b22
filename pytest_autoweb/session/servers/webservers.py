"""Starts the web servers that case files name, shares them among workers, and stops them."""

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from http.client import HTTPException
from pathlib import Path
from tempfile import mkdtemp
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

import psutil
from filelock import FileLock
from msgspec import Struct

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import WebServerError
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.base.installation import missing_extras
from pytest_autoweb.base.process_tree import start_mark
from pytest_autoweb.cases.static_folder import static_folder
from pytest_autoweb.cases.webserver_spec import MAIL_PORT, Reset, ServerHandle, Webserver
from pytest_autoweb.session.servers.supervisors import start_supervisor
from pytest_autoweb.session.servers.webserver_process import MAILS, Config, is_supervised

_HOST = "127.0.0.1"
_POLL_S = 0.1
_FIRST_POLL_S = 0.02
_ANSWER_S = 2.0
# Longer than the supervisor waits for its server (`GRACE_S`) before it kills it.
_STOP_S = 10.0
_LOG_LINES = 20
_LOG_CHARS = 4000
_BIND_TRIES = 3
_PORT_TAKEN = re.compile(r"address (is )?already in use|EADDRINUSE", re.IGNORECASE)
_FOLDER_MARK = "_AUTOWEB_SERVER"
"""The variable by which all processes of a server are known, wherever they have gone."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _NoRedirect(HTTPRedirectHandler):
    """A handler that returns redirects as they are, because they may lead to foreign servers."""

    def redirect_request(self, *_: object) -> None:
        return None


# A proxy from the environment would not reach a server on this machine.
_DIRECT = build_opener(ProxyHandler({}), _NoRedirect)


class PortTaken(Exception):
    """Raised if another process took the port between its choice and the server's bind."""


class RunningServer(Struct, frozen=True):
    """A web server that was started."""

    folder: Path
    handle: ServerHandle

    def is_alive(self) -> bool:
        return is_supervised(self.folder)


class Placeholders(Struct, frozen=True):
    """The values of `{port}`, `{data}`, `{python}` and `{mail_port}` for one start."""

    port: int
    data: Path
    python: str = sys.executable
    mail_port: int = 0

    def fill(self, text: str) -> str:
        """Replace these four and leave all other braces unchanged."""
        values = {
            **{"{port}": str(self.port), "{data}": str(self.data), "{python}": self.python},
            MAIL_PORT: str(self.mail_port),
        }
        known = r"\{(?:port|data|python|mail_port)\}"
        return re.sub(known, lambda found: values[found.group()], text)


def start(
    webserver: Webserver,
    case_path: Path | None,
    runs: Path,
    *,
    ports: Path,
    owners: tuple[int, ...],
) -> RunningServer:
    """Start a server with a fresh data folder and wait until it answers.

    Args:
        webserver: the server to run.
        case_path: the case file that names it; None stands for the current folder.
        runs: the folder in which a folder for this start is created.
        ports: the folder in which the ports of this session are reserved.
        owners: process ids; if one of these processes ends, so does the server.

    Raises:
        WebServerError: the server did not start or did not answer in time.
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
) -> RunningServer:
    runs.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(dir=runs))
    data = folder / "data"
    data.mkdir()
    base = (case_path.parent if case_path else Path()).resolve()
    if "{port}" not in webserver.url:
        _refuse_if_answering(webserver.url)
        port = urlsplit(webserver.url).port or 80
    else:
        port = 0 if webserver.static else _reserved_port(ports)
    if webserver.takes_mail and (problem := missing_extras(["mail"])):
        raise WebServerError(f"mails cannot be taken: {problem}")
    mail_port = _reserved_port(ports) if webserver.takes_mail else 0
    values = Placeholders(port, data, mail_port=mail_port)
    config = Config(
        command=_argv(webserver, values),
        cwd=str(_working_folder(webserver, base)),
        static=str(static_folder(webserver.static, base)) if webserver.static else "",
        port=port,
        mail_port=mail_port,
        owners=[[str(pid), start_mark(pid)] for pid in owners],
    )
    environ = {name: values.fill(value) for name, value in webserver.env.items()}
    _launch(folder, config, {**os.environ, **environ, _FOLDER_MARK: str(folder)})
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
    # Replaced after the split, so that a folder with a space in its name stays one word.
    return [values.fill(word) for word in words]


def _working_folder(webserver: Webserver, base: Path) -> Path:
    folder = base / webserver.cwd if webserver.cwd else base
    if not folder.is_dir():
        raise WebServerError(f"the web server's working folder {folder} does not exist")
    return folder


def _reserved_port(ports: Path) -> int:
    """Return a free port that no other server of this session has.

    The port is free only when it is chosen, see `PortTaken`. Servers of the same session reserve
    theirs by a file, so that at least they do not collide.
    """
    ports.mkdir(parents=True, exist_ok=True)
    while True:
        with socket.socket() as probe:
            probe.bind((_HOST, 0))
            port = int(probe.getsockname()[1])
        try:
            (ports / str(port)).touch(exist_ok=False)
        except FileExistsError:
            continue
        return port


def _refuse_if_answering(url: str) -> None:
    if _status(url) is not None:
        raise WebServerError(
            f"something already answers at {url}; stop it, or write {{port}} in url and command to "
            "have a free port chosen"
        )


def _launch(folder: Path, config: Config, environ: dict[str, str]) -> None:
    """Start the supervisor, which holds the folder's lock when this returns."""
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    waiting.blocking(lambda: start_supervisor(folder, environ))


def _answering(webserver: Webserver, folder: Path, config: Config, data: Path) -> RunningServer:
    """Wait until the server answers for the first time."""
    name = f"the web server {shlex.join(config['command']) or webserver.static!r}"
    deadline, status, pause = waiting.now() + webserver.timeout, None, _FIRST_POLL_S
    url = Placeholders(config["port"], data).fill(webserver.url)
    while waiting.now() < deadline:
        if not is_supervised(folder):
            raise _early_end(folder, name)
        if config["static"] and config["port"] == 0:
            url = _static_url(webserver, folder, data) or ""
        status = _status(url) if url else None
        # A server may answer 5xx while it is still starting. The answer may also come from another
        # process that took the port before our server could.
        if status is not None and status < 500 and is_supervised(folder):
            mails = folder / MAILS if config["mail_port"] else None
            return RunningServer(folder, ServerHandle(url=url, data=data, mails=mails))
        waiting.sleep(pause)
        pause = min(_POLL_S, pause * 1.5)
    how = "did not answer" if status is None else f"answered only with status {status}"
    raise WebServerError(f"{name} {how} at {url} within {webserver.timeout:g} s{_log_tail(folder)}")


def _static_url(webserver: Webserver, folder: Path, data: Path) -> str | None:
    try:
        port = int((folder / "port").read_text(encoding="utf-8"))
    except OSError:
        return None
    return Placeholders(port, data).fill(webserver.url)


def _early_end(folder: Path, name: str) -> Exception:
    try:
        code = (folder / "exit").read_text(encoding="utf-8")
    except OSError:
        code = "unknown"
    tail = _log_tail(folder)
    how = f"ended with exit code {code}" if code.lstrip("-").isdigit() else code
    reason = f"{name} {how} before it answered{tail}"
    return PortTaken(reason) if _PORT_TAKEN.search(tail) else WebServerError(reason)


def _log_tail(folder: Path) -> str:
    """Return the end of the server's output, without control characters for the terminal."""
    text = (folder / "server.log").read_bytes()[-4 * _LOG_CHARS :].decode(errors="replace")
    lines = _CONTROL.sub("", text).strip()[-_LOG_CHARS:].splitlines()[-_LOG_LINES:]
    return "\n".join(("; the end of its log:", *lines)) if lines else "; its log is empty"


def ask(url: str, *, method: str, headers: dict[str, str], body: str | None, timeout: float) -> int:
    """Send one request and return the status of the answer, without following redirects.

    Raises:
        OSError: there was no answer.
        HTTPException: the answer is not HTTP.
        ValueError: the URL is not an http(s) URL.
    """
    data = None if body is None else body.encode()
    request = Request(url, data=data, headers=headers, method=method)
    if request.type not in ("http", "https"):
        raise ValueError(f"{url} is not an http(s) URL")
    return waiting.blocking(lambda: _answered_status(request, timeout))


def _answered_status(request: Request, timeout: float) -> int:
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
    """End the folder's server and delete its data; may be called twice."""
    _ask_to_stop(folder)
    deadline = waiting.now() + _STOP_S
    while is_supervised(folder) and waiting.now() < deadline:
        waiting.sleep(_POLL_S / 5)
    if not (folder / "exit").exists():
        _kill(folder)
    for name in ("data", MAILS):
        shutil.rmtree(folder / name, ignore_errors=True)


def _ask_to_stop(folder: Path) -> None:
    (folder / "stop").touch()
    if sys.platform != "win32" and (supervisor := _supervisor(folder)):
        # It would notice the file, but later.
        with suppress(ProcessLookupError):
            os.kill(supervisor, signal.SIGTERM)


def _supervisor(folder: Path) -> int | None:
    """Return the id of the supervisor while it is at work."""
    try:
        pid = int((folder / "processes").read_text(encoding="utf-8").split()[0])
    except (OSError, IndexError):
        return None
    return pid if is_supervised(folder) else None


def _kill(folder: Path) -> None:
    """Kill the supervisor, which hangs or was killed itself, and all that its server started."""
    if supervisor := _supervisor(folder):
        with suppress(psutil.Error):
            psutil.Process(supervisor).kill()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(_FOLDER_MARK) == str(folder):
                process.kill()


class ServerPool:
    """The web servers of one pytest session on one machine, seen from one test process.

    All processes of the session use the same folder, which records the running servers, so any
    process can start a server that all of them use. The servers end with their owner, even if it is
    killed.
    """

    def __init__(self, session_dir: Path, owner_pid: int) -> None:
        self._dir, self._owner = session_dir.resolve(), owner_pid

    @contextmanager
    def serving(
        self, webserver: Webserver, case_path: Path | None, name: str = ""
    ) -> Iterator[ServerHandle]:
        """Provide a running server for the length of one attempt.

        - Without `reset`, the server is shared without a lock.
        - With an HTTP reset, the server is shared, but only one attempt uses it at a time: other
          processes wait until this context ends. Send the reset with `reset`.
        - With `reset: restart`, the server and its `{data}` are new and private, and end with the
          context.
        - A server that is started elsewhere is only waited for.

        A server that has died in the meantime is restarted. One that could not be started is not
        tried again in the session; its error is raised again.

        Raises:
            WebServerError: the server did not start or did not answer in time.
        """
        home = self._home(webserver, case_path, name)
        if webserver.reset == "restart":
            run = self._start(webserver, case_path, home, self._owner, os.getpid())
            try:
                yield run.handle
            finally:
                stop(run.folder)
            return
        exclusive = isinstance(webserver.reset, Reset)
        with waiting.file_lock(FileLock(home / "attempt.lock")) if exclusive else nullcontext():
            if webserver.running:
                yield _found_running(webserver, home)
            else:
                yield self._shared(webserver, case_path, home)

    def in_order(
        self, webservers: Mapping[str, Webserver], case_path: Path | None
    ) -> list[tuple[str, Webserver]]:
        return sorted(
            webservers.items(), key=lambda item: self._home(item[1], case_path, item[0]).name
        )

    def reset(self, webserver: Webserver, handle: ServerHandle, reset: Reset | None) -> None:
        """Reset the server's state by its reset request, if it has one.

        Args:
            webserver: the server, whose `timeout` also applies to the request.
            handle: the running server, for error messages.
            reset: the result of `LoadedCase.resolve_reset`.

        Raises:
            WebServerError: there was no answer, or one with a status other than 2xx or 3xx.
        """
        if reset is None:
            return
        what = f"the reset of the web server at {handle.url} ({reset.method} {reset.url})"
        try:
            status = ask(
                reset.url,
                method=reset.method,
                headers=reset.headers,
                body=reset.body,
                timeout=webserver.timeout,
            )
        except (OSError, HTTPException, ValueError) as error:
            raise WebServerError(f"{what} failed: {error}") from error
        if not 200 <= status < 400:
            raise WebServerError(f"{what} was answered with status {status}")

    def _home(self, webserver: Webserver, case_path: Path | None, name: str) -> Path:
        """Return the folder of a case file's server, by file, name and settings.

        A server that is started elsewhere is shared by all files, so that only one attempt uses it
        between its resets.
        """
        file = str(case_path.resolve()) if case_path else ""
        identity = [webserver.url] if webserver.running else [file, name, webserver.model_dump()]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        home = _homes(self._dir) / digest[:16]
        home.mkdir(parents=True, exist_ok=True)
        return home

    def _shared(self, webserver: Webserver, case_path: Path | None, home: Path) -> ServerHandle:
        current, failed = home / "current.json", home / "failed"
        with waiting.file_lock(FileLock(home / "start.lock")):
            if failed.exists():
                raise WebServerError(failed.read_text(encoding="utf-8"))
            if current.exists():
                run = _read(current)
                if run.is_alive():
                    return run.handle
                stop(run.folder)
            try:
                run = self._start(webserver, case_path, home, self._owner)
            except WebServerError as error:
                # Other workers would wait for the same time-out.
                failed.write_text(str(error), encoding="utf-8")
                raise
            _write(current, run)
            return run.handle

    def _start(
        self, webserver: Webserver, case_path: Path | None, home: Path, *owners: int
    ) -> RunningServer:
        ports = self._dir / "ports"
        return start(webserver, case_path, home / "runs", ports=ports, owners=owners)


def _found_running(webserver: Webserver, home: Path) -> ServerHandle:
    """Wait until a server that was started elsewhere answers.

    Raises:
        WebServerError: it does not answer in time.
    """
    deadline, status = waiting.now() + webserver.timeout, None
    while waiting.now() < deadline:
        status = _status(webserver.url)
        if status is not None and status < 500:
            return ServerHandle(url=webserver.url, data=home)
        waiting.sleep(_POLL_S)
    how = "did not answer" if status is None else f"answered only with status {status}"
    raise WebServerError(
        f"the web server at {webserver.url}, which is not started by pytest, {how} within "
        f"{webserver.timeout:g} s"
    )


def stop_all(session_dir: Path) -> None:
    """End every server of the session; the owning process calls this once."""
    folders = list(_homes(session_dir.resolve()).glob("*/runs/*"))
    for folder in folders:
        # All are told first, so that they end at the same time.
        _ask_to_stop(folder)
    for folder in folders:
        stop(folder)


def _homes(session_dir: Path) -> Path:
    return session_dir / "webservers"


def _read(current: Path) -> RunningServer:
    saved = json.loads(current.read_bytes())
    return RunningServer(Path(saved["folder"]), ServerHandle.model_validate(saved["handle"]))


def _write(current: Path, run: RunningServer) -> None:
    saved = {"folder": str(run.folder), "handle": run.handle.model_dump(mode="json")}
    replace_text(current, json.dumps(saved))
