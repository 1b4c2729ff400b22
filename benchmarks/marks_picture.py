"""Draw docs/images/marks.png: a page of Django's admin site with its marks, one refused.

Usage: python benchmarks/marks_picture.py
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.browser.marks.marking import mark_page

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.marks_pages import ROOT, admin_pages

REFUSED = "ann.abel"


def main() -> None:
    """Mark the list of users, and write the picture."""
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        browser = playwright.chromium.launch(**launch_args({}, playwright_executable=own))
        page = browser.new_page(viewport={"width": 1000, "height": 420})
        for shown in admin_pages(page):
            if shown != "auth/user/":
                continue
            refused = [mark for mark in mark_page(page).marks if mark.text == REFUSED]
            marked = mark_page(page, failed=refused)
            break
        browser.close()
    (ROOT / "docs/images/marks.png").write_bytes(marked.picture)
    print(f"{len(marked.marks)} boxes, {len(refused)} of them refused")


if __name__ == "__main__":
    main()
