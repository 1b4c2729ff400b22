"""What a reader came for: what failed and why, and the pictures that show it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_up_picture import PICTURE
from made_up_run import CellKey, cell, run_info, save_run
from playwright.sync_api import Browser, Locator, Page, expect

from pytest_autoweb.report.html_page import render_html
from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    CheckResult,
    Failure,
    FilmFrame,
    Scene,
    StepResult,
    Usage,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import plain

HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script>\u202egpj"
OWN_SERVER = "http://127.0.0.1:43567/login"


def check(actual: str) -> tuple[CheckResult, ...]:
    url = CheckResult(index=0, type="url", passed=True, expected="**/ticket", actual="/ticket")
    sql = CheckResult(index=1, type="sql", passed=False, expected="Incident", actual=actual)
    return url, sql


def failed_cell(case: str, model: str, actual: str, **changes: Any) -> CellResult:
    """A cell whose first attempt failed a check, and whose repair broke."""
    message = f"check 1 (sql) does not hold: expected Incident, saw {actual}"
    failure = Failure(kind="check", message=message)
    steps = tuple(
        StepResult(
            step_index=n,
            ok=True,
            status="ok",
            description=f"step {n} {actual}",
            screenshot=f"attempt-1/step-{n}.png",
        )
        for n in (1, 2)
    )
    film = (
        FilmFrame(at_ms=120, picture="attempt-1/opened.png", moment="opened"),
        FilmFrame(at_ms=900, picture="attempt-1/step-1.png", moment="step", step_index=1),
        FilmFrame(at_ms=2400, picture="attempt-1/step-2.png", moment="step", step_index=2),
    )
    first = Attempt(
        code="# Step 1\npage.click()",
        executed=True,
        checks=check(actual),
        checks_passed=False,
        failure=failure,
        step_results=steps,
        film=film,
        scene=Scene(step_index=2, check_index=1, url=OWN_SERVER, screenshot="attempt-1/step-2.png"),
        final_screenshot="attempt-1/step-2.png",
        evidence={"server": "attempt-1/server.json"},
    )
    broke = Failure(kind="model", message="repair: empty: nothing scripted")
    second = Attempt(attempt_index=2, repair_attempt=True, failure=broke)
    reason = f"{message} (the repair broke: {broke.message})"
    return cell(
        CellKey(case, model),
        "failed",
        reason=reason,
        failure=failure,
        attempts=(first, second),
        entry_url=OWN_SERVER,
        **changes,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a good model and one that fails two of three cases."""
    folder = tmp_path_factory.mktemp("run")
    broken = Failure(kind="navigation", message="nothing answers at http://127.0.0.1:1")
    cells = [
        *(cell(CellKey(case, "fake/good")) for case in ("ticket", "login", "hostile")),
        failed_cell("ticket", "fake/lazy", "Code_Defect"),
        failed_cell("hostile", "fake/lazy", HOSTILE),
        cell(CellKey("login", "fake/lazy"), "broken", reason=broken.message, failure=broken),
    ]
    save_run(folder, cells)
    for result in cells:
        for attempt in result.attempts:
            for number, frame in enumerate(attempt.film):
                file = folder / result.folder / frame.picture
                file.parent.mkdir(parents=True, exist_ok=True)
                # A page of the same picture would show three times the same.
                file.write_bytes(PICTURE + bytes([number]))
    write_report(folder, max_chars=8_000_000)
    return folder


