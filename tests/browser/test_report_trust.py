"""What the report's page says of trust: comparisons, gates, intervals, costs, flakiness, trends."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_up_history import GATES, WEAK_CASE, rich_run, rows_of
from made_up_run import CellKey, cell, realistic_cells, run_info
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, expect

from pytest_autoweb.report.html_page import render_html
from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    CheckResult,
    OutsideAgent,
    StepResult,
    Usage,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import plain
from pytest_autoweb.results.runs.side_files import GateResult, RejudgedCell, Rejudging, SideFiles

HOSTILE = "<img src=x onerror=\"document.title='owned'\">{{7*7}}</script>\x1b[31m\u202egpj"

Show = Callable[..., Page]


@pytest.fixture(scope="module")
def shared(browser: Browser) -> Iterator[Page]:
    """One page for all tests of this file, opened anew by each."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def show(shared: Page, tmp_path: Path) -> Iterator[Show]:
    """Opens a folder's report or a page's text; an error on its console fails the test."""
    complaints: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    def on_error(error: Error) -> None:
        complaints.append(str(error))

    shared.on("console", on_console)
    shared.on("pageerror", on_error)

    def open_page(what: Path | str, width: int = 1280) -> Page:
        shared.set_viewport_size({"width": width, "height": 900})
        path = tmp_path / "page.html"
        if isinstance(what, str):
            path.write_text(what, encoding="utf-8")
        shared.goto("about:blank")
        shared.goto((path if isinstance(what, str) else what / "index.html").as_uri())
        return shared

    yield open_page
    shared.remove_listener("console", on_console)
    shared.remove_listener("pageerror", on_error)

    assert complaints == []


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rich")
    rich_run(folder, repeats=3)
    write_report(folder, max_chars=8_000_000)
    return folder


@pytest.fixture(scope="module")
def report(rich: Path) -> Any:
    return json.loads((rich / "report.json").read_text())


def page_of(*cells: CellResult, beside: SideFiles | None = None, **info: Any) -> str:
    run = RecordedRun(Path(), run_info(list(cells), **info), cells)
    return render_html(plain(build_report(run, None, beside or SideFiles())), {})


def section(page: Page, heading: str) -> Locator:
    return page.locator("section", has=page.get_by_role("heading", name=heading, exact=True))


def percent(value: float) -> str:
    return f"{int(value * 100 + 0.5)}%"


@pytest.mark.long
def test_two_models_are_compared_by_the_cases_that_differ(
    rich: Path, report: Any, show: Show
) -> None:
    page = show(rich)
    part = section(page, "Compare two")
    part.get_by_label("Compare", exact=True).select_option("openai/gpt-5-mini")
    part.get_by_label("with").select_option("local/qwen2.5-coder-1.5b")

    sides = {"openai/gpt-5-mini", "local/qwen2.5-coder-1.5b"}
    (said,) = (
        c
        for c in report["comparisons"]
        if c["kind"] == "models" and {c["a"]["model"], c["b"]["model"]} == sides
    )
    expect(part.locator(".verdict-line")).to_have_text(said["verdict"])
    expect(part.locator(".flips tbody tr")).to_have_count(said["gained"] + said["lost"])
    expect(part.locator(".sides")).to_contain_text(percent(said["b"]["compared"]["value"]))
    expect(part.get_by_role("img", name="B minus A")).to_be_visible()
    part.get_by_text("left out").click()
    expect(part).to_contain_text("its controls are broken")
    assert WEAK_CASE not in part.locator(".flips").inner_text()


@pytest.mark.long
def test_each_flip_leads_to_the_cells_of_both_sides(rich: Path, report: Any, show: Show) -> None:
    page = show(rich)
    first = page.locator(".flips tbody tr").first
    name = first.locator(".case-name").inner_text()

    for side in (1, 2):
        first.locator("td").nth(side).locator("button").first.click()
        expect(page.locator("#detail-title")).to_have_text(name)
        page.get_by_role("button", name="Close").click()


def test_a_run_is_compared_with_its_baseline(rich: Path, report: Any, show: Show) -> None:
    page = show(rich)
    part = section(page, "Compare two")

    part.get_by_role("button", name="With the baseline").click()

    said = [c for c in report["comparisons"] if c["kind"] == "runs"]
    expect(part).to_contain_text("A is main, commit c0ffee1; B is this run.")
    part.get_by_label("Model").select_option(said[-1]["b"]["model"])
    expect(part.locator(".verdict-line")).to_have_text(said[-1]["verdict"])
    rows = part.locator(".flips tbody tr")
    expect(rows).to_have_count(said[-1]["gained"] + said[-1]["lost"])
    assert rows.locator("td:nth-child(2) button").count() == 0
    assert rows.locator("td:nth-child(3) button").count() > 0


