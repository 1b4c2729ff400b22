"""Write the MiniWoB++ case files: `python benchmarks/write_miniwob.py`.

A case's text must hold the goal of its episode, and MiniWoB++ draws that from the seed only once
the page runs. So this opens every task at every seed, reads the goals and writes the case files,
together with `episode.js` (the set-up of an episode) and `oracles.yaml` (the solutions).
"""

import json
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from playwright.sync_api import Browser, Page, sync_playwright

from pytest_autoweb.egress.chromium import launch_args

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

HEADER = """\
# yaml-language-server: $schema=../docs/schema/case.json
#
# {title}
#
# The pages come from the `miniwob` package and judge themselves: a case passes when the first
# reward the page gave is full. Every case is one task at one seed.
#
# Written by benchmarks/write_miniwob.py, which reads the goals from the pages; edit that, the
# set-up in benchmarks/episode.js or the solutions in benchmarks/oracles.yaml, and run it again.
version: 1

webserver:
  static: miniwob/html

cases:
  - id: {name}
    matrix:
      task: [{tasks}]
      seed: [{seeds}]
    entry_url: "{{{{ webserver.url }}}}miniwob/{{{{ matrix.task }}}}.html"
    user_task: "{{{{ vars.goals[matrix.task][matrix.seed] }}}}"
{how}
    oracle: "{{{{ vars.oracles[matrix.task] }}}}"
    setup:
      js: |
{setup}
    expect:
      - js: "() => window.__autoweb?.done && window.__autoweb.raw >= 0.999"
        message: The page gave the full reward.

vars:
  goals:
{goals}
  oracles:
{oracles}
"""


def html_folder() -> Path:
    """Return the pages of the installed package."""
    try:
        return Path(str(distribution("miniwob").locate_file("miniwob/html")))
    except PackageNotFoundError:
        raise SystemExit("miniwob is missing: pip install 'pytest-autoweb[demo]'") from None


@contextmanager
def episode(browser: Browser, task: str, seed: int) -> Iterator[Page]:
    """Yield a page with the episode started, as the case's set-up starts it."""
    with browser.new_context(base_url="http://miniwob.test") as context:
        folder = html_folder()
        context.route(
            "http://miniwob.test/**",
            lambda route, request: route.fulfill(path=folder / urlsplit(request.url).path[1:]),
        )
        page = context.new_page()
        page.goto(f"/miniwob/{task}.html")
        page.evaluate((HERE / "episode.js").read_text().replace("__SEED__", str(seed)))
        yield page


def case_file(
    title: str, goals: dict[str, dict[int, str]], seeds: list[int], name: str, how: str
) -> str:
    """Return the text of a case file for these goals."""
    oracles: dict[str, str] = yaml.safe_load((HERE / "oracles.yaml").read_text())
    script = (HERE / "episode.js").read_text().replace("__SEED__", "{{ matrix.seed }}")
    return HEADER.format(
        title=title,
        name=name,
        how=how,
        tasks=textwrap.fill(
            ", ".join(goals), 96, subsequent_indent=" " * 13, break_on_hyphens=False
        ),
        seeds=", ".join(map(str, seeds)),
        setup=textwrap.indent(script.rstrip(), " " * 8),
        goals="\n".join(
            f"    {task}:\n"
            + "\n".join(f"      {seed}: {json.dumps(goal)}" for seed, goal in by_seed.items())
            for task, by_seed in goals.items()
        ),
        oracles="\n".join(
            f"    {task}: |\n" + textwrap.indent(oracles[task].rstrip(), " " * 6) for task in goals
        ),
    )


def read_goals(browser: Browser, tasks: list[str], seeds: list[int]) -> dict[str, dict[int, str]]:
    """Read the goal of every task at every seed, as the page words it."""
    goals: dict[str, dict[int, str]] = {}
    for task in tasks:
        for seed in seeds:
            with episode(browser, task, seed) as page:
                goals.setdefault(task, {})[seed] = page.evaluate("core.getUtterance()")
    return goals


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
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        browser = playwright.chromium.launch(**launch_args({}, playwright_executable=own))
        for path, title, tasks, seeds, name, how in files:
            goals = read_goals(browser, tasks, seeds)
            path.write_text(case_file(title, goals, seeds, name, how))
            print(f"{path.name}: {len(tasks) * len(seeds)} cases")


if __name__ == "__main__":
    main()
