"""What it costs to keep a positional call to the element it found.

    python benchmarks/same_element.py

Clicks the buttons of a list by place, as Playwright does it and as this package does it, in turn,
and prints the median of each, and of their differences.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Locator, Page, sync_playwright

from pytest_autoweb.browser.egress.chromium import system_chromium
from pytest_autoweb.browser.page.same_element import on_same, register_same

ROUNDS = 60
ROWS = 200


def page_of_rows(page: Page) -> Locator:
    row = "<tr><td>No. {n}<td>Customer {n}<td>{n}.00<td><button>Open</button>"
    rows = "".join(row.format(n=n) for n in range(ROWS))
    page.set_content(f"<table>{rows}</table>")
    return page.get_by_role("button", name="Open", exact=True)


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def main() -> None:
    with sync_playwright() as playwright:
        register_same(playwright)
        found = system_chromium()
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        buttons = page_of_rows(browser.new_page())
        plain, same = list[float](), list[float]()
        for number in range(ROUNDS):
            button = buttons.nth(number % 20)
            plain.append(timed(button.click))
            same.append(timed(partial(on_same, button, "click", Locator.click)))
        extra = [after - before for before, after in zip(plain, same, strict=True)]
        print(f"Playwright's click: {statistics.median(plain):.1f} ms")
        print(f"kept to its element: {statistics.median(same):.1f} ms")
        print(f"difference: {statistics.median(extra):.1f} ms")
        print(f"ratio: {statistics.median(same) / statistics.median(plain):.2f}")
        browser.close()


if __name__ == "__main__":
    main()
