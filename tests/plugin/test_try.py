"""`autoweb try`: one task on a page, without a case file."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from local_site import Site
from session_server import autoweb_command
from shop_project import LEAN

MODEL = """
from pytest_autoweb.testing import ScriptedClient


def pytest_autoweb_client(spec):
    code = 'page.get_by_role("heading").click()'
    return ScriptedClient({"plan": "Step 1: look", "generate": f"# Step 1\\n{code}\\n"})
"""


@pytest.fixture
def page() -> Iterator[str]:
    """The address of a page with a heading."""
    site = Site()
    yield site.put("/shop", "<!doctype html><title>Shop</title><h1>Tea shop</h1>")
    site.close()


def tried(pytester: pytest.Pytester, *words: str) -> tuple[int, dict[str, Any], str]:
    """The exit status, the cell and what was printed."""
    flags = ("--models=fake/m", "--agent=codegen:once")
    result = pytester.run(
        *autoweb_command(), "try", *words, *flags, "--", "--autoweb-max-repairs=0"
    )
    report = json.loads((pytester.path / "autoweb-try/report.json").read_text("utf-8"))
    (case,) = report["cases"]
    return int(result.ret), case["cells"][0], result.stdout.str()


@pytest.mark.long
def test_a_task_is_ungraded_until_something_is_expected(
    pytester: pytest.Pytester, page: str
) -> None:
    pytester.makeconftest(MODEL)
    pytester.makeini(f"[pytest]\naddopts = {LEAN}\n")

    code, cell, said = tried(pytester, page, "Look; at ||| the heading")
    assert (code, cell["outcome"]) == (0, "ungraded")
    assert cell["user_task"] == "Look; at ||| the heading"
    assert "-m pytest --autoweb-cases-file=" in said

    right, cell, _ = tried(pytester, page, "Look", "--expect-text=Tea shop")
    assert (right, cell["outcome"]) == (0, "passed")
    wrong, cell, _ = tried(pytester, page, "Look", "--expect-url=**/cart")
    assert (wrong, cell["outcome"]) == (1, "failed")
    assert not list(pytester.path.glob("**/try.yaml"))


def test_what_cannot_be_tried_is_one_sentence(pytester: pytest.Pytester) -> None:
    result = pytester.run(*autoweb_command(), "try", "shop", "Look", "--models=a")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["autoweb: 'shop' is not an http or https URL*"])


def test_the_controls_of_a_project_are_not_tried(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nautoweb_models = builtin/oracle,builtin/noop\n")

    result = pytester.run(*autoweb_command(), "try", "http://127.0.0.1:9000/", "Look")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["autoweb: a task needs a model: --models openai/gpt-5-mini*"])
    assert not (pytester.path / "autoweb-try").exists()
