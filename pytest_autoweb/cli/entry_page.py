"""The page on which a command starts: its address, a server that it may need, and a browser."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Error, Page, ViewportSize, sync_playwright

from pytest_autoweb.base.errors import BrowserError, SettingsError
from pytest_autoweb.browser.egress.chromium import browser_environ, launch_args
from pytest_autoweb.browser.page.opening import words_without_call
from pytest_autoweb.cases.webserver_spec import ServerHandle, Webserver
from pytest_autoweb.session.servers.webservers import ServerPool, stop_all

_OPEN_MS = 30_000
USUAL: ViewportSize = {"width": 1280, "height": 720}
"""The size of a page unless a case says otherwise."""


def add_entry_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the page to start on, and the server that may have to be started for it."""
    parser.add_argument(
        "url",
        nargs="?",
        metavar="URL",
        help="the page to start on; a path below the site with --static or --command",
    )
    server = parser.add_mutually_exclusive_group()
    server.add_argument("--static", metavar="DIR", help="serve this folder for the case")
    server.add_argument(
        "--command",
        metavar="COMMAND",
        help="start this program for the case; {port} stands for a free port, {mail_port} for that "
        "of a server for its mails",
    )


class ServedEntry(NamedTuple):
    """The page to start on, and what runs behind it."""

    site: str
    """The address of the server that was started; "" for none."""
    url: str
    mails: Path | None
    """The folder with the mails that it sends, if it has a server for them."""


@contextmanager
def served_entry(
    args: argparse.Namespace, webserver: dict[str, str], file: Path
) -> Iterator[ServedEntry]:
    """Start the server that is needed, and provide its address and the page's.

    Args:
        args: what `add_entry_arguments` declares.
        webserver: the case file's section, as `webserver_section` returns it.
        file: the case file.

    Raises:
        AutowebError: the address cannot be used, or the server does not start.
    """
    with _server_of(webserver, file) as server:
        if server is None:
            yield ServedEntry("", checked_url(args.url), None)
        else:
            yield ServedEntry(server.url, server.url + path_below(args.url), server.mails)


def webserver_section(args: argparse.Namespace, file: Path) -> dict[str, str]:
    """Return the case file's section about its web server; empty if it needs none."""
    above = os.path.relpath(Path(), file.parent)
    if args.static:
        if not Path(args.static).is_dir():
            raise SettingsError(f"--static: {args.static} is not a folder")
        return {"static": Path(above, args.static).as_posix()}
    if not args.command:
        return {}
    section = {"command": args.command, "cwd": above}
    if "{port}" not in args.command:
        raise SettingsError(
            "--command must say where the port belongs, as in 'npm start -- --port {port}'; "
            "or start the program yourself and name its URL"
        )
    return section


def path_below(path: str | None) -> str:
    """Return a path below the web server of a case file, without its first slash.

    Raises:
        SettingsError: it is a whole URL.
    """
    if path and "://" in path:
        raise SettingsError(f"with --static or --command, name a path such as /login, not {path!r}")
    return (path or "").removeprefix("/")


def checked_url(url: str | None) -> str:
    """Return the URL, asking for it at a terminal.

    Raises:
        SettingsError: there is none, or it is not one.
    """
    if not url and sys.stdin.isatty():
        url = input("The page to start on (http://…): ").strip()
    if not url:
        raise SettingsError("name the page to start on, such as http://localhost:8000/")
    if not url.startswith(("http://", "https://")):
        raise SettingsError(f"{url!r} is not an http or https URL; for a folder use --static DIR")
    return url


@contextmanager
def _server_of(webserver: dict[str, str], file: Path) -> Iterator[ServerHandle | None]:
    """Start the case file's web server and provide it; None if there is none to start."""
    if not webserver:
        yield None
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pool = ServerPool(Path(folder), os.getpid())
        try:
            with pool.serving(Webserver.model_validate(webserver), file) as server:
                yield server
        finally:
            stop_all(Path(folder))


@contextmanager
def opened_page(url: str, size: ViewportSize | None = None) -> Iterator[Page]:
    """Open a page of the user's own in a browser of its own.

    Raises:
        BrowserError: there is no browser, or the page cannot be opened.
    """
    with sync_playwright() as playwright:
        chromium = playwright.chromium
        base = {"env": browser_environ(os.environ)}
        args = launch_args(base, playwright_executable=chromium.executable_path)
        browser = chromium.launch(**args)
        try:
            page = browser.new_page(viewport=size or USUAL)
            try:
                page.goto(url, timeout=_OPEN_MS)
            except Error as error:
                raise BrowserError(f"{url} cannot be opened: {words_without_call(error)}") from None
            yield page
        finally:
            browser.close()
