"""Compare our verdicts on MiniWoB++ with BrowserGym's reward over the same recorded actions.

`autoweb benchmark import miniwob --parity RUN --parity-python BGYM/bin/python` runs this in an
environment of its own, since BrowserGym asks for an old Playwright.

The actions of each oracle cell are taken from its `cell.json`. They are performed in an episode as
BrowserGym sets it up, which then says its reward, and in one as our cases set it up, whose check
then holds or not: all actions, all but the last, only the last, and none. Of all actions, the
verdict of the run itself is compared as well. Nothing of pytest-autoweb is imported here.
"""

import argparse
import functools
import http.server
import importlib
import json
import math
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

MINIWOB = Path(__file__).parent
READING = {"evaluate", "evaluate_all", "wait_for_function", "wait_for_timeout", "inner_text"}
PAUSE_MS = 120
"""The pause after each action but those of the mouse; BrowserGym itself pauses for 100 ms."""
SECONDS = 2
SELECTIONS = ("all", "all but the last", "only the last", "none")


class Recorded(NamedTuple):
    """The actions of one cell."""

    task: str
    seed: int
    goal: str
    passed: bool
    actions: tuple[str, ...]


class Verdict(NamedTuple):
    """What one side says of one selection of actions."""

    solved: bool
    raw: float
    stopped: str
    """The action that failed, if one did."""
    goal: str


