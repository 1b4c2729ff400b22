"""The web server of a case file, as it is declared and as it runs."""

from pathlib import Path
from typing import Literal

from pydantic import (
    Field,
    model_validator,
)

from pytest_autoweb.base.specs import Seconds, Spec

MAIL_PORT = "{mail_port}"
"""Stands for the port of the server on 127.0.0.1 that takes a web server's mails."""


class Reset(Spec):
    """A request that puts the web server's state back, sent before every attempt."""

    method: str = "POST"
    url: str
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None


class Webserver(Spec):
    """The application under test: a command, a folder of static files, or a running one."""

    command: str | None = None
    """The command to run, without a shell. `{port}` is a free port, `{data}` a fresh folder,
    `{python}` the interpreter that runs pytest, and `{mail_port}` the port of a mail server."""
    static: str | None = None
    """A folder relative to this file, or `PACKAGE/path` inside an installed package."""
    running: bool = False
    """Whether the server at `url` is started by others: it is waited for and reset, never started
    or stopped."""
    url: str = "http://127.0.0.1:{port}/"
    """The URL that is polled until it answers."""
    timeout: Seconds = 30.0
    """The seconds within which the server must answer."""
    reset: Literal["restart"] | Reset | None = None
    """How the state is put back before every attempt: by a request, or with `restart` by a new
    process and a fresh `{data}`."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    """The working folder, relative to this file; the default is the file's own folder."""

    @property
    def takes_mail(self) -> bool:
        """Return whether a server for its mails starts with it."""
        return any(MAIL_PORT in text for text in (self.command or "", *self.env.values()))

    @model_validator(mode="after")
    def _command_or_static(self) -> "Webserver":
        ways = (self.command is not None, self.static is not None, self.running)
        if sum(ways) != 1:
            raise ValueError("needs exactly one of command, static, running")
        if self.running:
            if "{" in self.url:
                raise ValueError("url must be where the running server is, without {port}")
            if self.reset == "restart" or self.env or self.cwd:
                raise ValueError("a running server takes no env, no cwd and no `reset: restart`")
        return self


class ServerHandle(Spec):
    """A running web server, as `{{ webserver.url }}` and `{{ webserver.data }}` see it."""

    url: str
    data: Path
    named: dict[str, "ServerHandle"] = Field(default_factory=dict)
    """The servers of `webservers`; if there are only those, this one is the first of them."""
    mails: Path | None = None
    """The folder with the mails that it sent, if it has a server for them."""
    address: str = ""
    """The attempt's own address for mails, as `{{ mail.address }}` says it."""

    @property
    def mail_folders(self) -> tuple[Path, ...]:
        """Return the folders with mails of all the servers."""
        found = (one.mails for one in (self, *self.named.values()) if one.mails is not None)
        return tuple(dict.fromkeys(found))
