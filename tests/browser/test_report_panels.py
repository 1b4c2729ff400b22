"""Panels of the user's own as the report's page draws them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, save_run
from playwright.sync_api import Browser, Page, expect

from pytest_autoweb.report.json_report import PanelContent, Report
from pytest_autoweb.report.panels import Panel
from pytest_autoweb.report.write import write_report
from pytest_autoweb.session.registration import Registry

MARKUP = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'"


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page of a run whose project added two panels, one of them faulty."""
    registry = Registry()
    registry.add_report_panel(Panel("lengths", f"Lengths {MARKUP}", "of tasks", lengths, order=250))
    registry.add_report_panel(Panel("faulty", "Faulty", "fails", faulty))
    try:
        save_run(tmp_path, [cell(CellKey(name, "m")) for name in ("a", "b")])
        write_report(tmp_path, max_chars=8_000_000)
    finally:
        registry.undo()
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    yield page
    context.close()


def lengths(report: Report) -> PanelContent:
    return PanelContent(
        note=f"note {MARKUP}",
        facts={f"fact {MARKUP}": MARKUP, "unknown": None},
        columns=("case", MARKUP),
        rows=tuple((case.id + MARKUP, len(case.user_task)) for case in report.cases),
    )


def faulty(report: Report) -> PanelContent:
    raise LookupError(MARKUP)


def test_a_panel_of_the_project_stands_in_its_place_and_its_markup_stays_text(opened: Page) -> None:
    panel = opened.locator("section[aria-labelledby=panel-lengths]")

    expect(panel.get_by_role("heading")).to_have_text(f"Lengths {MARKUP}")
    expect(panel.locator("dd").first).to_have_text(MARKUP)
    expect(panel.locator("dd").last).to_have_text("–")
    expect(panel.locator("th.num")).to_have_text(MARKUP)
    expect(panel.locator("tbody td:first-child")).to_have_text(["a" + MARKUP, "b" + MARKUP])
    failed = opened.locator("section[aria-labelledby=panel-faulty]")
    expect(failed).to_contain_text(f"panel faulty failed: LookupError: {MARKUP}")
    headings = opened.locator("main > section h2[id]")
    ids = [heading.get_attribute("id") for heading in headings.all()]
    assert ids[:3] == ["failed-heading", "models-heading", "panel-lengths"]
    assert ids[-1] == "panel-faulty"
    assert opened.locator("main img[src=x]").count() == 0
    assert opened.title() != "owned"
    expect(opened.locator("nav.contents a", has_text="Faulty")).to_have_attribute(
        "href", "#panel-faulty"
    )
