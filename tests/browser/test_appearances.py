"""What appears on pages and is gone again, and checks of other tabs than the first one."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from local_site import Site
from playwright.sync_api import Browser, BrowserContext, Page

from pytest_autoweb.cases.source import read_checks
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.evidence.appearances import (
    AppearanceRecord,
    appearances_text,
    read_appearances,
)
from pytest_autoweb.judging.evidence.tabs import TabList
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult

HOME = """<title>Shop</title><h1>Shop</h1><p>Saved searches</p><p id=hidden hidden>Sent</p>
<div id=live aria-live=polite>Ready</div><output id=sum></output><div id=host></div>
<input type=checkbox id=box><p id=css>Unfolded</p><style>#css { display: none }
:checked ~ #css { display: block } .gone { display: none }</style>
<iframe id=inner srcdoc="<p>Inner</p><div id=t></div>"></iframe>
<script>
const shadow = host.attachShadow({mode: 'closed'});
shadow.innerHTML = '<p>Part</p>';
const toast = (text, ms, role, where = document.body) => {
  const made = document.createElement('div');
  if (role) made.setAttribute('role', role);
  made.innerHTML = text;
  where.append(made);
  setTimeout(() => made.remove(), ms);
};
</script>"""
FLASH = "<title>Cart</title><h1>Cart</h1><p>Saved searches</p><p>Put into the cart</p>"


class Watched(NamedTuple):
    page: Page
    record: AppearanceRecord
    tabs: TabList
    site: Site

    def judge(self, check: dict[str, Any], timeout_s: float = 0.0) -> CheckResult:
        evidence = Evidence(
            page=self.page, answered=False, answer=None, appeared=self.record.look, tabs=self.tabs
        )
        (result,) = judge_checks(read_checks([check], (), None), evidence, timeout_s=timeout_s)
        return result


@pytest.fixture
def watched(fresh_context: BrowserContext, site: Site) -> Watched:
    return watch(fresh_context, site)


def watch(context: BrowserContext, site: Site, home: str = HOME) -> Watched:
    site.put("/", home)
    site.put("/cart", FLASH)
    page = context.new_page()
    tabs, record = TabList(page), AppearanceRecord()
    record.start(context, tabs)
    page.goto(site.url)
    record.begin()
    return Watched(page, record, tabs, site)


TOASTS = {
    "a toast": ("toast('Saved', 60)", {"text": "Saved"}),
    "a status": ("toast('Saved', 60, 'status')", {"text": "Saved", "role": "status"}),
    "parts of a toast": (
        "toast('<p>Saved <b>3</b> of</p><p>4</p>', 60, 'alert')",
        {"text": "Saved 3 of 4", "role": "alert"},
    ),
    "an expression": ("toast('Saved 12 items', 60)", {"text": {"matches": r"^Saved \d+"}}),
    "a closed shadow root": (
        "toast('Saved', 60, 'status', shadow)",
        {"text": "Saved", "role": "status"},
    ),
    "a text changed in place": (
        "live.firstChild.data = 'Done'; setTimeout(() => live.firstChild.data = '', 60)",
        {"text": "Done", "role": "status", "count": 1},
    ),
    "an output": ("sum.value = '12 €'", {"text": "12 €", "role": "status"}),
    "hidden at first": (
        "hidden.hidden = false; setTimeout(() => hidden.hidden = true, 60)",
        {"text": "Sent"},
    ),
    "hidden by a style": ("box.click(); setTimeout(() => box.click(), 60)", {"text": "Unfolded"}),
    "a dialog of the browser": ("alert('All sent')", {"text": "All sent", "role": "dialog"}),
    "a word of the page anew": ("toast('Saved searches', 60)", {"text": "Saved searches"}),
}


@pytest.mark.parametrize("name", TOASTS)
def test_what_passes_by_is_seen_and_when_is_told(watched: Watched, name: str) -> None:
    script, query = TOASTS[name]
    watched.record.step_begins(3)
    watched.page.evaluate(f"() => {{ {script} }}")
    watched.page.wait_for_timeout(200)
    watched.record.step_ends()

    result = watched.judge({"seen": query})

    assert result.passed is True, result
    assert " appeared at " in result.actual
    assert result.actual.endswith(", during step 3")
    assert name == "an output" or " for 0." in result.actual


def test_what_was_there_at_first_has_not_appeared_nor_on_the_next_page(watched: Watched) -> None:
    for text in ("Saved searches", "Ready", "Inner", "Part"):
        result = watched.judge({"seen": {"text": text}})
        assert result.passed is False
        assert result.actual == "it was there before the first step, and did not appear again"

    watched.page.goto(f"{watched.site.url}cart")
    watched.page.goto(watched.site.url)

    assert watched.judge({"seen": {"text": "Saved searches", "count": 0}}).passed is True
    flash = watched.judge({"seen": {"text": "Put into the cart"}})
    assert flash.passed is True
    assert flash.where.endswith("/cart")


def test_a_toast_right_before_the_page_is_left_is_kept(watched: Watched) -> None:
    with watched.page.expect_navigation():
        watched.page.evaluate("() => { toast('Bye', 1000); location.href = '/cart' }")

    assert watched.judge({"seen": {"text": "Bye"}}).passed is True


def test_frames_and_other_tabs_are_watched_and_stay_known_when_closed(watched: Watched) -> None:
    page = watched.page
    frame = page.frames[1]
    frame.evaluate("() => { t.innerHTML = '<p role=alert>Framed</p>' }")
    with page.expect_popup() as opened:
        page.evaluate("() => { open('/cart') }")
    opened.value.wait_for_load_state()
    tab_url = opened.value.url

    assert "frame about:srcdoc" in watched.judge({"seen": {"text": "Framed"}}).where
    assert watched.judge({"seen": {"text": "Put into"}, "tab": 2}).where == f"tab 2 {tab_url}"
    assert watched.judge({"seen": {"text": "Put into"}, "tab": 1}).passed is False
    assert watched.judge({"text": "Put into", "tab": 2}).passed is True
    assert watched.judge({"text": "Put into"}).passed is False
    assert watched.judge({"element": {"role": "heading", "name": "Cart"}, "tab": "**/cart"}).passed
    assert watched.judge({"js": "document.title === 'Cart'", "tab": {"matches": "cart$"}}).passed
    missing = watched.judge({"text": "Cart", "tab": 3})
    assert (missing.passed, missing.actual.partition(", only: ")[0]) == (False, "there is no tab 3")
    opened.value.close()
    assert watched.judge({"seen": {"text": "Put into"}, "tab": 2}).passed is True
    assert watched.judge({"url": "**/cart", "tab": 2}).passed is True
    closed = watched.judge({"text": "Put into", "tab": "**/cart"})
    assert (closed.passed, closed.actual) == (False, f"the tab '**/cart' was closed at {tab_url}")


def test_a_miss_says_what_came_nearest(watched: Watched) -> None:
    assert watched.judge({"seen": {"text": "Saved"}}).actual.startswith("it was there before")
    nothing = watched.judge({"seen": {"text": "Stored"}})
    assert (nothing.passed, nothing.actual) == (False, "no text appeared")

    watched.page.evaluate("() => toast('Stored', 50, 'alert')")
    watched.page.evaluate("() => toast('Stored', 50, 'alert')")

    role = watched.judge({"seen": {"text": "Stored", "role": "status"}})
    assert (role.passed, role.actual) == (False, "it appeared with the role alert")
    twice = watched.judge({"seen": {"text": "Stored", "count": 1}})
    assert twice.passed is False
    assert twice.actual.startswith("2 times; ")
    other = watched.judge({"seen": {"text": "Sold"}})
    assert other.actual == "2 other texts appeared: Stored / Stored"


def test_a_saved_record_is_judged_alike_but_for_what_is_masked(watched: Watched) -> None:
    watched.page.evaluate("() => toast('Saved hunter2', 50, 'status')")
    watched.page.wait_for_timeout(100)
    kept = appearances_text(
        watched.record.look(), lambda text: text.replace("hunter2", "<redacted>")
    )
    stored = read_appearances(kept)

    def again(check: dict[str, Any]) -> CheckResult:
        evidence = Evidence(watched.page, False, None, appeared=lambda: stored, stored=True)
        (result,) = judge_checks(read_checks([check], (), None), evidence, timeout_s=0)
        return result

    assert again({"seen": {"text": "Saved", "role": "status"}}).passed is True
    assert again({"seen": {"text": "Sold", "role": "alert"}}).passed is False
    assert again({"seen": {"text": "hunter2"}}).passed is None


def test_a_clock_pushes_no_toast_out_and_what_was_lost_leaves_the_verdict_open(
    watched: Watched,
) -> None:
    watched.page.evaluate(
        """async () => {
          const clock = document.createElement('p');
          document.body.append(clock);
          for (let n = 0; n < 300; n++) {
            clock.textContent = `Time ${n}`;
            await new Promise(done => setTimeout(done, 1));
          }
          toast('Saved', 30);
        }"""
    )
    watched.page.wait_for_timeout(100)

    assert watched.judge({"seen": {"text": "Saved", "count": 1}}).passed is True
    assert watched.judge({"seen": {"text": "Stored"}}).passed is False
    kept = watched.record.look()
    if kept.lost:
        assert watched.judge({"seen": {"text": "Time 9999"}}).passed is None
    assert len(kept.entries) < 230


@pytest.mark.long
def test_a_page_that_floods_is_bounded_and_what_is_announced_is_still_kept(
    watched: Watched,
) -> None:
    watched.page.evaluate(
        """async () => {
          for (let n = 0; n < 3000; n++) {
            const made = document.createElement('p');
            made.textContent = Math.random().toString(36).replace(/[0-9]/g, 'x').repeat(60);
            document.body.append(made);
            if (n % 5 === 0) await new Promise(done => setTimeout(done, 0));
          }
          toast('Saved', 500, 'status');
          await new Promise(done => setTimeout(done, 600));
        }"""
    )
    kept = watched.record.look()

    assert sum(len(line) for one in kept.entries for line in one.lines) < 500_000
    assert watched.judge({"seen": {"text": "Saved", "role": "status"}}).passed is True
    lost = watched.judge({"seen": {"text": "Stored"}})
    assert lost.passed is None
    assert "more appeared than could be kept" in lost.message


def test_a_page_that_lies_to_scripts_is_seen_all_the_same(
    fresh_context: BrowserContext, site: Site
) -> None:
    hostile = """<script>
      window.found = Object.getOwnPropertyNames(window).filter(n => /^t[0-9a-f]{24}$/.test(n));
      Object.defineProperty(Node.prototype, 'textContent', {get: () => 'lie', set() {}});
      Object.defineProperty(Node.prototype, 'nodeValue', {get: () => 'lie'});
      MutationObserver.prototype.disconnect = MutationObserver.prototype.observe = () => {};
      window.MutationObserver = class { observe() {} };
      window.setTimeout = () => {}; Date.now = () => 0; performance.now = () => 0;
    </script><p>Home</p>"""
    watched = watch(fresh_context, site, hostile)

    watched.page.evaluate("() => document.body.insertAdjacentHTML('beforeend', '<p>Sold</p>')")

    result = watched.judge({"seen": {"text": "Sold"}})
    assert result.passed is True
    assert f"appeared at {time.strftime('%H:')}" in result.actual
    assert watched.page.evaluate("() => found") == []


@pytest.fixture(scope="module")
def ordinary(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    "message",
    [
        "",
        "null",
        "[]",
        '{"id": 1}',
        '{"id": "d", "at": "x", "told": [], "gone": [], "lost": []}',
        '{"id": "d", "at": 1e400, "told": [{"role": "", "number": 1, "lines": [["x", 1]]}]}',
        '{"id": "d", "at": 1, "told": [{"role": 1, "number": [], "lines": "x"}]}',
        "[" * 100_000,
        "x" * 2_000_000,
        7,
    ],
)
def test_what_no_script_of_ours_would_tell_is_ignored(ordinary: Page, message: Any) -> None:
    record = AppearanceRecord()
    told: Callable[..., None] = record._on_told

    told({"frame": ordinary.main_frame}, message)

    assert read_appearances(appearances_text(record.look(), lambda text: text)).lost == []
