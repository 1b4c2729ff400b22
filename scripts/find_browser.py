"""Print the Chromium that cases will run in; exit 1 with a sentence when there is none."""

from playwright.sync_api import sync_playwright

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.browser.egress.chromium import launch_args


def main() -> str | None:
    """Print the path, or return a sentence when there is no browser."""
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    try:
        print(launch_args({}, playwright_executable=own).get("executable_path", own))
    except BrowserError as error:
        return str(error)
    return None


if __name__ == "__main__":
    raise SystemExit(main())
