"""The report's page in a real browser, opened from disk."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from pytest_autoweb.report import large_report
from pytest_autoweb.report.html_page import render_html
from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.write import shorten, write_report
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    Exchange,
    Failure,
    StepResult,
    Usage,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import plain, write_text_atomic

sys.path.append(str(Path(__file__).parents[1] / "unit" / "report"))

from made_up_run import (
    CODE,
    CellKey,
    cell,
    realistic_cells,
    run_info,
    save_run,
    save_screenshots,
)

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">{{7*7}}<b>&amp;\x1b[31m\u202egpj"

UNWRITTEN = r"""() =>
    document.body.innerText.match(/.{0,40}(\[object |\bundefined\b|\bNaN\b).{0,40}/g) || []"""

Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a folder's report.

    The test fails when the page reports an error on the console, or shows a value of which nobody
    has made a text.
    """
    complaints: list[str] = []
    contexts = []

    def open_folder(folder: Path, hash_: str = "", **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{(folder / 'index.html').as_uri()}{hash_}")
        return page

    yield open_folder
    for context in contexts:
        for page in context.pages:
            complaints.extend(page.evaluate(UNWRITTEN))
        context.close()

    assert complaints == []


@pytest.fixture(scope="module")
def realistic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("realistic")
    cells = realistic_cells()
    save_screenshots(save_run(folder, cells), cells)
    write_report(folder, max_chars=8_000_000)
    return folder


def report_on(folder: Path, *cells: CellResult, **info: Any) -> Path:
    save_run(folder, list(cells), **info)
    write_report(folder, max_chars=8_000_000)
    return folder


def healed_cell() -> CellResult:
    return next(c for c in realistic_cells() if c.outcome == "healed")


def cell_button(page: Page, result: CellResult) -> Any:
    return page.locator(f'button.cell[data-key="{result.folder.removeprefix("cells/")}"]')


def test_the_first_page_shows_models_controls_and_every_cell(
    realistic: Path, open_page: Open
) -> None:
    page = open_page(realistic)

    expect(page.get_by_role("heading", level=1)).to_have_text("3 models, 12 cases, 36 cells")
    expect(page.get_by_text("All hold")).to_be_visible()
    expect(page.locator(".verdict")).to_contain_text("Not decisive")
    expect(page.locator(".matrix button.cell")).to_have_count(36)
    expect(page.locator(".board .model-name").first).to_have_text("openai/gpt-5-mini")
    expect(page.get_by_text("unknown").first).to_be_visible()
    # Some of these cases carry points.
    expect(page.locator(".board thead th").nth(3)).to_have_text("Score")
    expect(page.locator(".board tbody tr").first).to_contain_text("of the points, 5 cases")
    expect(page.locator(".board")).to_contain_text("ended by a limit: ")
    expect(page.locator(".board tbody tr").first).to_contain_text("median (95% ")


def test_what_a_model_is_and_what_it_read_from_a_cache_can_be_seen(
    realistic: Path, open_page: Open
) -> None:
    page = open_page(realistic)

    board = page.locator(".board tbody tr", has_text="openai/gpt-5-mini").first
    expect(board).to_contain_text("of them cached")
    expect(board).to_contain_text("of them thoughts")
    page.get_by_text("Settings and environment").click()
    about = page.locator(".ran-grid > div", has=page.get_by_role("heading", name="gpt-5-mini"))
    expect(about.get_by_role("row", name="context")).to_contain_text("272,000 tokens")
    expect(about.get_by_role("row", name="context")).to_contain_text("registry")
    expect(about.get_by_role("row", name="vision")).to_contain_text("settings")


def test_the_page_rounds_as_the_other_reports_do(tmp_path: Path, open_page: Open) -> None:
    passed = {"fake/few": 1, "fake/more": 5}
    cells = [
        cell(CellKey(f"case-{at}", model), "passed" if at < good else "failed")
        for model, good in passed.items()
        for at in range(8)
    ]

    board = open_page(report_on(tmp_path, *cells)).locator(".board tbody")

    told = (tmp_path / "summary.md").read_text(encoding="utf-8")
    for share in ("12%", "62%"):
        assert share in told
        expect(board).to_contain_text(share)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (0, "The oracle passes 1 of 1 case."),
        (2, "The oracle passes 1 of 1 case; random actions passed 0 of 2 runs."),
    ],
)
def test_the_controls_say_what_they_showed(
    tmp_path: Path, open_page: Open, runs: int, says: str
) -> None:
    chances = [
        cell(CellKey("login", "builtin/random", repeat=at + 1), "failed") for at in range(runs)
    ]

    page = open_page(report_on(tmp_path, cell(CellKey("login", "builtin/oracle")), *chances))

    expect(page.locator(".controls-line .soft")).to_have_text(says)


