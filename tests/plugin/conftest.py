"""A small site and case files for tests that run the whole plugin.

A session costs seconds. Tests that look at different cells of one and the same session take it from
a fixture of their module, which runs it in a `SharedProject`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from session_server import session_command
from shop_project import SCRIPTED, SharedProject, furnish

# A session in this process forgets at its end what it imported. What is imported here stays, which
# saves each of them seconds.
import pytest_autoweb.session.cell_hooks  # noqa: F401

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: each starts pytest itself, bare or with workers."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("session")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a site and two cases."""
    monkeypatch.setattr(pytester, "_getpytestargs", session_command)
    furnish(pytester.path)
    return pytester


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> SharedProject:
    """The project of a module's common session; the fixture that runs it is in the module."""
    return SharedProject(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def scripted(project: pytest.Pytester) -> Callable[[str], None]:
    """Adds a conftest whose hook answers for models named `fake/...`.

    The argument is Python source of a dict from model name to the answers per stage.
    """

    def write(answers: str) -> None:
        project.makeconftest(SCRIPTED.format(answers=answers))

    return write


@pytest.fixture(params=[(), ("-n", "2")], ids=["bare", "n2"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The same test alone and on two xdist workers."""
    chosen: tuple[str, ...] = request.param
    return chosen
