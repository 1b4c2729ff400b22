"""A run that goes on, watched by a real browser: cells as they go, a loss, a script, the end."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from late_pages import wait_until
from made_up_run import CellKey, cell, planned, run_info, save_run
from playwright.sync_api import Page, expect
from session_server import autoweb_command, session_command
from shop_project import SharedProject
from steered_session import asking, cells_of
from steered_session import going as steered

from pytest_autoweb.results.runs.live_session import sign_session
from pytest_autoweb.results.runs.progress_file import Progress
from pytest_autoweb.results.runs.saving import (
    mark_started,
    save_cell,
    save_manifest,
    save_run_info,
)
from pytest_autoweb.tools.view.followed_run import FollowedRun
from pytest_autoweb.tools.view.view_server import ViewServer, serve_in_thread

LONG_MS = 60_000
HOSTILE = "<img src=x onerror=document.title=7>"
WHOLE = "(all) => all.map((one) => one.scrollWidth <= one.clientWidth)"
END_IN_VIEW = """(all) => all.map((one) => {
    const inner = one.firstElementChild.getBoundingClientRect();
    return Math.abs(inner.right - one.getBoundingClientRect().right) < 1;
})"""
LEFT = "(one) => Math.round(one.getBoundingClientRect().left)"
CONFTEST = f"""
import time
from pathlib import Path
from pytest_autoweb.testing import ScriptedClient

def after(name, text):
    def answer(request):
        ends = time.monotonic() + 120
        while not Path(name).exists() and time.monotonic() < ends:
            time.sleep(0.05)
        return text
    return answer

def code(block, end="DONE"):
    return f"```python\\n{{block}}\\n```\\n{{end}}"

HEADING = 'answer(page.get_by_role("heading").inner_text())'
ANSWERS = {{
    "fake/bad": [after("autoweb-report/watched", code('answer("{HOSTILE}")'))],
    "fake/held": [code('page.get_by_label("Name").fill("ana")', ""), after("go", code(HEADING))],
    "fake/good": [code(HEADING)],
}}

def pytest_autoweb_client(spec):
    return ScriptedClient({{"generate": ANSWERS[spec.name]}}) if spec.name in ANSWERS else None
"""


@pytest.fixture
def going(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Starts a command in a project, and returns the first line it prints that fits a pattern."""
    project = SharedProject(tmp_path)
    (project.path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    environ = {key: value for key, value in os.environ.items() if key != "CI"}
    begun: list[subprocess.Popen[str]] = []

    def start(pattern: str) -> str:
        flags = ("-k", "title", "--autoweb-codegen=turns", "--autoweb-max-repairs=0")
        # The second case begins with the second model.
        models = "--autoweb-models=fake/good,fake/bad,fake/held"
        process = subprocess.Popen(
            [*session_command(), "cases", models, *flags, "--autoweb-view"],
            cwd=project.path,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        begun.append(process)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if found := re.search(pattern, line):
                return found[0]
        raise AssertionError(said)

    yield start
    (project.path / "go").touch()
    for process in begun:
        process.communicate(timeout=120)


def viewers() -> list[psutil.Process]:
    return [each for each in psutil.process_iter() if "--session=autoweb-" in _command(each)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.mark.long
def test_a_session_is_watched_to_its_end(
    page: Page, going: Callable[[str], str], tmp_path: Path
) -> None:
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    before = {each.pid for each in viewers()}
    page.goto(going(r"http://127\.0\.0\.1:\d+/[\w-]+/"))
    own = [each for each in viewers() if each.pid not in before]
    assert [each.nice() for each in own] == [19]

    for name in ("fake/bad: Failed", "fake/held: Going", "fake/good: Not begun"):
        expect(page.get_by_role("button", name=f"title · {name}")).to_be_visible(timeout=LONG_MS)
    loss = page.locator("#losses li")
    expect(loss).to_contain_text(HOSTILE, timeout=LONG_MS)
    expect(page.locator("#losses img")).to_have_count(0)
    expect(page.locator("#facts")).to_contain_text(re.compile(r"1\s*going|going\s*1"))

    card = page.locator("#going li")
    expect(card).to_contain_text("fake/held")
    expect(card.locator("img")).to_be_visible(timeout=LONG_MS)
    card.get_by_role("button").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".script")).to_contain_text("fill", timeout=LONG_MS)
    expect(dialog.locator(".steps")).to_contain_text("done")
    expect(dialog.locator(".log")).to_contain_text("step 1")
    assert (
        dialog.locator(".film img").first.evaluate(
            "async (i) => (await i.decode(), i.naturalWidth)"
        )
        > 99
    )
    assert list(tmp_path.glob("autoweb-report/cells/*/*held*/*/so-far.json"))

    (tmp_path / "go").touch()
    expect(dialog.get_by_text("Passed", exact=True)).to_be_visible(timeout=LONG_MS)
    expect(dialog.locator(".checks")).to_contain_text("holds")
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator("#phase")).to_contain_text("The run has ended", timeout=LONG_MS)
    assert not list(tmp_path.rglob("so-far.json"))
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open the report").click()
    expect(opened.value.get_by_role("heading", name="3 models")).to_be_visible()

    assert page.title() != "7"
    assert problems == []
    opened.value.close()
    page.goto("about:blank")
    _, left = psutil.wait_procs(own, timeout=60)
    assert (len(own), left) == (1, [])