def test_what_decided_the_exit_status_stands_on_top(rich: Path, show: Show) -> None:
    page = show(rich)

    lost, gates = page.locator("main > section").all()[:2]
    expect(lost.get_by_role("heading")).to_contain_text("failed")
    expect(gates.get_by_role("heading")).to_contain_text("1 of 4 gates failed")
    names = gates.locator("li > div > p:first-child b").all_inner_texts()
    assert [name.split()[0] for name in names] == ["pinned", "drop", "cost", "pass"]
    expect(gates).to_contain_text("failed (soft)")
    expect(gates).to_contain_text(GATES[3].details[0])


def test_both_rates_show_both_denominators_with_their_intervals(
    rich: Path, report: Any, show: Show
) -> None:
    page = show(rich)
    leader = report["summary"]["models"][0]["numbers"]

    gauges = page.locator(".board tbody tr").first.locator(".gauge .whisker")
    expect(gauges).to_have_count(4)
    drawn = gauges.evaluate_all("nodes => nodes.map(n => [n.style.left, n.style.width])")
    for (left, width), rates in zip(drawn[::2], ("first_attempt", "after_repair"), strict=True):
        interval = leader[rates]["all_trials"]["interval"]
        assert float(left.strip("%")) == pytest.approx(interval["low"] * 100, abs=0.01)
        span = (interval["high"] - interval["low"]) * 100
        assert float(width.strip("%")) == pytest.approx(span, abs=0.01)
    expect(page.locator(".board")).to_contain_text("with broken controls")
    page.get_by_text("More numbers").first.click()
    expect(page.locator(".board")).to_contain_text("pass@3: any of 3 tries")


def model_cells(n: int, **usage: Any) -> list[CellResult]:
    sample = next(c for c in realistic_cells() if c.outcome == "passed" and c.usage)
    return [
        sample.model_copy(
            update={
                "model": (model := f"vendor-with-a-name/some-model-{i}"),
                "case_id": f"c{k}",
                "folder": CellKey(f"c{k}", model).folder,
                "usage": {"plan": Usage(calls=1, **usage)} if usage else sample.usage,
                "outcome": "passed" if k < 2 + i % 2 else "failed",
            }
        )
        for i in range(n)
        for k in range(4)
    ]


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("usage", [{"cost_usd": 0.002}, {"unpriced_calls": 1}, {"cost_usd": 0.0}])
def test_labels_of_twelve_equal_models_never_cover_each_other(
    show: Show, width: int, usage: dict[str, Any]
) -> None:
    page = show(page_of(*model_cells(12, **usage)), width)
    page.get_by_role("button", name="Cost of a cell").click()
    expect(page.locator(".picture svg .dot")).to_have_count(12)

    boxes = page.locator("svg .label").evaluate_all(
        "nodes => nodes.map(n => { const b = n.getBoundingClientRect();"
        " return [b.left, b.top, b.right, b.bottom]; })"
    )
    dots = page.locator(".picture svg .dot").evaluate_all(
        "nodes => nodes.map(n => { const b = n.getBoundingClientRect();"
        " return [b.left + 2, b.top + 2, b.right - 2, b.bottom - 2]; })"
    )
    assert len(boxes) >= (12 if width > 400 else 6)
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :] + dots:
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] + 2 or other[3] <= one[1] + 2
    assert page.evaluate("() => document.documentElement.scrollWidth") == width


def test_an_unknown_cost_stands_apart_and_a_wide_range_is_logarithmic(show: Show) -> None:
    cells = [
        each.model_copy(
            update={"model": name, "folder": CellKey(each.case_id, name).folder, "usage": usage}
        )
        for name, cost in (("cheap", 0.0001), ("dear", 0.5), ("unpriced", None))
        for usage in [{"plan": Usage(calls=1, cost_usd=cost, unpriced_calls=cost is None)}]
        for each in model_cells(1)
    ]
    page = show(page_of(*cells))

    part = section(page, "Cost against success")
    expect(part.locator("svg .tick", has_text="logarithmic")).to_be_visible()
    expect(part.locator("svg .tick", has_text="no price")).to_be_visible()
    expect(part.get_by_role("img")).to_have_attribute(
        "aria-label",
        "Cost of a cell against after repair rate. cheap: 50%, $0.00010; "
        "dear: 50%, $0.500; unpriced: 50%, no price.",
    )
    part.get_by_text("As a table").click()
    expect(part.locator("tbody tr", has_text="unpriced")).to_contain_text("unknown")


