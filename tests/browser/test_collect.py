"""Collecting on real pages: ways to turn, politeness, resuming after a kill, a model that errs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from list_site import ListSite
from playwright.sync_api import Page

from pytest_autoweb.agents.choice.feedback import section
from pytest_autoweb.agents.collect.collect_list import Job, collect
from pytest_autoweb.agents.collect.list_site import Site
from pytest_autoweb.agents.collect.page_questions import Guide, GuideQuestion
from pytest_autoweb.agents.collect.saved_state import Collection, CollectProgress, collection_of
from pytest_autoweb.agents.collect.walk import Pacer
from pytest_autoweb.cases.collect_spec import CollectSpec, PageParameter, Rate
from pytest_autoweb.results.records import Decision

XPATH = "//ul[@id='list']/li/a"
GAZETTE = Path(__file__).parents[2] / "cases" / "apps" / "gazette.py"


@pytest.fixture(scope="module")
def lists() -> Iterator[ListSite]:
    site = ListSite()
    yield site
    site.close()


@pytest.fixture(autouse=True)
def _nothing_asked_yet(lists: ListSite) -> None:
    lists.hits.clear()
    lists.refuse.clear()


class Run:
    """One collection on a page, with everything that it did."""

    def __init__(self, page: Page, spec: CollectSpec, url: str, **given: Any) -> None:
        self.slept: list[float] = []
        self.notes: list[str] = []
        page.goto(url)
        self.job = Job(
            site=Site(page, lambda address: True, self.notes.append),
            collection=collection_of(spec, url, "all entries"),
            spec=spec,
            pacer=Pacer(spec.rate, self.slept.append, lambda: 0.5),
            **given,
        )

    def end(self) -> CollectProgress:
        return collect(self.job)


def items(last: int) -> tuple[int, ...]:
    return tuple(range(1, last + 1))


def numbers(progress: CollectProgress) -> tuple[int, ...]:
    return tuple(int(url.rpartition("/")[2]) for url in progress.urls)


@pytest.fixture(scope="module")
def gazette(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ListSite()
    port = server.url.rstrip("/").rpartition(":")[2]
    server.close()
    process = subprocess.Popen([sys.executable, str(GAZETTE), "--port", port])
    url = f"http://127.0.0.1:{port}"
    yield url
    process.kill()
    process.wait()


WAYS: dict[str, tuple[dict[str, Any], int]] = {
    "/books?subject=History": ({"pattern": "**/books/*"}, 12),
    "/notices": ({"xpath": "//tbody[@id='rows']/tr/td[2]/a"}, 23),
    "/articles": ({"xpath": "//ul[@class='entries']/li[not(@class='advert')]/h3/a"}, 21),
    "/jobs": ({"pattern": "**/jobs?id=*"}, 14),
    "/archive": (
        {"pattern": "**/paper/*", "next": PageParameter(parameter="offset", step=10)},
        42,
    ),
}


@pytest.mark.parametrize("path", WAYS)
def test_every_way_to_more_entries_is_taken_to_its_end(
    blank: Page, gazette: str, path: str
) -> None:
    options, count = WAYS[path]
    for _ in range(100):
        try:
            run = Run(blank, CollectSpec(**options, rate=Rate(delay=0)), gazette + path)
            break
        except Exception:
            time.sleep(0.1)
    progress = run.end()

    assert (len(progress.urls), len(set(progress.urls)), progress.status) == (count, count, "done")


def test_limits_end_it_and_a_refusal_is_waited_out(blank: Page, lists: ListSite) -> None:
    lists.refuse["/linked?page=2"] = 2
    spec = CollectSpec(xpath=XPATH, target=10, rate=Rate(delay=1, jitter=0), scroll=False)

    run = Run(blank, spec, lists.url + "linked")
    progress = run.end()

    assert numbers(progress) == items(10)
    assert (progress.status, progress.pause_reason) == ("done", "the target is reached")
    assert run.slept == [1.0, 1.5, 2.25, 2.25]
    assert lists.asked("/linked")["/linked?page=2"] == 3


def test_more_of_a_page_is_asked_for_again_when_it_is_refused(blank: Page, lists: ListSite) -> None:
    lists.refuse["/rows?page=3"] = 1
    spec = CollectSpec(xpath=XPATH, rate=Rate(delay=1, jitter=0), scroll=False)

    run = Run(blank, spec, lists.url + "growing")
    progress = run.end()

    assert numbers(progress) == items(16)
    assert lists.asked("/rows")["/rows?page=3"] == 2
    assert max(run.slept) == 1.5


def test_a_server_that_goes_on_refusing_pauses_the_run_for_a_later_one(
    blank: Page, lists: ListSite, tmp_path: Path
) -> None:
    lists.refuse["/linked?page=3"] = 3
    spec = CollectSpec(xpath=XPATH, pages=4, rate=Rate(delay=0), scroll=False)

    paused = Run(blank, spec, lists.url + "linked", kept=tmp_path).end()
    done = Run(blank, spec, lists.url + "linked", kept=tmp_path).end()

    assert (paused.status, numbers(paused)) == ("paused", items(8))
    assert "503" in paused.pause_reason
    assert (done.status, numbers(done)) == ("done", items(16))


CHILD = """
import sys, time
from pathlib import Path
from playwright.sync_api import sync_playwright
from pytest_autoweb.cases.collect_spec import CollectSpec, Rate
from pytest_autoweb.agents.collect.saved_state import collection_of
from pytest_autoweb.agents.collect.walk import Pacer
from pytest_autoweb.agents.collect.collect_list import Job, collect
from pytest_autoweb.agents.collect.list_site import Site
executable, url, folder = sys.argv[1:]
with sync_playwright() as playwright:
    page = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"]).new_page()
    page.goto(url)
    spec = CollectSpec(xpath="//ul[@id='list']/li/a", rate=Rate(delay=2, jitter=0), scroll=False)
    collect(Job(Site(page, lambda address: True), collection_of(spec, url, "all entries"), spec,
                Pacer(spec.rate, lambda s: time.sleep(s if page.url.endswith("=3") else 0)),
                kept=Path(folder)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.long
def test_a_killed_run_goes_on_without_losing_or_fetching_anything_twice(
    blank: Page, lists: ListSite, tmp_path: Path
) -> None:
    browser = blank.context.browser
    assert browser is not None
    url = lists.url + "linked"
    executable = os.environ.get("AUTOWEB_BROWSER") or browser.browser_type.executable_path
    if not Path(executable).exists():
        executable = "/usr/bin/chromium"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, executable, url, str(tmp_path)], start_new_session=True
    )
    file = tmp_path / "progress.json"
    for _ in range(2400):
        if file.exists() and json.loads(file.read_text())["current_page_num"] == 3:
            break
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    lists.hits.append("killed")
    spec = CollectSpec(xpath=XPATH, rate=Rate(delay=0), scroll=False)
    blank.goto("about:blank")
    run = Job(
        Site(blank, lambda address: True),
        collection_of(spec, url, "all entries"),
        spec,
        Pacer(spec.rate, time.sleep),
        kept=tmp_path,
    )
    progress = collect(run)

    assert lists.hits.index("killed") == [*lists.hits].index("/linked?page=3") + 1
    assert numbers(progress) == items(24)
    assert set(lists.asked("/linked").values()) == {1}
    assert json.loads((tmp_path / "urls.json").read_text()) == list(progress.urls)