@pytest.mark.long
def test_a_cell_opens_with_everything_that_happened(realistic: Path, open_page: Open) -> None:
    page = open_page(realistic)
    cell_button(page, healed_cell()).click()

    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("tab", name="Repair 1")).to_have_attribute("aria-selected", "true")
    expect(dialog.locator(".diff .add")).to_contain_text(['name="Log in"'])
    dialog.get_by_role("tab", name="First attempt").click()
    expect(dialog.locator(".code .says").first).to_contain_text("TimeoutError")
    expect(dialog.locator(".code .in-failed").first).to_have_text("5")
    expect(dialog.locator(".checks")).to_contain_text("login?error=1")
    expect(dialog.locator(".steps li")).to_have_count(3)
    expect(dialog.locator(".code .l").nth(1)).to_have_text(CODE.splitlines()[1])
    dialog.get_by_text("Prompts and replies").click()
    dialog.get_by_text("generate ·").click()
    expect(dialog.get_by_text("MODE: CODEGEN")).to_be_visible()


def test_an_attempt_whose_checks_hold_is_shown_as_passed_though_a_step_failed(
    tmp_path: Path, open_page: Open
) -> None:
    healed = healed_cell()
    failure = Failure(kind="timeout", message="no link 'Your orders'", step_index=3)
    last = healed.attempts[-1].model_copy(update={"executed": False, "failure": failure})
    healed = healed.model_copy(update={"attempts": (*healed.attempts[:-1], last)})

    page = open_page(report_on(tmp_path, healed))
    cell_button(page, healed).click()

    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("tab", name="First attempt")).to_have_class("tab is-failed")
    expect(dialog.get_by_role("tab", name="Repair 1")).to_have_class("tab is-passed")
    told = dialog.locator(".reason.is-ungraded")
    expect(told).to_contain_text(
        "The checks hold, though not every step ran. no link 'Your orders'"
    )


def test_a_screenshot_can_be_enlarged_and_escape_closes_only_the_picture(
    realistic: Path, open_page: Open
) -> None:
    page = open_page(realistic)
    cell_button(page, healed_cell()).click()

    page.get_by_role("button", name="Enlarge: The page at the end").click()
    expect(page.locator("#zoom img")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.locator("#zoom")).not_to_be_visible()
    expect(page.locator("#detail")).to_be_visible()


@pytest.mark.long
def test_the_back_button_and_deep_links_work(realistic: Path, open_page: Open) -> None:
    result = healed_cell()
    link = "#" + result.folder.removeprefix("cells/") + "/1"
    page = open_page(realistic)
    cell_button(page, result).click()
    expect(page.locator("#detail")).to_be_visible()
    page.go_back()
    expect(page.locator("#detail")).not_to_be_visible()

    linked = open_page(realistic, link)

    first = linked.get_by_role("tab", name="First attempt")
    expect(first).to_have_attribute("aria-selected", "true")
    linked.get_by_role("button", name="Close").click()
    expect(linked.locator("#detail")).not_to_be_visible()
    expect(cell_button(linked, result)).to_be_focused()


def test_pills_filter_by_outcome(realistic: Path, open_page: Open) -> None:
    page = open_page(realistic)
    failed = page.locator(".matrix button.is-failed").count()

    page.locator(".pill", has_text="Failed").click()

    expect(page.get_by_role("status")).to_have_text(f"{failed} of 36 cells")
    expect(page.locator(".matrix button:not(.faded)")).to_have_count(failed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("s:passed", lambda c: c.outcome == "passed"),
        ("m:qwen", lambda c: "qwen" in c.model),
        ("@smoke", lambda c: "smoke" in c.tags),
        ("!m:qwen !@smoke", lambda c: "qwen" not in c.model and "smoke" not in c.tags),
        ("c:login", lambda c: c.case_id == "login"),
        ('"5th result" s:failed', lambda c: c.case_id == "search-engine" and c.outcome == "failed"),
        ("货到付款", lambda c: c.case_id == "cjk-checkout"),
        ("s:slow", lambda c: c.slow),
        ("nothing-has-this", lambda _: False),
    ],
)
def test_the_search_understands_its_grammar(
    realistic: Path, open_page: Open, query: str, expected: Callable[[CellResult], bool]
) -> None:
    cells = [c for c in realistic_cells() if not c.model.startswith("builtin/")]
    page = open_page(realistic)

    page.keyboard.press("/")
    page.keyboard.type(query)

    expect(page.get_by_role("status")).to_have_text(f"{sum(map(expected, cells))} of 36 cells")


