"""What an outside agent may reach: its own folder, what programs need, its endpoint and browser.

Everything is listed; whatever is not listed is out of reach where the kernel has the walls. In
particular, that is the home with its keys, the rest of the rootdir with its `.env`, case files and
runs, and other processes.
"""

import ipaddress
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_autoweb.agents.outside.tool_loop import with_loop
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.sandbox.confined_program import ProgramReach
from pytest_autoweb.sandbox.levels import Level
from pytest_autoweb.settings.agent_command import AgentCommand

# Programs and libraries. Of the system's settings only those that programs read to start, resolve
# names and check certificates, because as root a program could read the rest, too.
_OF_ROOT = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/snap"),
    *("/nix/store", "/gnu/store", "/var/cache/fontconfig"),
    *("/proc", "/sys/devices/system", "/sys/fs/cgroup", "/run/systemd/resolve"),
)
_OF_ETC = """
    alternatives ca-certificates ca-certificates.conf crypto-policies debian_version default/locale
    environment fonts gai.conf group host.conf hostname hosts inputrc ld.so.cache
    ld.so.conf ld.so.conf.d ld.so.preload locale.alias locale.conf localtime lsb-release machine-id
    magic mailcap mime.types networks nsswitch.conf os-release passwd pki/tls/certs pki/ca-trust
    pki/tls/cert.pem pki/tls/openssl.cnf profile protocols python3 redhat-release resolv.conf
    services shells ssl/certs ssl/cert.pem ssl/openssl.cnf terminfo timezone xdg
"""
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
SYSTEM = (*_OF_ROOT, *(f"/etc/{name}" for name in _OF_ETC.split()))
"""What programs of a system need to run."""
_NODE_LOOKS_FOR = ("node_modules", "package.json")
# What belongs to an installation beside its folder of programs.
_OF_PREFIX = """
    include installs lib lib64 libexec node_modules plugins pyvenv.cfg share versions
"""
_PROGRAMS = ("bin", "sbin", "Scripts", "shims")
_BY_NAME = ("node", "python3")
_PORTS = {"http": 80, "https": 443}
_NAMES = 53
# Of the person's session, whose services are out of reach.
_DROPPED = ("XDG_", "DBUS_", "XAUTHORITY", "DISPLAY", "WAYLAND_")


def level_of(settings: AgentCommand, session: Level) -> Level:
    """Return how strictly an agent is held: as its settings say, or else as the session's code."""
    return settings.sandbox or session


class AgentPlaces(NamedTuple):
    """The folders that decide what an agent may read."""

    rootdir: Path
    """Its working folder, to which paths are relative."""
    closed: tuple[Path, ...]
    """Files and folders that it must not read by reading a folder around them: the case file with
    its checks, and the run."""
    own: tuple[str, ...] = ()
    """Folders that belong to the agent besides the one that it is told."""

    def shares(self, folder: Path) -> bool:
        """Tell whether a folder holds more than an agent or a program."""
        home, found = Path.home(), folder.resolve()
        kept_apart = (home / ".local", self.rootdir, Path(tempfile.gettempdir()), *self.closed)
        return any(place.resolve().is_relative_to(found) for place in (home, *kept_apart))


def reach_of(
    settings: AgentCommand,
    start: Mapping[str, Any],
    places: AgentPlaces,
    environ: Mapping[str, str],
) -> ProgramReach:
    """Return what an agent may reach in an attempt.

    Args:
        settings: the agent's; of tools, those of the tools.
        start: the first message to it, with its folder, its files and its two addresses.
        places: the folders around it.
        environ: the environment of this process, for its `PATH`.

    Raises:
        SettingsError: a path of `read` or `write` does not exist.
    """
    urls = (start["browser"]["cdp_url"], start["model"]["base_url"])
    needed = {urlsplit(url).port or 0 for url in urls} | set(_ports_of_server(settings))
    read = (
        *SYSTEM,
        *_interpreters(settings.programs, places, environ),
        *_installation(_words_of(settings), places),
        *start["files"],
        *_declared("read", settings.read, places.rootdir),
    )
    write = (
        start["folder"],
        *places.own,
        *DEVICES,
        *_declared("write", settings.write, places.rootdir),
    )
    return ProgramReach(
        read=tuple(dict.fromkeys(map(str, read))),
        write=write,
        ports=(*sorted(needed), *settings.ports),
        processes=settings.processes,
    )


