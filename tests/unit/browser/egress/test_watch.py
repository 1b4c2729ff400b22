"""The thread that ends a browser: here with processes that only look like one."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import greenlet  # type: ignore[import-untyped]
import pytest

from pytest_autoweb.browser.egress import browser_watch
from pytest_autoweb.browser.egress.browser_watch import (
    BrowserWatch,
    browser_processes,
    megabytes_of,
)

RENDERER = "while True:\n    pass"
DRIVER = (
    "import subprocess, sys, time\n"
    "args = [sys.executable, '-c', sys.argv[2], '--type=renderer']\n"
    "subprocess.Popen(args)\n"
    "time.sleep(60)"
)


@pytest.fixture(params=["linux", "elsewhere"])
def driver(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that sleeps and looks like Playwright's driver, with a busy one below it.

    They are found in Linux's `/proc`, and without it.
    """
    if request.param == "elsewhere":
        monkeypatch.setattr(browser_watch, "sys", SimpleNamespace(platform="darwin"))
    elif sys.platform != "linux":
        pytest.skip("there is no /proc")
    # The driver of other tests in this process must neither count nor be ended.
    monkeypatch.setattr(browser_watch, "_DRIVER", "made-up-driver")
    started = subprocess.Popen([sys.executable, "-c", DRIVER, "made-up-driver", RENDERER])
    until(lambda: any("--type=renderer" in p.command for p in ours(started)[1:]))
    # It has begun to work, which takes a while where many processes do.
    until(lambda: browser_watch._worked_s(ours(started)[-1].pid) > 0.1)
    yield started
    for process in ours(started):
        browser_watch._kill(process.pid)
    started.wait()


def ours(driver: subprocess.Popen[bytes]) -> list[browser_watch.Process]:
    """The made-up driver first."""
    return sorted(browser_processes(), key=lambda process: process.pid != driver.pid)


def until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never held")


def waiting_for(driver: subprocess.Popen[bytes]) -> None:
    """Wait as Playwright does: in another greenlet, until the driver is gone."""
    home = greenlet.getcurrent()

    def wait() -> None:
        until(lambda: driver.poll() is not None)
        home.switch()

    greenlet.greenlet(wait).switch()


def test_what_the_driver_started_belongs_to_the_browser(driver: subprocess.Popen[bytes]) -> None:
    parent, child = ours(driver)

    assert (parent.pid, child.parent) == (driver.pid, driver.pid)
    assert megabytes_of([parent, child]) > 1


def test_a_call_that_does_not_come_back_ends_the_browser(
    driver: subprocess.Popen[bytes],
) -> None:
    watch = BrowserWatch()

    with watch.on(), watch.limit(0.5):
        waiting_for(driver)

    assert watch.reason == "a call to the browser did not come back within 0.5 s"
    assert ours(driver) == []


def test_a_call_waits_no_longer_than_its_cell_has_left(
    driver: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_watch, "LEAST_S", 0.4)
    watch = BrowserWatch()

    with watch.on(), watch.within(lambda: 0.5):
        waiting_for(driver)
    assert watch.reason == "a call to the browser did not come back within 0.5 s"


def test_a_call_that_comes_back_in_time_ends_nothing(driver: subprocess.Popen[bytes]) -> None:
    watch = BrowserWatch()

    with watch.on(), watch.limit(0.3):
        for _ in range(5):
            greenlet.greenlet(lambda: time.sleep(0.1)).switch()
        # What this process does itself is no call.
        time.sleep(0.6)

    assert watch.reason == ""
    assert len(ours(driver)) == 2


@pytest.mark.long
def test_a_page_that_never_rests_is_ended_before_its_browser(
    driver: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_watch, "LOST_S", 0.5)
    watch = BrowserWatch()

    with watch.on():
        watch.trust(again=False)
        waiting = greenlet.greenlet(lambda: until(lambda: watch.page_ended))
        waiting.switch()

    assert watch.page_ended
    assert watch.reason == ""
    assert driver.poll() is None
    watch.trust(again=True)
    assert not watch.page_ended


def test_a_page_that_begins_to_loop_during_any_call_is_ended_before_its_browser(
    driver: subprocess.Popen[bytes],
) -> None:
    watch = BrowserWatch()

    with watch.on(), watch.limit(0.5):
        waiting = greenlet.greenlet(lambda: until(lambda: watch.page_ended))
        waiting.switch()

    assert (watch.page_ended, watch.reason) == (True, "")
    assert driver.poll() is None


def test_a_browser_of_too_much_memory_is_ended(
    driver: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_watch, "MEMORY_MB", 1)
    monkeypatch.setattr(browser_watch, "_MEMORY_EVERY_S", 0.2)
    watch = BrowserWatch()

    with watch.on():
        until(lambda: driver.poll() is not None)

    assert watch.reason == "the browser used more than 1 MB of memory"