def test_sorting_by_failures_puts_the_worst_case_on_top(realistic: Path, open_page: Open) -> None:
    page = open_page(realistic)

    page.get_by_label("Sort cases").select_option("Most failures")

    rows = page.locator(".matrix tbody tr")
    bad = [
        rows.nth(i).locator("button:not(.is-passed):not(.is-healed)").count()
        for i in range(rows.count())
    ]
    assert bad == sorted(bad, reverse=True)
    assert bad[0] > bad[-1]


def test_everything_can_be_done_by_keyboard(realistic: Path, open_page: Open) -> None:
    page = open_page(realistic)
    page.locator(".matrix button.cell").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    focused = page.locator(".matrix tbody tr").nth(1).locator("button.cell").nth(1)
    expect(focused).to_be_focused()

    page.keyboard.press("Enter")
    expect(page.locator("#detail")).to_be_visible()
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")

    expect(page.locator("#detail")).not_to_be_visible()
    expect(focused).to_be_focused()


def test_the_matrix_is_one_stop_in_the_tab_order(realistic: Path, open_page: Open) -> None:
    page = open_page(realistic)

    assert page.locator('.matrix button[tabindex="0"]').count() == 1


def hostile_cell() -> CellResult:
    template = healed_cell()
    exchange = Exchange(stage="plan", prompt=HOSTILE, reply=HOSTILE, usage=Usage(calls=1))
    step = StepResult(
        step_index=1, ok=False, status="failed", error=HOSTILE, log_tail=HOSTILE, context=HOSTILE
    )
    plan = (template.attempts[0].plan_steps[0].model_copy(update={"description": HOSTILE}),)
    attempt = template.attempts[0].model_copy(
        update={
            "code": f"# Step 1\nprint('''{HOSTILE}''')\n{HOSTILE}",
            "code_diff": f"+{HOSTILE}\n-{HOSTILE}",
            "plan_text": HOSTILE,
            "plan_steps": plan,
            "plan_question": HOSTILE,
            "step_results": (step,),
            "formatted_errors": (HOSTILE,),
            "answer": {HOSTILE: HOSTILE},
            "exchanges": (exchange,),
            "final_url": "javascript:document.title='owned'",
            "final_screenshot": "../../../x.png",
            "checks": (
                template.attempts[0]
                .checks[0]
                .model_copy(update={"expected": HOSTILE, "actual": HOSTILE, "message": HOSTILE}),
            ),
        }
    )
    return cell(
        CellKey(HOSTILE, HOSTILE),
        "failed",
        user_task=HOSTILE,
        reason=HOSTILE,
        entry_url="javascript:document.title='owned'",
        tags=(HOSTILE,),
        attempts=(attempt,),
    )


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path, open_page: Open) -> None:
    folder = report_on(
        tmp_path,
        hostile_cell(),
        settings={HOSTILE: {"value": HOSTILE, "source": HOSTILE}},
        environment={HOSTILE: HOSTILE},
    )
    page = open_page(folder)

    page.locator(".matrix button.cell").click()
    for summary in page.locator("#detail summary").all():
        summary.click()

    expect(page.locator("#detail .task")).to_contain_text("</script><img src=x onerror=")
    expect(page.locator("#detail .task")).to_contain_text("{{7*7}}<b>&amp;\\u001b[31m\\u202egpj")
    assert page.locator("img, b:has(img), iframe, script:not([type])").count() == 0
    assert page.locator('a[href^="javascript"]').count() == 0
    assert page.title() == "autoweb report 20261121_093000_000"


