"""The page of the next cell is opened while a cell runs, and behaves like any other."""

import json

import pytest
from shop_project import SharedProject

IDS = ("first", "second", "german", "third", "fourth")


@pytest.mark.long
def test_cells_find_a_fresh_page_that_was_opened_before_and_reaches_no_more_than_others(
    shop: SharedProject,
) -> None:
    ran = shop.run("cases", "--autoweb-models=builtin/oracle")

    assert ran.ret == 0, ran.stdout.str()
    assert outcomes(shop) == dict.fromkeys(IDS, "passed")
    # A case that sets something gets a page of its own, and leaves the other to the next.
    taken = (shop.path / "taken").read_text(encoding="utf-8").split("\n")
    assert taken[:4] == ["first False", "second True", "third True", "fourth True"]
    logs = list((shop.path / "autoweb-report/cells").rglob("run.log"))
    assert len(logs) == len(IDS)
    assert all("blocked: http://127.0.0.1:45678" in log.read_text(encoding="utf-8") for log in logs)


@pytest.mark.long
def test_nothing_is_opened_before_where_pytest_does_something_for_each_cell(
    shop: SharedProject,
) -> None:
    (shop.path / "cases/conftest.py").write_text(FIXTURE, encoding="utf-8")

    ran = shop.run("cases", "--autoweb-models=builtin/oracle", "-k", "first or second")

    assert ran.ret == 0, ran.stdout.str()
    assert (shop.path / "taken").read_text(encoding="utf-8") == "first False\nsecond False\n"


OWN_ARGUMENTS = """
import pytest


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    return {**browser_context_args, "locale": "fr-FR"}
"""


@pytest.mark.long
def test_a_folder_with_arguments_of_its_own_gets_pages_of_its_own(shop: SharedProject) -> None:
    french = shop.path / "french"
    french.mkdir()
    (french / "conftest.py").write_text(OWN_ARGUMENTS, encoding="utf-8")
    speaks = cases().replace("seen 0'", "seen 0' && navigator.language === 'fr-FR'")
    (french / "shop.yaml").write_text(speaks, encoding="utf-8")

    ran = shop.run(
        "cases", "french", "cases", "--autoweb-models=builtin/oracle", "-k", "not german"
    )

    assert ran.ret == 0, ran.stdout.str()
    taken = (shop.path / "taken").read_text(encoding="utf-8").split("\n")
    # The first of each folder finds no page that was opened with its own arguments.
    assert [line for line in taken if "first" in line] == ["first False", "first False"]


DYING = """
import os, signal, time

import pytest_autoweb.session.cell_run as cell_run
from pytest_autoweb.browser.egress.browser_watch import browser_processes

leave = cell_run.leave_living


def kill(word):
    for process in browser_processes():
        if word in process.command:
            os.kill(process.pid, signal.SIGKILL)
    time.sleep(0.3)


def left(request, opened):
    if "first" not in request.node.name:
        return leave(request, opened)
    kill("--remote-debugging-pipe")
    leave(request, opened)
    kill("run-driver")


cell_run.leave_living = left
"""


@pytest.mark.long
def test_a_driver_that_dies_after_its_browser_costs_no_cell(shop: SharedProject) -> None:
    (shop.path / "conftest.py").write_text(DYING, encoding="utf-8")

    ran = shop.run("cases", "--autoweb-models=builtin/oracle", "-k", "not german")

    assert ran.ret == 0, ran.stdout.str()
    assert outcomes(shop) == dict.fromkeys(("first", "second", "third", "fourth"), "passed")


CONFTEST = """
from pathlib import Path

from pytest_autoweb.session.flights.prefetched_page import PrefetchedPage

take = PrefetchedPage.take


def taken(self, request):
    ready = take(self, request)
    with Path("taken").open("a") as file:
        file.write(f"{request.node.cell.case.id} {ready is not None}\\n")
    return ready


PrefetchedPage.take = taken
"""
PAGE = """<!doctype html><title>Shop</title>
<p id="seen"></p><p id="told"></p><button>Stay</button>
<script>
  document.getElementById('seen').textContent = `seen ${localStorage.length} ${document.cookie}`;
  localStorage.setItem('me', '1');
  document.cookie = 'me=1';
  fetch('http://127.0.0.1:45678/leak').catch(() => {
    document.getElementById('told').textContent = 'kept in';
  });
</script>"""
FIXTURE = """
import pytest


@pytest.fixture(autouse=True)
def own():
    yield
"""


def cases() -> str:
    lines = ["version: 1", "webserver: {static: ../site}", "cases:"]
    for name in IDS:
        lines += [
            f"  - id: {name}",
            '    entry_url: "{{ webserver.url }}stay.html"',
            "    user_task: Stay here.",
            *(["    setup: {locale: de-DE}"] if name == "german" else []),
            "    expect:",
            "      - text: kept in",
            "      - js: document.getElementById('seen').textContent.trim() === 'seen 0'",
            *(["      - js: navigator.language === 'de-DE'"] if name == "german" else []),
            "    oracle: |",
            "      # Step 1: stay",
            '      page.get_by_role("button").click()',
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def shop(project: pytest.Pytester) -> SharedProject:
    shop = SharedProject.at(project.path)
    (shop.path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (shop.path / "site/stay.html").write_text(PAGE, encoding="utf-8")
    (shop.path / "cases/shop.yaml").write_text(cases(), encoding="utf-8")
    return shop


def outcomes(shop: SharedProject) -> dict[str, str]:
    report = json.loads((shop.path / "autoweb-report/report.json").read_text(encoding="utf-8"))
    return {case["id"]: case["cells"][0]["outcome"] for case in report["cases"]}
