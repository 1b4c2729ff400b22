"""A small site and case files for tests that run the whole plugin."""

from collections.abc import Callable
from pathlib import Path

import pytest

# A session in this process forgets at its end what it imported. What is imported here stays, which
# saves each of them seconds.
import pytest_autoweb.session.controller
import pytest_autoweb.session.preview  # noqa: F401

HERE = Path(__file__).parent

SITE = {
    "index.html": """<!doctype html><title>Shop</title><h1>Shop</h1>
<label>Name <input id="name"></label>
<label>Password <input id="pw" type="password"></label>
<button onclick="document.getElementById('out').textContent =
  'Welcome, ' + document.getElementById('name').value">Log in</button>
<p id="out"></p>""",
}

CASES = """
version: 1
webserver: {static: site}
cases:
  - id: login
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as ana."
    tags: [smoke]
    expect:
      - text: "Welcome, ana"
    oracle: |
      # Step 1: fill
      page.get_by_label("Name").fill("ana")
      # Step 2: press
      page.get_by_role("button", name="Log in").click()
  - id: title
    entry_url: "{{ webserver.url }}index.html"
    user_task: "What is the heading?"
    expect:
      - answer: {equals: Shop}
    oracle: |
      # Step 1
      answer(page.get_by_role("heading").inner_text())
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: each starts pytest itself, bare or with workers."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("session")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a site and two cases."""
    site = pytester.mkdir("site")
    for name, text in SITE.items():
        (site / name).write_text(text, encoding="utf-8")
    cases = pytester.mkdir("cases")
    (cases / "shop.yaml").write_text(CASES.replace("static: site", "static: ../site"))
    pytester.makeini(
        "[pytest]\n"
        # A check that fails waits so long; here nothing comes late.
        "autoweb_check_timeout = 1\n"
        # The scripted models answer with a plan and a whole script.
        "autoweb_codegen = once\n"
        # Their imports would double what a small session costs.
        "addopts = -p no:anyio -p no:hypothesispytest -p no:schemathesis\n"
    )
    return pytester


@pytest.fixture
def scripted(project: pytest.Pytester) -> Callable[[str], None]:
    """Adds a conftest whose hook answers for models named `fake/...`.

    The argument is Python source of a dict from model name to the answers per stage.
    """

    def write(answers: str) -> None:
        project.makeconftest(
            "from pytest_autoweb.errors import ModelError\n"
            "from pytest_autoweb.testing import ScriptedClient, scripted_plan\n"
            f"ANSWERS = {answers}\n"
            "def pytest_autoweb_client(spec):\n"
            "    if spec.name in ANSWERS:\n"
            "        return ScriptedClient(ANSWERS[spec.name])\n"
        )

    return write


@pytest.fixture(params=[(), ("-n", "2")], ids=["bare", "n2"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The same test alone and on two xdist workers."""
    chosen: tuple[str, ...] = request.param
    return chosen