def test_the_policy_stops_markup_that_gets_in_by_force(realistic: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((realistic / "index.html").as_uri())

    page.evaluate(
        """() => document.body.insertAdjacentHTML("beforeend",
            "<img src='https://evil.example/x' onerror='document.title=1'>" +
            "<p style='position:fixed'>x</p><a onclick='document.title=2' id=trap>x</a>")"""
    )
    page.evaluate("() => document.getElementById('trap').click()")

    assert page.title() == "autoweb report 20261121_093000_000"
    assert (
        page.evaluate("() => getComputedStyle(document.body.querySelector('p[style]')).position")
        == "static"
    )
    page.close()


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(realistic: Path, open_page: Open, scheme: str) -> None:
    page = open_page(realistic, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    for summary in page.locator("details.more > summary, .ran > summary").all():
        summary.click()

    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    cell_button(page, healed_cell()).click()
    for summary in page.locator("#detail summary").all():
        summary.click()
    assert page.evaluate("() => document.getElementById('detail').scrollWidth") <= 390


def test_light_and_dark_follow_the_system_and_the_switch(realistic: Path, open_page: Open) -> None:
    page = open_page(realistic, color_scheme="dark")
    background = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)

    page.get_by_role("button", name="Switch between light and dark").click()
    light = page.evaluate(background)
    page.reload()

    assert dark != light
    assert page.evaluate(background) == light


def test_text_in_other_scripts_keeps_its_direction(realistic: Path, open_page: Open) -> None:
    page = open_page(realistic)

    row = page.locator(".matrix tbody tr", has_text="rtl-settings")

    assert row.locator(".case-task").evaluate("e => getComputedStyle(e).direction") == "rtl"


def test_an_empty_run_says_how_to_fill_it(tmp_path: Path, open_page: Open) -> None:
    write_report(tmp_path, max_chars=8_000_000)

    page = open_page(tmp_path)

    expect(page.get_by_role("heading", name="No cells were run")).to_be_visible()
    expect(page.get_by_text("--autoweb-models=")).to_be_visible()


def test_a_broken_control_is_named_and_can_be_opened(tmp_path: Path, open_page: Open) -> None:
    noop = cell(CellKey("login", "builtin/noop"), "passed")
    page = open_page(report_on(tmp_path, noop, cell(CellKey("login", "m"))))

    expect(page.get_by_text("1 case in doubt")).to_be_visible()
    page.get_by_role("button", name="broken", exact=True).click()

    expect(page.get_by_role("dialog")).to_contain_text("builtin/noop")


def test_a_run_of_controls_alone_shows_them_in_the_matrix(tmp_path: Path, open_page: Open) -> None:
    oracle, noop = (cell(CellKey("login", f"builtin/{name}")) for name in ("oracle", "noop"))
    page = open_page(report_on(tmp_path, oracle, noop))

    expect(page.get_by_role("heading", level=1)).to_have_text("Controls of 1 case")
    expect(page.locator(".matrix thead th")).to_have_text(
        ["Case", "builtin/oracle", "builtin/noop"]
    )


def test_repeats_and_capture_modes_share_the_matrix(tmp_path: Path, open_page: Open) -> None:
    cells = [
        cell(CellKey("a", "m", mode, repeat))
        for mode in ("ARIA", "RAW_HTML")
        for repeat in (1, 2, 3)
    ]
    page = open_page(report_on(tmp_path, *cells))

    expect(page.locator(".matrix thead .mode")).to_have_text(["ARIA", "RAW_HTML"])
    expect(page.locator(".matrix td").first.locator("button.cell")).to_have_count(3)


@pytest.mark.long
def test_a_cell_of_many_opens(tmp_path: Path, open_page: Open) -> None:
    """`benchmarks/report.py` has the times, also of 10,000 cells."""
    samples = [c for c in realistic_cells() if not c.model.startswith("builtin/")]
    cells = []
    for i in range(300):
        key = CellKey(f"case-{i // 10}", f"vendor/model-{i % 10}")
        names = {"case_id": key.case_id, "model": key.model, "folder": key.folder}
        cells.append(samples[i % len(samples)].model_copy(update=names))
    report = plain(build_report(RecordedRun(tmp_path, run_info(cells), tuple(cells))))
    write_text_atomic(tmp_path / "index.html", render_html(shorten(report, 1_200_000), {}))

    page = open_page(tmp_path)
    expect(page.locator(".matrix button.cell")).to_have_count(300)
    page.locator(".matrix button.cell").nth(150).click()

    expect(page.locator("#detail .detail-head")).to_be_visible()


def test_the_report_says_on_which_cases_rates_stand_and_compares_modes(
    tmp_path: Path, open_page: Open
) -> None:
    cells = [
        *(cell(CellKey("a", "m", mode)) for mode in ("ARIA", "RAW_HTML")),
        *(cell(CellKey(c, "n", "ARIA"), any_capture=True) for c in ("a", "b")),
    ]
    page = open_page(report_on(tmp_path, *cells))

    told = page.locator(".other-cases")
    expect(told.filter(has_text="without b")).to_have_text(
        "on 1 case, without b; on the 1 case common to all models: 100% → 100%"
    )
    page.get_by_role("button", name="Two capture modes").click()
    expect(page.locator(".compare thead")).to_contain_text("m in RAW_HTML")


def test_turns_and_errors_corrected_on_the_way_are_counted(tmp_path: Path, open_page: Open) -> None:
    steps = (
        StepResult(step_index=1, ok=False, status="corrected", error="TimeoutError: late"),
        StepResult(step_index=2, ok=True, status="ok"),
    )
    attempt = Attempt(turns=3, step_results=steps, executed=True, checks_passed=True)
    page = open_page(report_on(tmp_path, cell(CellKey("a", "m@turns"), attempts=(attempt,))))

    page.locator(".matrix .cell").first.click()

    detail = page.locator("dialog, .detail").first
    expect(detail).to_contain_text("3 turns, 1 error corrected on the way")
    expect(detail).to_contain_text("TimeoutError: late")


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of 720 cells in parts, with pictures beside the page."""
    monkeypatch.setattr(large_report, "IN_ONE_FILE", 0)
    monkeypatch.setattr(large_report, "PART_CHARS", 100_000)
    cells = [
        each.model_copy(update={"case_id": key.case_id, "folder": key.folder, "reason": HOSTILE})
        for copy in range(12)
        for each in realistic_cells()
        for key in [CellKey(f"{each.case_id}-{copy}", each.model)]
    ]
    save_screenshots(save_run(tmp_path, cells), cells)
    write_report(tmp_path, max_chars=8_000_000)
    return tmp_path


@pytest.mark.long
def test_cells_of_a_large_run_come_from_files_beside_the_page(large: Path, open_page: Open) -> None:
    page = open_page(large)
    button = page.locator(".matrix button.is-failed").first
    button.click()

    body = page.locator("#detail")
    expect(body.locator(".steps li").first).to_contain_text("Fill in the user name")
    expect(body.locator(".reason").first).to_contain_text("<img src=x onerror=")
    picture = body.locator("img").first
    expect(picture).to_have_js_property("naturalWidth", 640)
    assert picture.evaluate("node => node.src").startswith("file:")
    body.get_by_text("Prompts and replies").click()
    body.get_by_text("plan ·").last.click()
    expect(body).to_contain_text("MODE: PLAN_ONLY")
    title = body.locator("#detail-title").inner_text()
    page.get_by_role("button", name="Next").click()
    expect(body.locator(".metrics")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".matrix button.cell:focus")).to_have_count(1)

    again = open_page(large, "#" + (button.get_attribute("data-key") or ""))
    expect(again.locator("#detail-title")).to_have_text(title)
    assert page.title().startswith("autoweb report")


@pytest.mark.long
def test_of_many_rows_those_near_the_view_are_drawn(large: Path, open_page: Open) -> None:
    page = open_page(large)
    cells = page.locator(".matrix button.cell")
    cells.first.focus()
    assert cells.count() < 200
    first = page.locator(".matrix button.cell:focus").get_attribute("aria-label")

    page.keyboard.press("End")
    page.keyboard.press("PageUp")
    page.keyboard.press("PageDown")
    for _ in range(150):
        page.keyboard.press("ArrowDown")

    last = page.locator(".matrix button.cell:focus")
    expect(last).to_be_in_viewport()
    assert last.get_attribute("aria-label") != first
    assert cells.count() < 300
    row = page.locator(".matrix tr:has(button.cell:focus)")
    assert row.get_attribute("aria-rowindex") == page.locator(".matrix").get_attribute(
        "aria-rowcount"
    )
    page.get_by_role("searchbox").fill("user-admin-7")
    expect(page.locator(".matrix tbody tr")).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    expect(page.get_by_role("status").first).to_contain_text("Open one")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(cells).to_have_count(432)


def test_a_part_answers_only_to_its_own_report(large: Path, open_page: Open) -> None:
    (large / "thief.html").write_text(
        "<iframe src='details/0.html'></iframe><script>let got = 0;"
        "addEventListener('message', () => got++);"
        "const ask = () => document.querySelector('iframe').contentWindow"
        ".postMessage({key: '', place: 0, asked: 1}, '*')</script>"
    )
    page = open_page(large)
    page.goto((large / "thief.html").as_uri())

    page.evaluate("ask()")
    page.wait_for_timeout(300)

    assert page.evaluate("got") == 0


@pytest.mark.long
def test_a_page_sent_alone_says_where_its_details_are(large: Path, browser: Browser) -> None:
    (large / "details").rename(large / "elsewhere")
    page = browser.new_page()
    page.goto((large / "index.html").as_uri())
    page.locator(".matrix button.cell").first.click()

    expect(page.locator("#detail")).to_contain_text("could not be loaded", timeout=20_000)
    expect(page.locator("#detail")).to_contain_text("cell.json")
    page.close()