@contextmanager
def own_home(environ: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Make a home with temporary files for an attempt, and delete it at the end.

    Its path is short, because that of a Unix socket is limited to some hundred characters.

    Args:
        environ: the variables that every program gets.

    Yields:
        The folder, and the environment of a held program.
    """
    with tempfile.TemporaryDirectory(prefix="aw-", ignore_cleanup_errors=True) as folder:
        temporary = Path(folder) / "tmp"
        temporary.mkdir()
        kept = {name: value for name, value in environ.items() if not name.startswith(_DROPPED)}
        yield (
            folder,
            {
                **kept,
                "HOME": folder,
                **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(temporary)),
                # It has no datagrams, and asks for names over TCP where it may connect to port 53.
                "RES_OPTIONS": "use-vc",
            },
        )


def _declared(setting: str, paths: Iterable[str], rootdir: Path) -> Iterator[str]:
    for path in paths:
        found = rootdir / Path(path).expanduser()
        if not found.exists():
            raise SettingsError(f"the agent's `{setting}` names {path!r}, and {found} is not there")
        yield str(found)


def _ports_of_server(settings: AgentCommand) -> Iterator[int]:
    """Yield the ports of an MCP server that runs already, and what its name is looked up by."""
    if settings.mcp is None or settings.mcp.url is None:
        return
    url = urlsplit(settings.mcp.url)
    # One in a placeholder is that of the browser or of the endpoint.
    with suppress(ValueError):
        yield url.port or _PORTS[url.scheme]
    host = url.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if host != "localhost":
            yield _NAMES


def _words_of(settings: AgentCommand) -> Iterator[str]:
    """Yield the arguments, also those of calls that connect a command line, and their values."""
    words = [*with_loop(settings).command[1:]]
    if settings.cli is not None:
        words += (word for call in settings.cli.start for word in call)
    for word in words:
        yield word
        if word.startswith("-") and "=" in word:
            yield word.partition("=")[2]


def _interpreters(
    programs: Iterable[str], places: AgentPlaces, environ: Mapping[str, str]
) -> Iterator[Path]:
    """Yield the installations of the programs and of interpreters, and the `PATH`."""
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    for name in (sys.executable, *programs, *_BY_NAME):
        if found := shutil.which(name) or shutil.which(str(places.rootdir / name)):
            # A virtual environment's interpreter is a link to that of another installation.
            for file in _followed(Path.cwd() / found):
                yield file
                yield from [] if places.shares(file.parent) else [file.parent]
                if file.parent.name in _PROGRAMS:
                    prefixes.add(file.parents[1])
    for prefix in prefixes:
        if prefix not in (Path.home(), places.rootdir):
            # In `~/.local`, a person's own data lie beside the programs.
            left_out = {"share"} if places.shares(prefix) else set()
            yield from (prefix / name for name in {*_OF_PREFIX.split(), *_PROGRAMS} - left_out)
    for variable in ("PATH", "LD_LIBRARY_PATH"):
        folders = map(Path, filter(None, environ.get(variable, "").split(os.pathsep)))
        yield from (folder for folder in folders if not places.shares(folder))


def _followed(program: Path) -> Iterator[Path]:
    """Yield a program, what it is a link to, and the interpreter of its virtual environment."""
    for file in (program, program.resolve()):
        yield file
        if (file.parents[1] / "pyvenv.cfg").is_file():
            yield from (own.resolve() for own in file.parent.glob("python*"))


def _installation(words: Iterable[str], places: AgentPlaces) -> Iterator[Path]:
    """Yield what the words of the command name: folders, and files with the folder around them.

    Above a file lies what Node looks for: its packages.
    """
    for word in words:
        path = places.rootdir / word
        try:
            # Most words are not paths.
            folder = path.resolve(strict=True)
        except (OSError, ValueError):
            continue
        if folder.is_file():
            yield folder
            folder = folder.parent
            for place in (folder, *folder.parents):
                yield from (place / name for name in _NODE_LOOKS_FOR)
                if place == places.rootdir.resolve():
                    break
        if not places.shares(folder):
            yield folder