@pytest.mark.long
def test_a_run_is_paused_steered_and_let_go_on_by_buttons(page: Page, tmp_path: Path) -> None:
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    project = asking(SharedProject(tmp_path))
    with (
        ViewServer(FollowedRun(project.path / "autoweb-report")) as server,
        steered(project) as run,
    ):
        serve_in_thread(server)
        page.goto(server.address)
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#phase")).to_contain_text("Paused by order", timeout=LONG_MS)
        expect(page.locator("#phase")).to_contain_text("1 under way")
        run.open_gate()
        run.wait_for(lambda: run.ended == 1 and "paused" in run.said)
        expect(page.locator("#phase")).to_contain_text("no cell is under way", timeout=LONG_MS)

        stop = "Begin no more cells of the"
        page.locator("#grid").get_by_role("button", name=f"{stop} model fake/b").click()
        expect(page.locator("#grid .head")).to_contain_text("model stopped", timeout=LONG_MS)
        run.answer_wrong("ask-1", "fake/a")
        page.get_by_role("button", name="ask-1 · fake/a: Passed").click()
        page.get_by_role("dialog").get_by_role("button", name="Run again").click()
        expect(page.locator("#ordered")).to_contain_text("again ask-1[fake/a] (page)")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        page.get_by_role("button", name="ask-4 · fake/a").click()
        expect(page.get_by_role("dialog").get_by_role("button", name="Run again")).to_have_count(0)
        page.get_by_role("dialog").get_by_role("button", name=f"{stop} case ask-4").click()
        expect(page.get_by_role("dialog").locator(".acts")).to_contain_text("case stopped")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        page.get_by_text("Limits").click()
        page.get_by_label("Time cap").fill("soon")
        page.get_by_role("button", name="Set").click()
        expect(page.get_by_role("alert")).to_contain_text("cap: ")
        page.get_by_label("Time cap").fill("2h")
        page.get_by_role("button", name="Set").click()
        expect(page.locator("#ordered")).to_contain_text("cap time 120m (page)", timeout=LONG_MS)
        expect(page.get_by_role("alert")).to_have_count(0)
        assert run.ended == 1

        go_on_and_see_the_further_run(page)
        report = run.report()
        expect(page.locator("#phase")).to_contain_text("The run has ended", timeout=LONG_MS)
        expect(page.locator(".acts button:visible")).to_have_count(0)
        server.closed.set()
        server.shutdown()

    assert [(order["kind"], order["by"]) for order in report["steered"]] == [
        (kind, "page")
        for kind in ("pause", "stop-model", "again", "stop-case", "cap-time", "go-on")
    ]
    passed = {(c["case_id"], c["model"]) for c in cells_of(report) if c["outcome"] == "passed"}
    assert {("ask-2", "fake/a"), ("ask-3", "fake/a")} <= passed
    assert len(passed) + sum(c["not_needed"] == "steered" for c in cells_of(report)) == 8
    assert problems == []


def go_on_and_see_the_further_run(page: Page) -> None:
    """End the pause, with the cell open that is to be run again."""
    page.get_by_role("button", name="ask-1 · fake/a: Passed").click()
    again = page.get_by_role("dialog").locator(".again")
    page.evaluate("document.querySelector('#run-acts button').click()")  # behind the dialog
    expect(again).to_contain_text("Failed", timeout=LONG_MS)
    expect(again).to_contain_text("The first result counts.")
    expect(again.locator(".script")).to_contain_text("Desk")
    expect(page.get_by_role("dialog").locator("header")).to_contain_text("Passed")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()


