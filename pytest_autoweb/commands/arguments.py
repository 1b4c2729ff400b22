"""Arguments that several commands share: the model that is asked, the page to start on, `--json`.

The model is named, limited and called here, and it is said what it cost. The page has an address, a
server that it may need, and a browser. With `--json`, commands that read print one document on
stdout, for programs and coding agents; progress goes to stderr.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pytest_autoweb.whole_characters import whole_text

# Late imports: every `autoweb` command loads this module, and few need a model or a page.

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

    from pytest_autoweb.llm.client import Client
    from pytest_autoweb.llm.model_spec import ModelSpec
    from pytest_autoweb.results import Usage


_OPEN_MS = 30_000
USUAL: "ViewportSize" = {"width": 1280, "height": 720}
"""The size of a page unless a case says otherwise."""

VERSION = 1
"""Rises when a field of a document changes its meaning or goes away."""
_OUT: ContextVar[TextIO | None] = ContextVar("stdout that is kept for a document", default=None)


def add_models_file(parser: argparse.ArgumentParser) -> None:
    """Declare `--models-file`."""
    parser.add_argument(
        "--models-file", type=Path, metavar="FILE", help="file with model settings, as for pytest"
    )


def add_max_cost(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare `--max-cost`.

    Args:
        parser: of the command.
        what: what may cost no more, for the help.
    """
    parser.add_argument(
        "--max-cost", type=float, metavar="USD", help=f"the most that {what} may cost"
    )


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--model`, which must be given, and what belongs to it."""
    parser.add_argument("--model", required=True, metavar="NAME", help="the model that is asked")
    add_models_file(parser)
    add_max_cost(parser, "all calls together")


@contextmanager
def asked_model(args: argparse.Namespace) -> "Iterator[tuple[Client, ModelSpec]]":
    """Yield a client and the model that the arguments name.

    Raises:
        SettingsError: there is no such model, or it is a control.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.llm.gateway import temporary_gateway
    from pytest_autoweb.llm.model_spec import load_project_specs

    if args.model.startswith("builtin/"):
        raise SettingsError(f"{args.model} is a control and writes nothing; name a model")
    spec = load_project_specs((args.model,), Path(), args.models_file)[args.model]
    with temporary_gateway(args.max_cost) as client:
        client.add(spec)
        yield client, spec


def spent(usage: "Usage") -> str:
    """Return what calls cost, as far as it is known."""
    from pytest_autoweb.analysis.cell_numbers import Cost
    from pytest_autoweb.report.wording import count_of, money

    cost = Cost(usd=usage.cost_usd, complete=not usage.unpriced_calls)
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return f"{count_of(usage.calls, 'call')}, {tokens}, cost: {money(cost, usage.calls)}"


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
        help="start this program for the case; {port} stands for a free port",
    )


@contextmanager
def served_entry(
    args: argparse.Namespace, webserver: dict[str, str], file: Path
) -> Iterator[tuple[str, str]]:
    """Start the server that is needed, and provide its address ("" for none) and the page's.

    Args:
        args: what `add_entry_arguments` declares.
        webserver: the case file's section, as `webserver_section` returns it.
        file: the case file.

    Raises:
        AutowebError: the address cannot be used, or the server does not start.
    """
    with _server_of(webserver, file) as site:
        yield site, site + path_below(args.url) if site else checked_url(args.url)


def webserver_section(args: argparse.Namespace, file: Path) -> dict[str, str]:
    """Return the case file's section about its web server; empty if it needs none."""
    from pytest_autoweb.errors import SettingsError

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
    from pytest_autoweb.errors import SettingsError

    if path and "://" in path:
        raise SettingsError(f"with --static or --command, name a path such as /login, not {path!r}")
    return (path or "").removeprefix("/")


def checked_url(url: str | None) -> str:
    """Return the URL, asking for it at a terminal.

    Raises:
        SettingsError: there is none, or it is not one.
    """
    from pytest_autoweb.errors import SettingsError

    if not url and sys.stdin.isatty():
        url = input("The page to start on (http://…): ").strip()
    if not url:
        raise SettingsError("name the page to start on, such as http://localhost:8000/")
    if not url.startswith(("http://", "https://")):
        raise SettingsError(f"{url!r} is not an http or https URL; for a folder use --static DIR")
    return url


@contextmanager
def _server_of(webserver: dict[str, str], file: Path) -> Iterator[str]:
    """Start the case file's web server and provide its URL; "" if there is none to start."""
    from pytest_autoweb.cases.case import Webserver
    from pytest_autoweb.session.webservers import ServerPool, stop_all

    if not webserver:
        yield ""
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pool = ServerPool(Path(folder), os.getpid())
        try:
            with pool.serving(Webserver.model_validate(webserver), file) as server:
                yield server.url
        finally:
            stop_all(Path(folder))


@contextmanager
def opened_page(url: str, size: "ViewportSize | None" = None) -> "Iterator[Page]":
    """Open a page of the user's own in a browser of its own.

    Raises:
        BrowserError: there is no browser, or the page cannot be opened.
    """
    from playwright.sync_api import Error, sync_playwright

    from pytest_autoweb.egress.chromium import browser_environ, launch_args
    from pytest_autoweb.errors import BrowserError, first_line

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
                raise BrowserError(f"{url} cannot be opened: {first_line(error)}") from None
            yield page
        finally:
            browser.close()


def tell_progress(line: str) -> None:
    """Print one line about a command's progress to stderr, which leaves stdout to its result."""
    from pytest_autoweb.report.wording import one_line

    print(one_line(line, 400), file=sys.stderr, flush=True)


def text_path(words: str) -> Path:
    """Return the path of an argument that files of text will name.

    Raises:
        ArgumentTypeError: it holds bytes that are not UTF-8.
    """
    if whole_text(words) != words:
        raise argparse.ArgumentTypeError(f"{whole_text(words)} is not valid UTF-8")
    return Path(words)


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--json`, which means the same for every command that has it."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON document instead of text, and messages on stderr (docs/json.md)",
    )


@contextmanager
def kept_for_json() -> Iterator[None]:
    """Keep stdout for the document: what gates, panels and checks of users print goes to stderr."""
    token = _OUT.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _OUT.reset(token)


def print_json(kind: str, content: Mapping[str, Any]) -> None:
    """Print the document of a command.

    Only ASCII is printed, everything else is escaped: a terminal, a pipe with another encoding and
    a CI runner all get the same bytes, and no character of a page or a model steers any of them.

    Args:
        kind: what the document is, which follows `pytest-autoweb/` in its field `format`.
        content: its fields; values may be models, paths and whatever else JSON can be made of.
    """
    # Late, because every `autoweb` command loads this module, and few of them print JSON.
    from pytest_autoweb.runs.saving import plain

    fields = {name: _with_paths_as_text(value) for name, value in content.items()}
    document = {"format": f"pytest-autoweb/{kind}", "version": VERSION, **plain(fields)}
    # DEL is the one control character of ASCII that JSON leaves as it is. Azure and TeamCity obey
    # `##vso[` and its like anywhere in a line; two such signs occur only within texts.
    text = json.dumps(document, indent=2).replace("\x7f", "\\u007f").replace("##", "#\\u0023")
    print(text, file=_OUT.get())


def _with_paths_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
