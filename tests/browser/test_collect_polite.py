"""Lists that scroll inside a box, and what a collection owes the sites that it reads."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from list_site import ListSite, entries
from playwright.sync_api import Page

from pytest_autoweb.agents.collect.collect_list import Job, collect
from pytest_autoweb.agents.collect.list_site import Site
from pytest_autoweb.agents.collect.robots import robots_of
from pytest_autoweb.agents.collect.saved_state import CollectProgress, collection_of
from pytest_autoweb.agents.collect.walk import Pacer
from pytest_autoweb.cases.collect_spec import CollectSpec, Rate

XPATH = "//ul[@id='list']/li/a"
HTML = {"content-type": "text/html; charset=utf-8"}
PLAIN = {"content-type": "text/plain"}
FILE = {"content-type": "application/octet-stream"}

BOXED = """<div style="height: 90px; overflow-y: scroll; border: 1px solid"><nav>
<a href="/a">A</a><br><a href="/b">B</a><br><a href="/c">C</a><br><a href="/d">D</a><br>
<a href="/e">E</a><br><a href="/f">F</a></nav></div>
<div id="box" style="height: 200px; overflow-y: auto">
<ul id="list" style="line-height: 30px"></ul></div>
<script>
const list = document.getElementById('list'), box = document.getElementById('box');
let count = 0;
const add = () => { for (let n = 0; n < 10 && count < 60; n += 1) {
  count += 1;
  list.insertAdjacentHTML('beforeend', `<li><a href="/item/${count}">Entry ${count}</a></li>`); } };
add();
box.addEventListener('scroll', () => {
  if (box.scrollTop + box.clientHeight > box.scrollHeight - 40) setTimeout(add, 600); });
</script>"""

# Only the entries in sight exist, as in lists of many thousands.
RECYCLED = """<div id="box" style="height: 200px; overflow-y: auto">
<div style="height: 1800px; position: relative"><ul id="list"></ul></div></div><script>
const list = document.getElementById('list'), box = document.getElementById('box');
const draw = () => {
  const first = Math.floor(box.scrollTop / 30);
  const shown = Array.from({length: 9}, (_, n) => first + n + 1).filter((n) => n <= 60);
  list.innerHTML = shown.map((n) => `<li style="position: absolute; top: ${(n - 1) * 30}px">
    <a href="/item/${n}">Entry ${n}</a></li>`).join('');
};
box.addEventListener('scroll', draw);
draw();
</script>"""


class PoliteSite(ListSite):
    """A list site that answers some addresses as it is told."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}
        super().__init__()

    def find(self, path: str) -> tuple[int, dict[str, str], bytes]:
        if told := self.answers.get(path):
            return told.pop(0) if len(told) > 1 else told[0]
        return super().find(path)


@pytest.fixture
def site() -> Iterator[PoliteSite]:
    site = PoliteSite()
    yield site
    site.close()


class Run:
    """One collection, with the pauses that it made."""

    def __init__(self, page: Page, site: PoliteSite, path: str, *, own: bool = True) -> None:
        self.slept: list[float] = []
        self.notes: list[str] = []
        self._page, self._url, self._own = page, site.url + path, own
        page.goto(self._url)

    def end(self, **options: Any) -> CollectProgress:
        spec = CollectSpec(xpath=XPATH, target=100, rate=Rate(delay=1, jitter=0), **options)
        robots = robots_of(self._page, lambda url: True, lambda url: not self._own)
        return collect(
            Job(
                site=Site(self._page, lambda url: True, self.notes.append, robots),
                collection=collection_of(spec, self._url, "all entries"),
                spec=spec,
                pacer=Pacer(spec.rate, self.slept.append, lambda: 0.5),
            )
        )


@pytest.mark.parametrize("html", [BOXED, RECYCLED], ids=["grows", "recycles"])
@pytest.mark.long
def test_a_list_that_scrolls_inside_a_box_is_followed_to_its_end(
    blank: Page, site: PoliteSite, html: str
) -> None:
    site.answers["/boxed"] = [(200, HTML, html.encode())]

    progress = Run(blank, site, "boxed").end(pages=50)

    found = sorted(int(url.rpartition("/")[2]) for url in progress.urls)
    assert (found, progress.status) == (list(range(1, 61)), "done")