def test_time_per_stage_has_a_table_beside_the_bars(rich: Path, report: Any, show: Show) -> None:
    page = show(rich)
    part = section(page, "Time per stage")

    expect(part.locator(".bar-row")).to_have_count(3)
    part.get_by_text("As a table").click()
    stages = report["summary"]["models"][0]["numbers"]["stages"]
    expect(part.locator("thead th")).to_have_text(["Model", *(s["stage"] for s in stages), "all"])
    total = sum(stage["per_cell_s"] for stage in stages)
    expect(part.locator("tbody tr").first.locator("td").last).to_have_text(f"{total:.0f} s")


def test_flaky_and_slow_cells_are_listed_and_open(rich: Path, report: Any, show: Show) -> None:
    page = show(rich)
    part = section(page, "Flaky and slow")
    flaky, slow = (part.locator(".halves .listing").nth(i) for i in (0, 1))

    first = report["summary"]["flaky"][0]
    expect(flaky.locator("li").first).to_contain_text(first["case_id"])
    expect(flaky.locator("li").first.locator("button")).to_have_count(3)
    expect(flaky.locator("li").first).to_contain_text("runs")
    expect(slow.locator("li").first).to_contain_text("a step needed a larger limit")
    slow.locator("li button").first.click()
    expect(page.locator("#detail-title")).to_have_text(report["summary"]["slow"][0]["case_id"])


def test_the_trend_marks_runs_of_other_cases(rich: Path, show: Show) -> None:
    page = show(rich)
    part = section(page, "Over time")

    expect(part.locator(".trend")).to_have_count(3)
    points = part.locator(".trend").first.locator("svg .dot")
    expect(points).to_have_count(7)
    hollow = points.evaluate_all("nodes => nodes.map(n => n.classList.contains('hollow'))")
    assert hollow == [True, True, False, False, False, False, False]
    title = points.nth(5).locator("title").text_content() or ""
    assert title.splitlines()[0] == "main"
    assert "commit c0ffee1" in title
    assert "other cases" in (points.first.locator("title").text_content() or "")
    part.get_by_text("As a table").first.click()
    expect(part.locator("tbody").first.locator("tr")).to_have_count(7)


def test_judges_are_shown_with_their_agreement(rich: Path, show: Show) -> None:
    part = section(show(rich), "Judging models")

    expect(part.locator("tbody tr")).to_contain_text("96%")
    expect(part.locator("tbody tr td").last).to_have_text("yes")
    expect(part).to_contain_text("Several judges vote; more than half decide.")
    expect(part).to_contain_text("Krippendorff's alpha")


def test_the_sections_can_be_reached_from_the_top(rich: Path, show: Show) -> None:
    page = show(rich)

    links = page.get_by_role("navigation", name="Sections").get_by_role("link")
    names = ["What failed", "Gates", "Models", "Compare two", "Controls", "Cells"]
    names += ["Cost against success", "Time per stage", "Flaky and slow", "Over time", "Judges"]
    expect(links).to_have_text(names)
    links.filter(has_text="Compare two").click()
    expect(page.get_by_role("heading", name="Compare two")).to_be_in_viewport()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="With the baseline")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="With the baseline")).to_be_focused()


def checked_cell(**changes: Any) -> CellResult:
    template = next(c for c in realistic_cells() if c.outcome == "failed" and c.attempts)
    check = CheckResult(
        index=0, type="answer.records", passed=False, expected="3 batches", actual="1 of 3",
        where="records 2 and 3", finding="PARTIAL_MATCH", hint="batch MB-002 is missing",
        weight=2, credit=1 / 3,
    )  # fmt: skip
    advice = CheckResult(
        index=1, type="judge", passed=None, expected="polite", actual="", finding="captcha",
        advisory=True, usage=Usage(calls=2, cost_usd=0.01),
    )  # fmt: skip
    last = template.attempts[-1].model_copy(update={"checks": (check, advice)})
    return template.model_copy(
        update={"attempts": (last,), "evidence": {}, "checksums": {}, **changes}
    )


def test_a_check_says_where_it_looked_and_what_it_found(show: Show) -> None:
    page = show(page_of(checked_cell()))

    page.locator("button.cell").first.click()

    first, second = (page.locator(".checks li").nth(i) for i in (0, 1))
    for words in ("PARTIAL_MATCH", "records 2 and 3", "batch MB-002", "credit 33%"):
        expect(first).to_contain_text(words)
    expect(second).to_contain_text("captcha")
    expect(second).to_contain_text("advice only, not part of the verdict")
    expect(second).to_contain_text("2 model calls, $0.01")


def test_a_later_verdict_is_marked_as_such(show: Show) -> None:
    result = checked_cell()
    names = ("case_id", "case_path", "model", "capture_mode", "repeat")
    again = RejudgedCell(
        **{name: getattr(result, name) for name in names},
        before="passed",
        after="failed",
        notes=("the case itself has changed since",),
    )
    page = show(page_of(result, beside=SideFiles(rejudging=Rejudging(ts="t", cells=(again,)))))

    expect(page.locator("#top")).to_contain_text("1 outcome changed")
    page.locator("button.cell").first.click()
    expect(page.locator("#detail")).to_contain_text("passed in the run, failed now.")
    expect(page.locator("#detail")).to_contain_text("the case itself has changed since")


