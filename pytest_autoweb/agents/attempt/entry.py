"""The stage that begins every strategy: the entry page, or the page that a test has open."""

from pytest_autoweb.agents.attempt.pictures import (
    NO_EARLY_LOOK,
    EarlyLook,
    LookAhead,
    begin_picture,
)
from pytest_autoweb.agents.attempt.tools import Tools, change, fail
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.browser.page.opening import OpenedPage, open_and_watch
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.browser.page.setup import run_setup_js
from pytest_autoweb.results.records import Attempt, Failure

ENTRY_TIMEOUT_MS = 30_000


def open_entry(attempt: Attempt, tools: Tools) -> Attempt:
    """Open the entry page, even if it seems to be open already, and run `setup.js`."""
    ahead, opened = LookAhead(tools), OpenedPage()
    try:
        opened = open_and_watch(
            tools.page,
            tools.case.entry_url,
            timeout_ms=ENTRY_TIMEOUT_MS,
            note=tools.log.write,
            watched=ahead.begin,
        )
    finally:
        seen = ahead.seen(still=opened.undisturbed)
    failure = opened.failure
    if failure is None and tools.case.setup.js:
        failure = run_setup_js(tools.page, tools.case.setup.js, reveal=tools.reveal)
    # With cookies and scripts of the set-up, secrets reach the site, which may repeat them.
    attempt = change(attempt, entry_url_used=tools.redact(tools.page.url))
    if failure:
        failure = Failure.model_validate(map_texts(failure.model_dump(), tools.redact))
        return fail(attempt, failure, StepProblem.quoted("(openPage)", failure.message))
    tools.log.write(f"opened {tools.page.url}")
    # Requests and downloads of the set-up are not the model's doing, so they are not recorded.
    _begin(tools, seen)
    return attempt


def take_over(attempt: Attempt, tools: Tools) -> Attempt:
    """Begin on the page that a test has open, once it is quiet."""
    wait_until_quiet(tools.page)
    attempt = change(attempt, entry_url_used=tools.redact(tools.page.url))
    tools.log.write(f"taken over at {tools.page.url}")
    _begin(tools)
    return attempt


def _begin(tools: Tools, seen: EarlyLook = NO_EARLY_LOOK) -> None:
    """Take the first picture, and record what happens from now on."""
    # What the page holds decides how a picture of it is taken, and is not known yet.
    tools.newest.may_be_bare = False
    begin_picture("opened", tools, "opened", seen=seen)
    tools.wire.start(tools.page.context)
    tools.downloads.start(tools.page.context)
