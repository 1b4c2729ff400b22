"""Fixtures: the browser that cells run in, and `autoweb` for people who write Python.

The plugin registers this module in `pytest_configure`, after all entry-point plugins, so that its
fixture extends pytest-playwright's of the same name.
"""

import os
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_autoweb.session.pytest_internals import definitions_of

# Late imports: pytest loads this module in every project, most of whose sessions run no model.

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser

    from pytest_autoweb.browser.egress.remote_browsers import BrowserPool
    from pytest_autoweb.cell.prepared_cell import Cell
    from pytest_autoweb.results.records import CellResult

FIXTURE = "autoweb"
_PAGE_FIXTURES = frozenset(("page", "context", "new_context", "browser", "launch_browser"))


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any], request: pytest.FixtureRequest
) -> dict[str, Any]:
    """Choose Playwright's own Chromium, else the system's, with the flags that cells need.

    Sessions without cells keep pytest-playwright's.
    """
    items = request.session.items
    if not any(needs_browser(item) for item in items) or _elsewhere(request.config):
        return browser_type_launch_args
    from pytest_autoweb.browser.egress.chromium import cell_launch_args, launch_args
    from pytest_autoweb.session.items import SESSION

    browser_type = request.getfixturevalue("browser_type")
    found = launch_args(
        browser_type_launch_args,
        playwright_executable=browser_type.executable_path,
        browser_name=browser_type.name,
        own_sandbox=request.config.stash[SESSION].settings.browser_sandbox != "off",
    )
    if browser_type.name != "chromium":
        return found
    return cell_launch_args(found, os.environ, alone=not any(map(_shares_browser, items)))


@pytest.fixture(scope="session")
def launch_browser(
    launch_browser: "Callable[..., Browser]", request: pytest.FixtureRequest
) -> "Callable[..., Browser]":
    """Connect to a browser of `--autoweb-connect` instead of starting one, in sessions with cells.

    A lost browser's replacement comes from here too, like every browser of a session.
    """
    items = request.session.items
    if not any(map(needs_browser, items)) or not (pool := _elsewhere(request.config)):
        return launch_browser
    from pytest_autoweb.base.errors import BrowserError

    if request.getfixturevalue("connect_options"):
        raise BrowserError("connect_options and --autoweb-connect both say where the browser is")
    kind = request.getfixturevalue("browser_type")
    given = request.getfixturevalue("browser_type_launch_args")
    served = any(item.cell.case.webserver for item in items if hasattr(item, "cell"))
    alone = not any(map(_shares_browser, items))

    def take(**more: Any) -> "Browser":
        return pool.take(kind, {**given, **more}, with_loopback=served, alone=alone)

    return take


def _elsewhere(config: pytest.Config) -> "BrowserPool | None":
    from pytest_autoweb.session.items import SESSION

    return config.stash[SESSION].browsers


_ASYNC_TWIN = "pytest_playwright_asyncio"
_ONE_OF_BOTH = (
    "pytest-autoweb runs its cells on pytest-playwright, and pytest-playwright-asyncio has the "
    "same fixtures, so that a session can load only one of them: add -p no:playwright-asyncio to "
    "sessions with cells and -p no:playwright to those with asynchronous tests, or install the two "
    "in different environments"
)


def refuse_both_playwrights(manager: pytest.PytestPluginManager) -> None:
    """Refuse a session that is about to load pytest-playwright-asyncio beside pytest-playwright.

    The one that comes second would end it with a traceback.

    Raises:
        pytest.UsageError: both are installed, and none is switched off.
    """
    config = manager.get_plugin("pytestconfig")
    given = getattr(config, "known_args_namespace", None)
    chosen = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") or getattr(
        given, "disable_plugin_autoload", False
    )
    blocked = any(map(manager.is_blocked, ("playwright", "playwright-asyncio")))
    if not chosen and not blocked and find_spec(_ASYNC_TWIN) is not None:
        raise pytest.UsageError(_ONE_OF_BOTH)


def lacks_playwright(item: pytest.Item) -> str:
    """Return why the fixtures that a cell needs are not there, or ""."""
    for name in ("connect_options", "new_context"):
        definitions = definitions_of(item, name)
        if any(one.func.__module__.startswith(_ASYNC_TWIN) for one in definitions):
            return _ONE_OF_BOTH
        if not definitions:
            return (
                f"cells need the fixture `{name}` of pytest-playwright, which this session does "
                "not load: remove -p no:playwright, or add -p playwright"
            )
    return ""


_OF_BROWSERS = ("browser_type_launch_args", "browser_type", "connect_options", "launch_browser")


def starts_own_browsers(item: pytest.Item) -> bool:
    """Tell whether the tested project changes how the browser of an item is started."""
    found = (definitions_of(item, name) for name in _OF_BROWSERS)
    modules = (
        str(getattr(one.func, "__module__", "")) for definitions in found for one in definitions
    )
    return any(not module.startswith(("pytest_autoweb", "pytest_playwright")) for module in modules)


