"""Open the case's entry URL and prepare the page, before the model sees anything."""

from pytest_autoweb.attempt.tools import Tools, change, fail
from pytest_autoweb.browser.navigation import open_page
from pytest_autoweb.browser.setup import run_setup_js
from pytest_autoweb.language import StepProblem
from pytest_autoweb.results import Attempt

ENTRY_TIMEOUT_MS = 30_000


def open_entry(attempt: Attempt, tools: Tools) -> Attempt:
    """Always navigate, even if the page seems to be there already, then run `setup.js`."""
    url = tools.case.entry_url
    failure = open_page(tools.page, url, timeout_ms=ENTRY_TIMEOUT_MS, note=tools.log.write)
    if failure is None and tools.case.setup.js:
        failure = run_setup_js(tools.page, tools.case.setup.js)
    attempt = change(attempt, entry_url_used=tools.page.url)
    if failure:
        return fail(attempt, failure, StepProblem.told("(openPage)", failure.message))
    tools.log.write(f"opened {tools.page.url}")
    # From here on what the page does is the doing of whoever drives it.
    tools.wire.start(tools.page.context)
    tools.downloads.start(tools.page.context)
    return attempt
