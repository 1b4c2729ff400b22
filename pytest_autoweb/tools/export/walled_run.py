"""One run of pytest for a proof: in a group of processes with a limit, behind the egress proxy.

A test that is to be proven holds code of a model, and nobody has read it yet. So its browser
reaches the test's own origins only, and everything that it started ends with it.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.base.process_tree import OWN_GROUP, end_kept, kept
from pytest_autoweb.browser.egress.chromium import EGRESS_FLAGS, NO_NAMES_FLAG
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import Origin, OriginPolicy, parse_origin

_PLUGIN = """\
import pytest
from playwright.sync_api import BrowserType, Error

PROXY = {proxy!r}
FLAGS = {flags!r}


def walled(start):
    def behind(self, *args, **options):
        if self.name == "chromium":
            options["args"] = [*(options.get("args") or ()), *FLAGS]
        return start(self, *args, **{{**options, "proxy": PROXY}})

    return behind


def refused(self, *args, **options):
    raise Error("a proof starts its own browser, whose requests it can hold back")


# At the class, as fixtures of the test may drop arguments.
for name in ("launch", "launch_persistent_context"):
    setattr(BrowserType, name, walled(getattr(BrowserType, name)))
for name in ("connect", "connect_over_cdp"):
    setattr(BrowserType, name, refused)


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup():
    # A server that a fixture starts has its port only now.
    value = (yield).get_result()
    if type(value).__module__.startswith("playwright"):
        return
    named = value if isinstance(value, dict) else getattr(value, "__dict__", {{}})
    with open({told!r}, "a", encoding="utf-8") as file:
        for url in (value, named.get("url"), named.get("base_url")):
            if isinstance(url, str) and url.startswith("http"):
                file.write(url.split()[0] + "\\n")
"""


class OwnOrigins(OriginPolicy):
    """Allows the origins of a test: those that are named, and those of its fixtures.

    Args:
        origins: those that are named; they may lead to any address, as the test's author names
            them.
        told: the file to which the session writes the addresses that its fixtures have.
    """

    def __init__(self, origins: Iterable[Origin], told: Path) -> None:
        self._origins = frozenset(origins)
        self.told = told

    @property
    def origins(self) -> frozenset[Origin]:
        """Return the origins that the tests have by now."""
        with suppress(OSError):
            said = self.told.read_text(encoding="utf-8").split()
            return self._origins.union(filter(None, map(parse_origin, said)))
        return self._origins

    def allows_address(self, origin: Origin, address: str) -> bool:
        """Allow every address of an own origin."""
        return True


def walled_plugin(proxy: EgressProxy, told: Path) -> str:
    """Return the source of a pytest plugin that puts a session's browsers behind a proxy."""
    flags = [*EGRESS_FLAGS, NO_NAMES_FLAG]
    return _PLUGIN.format(proxy=proxy.settings, flags=flags, told=str(told))


class Ended(NamedTuple):
    """How a run ended."""

    status: int | None
    """The exit status; None if it was ended because its time was over."""
    output: str


def run_group(command: Sequence[str], env: Mapping[str, str], seconds: float, log: Path) -> Ended:
    """Run a command, and end everything that came from it when it ends or its time is over.

    It also ends when this process does, however that happens.

    Args:
        command: the program and its arguments.
        env: its whole environment.
        seconds: its wall-clock limit.
        log: the file for its output. A pipe would stay open as long as any server that it started.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            kept(command, os.getpid()),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            **OWN_GROUP,
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end_kept(process)
    return Ended(status, log.read_text(encoding="utf-8", errors="replace"))