@pytest.fixture
def page(browser: Browser, folder: Path) -> Iterator[Page]:
    """The report; the test fails when the page reports an error on its console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = context.new_page(), []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((folder / "index.html").as_uri())
    yield page
    assert page.title().startswith("autoweb report")
    context.close()
    assert complaints == []


def failures(page: Page) -> Locator:
    return page.locator("section.failed")


def opened(page: Page, case: str = "ticket") -> Locator:
    failures(page).get_by_role("link", name=case).click()
    return page.locator("#detail")


def shown(dialog: Locator) -> str | None:
    return dialog.locator(".pictured .seen img").get_attribute("src")


def test_the_first_words_are_what_failed_and_why_and_lead_to_the_cell(page: Page) -> None:
    expect(page.locator("main h2").first).to_have_text("2 failed, 1 broken")
    row = failures(page).locator("li", has_text="ticket on fake/lazy")
    expect(row).to_contain_text("check 2 sql: saw Code_Defect")
    expect(failures(page).locator("li").last).to_contain_text("nothing answers at")
    expect(failures(page).locator("li", has_text="hostile")).to_contain_text("<img src=x")
    assert page.locator("img[src=x]").count() == 0

    dialog = opened(page)

    expect(dialog.get_by_role("heading", level=2)).to_have_text("ticket")
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


@pytest.mark.long
def test_a_cell_opens_on_the_attempt_that_decided_with_its_sentence_once(page: Page) -> None:
    dialog = opened(page)

    first = dialog.get_by_role("tab", name="First attempt")
    expect(first).to_have_attribute("aria-selected", "true")
    expect(dialog.get_by_text("check 1 (sql) does not hold")).to_have_count(1)
    dialog.get_by_role("tab", name="Repair 1").click()
    # The sentence on the cell has this one's, too.
    expect(dialog.get_by_text("repair: empty: nothing scripted")).to_have_count(1)


@pytest.mark.long
def test_the_page_that_a_check_saw_stands_large_beside_it_and_is_one_of_a_film(page: Page) -> None:
    dialog = opened(page)
    caption = dialog.locator(".pictured figcaption")

    expect(caption).to_have_text("The page when check 2 was looked at · 2.4 s")
    at, beside = dialog.locator(".pictured .seen").bounding_box(), dialog.locator(".checks")
    checks = beside.bounding_box()
    assert at
    assert checks
    assert at["width"] > 400
    assert abs(at["y"] - checks["y"]) < 80
    decided = shown(dialog)
    assert dialog.locator("img").count() == 1

    slider = dialog.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(caption).to_have_text("The entry page · 120 ms")
    assert shown(dialog) != decided
    page.keyboard.press("ArrowRight")
    expect(caption).to_have_text("After step 1: step 1 Code_Defect · 900 ms")
    dialog.get_by_role("button", name="Show the picture of step 2").click()
    assert shown(dialog) == decided


@pytest.mark.long
def test_a_film_plays_to_its_end_and_a_picture_can_be_enlarged(page: Page) -> None:
    dialog = opened(page)
    play = dialog.get_by_role("button", name="Play")

    # From the end it begins anew.
    play.click()
    expect(dialog.locator(".pictured figcaption")).to_contain_text("The entry page")
    expect(dialog.get_by_role("button", name="Pause")).to_be_visible()
    expect(dialog.locator(".pictured figcaption")).to_contain_text("The page when check 2")
    expect(play).to_be_visible()

    dialog.get_by_role("button", name="Enlarge: The page when check 2 was looked at").click()
    expect(page.locator("#zoom img")).to_be_visible()


def test_a_server_of_the_run_is_no_link_and_machine_words_are_not_there(page: Page) -> None:
    dialog = opened(page)

    expect(dialog.locator(".starts")).to_contain_text("/login on the web server that the run")
    assert dialog.locator('a[href*="43567"]').count() == 0
    for word in ("ARIA_SNAPSHOT", "Worker", "exit status"):
        expect(page.get_by_text(word, exact=True).locator("visible=true")).to_have_count(0)


def page_text(browser: Browser, tmp_path: Path, *cells: CellResult, **info: Any) -> Page:
    run = RecordedRun(Path(), run_info(list(cells), **info), cells)
    file = tmp_path / "page.html"
    file.write_text(render_html(plain(build_report(run, None)), {}), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    return page


def free(case: str, model: str, *, passes: bool) -> CellResult:
    """A cell that was repaired in vain if it does not pass."""
    good = Attempt(executed=True, checks_passed=True)
    bad = Attempt(executed=True, checks_passed=False, classification=None)
    return cell(
        CellKey(case, model),
        "passed" if passes else "failed",
        attempts=(good,) if passes else (bad, bad.model_copy(update={"attempt_index": 2})),
        usage={"generate": Usage(calls=1, cost_usd=0.0)},
    )


def test_equal_rates_stand_once_and_panels_that_say_nothing_are_not_there(
    browser: Browser, tmp_path: Path
) -> None:
    models = {"fake/good": True, "fake/lazy": False}
    cells = [free(f"c{n}", model, passes=good) for model, good in models.items() for n in range(7)]
    page = page_text(browser, tmp_path, *cells)

    board = page.locator(".board")
    expect(board.get_by_text("100%", exact=False)).to_have_count(1)
    expect(board.get_by_text("graded")).to_have_count(0)
    expect(board.get_by_text("none of 7 repairs helped")).to_be_visible()
    expect(page.get_by_text("fake/good passes more")).to_have_count(1)
    names = page.locator(".sides tbody th")
    expect(names).to_have_text(
        [
            "Compared cases, first attempt",
            "Time of a compared cell, mean",
            "The same, median over cases",
        ]
    )
    expect(page.get_by_text("unknown")).to_have_count(0)
    headings = page.locator("main h2[id]").all_inner_texts()
    assert headings == ["7 failed", "Models", "Compare two", "Cells", "Slowest"]
    page.close()


def test_a_run_in_which_all_passed_says_so_first(browser: Browser, tmp_path: Path) -> None:
    page = page_text(browser, tmp_path, *(cell(CellKey(f"c{n}", "m")) for n in range(3)))

    expect(page.locator("main h2").first).to_have_text("Nothing failed: 3 cells passed")
    page.close()


def test_the_same_reason_on_servers_of_their_own_is_told_once(
    browser: Browser, tmp_path: Path
) -> None:
    def lost(case: str, port: int) -> CellResult:
        why = f"check 1 url: saw http://127.0.0.1:{port}/cart"
        return cell(CellKey(case, "fake/lazy"), "failed", reason=why)

    page = page_text(browser, tmp_path, lost("a", 54031), lost("b", 33133), lost("c", 8000))

    rows = failures(page).locator("li")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("a, b on fake/lazy")
    page.close()
