"""The dashboard in a real browser: signing in, finding a cell's report, by keyboard, on a phone."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dashboard_server import TOKEN, dashboard
from made_up_run import realistic_cells
from made_up_runs import save
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_playwright import CreateContextCallback

from pytest_autoweb.report.write import write_report
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.sync import sync_run

SIGN_IN = "Failed to load resource: the server responded with a status of 401 (Unauthorized)"
TREND = "/trends?model=openai/gpt-5-mini"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("runs")
    with Store(read_address(f"sqlite:///{home}/runs.db")) as store:
        for day in range(2):
            sync_run(store, _run(home / f"run{day}", day))
        write_report(home / "run0", max_chars=8_000_000, analysis=None)
        with dashboard(store) as address:
            yield address


def _run(folder: Path, day: int) -> Path:
    began = datetime.now(UTC) - timedelta(days=3 - day)
    cells = [one.model_copy(update={"started": began}) for one in realistic_cells(seed=day)]
    return save(folder, cells, started=began, ts=f"{began:%Y%m%d_%H%M%S}_000")


@pytest.fixture(scope="module")
def signed_in(browser: Browser, address: str) -> Iterator[BrowserContext]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/#token={TOKEN}")
    expect(page.get_by_role("heading", name="Tool calls")).to_be_visible()
    page.close()
    yield context
    context.close()


@pytest.fixture
def page(signed_in: BrowserContext) -> Iterator[Page]:
    page = signed_in.new_page()
    yield page
    page.close()


@pytest.mark.long
def test_the_printed_address_signs_in_once_and_leaves_no_token_behind(
    new_context: CreateContextCallback, address: str
) -> None:
    page = new_context().new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{address}/#token=not-the-token-of-this-server")
    expect(page.get_by_text("This token does not belong to this server")).to_be_visible()
    page.goto("about:blank")
    page.goto(f"{address}/#token={TOKEN}")
    expect(page.get_by_role("heading", name="Tool calls")).to_be_visible()

    assert page.url == f"{address}/"
    assert page.evaluate("document.cookie") == ""
    page.goto(f"{address}/runs")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    assert set(said) == {SIGN_IN}


@pytest.mark.long
def test_the_keyboard_leads_from_the_overview_to_a_cell_in_its_report(
    page: Page, address: str
) -> None:
    page.goto(f"{address}/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_text("Numbers of 2 runs").first.focus()
    page.keyboard.press("Enter")
    table = page.get_by_role("region", name="Runs of local/qwen2.5-coder-1.5b")
    expect(table).to_be_visible()
    table.get_by_role("link").last.press("Enter")
    page.get_by_role("row").filter(has_text="openai/gpt-5-mini").get_by_role("link").first.press(
        "Enter"
    )
    expect(page.get_by_role("heading", name="Attempt 1")).to_be_visible()
    page.get_by_role("link", name="Open it in the report").press("Enter")

    # A report of sixty cells takes its time to draw itself on a busy machine.
    expect(page.get_by_role("dialog")).to_contain_text("openai/gpt-5-mini", timeout=20_000)
    # The report has an origin of its own: none of the dashboard's rights.
    answer = page.evaluate("fetch('/api/runs').then(r => r.status, () => 'refused')")
    assert answer == "refused"


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_scrolls_sideways_on_a_phone_and_text_stands_out(
    page: Page, address: str, scheme: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    run = page.request.get(f"{address}/api/runs").json()[1]["id"]
    cell = page.request.get(f"{address}/api/runs/{run}").json()["cells"][0]["id"]
    below = (f"/runs/{run}", f"/cells/{cell}", "/tools/locator.click", TREND)
    for path in ("/", "/runs", *below, "/docs"):
        page.goto(f"{address}{path}")

        assert page.evaluate("document.documentElement.scrollWidth") == 390, path
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == ("rgb(21, 21, 23)" if scheme == "dark" else "rgb(250, 249, 246)")
