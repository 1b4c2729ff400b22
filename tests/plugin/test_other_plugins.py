"""Cells beside other plugins: second tries, time limits, and tests with their own event loops."""

import json
import os
import re
from collections.abc import Callable
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


MARKED = """
import pytest
def pytest_configure(config):
    config.addinivalue_line("markers", "flaky: that of a plugin")
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=2))
"""


@pytest.mark.long
def test_a_mark_that_asks_for_reruns_is_refused_with_a_sentence(project: pytest.Pytester) -> None:
    project.makeconftest(MARKED)
    result = project.runpytest_subprocess("cases", ORACLE)
    assert "second run" not in result.stdout.str()

    path = project.path / "cases/shop.yaml"
    path.write_text(path.read_text().replace('"Welcome, ana"', '"Shop now"'))
    result = project.runpytest_subprocess("cases", ORACLE)
    result.stdout.fnmatch_lines(["autoweb: a second run of 1 cell by another plugin was refused*"])


# What pytest-retry does, in short: it runs the item anew within its report.
RETRYING = """
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and report.failed:
        other = pytest.Class.from_parent(item.session, name="Other")
        item.ihook.pytest_runtest_teardown(item=item, nextitem=other)
        item._initrequest()
        pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_setup(item=item), "setup")
        again = pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_call(item=item), "call")
        second = pytest.TestReport.from_item_and_call(item, again)
        report.outcome, report.longrepr = second.outcome, second.longrepr
    return report
"""
# Every item twice, in any worker.
DOUBLING = """
def pytest_collection_modifyitems(items):
    items *= 2
"""
WRONG_ONCE = """
from pathlib import Path
def number():
    import os
    return os.environ["PYTEST_CURRENT_TEST"].split()[0].replace("/", "-")
def answer(request):
    seen = Path(f"seen-{request.case_id}-{number()}")
    text = "Shop" if seen.exists() else "wrong"
    seen.touch()
    return f"```python\\n# Step 1\\nanswer('{text}')\\n```"
"""
REFUSED = "autoweb: a second run of 2 cells by another plugin was refused: a cell runs once*"


@pytest.mark.long
@pytest.mark.parametrize("ahead", [False, True], ids=["alone", "in-flight"])
def test_a_second_run_within_a_report_is_refused_and_hides_nothing(
    project: pytest.Pytester, ahead: bool, scripted: Callable[[str], None]
) -> None:
    scripted('{"fake/m": {"plan": scripted_plan("look"), "generate": answer}}')
    own = (project.path / "conftest.py").read_text()
    project.makeconftest(WRONG_ONCE + own + RETRYING + COUNTING)
    flags = ("--autoweb-models=fake/m", "--autoweb-max-repairs=0", "-k", "title")
    flights = "--autoweb-concurrency=4" if ahead else "--autoweb-concurrency=1"
    fixture = 'assert autoweb.run("cases/shop.yaml::title", model="fake/m").passed'
    project.makepyfile(test_title=f"def test_title(autoweb):\n    {fixture}\n")
    result = project.runpytest_subprocess("cases", "test_title.py", *flags, flights)

    assert result.ret == 1
    result.stdout.fnmatch_lines([REFUSED])
    assert [(cell["outcome"], len(cell["attempts"])) for cell in cells_of(project)] == [
        ("failed", 1),
        ("failed", 1),
    ]
    assert (project.path / "tries.txt").read_text().split() == ["title", "title"]