@pytest.mark.parametrize("query", ["", "?jump"], ids=["turning", "jumping"])
@pytest.mark.long
def test_a_pager_without_addresses_is_brought_back_to_its_page(
    blank: Page, lists: ListSite, tmp_path: Path, query: str
) -> None:
    spec = CollectSpec(xpath=XPATH, rate=Rate(delay=0), scroll=False)
    url = lists.url + "scripted" + query
    saves: list[int] = []
    stopped = Run(blank, spec, url, kept=tmp_path, over=lambda: len(saves) > 8)
    stopped.job.site.note = lambda line: None
    stopped.job.clean = lambda text: (saves.append(1), text)[1]  # type: ignore[func-returns-value]
    paused = stopped.end()
    again = Run(blank, spec, url, kept=tmp_path)
    done = again.end()

    assert paused.status == "paused"
    assert len(paused.urls) < 24
    assert numbers(done) == items(24)
    assert any("field" in note if query else "turning" in note for note in again.notes)


class Model:
    """Answers each phase from a list of functions; the last one repeats."""

    def __init__(self, **phases: list[Callable[[GuideQuestion], dict[str, Any] | str]]) -> None:
        self.phases, self.questions, self.decisions = (
            phases,
            list[GuideQuestion](),
            list[Decision](),
        )

    def ask(self, question: GuideQuestion) -> str | None:
        self.questions.append(question)
        answers = self.phases[question.phase]
        answer = (answers.pop(0) if len(answers) > 1 else answers[0])(question)
        return answer if isinstance(answer, str) else json.dumps(answer)

    def guide(self) -> Guide:
        return Guide(self.ask, lambda question, decision: self.decisions.append(decision))


def number_of(question: GuideQuestion, text: str) -> int:
    return next(mark.number for mark in question.marked.marks if mark.text == text)


def pick(*texts: str, shift: int = 0) -> Callable[[GuideQuestion], dict[str, Any]]:
    return lambda question: {
        "action": "select_detail_links",
        "mark_id_text_map": {str(number_of(question, text) + shift): text for text in texts},
    }


ENTRIES = [f"Entry number {n}" for n in (1, 2, 4)]


