"""Chromium's own sandbox: asked for where it can stand, and found out from the processes."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Playwright

from pytest_autoweb.browser.egress import chromium
from pytest_autoweb.browser.egress.chromium import (
    AS_ROOT,
    NO_NAMESPACES,
    found_sandbox,
    launch_args,
    layers_of,
    obstacle,
    own_sandbox,
    planned_sandbox,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
IS_ROOT = sys.platform == "linux" and os.geteuid() == 0

# As root, the browser is started as an ordinary user, to whom its profile must belong.
AS_NOBODY = """#!/bin/sh
for argument in "$@"; do
  case "$argument" in --user-data-dir=*) chown -R 65534:65534 "${argument#*=}";; esac
done
export HOME=/tmp
exec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"
"""


@pytest.fixture
def ordinary(playwright: Playwright, tmp_path: Path) -> str:
    """A Chromium that runs as an ordinary user, whoever runs the tests."""
    args = launch_args({}, playwright_executable=playwright.chromium.executable_path)
    found = str(args.get("executable_path") or playwright.chromium.executable_path)
    if not IS_ROOT:
        return found
    if shutil.which("setpriv") is None or not os.access(found, os.X_OK):
        pytest.skip("cannot start a browser as another user")
    wrapper = tmp_path / "chromium"
    wrapper.write_text(AS_NOBODY % found, encoding="utf-8")
    wrapper.chmod(0o755)
    return str(wrapper)


@pytest.mark.parametrize(
    ("asked", "found"), [(True, "on"), (False, "OFF: the browser runs with --no-sandbox")]
)
def test_what_the_running_browser_has_is_read_from_its_processes(
    playwright: Playwright,
    ordinary: str,
    monkeypatch: pytest.MonkeyPatch,
    asked: bool,
    found: str,
) -> None:
    if obstacle() == NO_NAMESPACES:
        pytest.skip(NO_NAMESPACES)
    # The wrapper is an ordinary user, although this process may not be.
    monkeypatch.setattr(chromium, "obstacle", lambda executable: "")
    args = launch_args(
        {"executable_path": ordinary}, playwright_executable=ordinary, own_sandbox=asked
    )
    with playwright.chromium.launch(**args) as browser:
        browser.new_page().set_content("<p>here")

        assert own_sandbox(browser) == found


@pytest.mark.parametrize("why", ["", AS_ROOT, NO_NAMESPACES])
def test_the_sandbox_is_asked_for_unless_something_stands_in_its_way(
    monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(chromium, "obstacle", lambda executable: why)
    monkeypatch.setattr(chromium, "obstacle", lambda executable="": why)
    args = launch_args({"executable_path": "/x"}, playwright_executable="/none")

    assert args.get("chromium_sandbox", False) == (not why)
    assert ("--no-sandbox" in args.get("args", ())) == bool(why)
    planned = planned_sandbox(["chromium"], "auto")
    assert planned == (f"OFF, because {why}" if why else chromium.ASKED_FOR)
    assert planned_sandbox(["firefox"], "auto") == ""
    assert planned_sandbox(["chromium"], "off").startswith("OFF, because --autoweb-browser-s")


@pytest.mark.parametrize(
    "own", [{"chromium_sandbox": False}, {"chromium_sandbox": True}, {"args": ["--no-sandbox"]}]
)
def test_what_the_user_decided_is_kept(own: dict[str, object]) -> None:
    base = {"executable_path": "/x", **own}

    assert launch_args(base, playwright_executable="/none") == base


@pytest.mark.parametrize(
    ("seen", "planned", "told"),
    [
        ("", "OFF, because pytest runs as root", "OFF, because pytest runs as root"),
        ("", chromium.ASKED_FOR, "unknown: no browser was started"),
        (chromium.OFF_BY_FLAG, "OFF, because x", "OFF, because x"),
        (chromium.OFF_BY_FLAG, chromium.ASKED_FOR, chromium.OFF_BY_FLAG),
        ("on", "OFF, because x", "on"),
        ("", "", ""),
    ],
)
def test_the_report_says_what_was_seen_and_not_what_was_asked_for(
    seen: str, planned: str, told: str
) -> None:
    assert found_sandbox(seen, planned) == told


def test_a_process_that_cannot_be_read_has_no_layers() -> None:
    assert layers_of(2**22 + 1) == set()
    assert "namespaces" not in layers_of(os.getpid())


@pytest.mark.parametrize(("mode", "owner", "helps"), [(0o4755, 0, True), (0o755, 0, False)])
def test_a_helper_with_special_rights_stands_in_for_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, owner: int, helps: bool
) -> None:
    helper = tmp_path / "chrome-sandbox"
    helper.touch()
    helper.chmod(mode)
    if helper.stat().st_uid != owner:
        pytest.skip("only root can make such a helper")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(chromium, "_may_unshare", lambda: False)
    monkeypatch.delenv("CHROME_DEVEL_SANDBOX", raising=False)

    assert obstacle(str(tmp_path / "chrome")) == ("" if helps else NO_NAMESPACES)