@pytest.mark.long
def test_an_item_that_is_listed_twice_runs_once(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makeconftest(DOUBLING + COUNTING)
    result = project.runpytest_subprocess("cases", ORACLE, "-rN", *workers)

    # Another worker may still run the first of them, whose result is then not known.
    outcomes = result.parseoutcomes()
    assert outcomes.get("passed", 0) + outcomes.get("failed", 0) == 4
    assert outcomes.get("failed", 0) == result.stdout.str().count("was begun before in this sess")
    assert sorted((project.path / "tries.txt").read_text().split()) == ["login", "title"]
    assert [cell["outcome"] for cell in cells_of(project)] == ["passed", "passed"]


FAILING_FIXTURES = """
import pytest
@pytest.fixture(autouse=True)
def database(request):
    if "login" in request.node.name:
        raise RuntimeError("db is down")
    yield
    raise ConnectionError("db went away")
@pytest.fixture(autouse=True)
def wants(request):
    if "noop" in request.node.name:
        pytest.skip("not for controls")
"""


@pytest.mark.long
def test_a_fixture_that_fails_breaks_its_cell(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makeconftest(FAILING_FIXTURES + COUNTING)
    both = "--autoweb-models=builtin/oracle,builtin/noop"
    result = project.runpytest_subprocess("cases", both, "--junitxml=junit.xml", *workers)

    assert result.ret == 1
    assert "INTERNALERROR" not in result.stdout.str()
    assert {
        (cell["case_id"], cell["model"]): (
            cell["outcome"],
            cell["reason"],
            (cell["failure"] or {}).get("kind"),
        )
        for cell in cells_of(project)
    } == {
        ("login", "builtin/oracle"): (
            *("broken", "setup failed: RuntimeError: db is down", "fixture"),
        ),
        ("title", "builtin/oracle"): (
            *("broken", "teardown failed: ConnectionError: db went away", "fixture"),
        ),
        ("login", "builtin/noop"): (
            *("broken", "setup failed: RuntimeError: db is down", "fixture"),
        ),
        ("title", "builtin/noop"): ("skipped", "skipped: not for controls", None),
    }
    outcomes = re.findall(
        r'name="autoweb.outcome" value="(\w+)"', (project.path / "junit.xml").read_text()
    )
    assert sorted(outcomes) == ["broken", "broken", "broken", "skipped"]


NO_ADDRESS = """
import pytest
@pytest.fixture(scope="session")
def connect_options():
    raise RuntimeError("no address")
"""
CALL_HOOK = """
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if "login" in item.name:
        raise RuntimeError("too early")
    yield
    raise RuntimeError("too late")
"""


def test_what_a_cell_itself_asks_for_breaks_it_as_well(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makeconftest(NO_ADDRESS)
    project.runpytest_subprocess("cases", ORACLE, *workers)

    broken = ("broken", "setup failed: RuntimeError: no address")
    assert [(cell["outcome"], cell["reason"]) for cell in cells_of(project)] == [broken] * 2


@pytest.mark.long
def test_a_hook_around_a_cell_that_fails_breaks_it(project: pytest.Pytester) -> None:
    project.makeconftest(CALL_HOOK)
    project.runpytest_subprocess("cases", ORACLE)

    assert [(cell["outcome"], cell["reason"]) for cell in cells_of(project)] == [
        ("broken", "setup failed: RuntimeError: too early"),
        ("broken", "call failed: RuntimeError: too late"),
    ]


NOT_NOW = """
import pytest
def pytest_collection_modifyitems(items):
    items[0].add_marker(pytest.mark.xfail(run=False, reason="known"))
@pytest.fixture(autouse=True)
def late():
    yield
    pytest.skip("nothing to tidy")
"""


@pytest.mark.long
def test_what_is_not_to_run_is_skipped_and_a_skip_at_the_end_changes_nothing(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(NOT_NOW)
    result = project.runpytest_subprocess("cases", ORACLE)

    assert result.ret == 0
    assert [(cell["outcome"], cell["reason"]) for cell in cells_of(project)] == [
        ("skipped", "skipped: [NOTRUN] known"),
        ("passed", ""),
    ]


TWIN = "pytest_playwright_asyncio"


@pytest.mark.long
def test_beside_pytest_playwright_asyncio_there_is_one_sentence(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project.mkdir("others")
    folder.joinpath(f"{TWIN}.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    result = project.runpytest_subprocess("cases", ORACLE)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in result.stderr.str()
    result.stderr.fnmatch_lines(["ERROR: *load only one of them: add -p no:playwright-asyncio*"])
    other = project.runpytest_subprocess("cases", ORACLE, "-p", "no:playwright-asyncio")
    other.assert_outcomes(passed=2)


ASYNC_FIXTURES = """
import pytest
def browser():
    yield
browser.__module__ = "pytest_playwright_asyncio.pytest_playwright"
connect_options = pytest.fixture(browser)
"""


@pytest.mark.parametrize(
    ("fixtures", "why"),
    [
        ("", "*cells need the fixture `connect_options` of pytest-playwright*"),
        (ASYNC_FIXTURES, "*pytest-playwright-asyncio has the same fixtures*"),
    ],
    ids=["none", "others"],
)
def test_cells_without_the_fixtures_they_need_are_refused_once(
    project: pytest.Pytester, fixtures: str, why: str, workers: tuple[str, ...]
) -> None:
    project.makeconftest(fixtures)
    result = project.runpytest_subprocess("cases", ORACLE, "-p", "no:playwright", *workers)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{result.stdout}{result.stderr}".count("a session can load") <= 1
    (result.stdout if workers else result.stderr).fnmatch_lines([why])


SHOWS_OTHERS = """
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    if call.when == "call" and call.excinfo is not None:
        # As Allure tells a failed test from a broken one, and describes it.
        failed = isinstance(call.excinfo.value, (AssertionError, pytest.fail.Exception))
        with open("shown.txt", "a") as file:
            file.write(f"{failed} {item.function.__doc__}" + chr(10))
    return (yield)
"""


@pytest.mark.long
def test_other_plugins_see_failed_cells_as_failed_and_describe_them_by_their_task(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(SHOWS_OTHERS)
    path = project.path / "cases/shop.yaml"
    text = path.read_text().replace('"Welcome, ana"', '"Shop now"')
    path.write_text(
        text.replace('index.html"\n    user_task: "What', 'x.html"\n    user_task: "What')
    )
    project.runpytest_subprocess("cases", ORACLE)

    assert [cell["outcome"] for cell in cells_of(project)] == ["failed", "broken"]
    shown = (project.path / "shown.txt").read_text().splitlines()
    assert shown == ["True Log in as ana.", "False What is the heading?"]


TIMED_OUT = "timed out by pytest-timeout"
SLOW = """
import contextlib, os, pytest, signal, threading
def expire(*_):
    pytest.fail("Timeout (>2.0s) from pytest-timeout.")
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
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


@pytest.mark.long
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
SET_LATE = """
import os
def pytest_sessionstart():
    os.environ["SET_LATE"] = "1"
"""
LAST = """
import asyncio, psutil

def test_the_only_driver_has_the_variables_that_a_hook_set():
    drivers = [one for one in psutil.Process().children() if "run-driver" in one.cmdline()]
    assert [one.environ().get("SET_LATE") for one in drivers] == ["1"]

def test_no_loop_runs():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise AssertionError("a loop is left")
"""


@pytest.mark.long
def test_tests_with_loops_of_their_own_run_before_and_after_cells(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(SET_LATE)
    project.makepyfile(test_first=ASYNC.partition("def test_page")[0], test_async=ASYNC)
    project.mkdir("last").joinpath("test_last.py").write_text(LAST)
    result = project.runpytest_subprocess(
        "test_first.py",
        "cases/shop.yaml::login[builtin/oracle]",
        "test_async.py",
        "cases/shop.yaml::title[builtin/oracle]",
        "last",
        ORACLE,
        "-p",
        "no:randomly",
    )

    result.assert_outcomes(passed=7)


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


@pytest.mark.long
def test_pythons_own_garbage_collector_is_as_before_once_the_cells_are_over(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(NOTING)
    result = project.runpytest_subprocess("cases", "-k", "login", ORACLE)

    result.assert_outcomes(passed=1)
    before, during, after = (project.path / "collector.txt").read_text().splitlines()
    assert before == after
    assert before != during


OWN_LOOPS = """
import asyncio, pytest
from pytest_autoweb import Reply, Usage
async def soon(value):
    await asyncio.sleep(0.01)
    return value
class Asking:
    def complete(self, request):
        text = "```python\\n# Step 1\\nanswer(page.get_by_role('heading').inner_text())\\n```"
        return asyncio.run(soon(Reply(text=text, usage=Usage(calls=1))))
def pytest_autoweb_client(spec):
    if spec.name.startswith("fake/"):
        return asyncio.run(soon(Asking()))
def pytest_autoweb_relogin(case, page):
    asyncio.run(soon(1))
    page.title()
def pytest_autoweb_cell_finished(result):
    with open("finished.txt", "a") as file:
        file.write(f"{asyncio.run(soon(result.outcome))}" + chr(10))
@pytest.fixture(autouse=True, scope="session")
def once():
    assert asyncio.run(soon(1))
    yield
    assert asyncio.run(soon(1))
"""
EACH_TIME = """
@pytest.fixture(autouse=True)
def each():
    assert asyncio.run(soon(1))
    yield
    assert asyncio.run(soon(1))
"""
OWN_CHECKS = """
import asyncio
from playwright.sync_api import sync_playwright
async def soon(value):
    await asyncio.sleep(0.01)
    return value
def in_a_loop(context):
    with asyncio.Runner() as runner:
        runner.run(soon(1))
    shown = "Shop" in context.text()
    async def within():
        await soon(1)
        title = context.evaluate("document.title")
        await soon(1)
        return title == "Shop"
    return asyncio.run(soon(shown)) and asyncio.run(within())
def after_the_page(context):
    return context.url.endswith("index.html") and asyncio.run(soon(True))
def by_own_playwright(context):
    with sync_playwright() as playwright:
        return "chromium" in playwright.chromium.name
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("fixtures", "cells"), [("", "1"), ("", "4"), (EACH_TIME, "4")], ids=["1", "4", "each-4"]
)
def test_code_of_users_may_run_loops_of_its_own(
    project: pytest.Pytester, fixtures: str, cells: str
) -> None:
    project.makeconftest(OWN_LOOPS + fixtures)
    (project.path / "cases/own_checks.py").write_text(OWN_CHECKS)
    checks = "".join(
        f"      - python: own_checks:{name}\n"
        for name in ("after_the_page", "by_own_playwright", "in_a_loop", "after_the_page")
    )
    path = project.path / "cases/shop.yaml"
    equals = "      - answer: {equals: Shop}\n"
    path.write_text(path.read_text().replace(equals, equals + checks))
    names = "--autoweb-models=fake/a,fake/b,builtin/oracle"
    result = project.runpytest_subprocess(
        *("cases", names, "-k", "title", f"--autoweb-concurrency={cells}"),
        "--autoweb-codegen=once",
    )

    said = [(cell["outcome"], cell["reason"]) for cell in cells_of(project)]
    assert said == [("passed", "")] * 3, said
    assert (project.path / "finished.txt").read_text().split() == ["passed"] * 3
    result.assert_outcomes(passed=3)


AROUND = """
import asyncio, pytest
async def soon():
    await asyncio.sleep(0)
def loop():
    asyncio.run(soon())
def pytest_runtest_setup(item): loop()
def pytest_runtest_teardown(item): loop()
def pytest_runtest_logreport(report): loop()
def pytest_sessionfinish(session): loop()
def pytest_terminal_summary(): loop()
def around():
    loop()
    found = yield
    loop()
    return found
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item): return (yield from around())
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item): return (yield from around())
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call): return (yield from around())
@pytest.fixture(autouse=True)
def each(): yield from around()
@pytest.fixture(autouse=True, scope="session")
def once(): yield from around()
"""
BETWEEN = """
import asyncio
from playwright.sync_api import sync_playwright
CASE = "cases/shop.yaml::title"
async def soon():
    await asyncio.sleep(0)
def test_between(autoweb):
    for number in range(2):
        asyncio.run(soon())
        assert autoweb.run(CASE, model="builtin/oracle").passed
    with sync_playwright() as playwright:
        assert playwright.chromium.name == "chromium"
def test_page(page, autoweb):
    page.set_content("<p>here")
    assert autoweb.run(CASE, model="builtin/oracle").passed
    with page.expect_event("close"):
        page.close()
def test_after_a_page():
    asyncio.run(soon())
"""


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("--tracing=on",)], ids=["bare", "traced"])
def test_hooks_around_cells_may_run_loops_of_their_own(
    project: pytest.Pytester, flags: tuple[str, ...]
) -> None:
    project.makeconftest(AROUND)
    result = project.runpytest_subprocess("cases", ORACLE, *flags)

    result.assert_outcomes(passed=2)
    assert "INTERNALERROR" not in result.stdout.str()
    assert [cell["outcome"] for cell in cells_of(project)] == ["passed", "passed"]


@pytest.mark.long
def test_a_test_may_run_loops_between_its_cells(project: pytest.Pytester) -> None:
    project.makepyfile(test_between=BETWEEN)
    result = project.runpytest_subprocess("test_between.py", "cases", ORACLE)

    result.assert_outcomes(passed=5)


# What nbval does, in short.
NOTEBOOKS = """
import pytest
def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".ipynb":
        return Notebook.from_parent(parent, path=file_path)
class Notebook(pytest.File):
    def collect(self):
        yield NotebookCell.from_parent(self, name="first")
class NotebookCell(pytest.Item):
    cell = {"source": "1 + 1"}
    def runtest(self):
        pass
"""


def test_cells_of_notebooks_are_no_cells_of_this_plugin(project: pytest.Pytester) -> None:
    project.makeconftest(NOTEBOOKS)
    (project.path / "book.ipynb").touch()

    project.runpytest_subprocess("book.ipynb").assert_outcomes(passed=1)
