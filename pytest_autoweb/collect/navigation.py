"""The replay of recorded steps that bring a list into the wanted state."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_autoweb.act.matching import compare_element
from pytest_autoweb.browser.injected import run_on_elements
from pytest_autoweb.browser.navigation import settle
from pytest_autoweb.collect.collection import NavStep
from pytest_autoweb.collect.site import CLICK_MS, Site

if TYPE_CHECKING:
    from playwright.sync_api import Locator

SETTLE_MS = 300
_FIND_MS = 3_000
_POLL_MS = 100


def replay_steps(
    site: Site, steps: Sequence[NavStep], reveal: Callable[[str], str] = lambda text: text
) -> str:
    """Replay recorded steps on the page; return why they stopped, empty if all were done.

    Args:
        site: the list, freshly opened.
        steps: the recorded steps.
        reveal: replaces the placeholders of secrets.
    """
    for number, step in enumerate(steps, 1):
        if problem := do_step(site, step, reveal):
            return f"step {number} ({step.action} {step.expected_text!r}): {problem}"
        settle(site.page, quiet_ms=SETTLE_MS)
    return ""


def do_step(site: Site, step: NavStep, reveal: Callable[[str], str] = lambda text: text) -> str:
    """Do one step; return why it could not be done, empty if it was."""
    from playwright.sync_api import Error

    try:
        if step.action == "press":
            site.page.keyboard.press(step.key or "Enter")
            return ""
        located = _find(site, step)
        if located is None:
            return "it is not on the page"
        return _perform(located, step, reveal)
    except Error as error:
        return str(error).strip().splitlines()[0]


def _perform(located: "Locator", step: NavStep, reveal: Callable[[str], str]) -> str:
    texts = run_on_elements(located, "marks_texts")[0]
    found = compare_element(step.expected_text, texts)
    # The text of a field depends on what was typed there before, so only clicks compare it.
    if found.verdict == "mismatch" and step.action == "click":
        return found.reason
    if step.action == "click":
        located.click(timeout=CLICK_MS)
    elif step.action == "type":
        located.fill(reveal(step.text), timeout=CLICK_MS)
    else:
        located.select_option(label=step.text, timeout=CLICK_MS)
    return ""


def _find(site: Site, step: NavStep) -> "Locator | None":
    """Return the element by the first XPath that finds exactly one, waiting for it a little."""
    for _ in range(_FIND_MS // _POLL_MS):
        for xpath in step.xpaths:
            located = site.page.locator(f"xpath={xpath}")
            if located.count() == 1:
                return located
        site.page.wait_for_timeout(_POLL_MS)
    return None