@pytest.mark.long
def test_a_run_that_ended_is_shown_by_the_command(page: Page, tmp_path: Path) -> None:
    folder = save_run(tmp_path / "report", [cell(CellKey("login", "fake/a"), "failed")])
    command = [*autoweb_command(), "run", "view", str(folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        page.goto(address)
        expect(page.locator("#phase")).to_contain_text("ended, with exit status 1", timeout=LONG_MS)
        page.locator("#losses button").click()
        expect(page.get_by_role("dialog")).to_contain_text("made-up reason for failed")
        page.goto("about:blank")
        process.terminate()


@pytest.mark.long
def test_of_a_run_that_died_it_is_said_how_far_it_came_until_it_is_resumed(
    page: Page, tmp_path: Path
) -> None:
    ended, cut, left = (cell(CellKey(name, "fake/a")) for name in ("login", "buy", "pay"))
    save_manifest(tmp_path, map(planned, (ended, cut, left)), ts="first")
    save_cell(tmp_path, ended)
    mark_started(tmp_path, cut.folder)
    (tmp_path / "progress").mkdir()
    Progress(tmp_path / "progress/a.jsonl").emit("buy[fake/a]", "stage", "plan", cut.folder)
    with subprocess.Popen([*autoweb_command(), "--version"]) as process:
        sign_session(tmp_path, process.pid, 0.0)
    with ViewServer(FollowedRun(tmp_path)) as server:
        serve_in_thread(server)
        page.goto(server.address)
        expect(page.locator("#phase")).to_contain_text("has died", timeout=LONG_MS)
        expect(page.locator("#phase")).to_contain_text("when 1 of 3 cells had ended")
        expect(page.locator("#phase")).to_contain_text("--autoweb-resume")
        expect(page.get_by_role("button", name="login · fake/a: Passed")).to_be_visible()
        expect(page.get_by_role("button", name="pay · fake/a: Not begun")).to_be_visible()
        expect(page.locator("#losses li")).to_contain_text("the test process died")

        sign_session(tmp_path, os.getpid(), 1.0)
        expect(page.locator("#phase")).to_contain_text("The run goes on", timeout=LONG_MS)
        server.closed.set()
        server.shutdown()


def test_models_are_told_apart_however_long_their_names_and_narrow_the_page_are(
    page: Page, tmp_path: Path
) -> None:
    models = [f"openrouter/some-provider/a-model-with-a-name-{at}b" for at in (1, 2)]
    save_manifest(tmp_path, [planned(cell(CellKey("buy", name))) for name in models], ts="first")
    headings = page.locator(".head .model")
    with ViewServer(FollowedRun(tmp_path)) as server:
        serve_in_thread(server)
        page.goto(server.address)
        expect(headings).to_have_text(models)
        assert headings.evaluate_all(WHOLE) == [True, True]

        page.set_viewport_size({"width": 700, "height": 900})
        wait_until(page, lambda: headings.evaluate_all(WHOLE) == [False, False], 10)
        assert headings.evaluate_all(WHOLE) == [False, False]
        assert headings.evaluate_all(END_IN_VIEW) == [True, True]
        squares, heads = (
            [found.evaluate(LEFT) for found in page.locator(of).all()]
            for of in (".squares", ".head .column")
        )
        assert squares == heads
        server.closed.set()
        server.shutdown()


@pytest.mark.long
def test_of_very_many_cells_only_those_in_view_are_drawn(page: Page, tmp_path: Path) -> None:
    cells = [cell(CellKey(f"case-{at}", f"fake/{of}")) for at in range(1000) for of in "abcd"]
    save_manifest(tmp_path, map(planned, cells), ts="first")
    (tmp_path / "progress").mkdir()
    progress = Progress(tmp_path / "progress/a.jsonl")
    with ViewServer(FollowedRun(tmp_path)) as server:
        serve_in_thread(server)
        page.goto(server.address)
        expect(page.locator("#facts")).to_contain_text("4,000")
        assert page.locator(".square").count() < 400

        page.locator("#grid").evaluate("(grid) => { grid.scrollTop = grid.scrollHeight; }")
        last = page.get_by_role("button", name="case-999 · fake/a")
        expect(last).to_be_visible()
        progress.emit("case-999[fake/a]", "end", "passed", cells[-4].folder)
        expect(page.get_by_role("button", name="case-999 · fake/a: Passed")).to_be_visible()
        assert page.locator(".square").count() < 400

        progress.emit("case-500[fake/b]", "end", "failed", cells[2001].folder)
        page.get_by_label("Show").select_option("cases with a loss")
        expect(page.get_by_role("button", name="case-500 · fake/b: Failed")).to_be_visible()
        expect(page.locator(".row")).to_have_count(1)

        save_run_info(tmp_path, run_info(cells, ts="first"))
        expect(page.locator("#phase")).to_contain_text("The run has ended", timeout=LONG_MS)
        server.closed.set()
        server.shutdown()
