from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page
from quiet_handler import QuietHandler

from pytest_autoweb.browser.page.acted_element import locator_now
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.browser.page.small_list import small_view

miniwob = pytest.importorskip("miniwob", reason="needs the extra `demo`")

TASKS = {
    "click-button": ["button"],
    "click-link": ["clickable"],
    "click-option": ["radio", "button"],
    "click-checkboxes": ["checkbox", "button"],
    "click-dialog-2": ["button"],
    "click-tab-2": ["tab", "clickable"],
    "click-collapsible": ["tab"],
    "enter-password": ["textbox", "button"],
    "enter-date": ["textbox", "button"],
    "choose-list": ["combobox", "button"],
}


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    folder = Path(str(miniwob.__file__)).parent / "html"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/miniwob"
    server.shutdown()
    server.server_close()


def start(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("#sync-task-cover")
    page.evaluate("() => { Math.seedrandom(1); core.EPISODE_MAX_TIME = 1e8 }")
    page.evaluate("() => core.startEpisodeReal()")
    page.wait_for_function("WOB_TASK_READY")


@pytest.mark.parametrize("task", TASKS)
def test_a_task_of_miniwob_is_a_short_list_of_working_locators(
    blank: Page, pages: str, task: str
) -> None:
    start(blank, f"{pages}/{task}.html")

    view = small_view(blank)

    assert estimate_tokens(view.text) < 250
    assert set(TASKS[task]) <= {element.role for element in view.elements}
    for element in view.elements:
        assert eval(locator_now(element), {"page": blank}).count() == 1


def test_a_task_can_be_solved_from_the_list_alone(blank: Page, pages: str) -> None:
    start(blank, f"{pages}/login-user.html")
    words = blank.evaluate("() => core.getUtterance()").split('"')
    user, password, login = small_view(blank).elements

    eval(locator_now(user), {"page": blank}).fill(words[1])
    eval(locator_now(password), {"page": blank}).fill(words[3])
    eval(locator_now(login), {"page": blank}).click()

    assert blank.evaluate("() => WOB_RAW_REWARD_GLOBAL") == 1