OLD_BASE_URL = "playwright-base-url"
"""The plugin in which pytest-playwright declares `base_url` where pytest-base-url is not there."""


class BaseUrl:
    """The fixture `base_url`, replacing pytest-playwright's own.

    Theirs is a method of an object, which pytest warns about since 9.2: every test with a page, and
    so every cell, would fail under `-W error`.
    """

    @pytest.fixture(scope="session")
    @staticmethod
    def base_url(pytestconfig: pytest.Config) -> str | None:
        """Return what pytest-playwright's fixture returns."""
        return pytestconfig.getoption("--base-url") or pytestconfig.getini("base_url") or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let cells run by a protocol of their own, in sessions that have any."""
    if any(map(needs_browser, items)):
        from pytest_autoweb.session.other_plugins import CellProtocol

        config.pluginmanager.register(CellProtocol(config, needs_browser, _shares_browser))
        from pytest_autoweb.session.items import recorded

        if recorded(config):
            from pytest_autoweb.session.other_plugins import Recordings

            config.pluginmanager.register(Recordings())


def needs_browser(item: pytest.Item) -> bool:
    """Tell whether an item is a cell, or a test that uses the `autoweb` fixture."""
    return hasattr(item, "cell") or FIXTURE in getattr(item, "fixturenames", ())


def _shares_browser(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return not hasattr(item, "cell") and not _PAGE_FIXTURES.isdisjoint(names)


class Autoweb:
    """The value of the `autoweb` fixture."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._calls = 0

    def run(self, target: str, *, model: str, capture: str | None = None) -> "CellResult":
        """Run one case on one model, judged and reported like a collected cell.

        Args:
            target: `path/to/cases.yaml::case-id`, below the rootdir.
            model: any model name that `--autoweb-models` takes.
            capture: a capture mode, in upper or lower case; by default the session's first.

        Raises:
            pytest.UsageError: the target names no case, or the model or the capture mode is
                unknown.
        """
        from pytest_autoweb.base.waiting import loop_hidden
        from pytest_autoweb.session.items import HIDDEN, SESSION, run_with_fixtures
        from pytest_autoweb.session.pytest_outcome import describe
        from pytest_autoweb.session.single_runs import first_result, note_end

        session = self._request.config.stash[SESSION]
        config, cell = self._request.config, self._cell(target, model, capture)
        # Another plugin may run the test again.
        if (result := first_result(config, session, cell)) is None:
            hidden = config.stash[HIDDEN]
            # A test with a page of its own goes on with it, and shows the loop all the time.
            shared = _shares_browser(self._request.node)
            with nullcontext() if shared else hidden.shown():
                result = run_with_fixtures(cell, session, self._request)
            note_end(config, session, cell, result)
            with loop_hidden():
                config.hook.pytest_autoweb_cell_finished(result=result)
        # pytest prints the section if the test fails.
        report = session.run_folder / "index.html"
        self._request.node.add_report_section(
            "call", "autoweb", "\n".join((*describe(result), f"  report: {report}"))
        )
        return result

    def _cell(self, target: str, model: str, capture: str | None) -> "Cell":
        from pytest_autoweb.base.errors import CaseError, SettingsError
        from pytest_autoweb.cases.loader import load_case_file
        from pytest_autoweb.cell.prepared_cell import Cell
        from pytest_autoweb.results.runs.saving import cell_folder
        from pytest_autoweb.session.items import SESSION, deployment_of, strategy_name
        from pytest_autoweb.settings.options import captures

        session = self._request.config.stash[SESSION]
        path, _, case_id = target.partition("::")
        self._calls += 1
        place = deployment_of(session.settings)
        try:
            cases = {
                case.id: case for case in load_case_file(session.settings.rootdir / path, place)
            }
            if case_id not in cases:
                known = ", ".join(sorted(cases))
                raise CaseError(
                    f"there is no case {case_id!r}; the file has: {known}", path=Path(path)
                )
            spec = session.spec(model)
            (mode,) = captures(capture) if capture else session.settings.capture_modes[:1]
        except (CaseError, SettingsError, ValueError) as error:
            from pytest_autoweb.report.plain_stream import plain_text

            raise pytest.UsageError(plain_text(str(error))) from None
        test = self._request.node.nodeid
        return Cell(
            case=cases[case_id],
            spec=spec,
            mode=mode,
            repeat=1,
            nodeid=test if self._calls == 1 else f"{test}#{self._calls}",
            case_path=path,
            folder=cell_folder(f"{case_id}@{test}#{self._calls}", model, mode, 1),
            strategy=strategy_name(cases[case_id], spec, session.settings),
        )


@pytest.fixture
def autoweb(request: pytest.FixtureRequest) -> Autoweb:
    """Run cases from Python: `assert autoweb.run("cases/shop.yaml::login", model="…").passed`."""
    return Autoweb(request)
