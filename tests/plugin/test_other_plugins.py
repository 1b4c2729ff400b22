"""Cells beside other plugins: second tries, time limits, and tests with their own event loops."""

import json
from typing import Any

import pytest

ORACLE, NOOP = "--autoweb-models=builtin/oracle", "--autoweb-models=builtin/noop"

# What pytest-rerunfailures does, in short.
RERUNNING = """
from _pytest.runner import runtestprotocol
def pytest_addoption(parser):
    parser.addoption("--reruns", type=int)
def pytest_runtest_protocol(item, nextitem):
    if not item.config.option.reruns:
        return None
    for number in range(item.config.option.reruns + 1):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if number == item.config.option.reruns or not any(report.failed for report in reports):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
COUNTING = """
def pytest_autoweb_cell_finished(result):
    with open("tries.txt", "a") as file:
        file.write(result.case_id + chr(10))
"""
FLAKY = """
from pathlib import Path
def test_own():
    seen = Path("own.txt")
    text = seen.read_text() if seen.exists() else ""
    seen.write_text(text + "x")
    assert len(text) == 1
def test_fixture(autoweb):
    assert autoweb.run("cases/shop.yaml::title", model="builtin/noop").passed
"""


def cells_of(project: pytest.Pytester) -> list[dict[str, Any]]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text("utf-8"))
    return [cell for case in report["cases"] for cell in case["cells"]]


@pytest.mark.long
def test_a_cell_has_one_first_attempt_whatever_reruns_tests(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makeconftest(RERUNNING + COUNTING)
    project.makepyfile(test_flaky=FLAKY)
    cases = project.path / "cases/shop.yaml"
    cases.write_text(cases.read_text().replace('"Welcome, ana"', '"Shop now"'))
    result = project.runpytest_subprocess(
        *(".", "--reruns=2", "--autoweb-concurrency=4", "-k", "not noop", ORACLE, *workers),
        # pytest warns of pytest-playwright's own fixture `base_url`: no error of a cell.
        *("-W", "error"),
    )

    # `login` fails, `title` and the second try of the own test pass.
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["autoweb: --reruns is not applied to cells*--autoweb-repeat=N*"])
    tries = (project.path / "tries.txt").read_text().split()
    assert sorted(tries) == ["login", "title", "title"]


TIMED_OUT = "timed out by pytest-timeout"
SLOW = """
import contextlib, os, pytest, signal, threading
def expire(*_):
    pytest.fail("Timeout (>2.0s) from pytest-timeout.")
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, 4 if "login" in item.name else 0)
    result = yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    return result
"""
# What pytest-timeout does with `--timeout-method=thread`.
THREAD = """
import os, pytest, threading
from types import SimpleNamespace
class Specs:
    @pytest.hookspec(firstresult=True)
    def pytest_timeout_set_timer(item, settings): ...
    @pytest.hookspec(firstresult=True)
    def pytest_timeout_cancel_timer(item): ...
def pytest_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(Specs)
def pytest_timeout_set_timer(item, settings):
    threading.Timer(settings.timeout, os._exit, (1,)).start()
    return True
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    if "login" in item.name:
        settings = SimpleNamespace(timeout=6.0, method="thread")
        item.ihook.pytest_timeout_set_timer(item=item, settings=settings)
    result = yield
    item.ihook.pytest_timeout_cancel_timer(item=item)
    return result
"""


def waits(project: pytest.Pytester) -> None:
    path = project.path / "cases/shop.yaml"
    fill = 'page.get_by_label("Name").fill("ana")'
    text = path.read_text().replace(fill, "page.wait_for_timeout(19000)")
    path.write_text(text.replace("    oracle: |", "    timeout: 60\n    oracle: |"))


def test_a_cell_that_pytest_timeout_ends_says_so_and_the_next_one_runs(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(SLOW)
    waits(project)
    result = project.runpytest_subprocess("cases", ORACLE)

    result.assert_outcomes(passed=1, failed=1)
    login, title = cells_of(project)
    assert (login["outcome"], title["outcome"]) == ("broken", "passed")
    assert login["reason"].startswith(f"{TIMED_OUT}: Timeout (>2.0s)")


@pytest.mark.long
def test_a_process_that_pytest_timeout_ends_leaves_the_reason_in_the_report(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(THREAD)
    waits(project)
    project.runpytest_subprocess("cases", ORACLE, "-n", "1")

    login, title = cells_of(project)
    assert (login["outcome"], title["outcome"]) == ("broken", "passed")
    assert login["reason"] == f"{TIMED_OUT} after 6 s, which ended the test process"


ASYNC = """
import asyncio

async def one():
    await asyncio.sleep(0)
    return 1

def test_loop():
    assert asyncio.run(one()) == 1

def test_page(page):
    page.set_content("<p>here")
    with page.expect_event("close"):
        page.close()

"""
LAST = """
import asyncio

def test_no_loop_runs():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise AssertionError("a loop is left")
"""


def test_tests_with_loops_of_their_own_run_after_cells(project: pytest.Pytester) -> None:
    project.makepyfile(test_async=ASYNC)
    project.mkdir("last").joinpath("test_last.py").write_text(LAST)
    result = project.runpytest_subprocess(
        "cases::login[builtin/oracle]".replace("cases::", "cases/shop.yaml::"),
        "test_async.py",
        "cases/shop.yaml::title[builtin/oracle]",
        "last",
        ORACLE,
        "-p",
        "no:randomly",
    )

    result.assert_outcomes(passed=5)


BASE_URL = """
import pytest
@pytest.fixture(scope="session")
def base_url(base_url):
    return base_url + "/shop"
"""


def test_the_base_url_is_the_users(project: pytest.Pytester) -> None:
    project.makeconftest(BASE_URL)
    project.makepyfile(test_url="def test_url(base_url):\n    assert base_url == 'http://a/shop'")
    result = project.runpytest_subprocess("test_url.py", "--base-url=http://a", "-W", "error")

    result.assert_outcomes(passed=1)


NOTING = """
import atexit, gc
def note(result=None):
    with open("collector.txt", "a") as file:
        file.write(str(gc.get_threshold()) + chr(10))
note()
pytest_autoweb_cell_finished = note
atexit.register(note)
"""


def test_pythons_own_garbage_collector_is_as_before_once_the_cells_are_over(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(NOTING)
    result = project.runpytest_subprocess("cases", "-k", "login", ORACLE)

    result.assert_outcomes(passed=1)
    before, during, after = (project.path / "collector.txt").read_text().splitlines()
    assert before == after
    assert before != during
