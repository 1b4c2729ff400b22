"""Write the published MiniWoB++ case files: `python benchmarks/write_miniwob.py`.

What it takes from the pages and how a case is set up is that of `autoweb benchmark import miniwob`;
these files differ from what that writes in which tasks they hold, in their time limits, and in that
only the full reward passes.
"""

from pathlib import Path

from playwright.sync_api import sync_playwright

from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.tools.importing.miniwob import Wording, case_file, pages_folder, read_goals

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"

# From a single click to a calendar and a mail client.
DEMO_TASKS = [
    "click-button",
    "click-link",
    "click-checkboxes",
    "click-dialog-2",
    "click-tab-2",
    "focus-text-2",
    "enter-text",
    "login-user",
    "choose-list",
    "use-autocomplete",
    "choose-date",
    "email-inbox",
]
SIGHT_TASKS = [
    "click-button",
    "click-link",
    "click-checkboxes",
    "click-dialog-2",
    "focus-text-2",
    "enter-text",
    "login-user",
]
BENCHMARK_TASKS = [
    "click-button",
    "click-link",
    "click-option",
    "click-checkboxes",
    "click-test-2",
    "click-button-sequence",
    "click-dialog",
    "click-dialog-2",
    "click-tab",
    "click-tab-2",
    "click-collapsible",
    "focus-text-2",
    "enter-text",
    "enter-text-dynamic",
    "enter-password",
    "login-user",
    "enter-date",
    "choose-list",
    "search-engine",
    "use-autocomplete",
]

# How a task is done: a script's steps are quick, decisions about pictures take their time.
BY_SCRIPT = "    tags: [miniwob]\n    timeout: 5"
BY_SIGHT = "    tags: [miniwob, bysight]\n    strategy: act\n    timeout: 40"

ABOUT = """\
yaml-language-server: $schema=../docs/schema/case.json

{title}

The pages come from the `miniwob` package and judge themselves: a case passes when the first
reward the page gave is full. Every case is one task at one seed.

Written by benchmarks/write_miniwob.py, which reads the goals from the pages; edit that, the
set-up (episode.js) or the solutions (oracles.yaml) in templates/miniwob/, and run it again.
"""


def main() -> None:
    """Write the files."""
    script = ("miniwob", BY_SCRIPT)
    sight = ("sight-miniwob", BY_SIGHT)
    dozen = "A dozen MiniWoB++ tasks"
    seven = "Seven MiniWoB++ tasks, done by sight"
    twenty = "Twenty MiniWoB++ tasks at three seeds"
    files = (
        (CASES / "miniwob.yaml", dozen, DEMO_TASKS, [1], *script),
        (CASES / "act_miniwob.yaml", seven, SIGHT_TASKS, [1], *sight),
        (HERE / "miniwob20.yaml", twenty, BENCHMARK_TASKS, [1, 2, 3], *script),
    )
    folder = pages_folder(None)
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        browser = playwright.chromium.launch(**launch_args({}, playwright_executable=own))
        for path, title, tasks, seeds, name, how in files:
            goals = read_goals(browser, folder, tasks, seeds)
            wording = Wording(ABOUT.format(title=title), how, name=name, reward="full")
            path.write_text(case_file(goals, seeds, wording), encoding="utf-8")
            print(f"{path.name}: {len(tasks) * len(seeds)} cases")


if __name__ == "__main__":
    main()
