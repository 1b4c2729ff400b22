"""The web servers that case files name: started once, shared by all workers, stopped for sure."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from http.client import HTTPException
from pathlib import Path

from filelock import FileLock

from pytest_autoweb.cases.model import Reset, ServerHandle, Webserver
from pytest_autoweb.cases.server_run import Run, ask, start, stop
from pytest_autoweb.errors import WebServerError


class ServerPool:
    """The web servers of one pytest session on one machine, seen from one test process.

    All processes of the session are given the same folder; what runs is written there, so any of
    them can start a server and all of them use it. The servers end with the owner, even when it
    is killed.
    """

    def __init__(self, session_dir: Path, owner_pid: int) -> None:
        self._dir, self._owner = session_dir.resolve(), owner_pid

    @contextmanager
    def serving(self, webserver: Webserver, case_path: Path | None) -> Iterator[ServerHandle]:
        """A running server for the length of one attempt.

        - Without `reset` the server is shared, with no lock.
        - With an HTTP reset the server is shared, and the attempt has it to itself: another
          process that asks waits until this context ends. Send the reset with `reset`.
        - With `reset: restart` the server and its `{data}` are new and private, and end with
          the context.

        A server that has died since is started again. One that could not be started is not tried
        twice in a session; its error is raised again.

        Raises:
            WebServerError: the server did not start or did not answer in time.
        """
        home = self._home(webserver, case_path)
        if webserver.reset == "restart":
            run = self._start(webserver, case_path, home, self._owner, os.getpid())
            try:
                yield run.handle
            finally:
                stop(run.folder)
            return
        exclusive = isinstance(webserver.reset, Reset)
        with FileLock(home / "attempt.lock") if exclusive else nullcontext():
            yield self._shared(webserver, case_path, home)

    def reset(self, webserver: Webserver, handle: ServerHandle, reset: Reset | None) -> None:
        """Put the server's state back by its reset request; nothing to do when there is none.

        Args:
            webserver: its `timeout` is also that of the request.
            handle: the running server, for the message.
            reset: as `LoadedCase.resolve_reset` gives it.

        Raises:
            WebServerError: nobody answered, or with another status than 2xx or 3xx.
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

    def _home(self, webserver: Webserver, case_path: Path | None) -> Path:
        """The folder of one file's server."""
        identity = [str(case_path.resolve()) if case_path else "", webserver.model_dump()]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        home = _homes(self._dir) / digest[:16]
        home.mkdir(parents=True, exist_ok=True)
        return home

    def _shared(self, webserver: Webserver, case_path: Path | None, home: Path) -> ServerHandle:
        current, failed = home / "current.json", home / "failed"
        with FileLock(home / "start.lock"):
            if failed.exists():
                raise WebServerError(failed.read_text())
            if current.exists():
                run = _read(current)
                if run.is_alive():
                    return run.handle
                stop(run.folder)
            try:
                run = self._start(webserver, case_path, home, self._owner)
            except WebServerError as error:
                failed.write_text(str(error))
                raise
            _write(current, run)
            return run.handle

    def _start(self, webserver: Webserver, case_path: Path | None, home: Path, *owners: int) -> Run:
        ports = self._dir / "ports"
        return start(webserver, case_path, home / "runs", ports=ports, owners=owners)


def stop_all(session_dir: Path) -> None:
    """End every server of the session; called once by the process that owns them."""
    folders = list(_homes(session_dir.resolve()).glob("*/runs/*"))
    for folder in folders:
        # All are told first, so that their times to end run side by side.
        (folder / "stop").touch()
    for folder in folders:
        stop(folder)


def _homes(session_dir: Path) -> Path:
    return session_dir / "webservers"


def _read(current: Path) -> Run:
    saved = json.loads(current.read_text())
    return Run(Path(saved["folder"]), ServerHandle(url=saved["url"], data=Path(saved["data"])))


def _write(current: Path, run: Run) -> None:
    saved = {"folder": str(run.folder), "url": run.handle.url, "data": str(run.handle.data)}
    draft = current.with_suffix(".new")
    draft.write_text(json.dumps(saved))
    draft.replace(current)
