"""`autoweb run publish`: a leaderboard over several runs, in which every number has its cells."""

import json
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from made_up_run import BEGAN, TASKS, CellKey, cell, realistic_cells, save_run
from playwright.sync_api import Browser, Page, expect

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.results.records import Attempt, CellResult, Outcome

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">{{7*7}}\x1b[31m\u202egpj"
MODEL = "openai/gpt-5-mini"


def sums(name: str, checks: str = "") -> dict[str, Any]:
    return {"checksums": {"case": name, "checks": name + checks}}


def later_cells() -> list[CellResult]:
    """The model of the first run again: a case with other checks, one without a sound control."""
    outcomes: dict[str, Outcome] = dict.fromkeys(TASKS, "passed")
    outcomes |= {"login": "failed", "cjk-checkout": "ungraded", "enter-time": "skipped"}
    cells = [
        cell(CellKey(name, MODEL), outcome, **sums(name, "new" if name == "login" else ""))
        for name, outcome in outcomes.items()
        if name != "user-admin"
    ]
    judged = (Attempt(attempt_index=1, checks_passed=True),)
    noop = cell(CellKey("click-tab", "builtin/noop"), attempts=judged, **sums("click-tab"))
    other = "other/" + HOSTILE
    shared = cell(CellKey("book-flight", other), **sums("book-flight"))
    return [*cells, noop, shared, cell(CellKey(HOSTILE, other), "failed", reason=HOSTILE)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("published")
    first = [one.model_copy(update=sums(one.case_id)) for one in realistic_cells()]
    save_run(root / "runs/monday", first)
    later = BEGAN + timedelta(days=1)
    save_run(root / "runs/autoweb-report", later_cells(), ts="20261122_093000_000", started=later,
             environment={"python": "3.12.1"}, interrupted=True)  # fmt: skip
    trace = root / "runs/monday" / first[0].folder / "recordings/trace.zip"
    trace.parent.mkdir()
    trace.write_text("what was typed, in clear")
    site = root / "site"
    for _ in range(2):
        assert (
            main(["run", "publish", str(root / "runs"), "-o", str(site), "--title", HOSTILE]) == 0
        )
    return site


@pytest.fixture
def page(browser: Browser, site: Path) -> Iterator[Page]:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else (
        complaints.append(r.url)))  # fmt: skip
    page.goto((site / "index.html").as_uri())
    yield page
    context.close()

    assert complaints == []


def test_every_number_can_be_computed_again_from_the_published_cells(site: Path) -> None:
    board = json.loads((site / "leaderboard.json").read_bytes())
    saved = [json.loads((site / c["folder"] / "cell.json").read_bytes()) for c in board["cells"]]
    sets = {each["name"]: each["cells"] for each in board["sets"]}
    rates = [n for n in board["numbers"] if n["name"].startswith(("first", "after"))]

    for number in rates:
        good = {"passed", "healed"} if number["name"].startswith("after") else {"passed"}
        own = [(board["cells"][at]["case_id"], saved[at]["outcome"]) for at in sets[number["of"]]]
        cases = {name: [o in good for n, o in own if n == name] for name, _ in own}
        assert number["value"] == pytest.approx(fmean(map(fmean, cases.values())))
    assert {(number["name"].partition(",")[0], number["of"]) for number in rates} == {
        (name, f"{kind}: {row['model']}")
        for name in ("first attempt", "after repair")
        for kind in ("ran", "graded", "common")
        for row in board["summary"]["models"]
    }
    shown = {row["model"]: row["numbers"] for row in board["summary"]["models"]}
    for number in rates:
        name, _, kind = number["name"].partition(", ")
        if not kind.startswith("cases"):
            rate = shown[number["entry"]][name.replace(" ", "_")]
            assert rate["graded" if kind else "all_trials"]["value"] == number["value"]
    for run in board["runs"]:
        folder = site / "runs" / run["name"]
        lines = [
            f"{sha256(file.read_bytes()).hexdigest()} {file.relative_to(folder).as_posix()}\n"
            for file in sorted(folder.glob("**/cell.json"))
        ]
        assert run["results_sum"] == sha256("".join(lines).encode()).hexdigest()
    assert [file for file in site.rglob("*") if file.name == "trace.zip"] == []


