"""Decisions in the report's page: made-up ones for how they look, real ones for what they say."""

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from acting import act
from made_up_decisions import DECISIONS, sight_cell
from made_up_picture import PICTURE
from made_up_run import save_run
from playwright.sync_api import Browser, Page, expect

from pytest_autoweb.models.messages import Request
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.decision_facts import decision_facts
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.testing import Faults, FaultyClient, Right

SHOP = Path(__file__).parents[2] / "cases" / "apps" / "town"
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">{{7*7}}\u202egpj"


def saved(folder: Path, *cells: CellResult) -> Path:
    """The report of these cells, their decisions' pictures drawn."""
    save_run(folder, list(cells))
    for result in cells:
        for attempt in result.attempts:
            for decision in attempt.decisions:
                for picture in filter(None, (decision.picture, decision.second_picture)):
                    target = folder / result.folder / picture
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(PICTURE)
    write_report(folder, max_chars=8_000_000)
    return folder


def hostile_cell() -> CellResult:
    first = DECISIONS[0]
    [chosen] = first.chosen
    texts = {"expected_text": HOSTILE, "actual_text": HOSTILE, "reason": HOSTILE, "kind": HOSTILE}
    decision = first.model_copy(
        update={
            "action": {"action": HOSTILE, "mark_id": 1, "text": HOSTILE, HOSTILE: [HOSTILE]},
            "thinking": HOSTILE,
            "feedback": (HOSTILE,),
            "error": HOSTILE,
            "url": HOSTILE,
            "phase": HOSTILE,
            "picture": "../../../secret.png",
            "chosen": (chosen.model_copy(update=texts),),
        }
    )
    result = sight_cell("fake/hostile")
    attempts = (result.attempts[0].model_copy(update={"decisions": (decision,)}),)
    return sight_cell("fake/hostile", attempts=attempts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sight")
    return saved(home / "run", sight_cell(), hostile_cell())


def opened(page: Page, folder: Path, model: str = "") -> Page:
    # An error of the page before may still be on its way.
    page.goto("about:blank")
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    key = f"#{sight_cell(model).folder.removeprefix('cells/')}" if model else ""
    page.goto(f"{(folder / 'index.html').as_uri()}{key}")
    assert complaints == []
    return page


def test_each_decision_is_a_card_with_choice_verdict_and_feedback(
    kept_page: Page, folder: Path
) -> None:
    page = opened(kept_page, folder, "fake/seeing")

    cards = page.locator(".decision")
    expect(cards).to_have_count(len(DECISIONS))
    refused, overridden, typed, failed, invalid = (cards.nth(i) for i in range(5))
    expect(refused).to_contain_text("refused: nothing was done")
    expect(refused.locator(".choice")).to_contain_text("expectedNext pageactualPrevious page")
    refused.get_by_text("Thinking").click()
    expect(refused.locator("pre")).to_contain_text("<b>5</b> looks right.")
    expect(overridden.locator(".feedback li")).to_have_text(DECISIONS[1].feedback[0])
    expect(overridden.locator(".choice")).to_contain_text("14 → 16the text decided")
    expect(typed).to_contain_text("textchamber")
    expect(typed).to_contain_text("second look · 2 model calls")
    closer = typed.get_by_role("button", name="Enlarge: The second look at decision 3")
    expect(closer).to_be_visible()
    expect(failed.locator(".error")).to_contain_text("another element covers the button")
    expect(invalid).to_contain_text("no decision")


def test_the_chosen_mark_is_ringed_and_the_picture_opens_by_keyboard(
    kept_page: Page, folder: Path
) -> None:
    page = opened(kept_page, folder, "fake/seeing")

    thumbnail = page.get_by_role("button", name="Enlarge: The page with its marks at decision 1")
    thumbnail.press("Enter")

    zoom = page.locator("#zoom")
    expect(zoom).to_be_visible()
    picture, ring = zoom.locator("img").bounding_box(), zoom.locator(".ring-spot").bounding_box()
    assert picture is not None
    assert ring is not None
    x, y, width, height = (60, 330, 90, 30)
    scale = picture["width"] / 640
    assert ring["x"] + ring["width"] / 2 - picture["x"] == pytest.approx(
        (x + width / 2) * scale, abs=2
    )
    assert ring["y"] + ring["height"] / 2 - picture["y"] == pytest.approx(
        (y + height / 2) * scale, abs=2
    )
    page.keyboard.press("Escape")
    expect(zoom).to_be_hidden()
    expect(page.locator("#detail")).to_be_visible()


def test_page_and_model_text_stays_text(kept_page: Page, folder: Path) -> None:
    page = opened(kept_page, folder, "fake/hostile")

    card = page.locator(".decision")
    card.get_by_text("Thinking").click()
    expect(card.locator("pre")).to_contain_text("</script><img src=x")
    assert card.locator("img").count() == 0
    assert "owned" not in page.title()
    assert "\u202e" not in card.inner_text()
    assert card.locator("a").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_phone(browser: Browser, folder: Path, scheme: Any) -> None:
    with browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme=scheme
    ) as context:
        page = opened(context.new_page(), folder, "fake/seeing")
        expect(page.locator(".decision").first).to_be_visible()

        widths = page.evaluate(
            "['html', '#detail'].map((place) => document.querySelector(place).scrollWidth)"
        )
        assert max(widths) <= 390


