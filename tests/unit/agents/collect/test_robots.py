"""What a robots.txt allows, and how long a server asks to wait."""

from datetime import UTC, datetime

import pytest

from pytest_autoweb.agents.collect.page_traffic import asked_wait
from pytest_autoweb.agents.collect.robots import Robots, RobotsUnreachable, read_robots
from pytest_autoweb.agents.collect.walk import Pacer
from pytest_autoweb.cases.collect_spec import Rate

TEXT = """
# a site
User-agent: other
User-agent: rest
Disallow: /

User-agent: *
Disallow: /private   # not this
Allow: /private/open
Disallow: /*?sort=
Disallow: /*.pdf$
Disallow:
Crawl-delay: 2.5
Sitemap: https://a.test/map.xml
"""


@pytest.mark.parametrize(
    ("path", "forbidden"),
    [
        ("/", False),
        ("/private", True),
        ("/private/x", True),
        ("/private/open/x", False),
        ("/list?page=2", False),
        ("/list?sort=price", True),
        ("/a/b.pdf", True),
        ("/a.pdf.html", False),
        ("/a.pdf?x=1.pdf", True),
    ],
)
def test_the_longest_rule_that_fits_decides(path: str, forbidden: bool) -> None:
    assert read_robots(TEXT).forbids(f"https://a.test{path}") is forbidden


def test_the_rules_of_ones_own_name_count_alone() -> None:
    rules = read_robots(TEXT + "\nUser-Agent: Pytest-Autoweb\nDisallow: /only\n")

    assert rules.forbids("https://a.test/only")
    assert not rules.forbids("https://a.test/private")
    assert (rules.delay, read_robots(TEXT).delay) == (0.0, 2.5)


@pytest.mark.parametrize("text", ["", "<html>not found</html>", "Disallow: /", "\x00:\n:::"])
def test_what_says_nothing_forbids_nothing(text: str) -> None:
    assert not read_robots(text).forbids("https://a.test/x")


def test_each_origin_is_asked_once_and_ones_own_never() -> None:
    asked: list[str] = []

    def fetch(url: str) -> str | None:
        asked.append(url)
        return "User-agent: *\nDisallow: /x"

    robots = Robots(fetch, lambda url: "own" not in url)
    problems = [
        bool(robots.problem(f"{site}/{path}"))
        for site in ("https://a.test", "https://a.test:8443", "https://own.test")
        for path in ("x", "y", "x")
    ]

    assert problems == [True, False, True] * 2 + [False] * 3
    assert asked == ["https://a.test/robots.txt", "https://a.test:8443/robots.txt"]


OURS = "User-agent: *\nDisallow:\n"


@pytest.mark.parametrize(
    ("text", "url", "forbidden"),
    [
        ("User-agent: *\nDisallow: /caf%C3%A9", "http://x/café", True),
        ("User-agent: *\nDisallow: /café", "http://x/caf%C3%A9", True),
        ("User-agent: *\nDisallow: /a%3cd.html", "http://x/a%3Cd.html", True),
        ("User-agent: *\nDisallow: /%7Ejoe", "http://x/~joe/i", True),
        ("User-agent: *\nDisallow: /a%2Fb", "http://x/a/b", False),
        (f"User-agent: pytest-autoweb/1.2\nDisallow: /\n{OURS}", "http://x/a", True),
        (f"User-agent: Pytest-Autoweb (a bot)\nDisallow: /\n{OURS}", "http://x/a", True),
        (f"User-agent: pytest\nDisallow: /\n{OURS}", "http://x/a", False),
        (f"User-agent: web\nDisallow: /\n{OURS}", "http://x/a", False),
        (f"User-agent: pytest-autoweb-too\nDisallow: /\n{OURS}", "http://x/a", False),
        ("User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "http://x/b", True),
        ("\ufeffUser-agent: *\nDisallow: /a", "http://x/a", True),
        ("User-agent: *\rDisallow: /a", "http://x/a", True),
        ("User-agent *\nDisallow /a", "http://x/a", False),
        ("User-agent: *\nDisallow: /", "http://x/robots.txt", False),
        ("User-agent: *\nDisallow: /" + "*a" * 300 + "b", "http://x/" + "a" * 3_000, False),
    ],
)
def test_rules_are_compared_as_the_rfc_says(text: str, url: str, forbidden: bool) -> None:
    assert read_robots(text).forbids(url) is forbidden


def test_a_site_whose_rules_cannot_be_had_forbids_everything() -> None:
    asked: list[str] = []

    def fetch(url: str) -> str | None:
        asked.append(url)
        raise RobotsUnreachable(f"{url} answered 503")

    robots = Robots(fetch)

    assert robots.problem("https://a.test/x") == (
        "https://a.test/x is not fetched, because https://a.test/robots.txt answered 503, which "
        "forbids everything; if the site is your own, say so in the case: collect: {own_site: true}"
    )
    assert robots.rules("https://a.test/y").delay == 0
    assert len(asked) == 1


NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("7", 7),
        ("0.5", 0.5),
        ("-3", 0),
        ("Sun, 22 Nov 2026 12:01:30 GMT", 90),
        ("Sun, 22 Nov 2026 11:00:00 GMT", 0),
        ("soon", 0),
        ("٣", 0),
    ],
)
def test_a_wait_is_read_as_a_number_or_a_date(header: str, seconds: float) -> None:
    assert asked_wait(header, NOW) == seconds


def test_the_pause_is_never_shorter_than_what_was_asked_for() -> None:
    slept: list[float] = []
    pacer = Pacer(Rate(delay=1, jitter=0), slept.append, least=1.2)
    pacer.pause()
    pacer.refused(30)
    pacer.pause()
    pacer.pause()

    # The wait is for one pause, the growth by half stays.
    assert slept == [1.2, 30, 1.5]