def refusal(status: int, **headers: str) -> tuple[int, dict[str, str], bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, HTML | named, b"<h1>no</h1>"


def page_2() -> tuple[int, dict[str, str], bytes]:
    return 200, HTML, entries(range(5, 9)).encode()


def test_the_wait_that_a_server_asks_for_is_kept(blank: Page, site: PoliteSite) -> None:
    site.answers["/linked?page=2"] = [refusal(429, retry_after="17"), page_2()]

    run = Run(blank, site, "linked")
    progress = run.end(scroll=False)

    assert (len(progress.urls), progress.status) == (8, "done")
    assert run.slept == [1.0, 17.0]


def test_a_wait_that_is_too_long_pauses_at_once(blank: Page, site: PoliteSite) -> None:
    site.answers["/linked?page=2"] = [refusal(503, retry_after="7200")]

    run = Run(blank, site, "linked")
    progress = run.end(scroll=False)

    assert (len(progress.urls), progress.status, run.slept) == (4, "paused", [1.0])
    assert "asks to wait 7200 s; a collection waits 300 s at most" in progress.pause_reason
    assert site.asked("/linked")["/linked?page=2"] == 1


@pytest.mark.parametrize("status", [401, 403, 451])
def test_a_page_that_is_refused_for_good_is_not_asked_for_again(
    blank: Page, site: PoliteSite, status: int
) -> None:
    site.answers["/linked?page=2"] = [refusal(status)]

    progress = Run(blank, site, "linked").end(scroll=False)

    assert (len(progress.urls), progress.status) == (4, "paused")
    assert progress.pause_reason.endswith(f"answered {status}")
    assert site.asked("/linked")["/linked?page=2"] == 1


def test_a_page_that_came_is_not_fetched_again_because_something_on_it_was_refused(
    blank: Page, site: PoliteSite
) -> None:
    ping = b"<script>fetch('/ping')</script>"
    status, headers, body = page_2()
    site.answers["/linked?page=2"] = [(status, headers, ping + body)]
    site.answers["/ping"] = [refusal(503)]

    progress = Run(blank, site, "linked").end(scroll=False)

    assert (len(progress.urls), progress.status) == (8, "done")
    assert site.asked("/linked")["/linked?page=2"] == 1


def test_robots_txt_is_asked_once_and_kept(blank: Page, site: PoliteSite) -> None:
    text = b"User-agent: *\nDisallow: /linked?page=3\nCrawl-delay: 4\n"
    site.answers["/robots.txt"] = [(200, PLAIN, text)]

    run = Run(blank, site, "linked", own=False)
    progress = run.end(scroll=False)

    assert (len(progress.urls), progress.status) == (8, "paused")
    assert "robots.txt forbids" in progress.pause_reason
    assert "own_site: true" in progress.pause_reason
    assert (run.slept[0], site.hits.count("/robots.txt")) == (4.0, 1)
    assert site.asked("/linked")["/linked?page=3"] == 0


def test_a_list_that_robots_txt_forbids_is_not_collected(blank: Page, site: PoliteSite) -> None:
    # Many servers call it a page, in which line breaks are spaces.
    site.answers["/robots.txt"] = [(200, HTML, b"User-agent: *\nDisallow: /")]

    progress = Run(blank, site, "linked", own=False).end(scroll=False)

    assert (progress.urls, progress.status) == ((), "paused")
    assert "robots.txt forbids" in progress.pause_reason


@pytest.mark.parametrize(
    ("status", "headers", "forbidden"),
    [
        (500, PLAIN, True),
        (503, PLAIN, True),
        (404, PLAIN, False),
        (403, PLAIN, False),
        (200, FILE, True),
        (404, FILE, False),
    ],
)
def test_what_a_server_answers_for_its_robots_txt_decides(
    blank: Page, site: PoliteSite, status: int, headers: dict[str, str], forbidden: bool
) -> None:
    site.answers["/robots.txt"] = [(status, headers, b"User-agent: *\nDisallow: /")] * 3

    robots = robots_of(blank, lambda url: True, lambda url: True)

    assert bool(robots.problem(f"{site.url}/linked")) is forbidden


def test_a_site_that_does_not_answer_forbids(blank: Page) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        robots = robots_of(blank, lambda url: True, lambda url: True)

        problem = robots.problem(f"http://127.0.0.1:{closed.getsockname()[1]}/x")

    assert "could not be read" in problem


@pytest.mark.long
@pytest.mark.parametrize(("own", "asked"), [(True, 0), (False, 1)])
def test_ones_own_site_is_not_asked(blank: Page, site: PoliteSite, own: bool, asked: int) -> None:
    progress = Run(blank, site, "linked", own=own).end(scroll=False)

    assert (len(progress.urls), progress.status) == (24, "done")
    assert site.hits.count("/robots.txt") == asked