def test_readers_are_told_which_outside_agents_ran_and_what_does_not_hold_them(
    show: Show,
) -> None:
    agent = OutsideAgent(
        name="mine", version=HOSTILE, command=("node", HOSTILE), checksum="ab" * 32
    )
    driven = checked_cell().model_copy(update={"agent": agent})

    page = show(page_of(driven))

    told = page.locator("#top p.notice", has_text="Outside agents ran")
    for words in ("mine (<img src=x onerror=", "outside the sandbox", "their time by a kill"):
        expect(told).to_contain_text(words)
    page.get_by_text("Settings and environment").click()
    known = page.locator("div", has=page.get_by_role("heading", name="Outside agent mine")).last
    for words in ("node <img src=x", "abababababababab", driven.model):
        expect(known).to_contain_text(words)
    assert page.locator("img").count() == 0


def test_hostile_text_beside_the_cells_does_nothing(show: Show) -> None:
    gate = GateResult(
        name=HOSTILE, model=HOSTILE, passed=False, message=HOSTILE, details=(HOSTILE,)
    )
    old = rows_of(3, 1).model_copy(update={"name": HOSTILE, "commit": HOSTILE})
    beside = SideFiles(baseline=old, gates=(gate,), notes=(HOSTILE,))
    page = show(page_of(*realistic_cells(), beside=beside))

    page.get_by_role("button", name="With the baseline").click()
    for summary in page.locator("main summary").all():
        summary.click()

    expect(page.locator(".gates")).to_contain_text("<img src=x onerror=")
    expect(page.locator(".compare")).to_contain_text("\\u001b[31m\\u202egpj")
    assert page.locator("img").count() == 0
    assert page.title().startswith("autoweb report")


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_new_needs_sideways_scrolling_on_a_phone(
    rich: Path, show: Show, scheme: Any
) -> None:
    page = show(rich, 390)
    page.emulate_media(color_scheme=scheme)
    for summary in page.locator("main summary").all():
        summary.click()
    page.get_by_role("button", name="With the baseline").click()

    assert page.evaluate("() => document.documentElement.scrollWidth") == 390


def test_gates_of_a_run_without_cells_are_still_told(show: Show) -> None:
    gate = GateResult(name="pass rate", passed=False, message="Nothing was run.")

    page = show(page_of(beside=SideFiles(gates=(gate,))))

    expect(page.locator(".gates")).to_contain_text("Nothing was run.")
    expect(page.get_by_role("heading", name="No cells were run")).to_be_visible()


def test_one_model_has_nothing_to_be_compared_with(show: Show) -> None:
    page = show(page_of(cell(CellKey("a", "m")), cell(CellKey("b", "m"), "failed")))

    expect(page.get_by_role("heading", name="Compare two")).to_have_count(0)
    expect(page.locator(".board .model-name")).to_have_text("m")


def test_cases_without_checks_are_told_apart_from_rates_and_plans_nobody_asked_for(
    show: Show,
) -> None:
    step = StepResult(step_index=1, ok=True, status="ok", description=HOSTILE)
    ran = Attempt(executed=True, turns=1, step_results=(step,))
    free = {"without_checks": True, "reason": "the case has no checks"}
    cells = [
        cell(CellKey("a", "good"), "ungraded", attempts=(ran,), **free),
        cell(CellKey("a", "bad"), "failed", attempts=(Attempt(),), without_checks=True),
        cell(CellKey("b", "mixed"), attempts=(Attempt(executed=True),)),
        cell(CellKey("a", "mixed"), "ungraded", attempts=(ran,), **free),
    ]
    page = show(page_of(*cells))

    note = page.locator(".execution")
    expect(note).to_contain_text("1 case has no checks: that every step ran is no proof.")
    expect(note).to_contain_text("good: every step ran in 100% (21–100%), 1 of 1")
    expect(note).to_contain_text("good against bad: Execution only, no proof: Too few cases")
    rows = section(page, "Models").locator("tbody tr:not(.more-row)")
    told = {row.locator(".model-name").inner_text(): row.inner_text() for row in rows.all()}
    assert "every step ran in 1 of 1 cell (no proof)" in told["good"]
    assert "no checks" in told["bad"]
    assert "no checks" not in told["mixed"]
    assert "50%" in told["mixed"]
    more = rows.first.locator("xpath=following-sibling::tr[1]")
    more.locator("summary").click()
    expect(more).to_contain_text("none was asked for")
    assert page.title() != "owned"