@pytest.mark.long
def test_a_model_explores_and_the_pattern_collects(
    blank: Page, lists: ListSite, tmp_path: Path
) -> None:
    def wrong(question: GuideQuestion) -> dict[str, Any]:
        return {"action": "select_detail_links", "mark_ids": [1], "expected_texts": ["Offers"]}

    def unequal(question: GuideQuestion) -> dict[str, Any]:
        return {"action": "select_detail_links", "mark_ids": [1, 2], "expected_texts": ["About us"]}

    model = Model(explore=[wrong, unequal, pick(*ENTRIES)])
    spec = CollectSpec(navigate=0, rate=Rate(delay=0), scroll=False)
    run = Run(blank, spec, lists.url + "linked", guide=model.guide(), folders=(tmp_path,))
    progress = run.end()

    assert numbers(progress) == items(24)
    assert [d.status for d in model.decisions] == ["refused", "invalid", "performed"]
    assert model.decisions[1].feedback == ("[1] 验证失败: 期望'Offers' 实际'About us'",)
    assert "2 mark_ids but 1 expected_texts" in model.decisions[2].feedback[0]
    assert "/about" not in lists.hits  # what was refused is not visited
    assert lists.hits.count("/item/1") == 1

    saved = Collection.model_validate_json((tmp_path / "collection.json").read_bytes())
    replayed = Run(blank, spec, lists.url + "linked")
    replayed.job.collection = saved

    assert saved.detail_xpath == "//ul[@id='list']/li/a[1]"
    assert numbers(replayed.end()) == items(24)


@pytest.mark.long
def test_of_several_entries_the_right_ones_are_used_and_only_the_others_told(
    blank: Page, lists: ListSite
) -> None:
    def mixed(question: GuideQuestion) -> dict[str, Any]:
        texts = pick(*ENTRIES[:2])(question)["mark_id_text_map"]
        wrong = str(number_of(question, ENTRIES[2]))
        return {"action": "select_detail_links", "mark_id_text_map": {**texts, wrong: "Offers"}}

    model, logged = Model(explore=[mixed, pick(*ENTRIES)]), list[str]()
    guide = model.guide()
    guide.log = logged.append
    spec = CollectSpec(navigate=0, explore=3, rate=Rate(delay=0), scroll=False)
    progress = Run(blank, spec, lists.url + "linked", guide=guide).end()

    assert numbers(progress) == items(24)
    told = section(model.questions[1].problems)
    assert "2 of 3 were used; this one was not." in told
    assert "Nothing was done" not in told
    [refused] = model.decisions[1].feedback
    assert logged == [f"decision 1: {refused}"]


@pytest.mark.long
def test_the_model_finds_a_way_on_that_no_table_knows_after_a_wrong_one(
    blank: Page, lists: ListSite
) -> None:
    def leaf(question: GuideQuestion) -> dict[str, Any]:
        texts = [mark.text for mark in question.marked.marks]
        if "Turn the leaf" not in texts:
            return {"action": "none"}
        number = number_of(question, "Turn the leaf")
        return {"found": True, "mark_id": number, "expected_text": "Turn the leaf"}

    def previous(question: GuideQuestion) -> dict[str, Any]:
        return {"action": "next_page", "mark_id": 1, "expected_text": "Back"}

    model = Model(explore=[pick(*ENTRIES)], paginate=[previous, leaf])
    spec = CollectSpec(navigate=0, rate=Rate(delay=0), scroll=False)
    progress = Run(blank, spec, lists.url + "odd", guide=model.guide()).end()

    assert numbers(progress) == items(12)
    told = [line for decision in model.decisions for line in decision.feedback]
    assert told == [
        "[1] 翻页按钮验证失败: 文本不匹配: 期望包含'Back'，实际是'About us'",
    ]


@pytest.mark.long
def test_without_a_pattern_the_model_chooses_on_every_page(blank: Page, lists: ListSite) -> None:
    def all_of_page(question: GuideQuestion) -> dict[str, Any]:
        texts = {
            str(mark.number): mark.text
            for mark in question.marked.marks
            if mark.text.startswith("Entry") and mark.url not in question.known
        }
        return (
            {"action": "select_detail_links", "mark_id_text_map": texts}
            if texts
            else {"action": "done"}
        )

    model = Model(explore=[pick("About us")], collect=[all_of_page])
    spec = CollectSpec(navigate=0, explore=2, pages=2, rate=Rate(delay=0), scroll=False)
    progress = Run(blank, spec, lists.url + "linked", guide=model.guide()).end()

    assert numbers(progress) == items(8)
    assert progress.collection.has_pattern is False


def test_entries_without_an_address_are_clicked_and_the_list_is_found_again(
    blank: Page, lists: ListSite
) -> None:
    spec = CollectSpec(xpath="//ul[@id='list']/li", rate=Rate(delay=0), scroll=False)
    progress = Run(blank, spec, lists.url + "clicked").end()

    assert numbers(progress) == items(3)
    assert blank.url == lists.url + "clicked"