class Fixed:
    """Stands for BrowserGym's generator of random numbers, of which it asks only for the seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def randint(self, low: int, high: int) -> int:
        """Return the seed of the episode."""
        return self.seed


class Pages(http.server.SimpleHTTPRequestHandler):
    """The folder `html`, as UTF-8, without a word about each request."""

    def guess_type(self, path: Any) -> str:
        """Return the type with the encoding that the pages do not name."""
        kind = str(super().guess_type(path))
        return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the pages; yield the address."""
    handler = functools.partial(Pages, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def recorded(run: Path, seeds: set[int]) -> Iterator[Recorded]:
    """Yield the actions of each oracle cell of a run."""
    for file in sorted(run.glob("cells/*/builtin-oracle*/*/cell.json")):
        cell = json.loads(file.read_text("utf-8"))
        _, _, named = cell["case_id"].partition("-")
        task, _, seed = named.rpartition("-")
        if int(seed) not in seeds or not cell["attempts"]:
            continue
        calls = cell["attempts"][0]["tool_calls"]
        actions = tuple(
            f"{call['target']}.{call['method']}({call['arguments']})"
            for call in calls
            if (call["acting"] or call["method"] == "scroll_into_view_if_needed")
            and call["ok"]
            and call["method"] not in READING
        )
        passed = cell["outcome"] == "passed"
        yield Recorded(task, int(seed), cell["user_task"], passed, actions)


def selected(actions: tuple[str, ...], selection: str) -> tuple[str, ...]:
    """Return the actions of a selection."""
    return {
        "all": actions,
        "all but the last": actions[:-1],
        "only the last": actions[-1:],
        "none": (),
    }[selection]


def perform(page: Page, actions: tuple[str, ...]) -> str:
    """Perform recorded actions; return the one that failed, with its reason."""
    for action in actions:
        try:
            # They were recorded by our own sandbox, from our own solutions.
            eval(action, {"page": page, "re": re, "math": math, "True": True, "False": False})
        except Exception as error:
            first = str(error).strip().partition("\n")[0] or type(error).__name__
            return f"{action}: {first}"
        if "page.mouse" not in action:
            page.wait_for_timeout(PAUSE_MS)
    page.wait_for_timeout(PAUSE_MS)
    return ""


def theirs(browser: Browser, base: str, one: Recorded, actions: tuple[str, ...]) -> Verdict:
    """Perform the actions in BrowserGym's episode and ask for its reward."""
    tasks: Any = importlib.import_module("browsergym.miniwob")
    kind = next(task for task in tasks.ALL_MINIWOB_TASKS if task.subdomain == one.task)
    task = kind(seed=one.seed, base_url=f"{base}/miniwob/")
    task.random = Fixed(one.seed)
    with browser.new_context(viewport=task.viewport) as context:
        page = context.new_page()
        page.set_default_timeout(1000 * SECONDS)
        page.set_default_navigation_timeout(60_000)
        goal, _ = task.setup(page)
        stopped = perform(page, actions)
        reward, done, _message, told = task.validate(page, [])
        raw = told.get("RAW_REWARD_GLOBAL", 0.0)
        return Verdict(reward > 0 and bool(done), raw, stopped or told.get("error", ""), goal)


def ours(browser: Browser, base: str, one: Recorded, actions: tuple[str, ...]) -> Verdict:
    """Perform the actions in the episode of our case and look at its check."""
    script = (MINIWOB / "episode.js").read_text("utf-8").replace("__SEED__", str(one.seed))
    with browser.new_context(viewport={"width": 1280, "height": 720}) as context:
        page = context.new_page()
        page.set_default_timeout(1000 * SECONDS)
        page.set_default_navigation_timeout(60_000)
        page.goto(f"{base}/miniwob/{one.task}.html")
        page.evaluate(script)
        stopped = perform(page, actions)
        seen = page.evaluate("() => [Boolean(__autoweb.done && __autoweb.raw > 0), __autoweb.raw]")
        return Verdict(seen[0], seen[1], stopped, one.goal)


def compare(browser: Browser, base: str, one: Recorded) -> dict[str, Any]:
    """Compare both sides on one episode."""
    row: dict[str, Any] = {"task": one.task, "seed": one.seed, "differences": []}
    row["actions"] = len(one.actions)
    for selection in SELECTIONS:
        actions = selected(one.actions, selection)
        left, right = ours(browser, base, one, actions), theirs(browser, base, one, actions)
        row[selection] = [left.solved, right.solved, left.raw, right.raw]
        if left.solved != right.solved:
            row["differences"].append(f"{selection}: {left[:3]} and {right[:3]}")
        if selection == "all":
            if one.passed != right.solved:
                row["differences"].append(f"the run: passed={one.passed}, and {right[:3]}")
            if " ".join(right.goal.split()) != " ".join(one.goal.split()):
                row["differences"].append(f"goals: {one.goal!r} and {right.goal!r}")
    return row


def main() -> int:
    """Compare all episodes, print what differs, keep the table; return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("run", type=Path)
    parser.add_argument("--executable", help="the browser, if Playwright has none of its own")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--tasks", default="")
    parser.add_argument("--output", type=Path, default=Path("parity.json"))
    args = parser.parse_args()
    wanted = set(filter(None, args.tasks.split(",")))
    package: Any = importlib.import_module("miniwob")
    rows = []
    with served(Path(package.__path__[0]) / "html") as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=args.executable, args=["--no-sandbox", "--lang=en-US"]
        )
        for one in recorded(args.run, set(map(int, args.seeds.split(",")))):
            if wanted and one.task not in wanted:
                continue
            rows.append(compare(browser, base, one))
            for difference in rows[-1]["differences"]:
                print(f"{one.task}-{one.seed}: {difference}", flush=True)
            args.output.write_text(json.dumps(rows, indent=1), encoding="utf-8")
        print(f"browser {browser.version}")
    print(summary(rows))
    if not rows:
        print("no oracle cell of MiniWoB++ at these seeds in this run")
    return int(not rows or any(row["differences"] for row in rows))


def summary(rows: list[dict[str, Any]]) -> str:
    """Return how often both sides agreed, by selection."""
    same = Counter(
        (selection, row[selection][0] == row[selection][1], row[selection][0])
        for row in rows
        for selection in SELECTIONS
    )
    lines = [f"{len(rows)} episodes of {len({row['task'] for row in rows})} tasks"]
    for selection in SELECTIONS:
        both, neither = same[selection, True, True], same[selection, True, False]
        differ = sum(same[selection, False, value] for value in (True, False))
        lines.append(f"{selection}: solved by both {both}, by neither {neither}, differ {differ}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