def test_pairs_share_their_cases_and_what_is_left_out_is_told(site: Path) -> None:
    board = json.loads((site / "leaderboard.json").read_bytes())
    both = {f"{MODEL} in monday", f"{MODEL} in 20261122_093000_000"}
    (pair,) = [c for c in board["comparisons"] if {c["a"]["label"], c["b"]["label"]} == both]

    reasons = {left["case_id"]: left["reason"] for left in pair["left_out"]}
    assert (
        reasons.items()
        >= {
            "login": "changed",
            "cjk-checkout": "ungraded",
            "enter-time": "not_run",
            "click-tab": "controls",
            "user-admin": "missing",
        }.items()
    )
    # All pairs are corrected together.
    assert pair["family"] == 10
    told: dict[str, list[Any]] = {"cell": [], "case": [], "run": []}
    for row in board["excluded"]:
        told[row["what"]].append((row["name"], row["entry"], row["reason"]))
    new = f"{MODEL} in 20261122_093000_000"
    cells = {(name, entry): reason for name, entry, reason in told["cell"]}
    assert cells["cjk-checkout, repeat 1", new].startswith("ungraded, not in the graded rates")
    assert cells["enter-time, repeat 1", new].startswith("skipped, in no rate")
    assert "doing nothing passes" in cells["click-tab, repeat 1", new]
    assert "doing nothing passes" in cells["click-tab, repeat 1", f"{MODEL} in monday"]
    assert any("login" in name and "2 versions" in reason for name, _, reason in told["case"])
    assert any("interrupted" in reason for _, _, reason in told["run"])


@pytest.mark.long
def test_each_number_of_the_page_leads_to_the_page_of_a_cell(page: Page, site: Path) -> None:
    expect(page.locator("h1")).to_contain_text("<img src=x")
    assert page.title() != "owned"
    assert page.locator("main img").count() == 0
    headings = page.locator("main > section h2[id]").all_inner_texts()
    assert headings[:4] == ["Models", "Where the numbers come from", "Compare two", "Cells"]
    numbers = page.locator("section[aria-labelledby=sources-heading]")
    numbers.get_by_text(f"{MODEL} in monday").click()
    first = numbers.locator("tbody tr").first
    expect(first).to_contain_text("first attempt")
    first.locator("summary").click()
    marks = first.get_by_role("button")
    expect(marks).to_have_count(len(TASKS))
    marks.first.click()

    page.wait_for_url("**/runs/monday/index.html#**")
    expect(page.locator("dialog#detail")).to_be_visible()
    expect(page.locator("#detail-title")).to_contain_text("login")
    page.go_back()
    page.get_by_label("Search cells").fill("s:ungraded m:20261122")
    page.locator(".matrix button.cell:not(.faded)").first.click()
    page.wait_for_url("**/runs/20261122_093000_000/index.html#cjk-checkout/**")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto((site / "index.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_but_an_earlier_publication_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_run(tmp_path / "run", [cell(CellKey("a", "m"))])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("kept")
    run = str(tmp_path / "run")

    def refused(*words: str) -> str:
        assert main(["run", "publish", *words]) == 4
        return capsys.readouterr().err

    assert "holds something else" in refused(run, "-o", str(tmp_path / "mine"))
    assert (tmp_path / "mine/notes.txt").read_text() == "kept"
    assert "lie in one another" in refused(run, "-o", run + "/site")
    assert "name each run once" in refused(run, run + "/../run", "-o", str(tmp_path / "site"))
    assert "is not a run folder" in refused(str(tmp_path / "mine"), "-o", str(tmp_path / "site"))
    assert not (tmp_path / "site").exists()
    save_run(tmp_path / "proof", [cell(CellKey("a", "builtin/oracle"))])
    assert main(["run", "publish", str(tmp_path / "proof"), "-o", str(tmp_path / "site")]) == 0
    assert "no model to rank" in capsys.readouterr().out