def test_the_first_page_says_how_far_choices_and_confidence_hold(
    kept_page: Page, folder: Path
) -> None:
    page = opened(kept_page, folder)

    part = page.locator("section:has(#decisions-heading)")
    expect(part.locator("tbody tr").first).to_contain_text("fake/seeing5210011121111 of 1")
    cut = part.locator(".scroll-x").evaluate("(box) => box.scrollWidth - box.clientWidth")
    name = part.locator("tbody td").first.evaluate("(cell) => cell.clientWidth")
    assert (cut, name >= 130) == (0, True)
    expect(part).to_contain_text("Brier 0.372, ECE 0.467, n = 3")
    expect(part.get_by_role("img").first).to_have_attribute(
        "aria-label",
        "Reliability of the confidence of fake/seeing. confidence 55%: "
        "right 0% of 1; confidence 92%: right 50% of 2.",
    )


class Shop(SimpleHTTPRequestHandler):
    """The town's shop; deeds are taken note of."""

    def __init__(self, *args: Any, deeds: list[dict[str, str]], **kwargs: Any) -> None:
        self.deeds = deeds
        super().__init__(*args, **kwargs)

    def do_POST(self) -> None:
        self.deeds.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[tuple[str, list[dict[str, str]]]]:
    deeds: list[dict[str, str]] = []
    handler = partial(Shop, deeds=deeds, directory=str(SHOP))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/tickets.html", deeds
    server.shutdown()
    server.server_close()


def next_step(prompt: str) -> Right:
    """Twice a guided tour, then plain tickets: three deeds, and no other."""
    done = prompt.partition("Already done:")[2].partition("```")[0]
    if done.count("click") < 2:
        return Right({"action": "click"}, '"Book a guided tour"', "Book a guided tour")
    if done.count("click") < 3:
        return Right({"action": "click"}, '"Book"', "Book")
    return Right({"action": "done"})


@pytest.mark.long
def test_a_fake_that_errs_does_only_what_is_right_and_the_report_says_why(
    browser: Browser, shop: tuple[str, list[dict[str, str]]], tmp_path: Path
) -> None:
    url, deeds = shop
    fake = FaultyClient(next_step, Faults(swap=0.5, drop=0.3, heeds=1.0), seed=4)

    def reply(request: Request) -> str:
        return fake.complete(request).text

    result, _ = act(browser, tmp_path, {"entry_url": url}, [reply])

    assert [deed["what"] for deed in deeds] == ["book a tour", "book a tour", "book"]
    assert result.outcome == "passed"
    slips = fake.slips
    [facts] = decision_facts([result])
    assert (facts.decisions, facts.performed) == (len(slips), 4)
    assert facts.overridden == sum(s.kind == "swapped" and s.text != "" for s in slips) > 0
    assert facts.refused == sum(s.text == "" and s.right is not None for s in slips) > 0
    save_run(tmp_path / "run", [result])
    write_report(tmp_path / "run", max_chars=8_000_000)
    page = browser.new_page()
    page.goto(f"{(tmp_path / 'run' / 'index.html').as_uri()}#one")
    expect(page.locator(".decision .ring-spot")).to_have_count(len(slips) - 1)
    expect(page.locator(".decision .feedback")).to_have_count(facts.refused)
    page.close()
