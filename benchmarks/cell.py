#!/usr/bin/env python3
"""Compare a cell with the same episode in plain Playwright, in the same browser.

    python benchmarks/cell.py
    python benchmarks/cell.py --task click-button --pairs 40 --profile cell.prof
    python benchmarks/cell.py --browsergym BGYM/bin/python

Needs the extra `demo`, which brings MiniWoB. Both arms open a fresh context of one Chromium, go to
the same address, start the same episode (`episode.js`, by its seed), perform the same solution
(`oracles.yaml`), and look whether the page gave the full reward. The plain arm does nothing else.
The cell is an item of an ordinary session of pytest with `builtin/oracle`: behind its egress proxy,
in the sandbox, with capture, judge, evidence and result on disk. Its time is that of pytest's call
of the item, with the closing of its context.

With `--browsergym PYTHON`, an environment with `browsergym-miniwob`, BrowserGym does the same task
after each pair in the same kind of browser: once as it is, with its pauses (100 ms for each call of
Playwright, 0.5 s before each look), once without them (`cell_browsergym.py`).

The arms take turns, so a machine that is busy for a while slows both down. "Beside plain" is the
median of the ratios within the pairs. The stages are those of `cell.json`; what they do not explain
is `around`: context, proxy, worker, result.
"""

import argparse
import cProfile
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from playwright.sync_api import Browser

HERE = Path(__file__).parent
MINIWOB = HERE.parent / "templates" / "miniwob"
REWARDED = "() => window.__autoweb.done && window.__autoweb.raw > 0"
SEEDS = (1, 2, 3)


class Peer:
    """BrowserGym in a process of its own, which takes a seed and answers with milliseconds."""

    def __init__(self, python: str, *pauses: str) -> None:
        import miniwob  # late, as it comes with an extra

        html = Path(miniwob.__file__).parent / "html"
        # In a process of its own, since pytest wants to be the first to import its plugins.
        asked = (
            "from pytest_autoweb.browser.egress.chromium import system_chromium as s; print(s())"
        )
        chromium = subprocess.check_output([sys.executable, "-c", asked], text=True).strip()
        script = HERE / "cell_browsergym.py"
        self._process = subprocess.Popen(
            [python, str(script), str(html), chromium, *pauses],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def episode_ms(self, seed: int) -> float:
        """Have one episode done, and return its milliseconds."""
        asked, said = self._process.stdin, self._process.stdout
        assert asked
        assert said
        print(seed, file=asked, flush=True)
        return float(said.readline())

    def close(self) -> None:
        """End the process, which has no more seeds to wait for."""
        self._process.communicate()


class Pairs:
    """A plugin of the session: times each cell, and a plain episode before or after it.

    Args:
        profile: whether the cells are profiled.
        peers: what else does an episode after each pair.
        play: does the same as a cell in plain Playwright, given the browser, the case and the
            cell's attempt; tells whether it was done.
    """

    def __init__(
        self,
        profile: str,
        peers: Mapping[str, "Peer"],
        play: Callable[[Browser, Any, Any], bool],
    ) -> None:
        self.peers, self._play = peers, play
        self.cases: list[str] = []
        self.beside: dict[str, list[float]] = {name: [] for name in peers}
        self.pairs: list[tuple[float, float]] = []
        self.stages: list[dict[str, float]] = []
        self._result: Any = None
        self._took = 0.0
        self._items: dict[str, Any] = {}
        self._profile = cProfile.Profile() if profile else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember the items, since the hooks that tell of their end do not know them."""
        self._items = {item.nodeid: item for item in session.items}

    def pytest_runtest_logstart(self) -> None:
        """Profile from here, where that is asked for."""
        if self._profile and self._result is not None:
            self._profile.enable()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long the call of a cell took."""
        if report.when == "call":
            self._took = report.duration

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Run the other arms between two cells.

        A hook around the cell itself would keep the page of the next one from being opened ahead.
        """
        if self._profile:
            self._profile.disable()
        item = self._items[nodeid]
        # After the last cell there is no browser any more.
        if item is list(self._items.values())[-1]:
            return
        if self._result.outcome != "passed":
            raise SystemExit(f"{item.name} did not pass: {self._result.reason}")
        plain = self._episode(item)
        attempt = self._result.attempts[0]
        around = self._took * 1000 - sum(attempt.stage_ms.values())
        # The first cell starts the browser.
        self.pairs.append((self._took, plain))
        self.cases.append(item.cell.case.id)
        self.stages.append({**attempt.stage_ms, "around": around})
        seed = SEEDS[len(self.pairs) % len(SEEDS)]
        for name, peer in self.peers.items():
            self.beside[name].append(peer.episode_ms(seed))

    def pytest_autoweb_cell_finished(self, result: Any) -> None:
        """Remember the cell that has just ended."""
        self._result = result

    def _episode(self, item: Any) -> float:
        fixture = item.session._fixturemanager.getfixturedefs("browser", item)[-1]
        browser: Browser = fixture.cached_result[0]
        began = time.perf_counter()
        if not self._play(browser, item.cell.case, self._result.attempts[0]):
            raise SystemExit(f"{item.name}: the plain episode did not do the task")
        return time.perf_counter() - began

    def close(self, path: str) -> None:
        """Save the profile, if one was taken."""
        if self._profile:
            self._profile.dump_stats(path)


def play_miniwob(browser: Browser, case: Any, attempt: Any) -> bool:
    """Do an episode of MiniWoB in plain Playwright, and tell whether it earned the reward."""
    url = attempt.entry_url_used.rpartition("/")[0]
    task, _, seed = case.id.removeprefix("miniwob-").rpartition("-")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{url}/{task}.html")
    page.evaluate(_episode(seed))
    exec(_solution(task), {"page": page, "re": re})
    rewarded = bool(page.evaluate(REWARDED))
    context.close()
    return rewarded


@cache
def _episode(seed: str) -> str:
    return (MINIWOB / "episode.js").read_text(encoding="utf-8").replace("__SEED__", seed)


@cache
def _solution(task: str) -> CodeType:
    import yaml

    oracles = yaml.safe_load((MINIWOB / "oracles.yaml").read_text(encoding="utf-8"))
    return compile(oracles[task], "oracle", "exec")


def run_session(task: str, pairs: int, folder: Path, plugin: Pairs) -> None:
    """Run the cells of a session in this process."""
    repeat = pairs // len(SEEDS) + 1
    chosen = " or ".join(f"miniwob-{task}-{seed}[" for seed in SEEDS)
    arguments = [str(HERE / "miniwob20.yaml"), "-q", "-k", chosen, "-p", "no:cacheprovider"]
    arguments += ["--autoweb-models=builtin/oracle", f"--autoweb-repeat={repeat}"]
    arguments += [f"--autoweb-report={folder / 'report'}"]
    if code := pytest.main(arguments, plugins=[plugin]):
        raise SystemExit(f"the session ended with exit code {code}")


def summary(plugin: Pairs) -> dict[str, Any]:
    """Return medians of both arms, of the ratio, and of each stage, without the first pair."""
    pairs, stages = plugin.pairs[1:], plugin.stages[1:]
    return {
        "pairs": len(pairs),
        "cell_ms": statistics.median(cell for cell, _ in pairs) * 1000,
        "plain_ms": statistics.median(plain for _, plain in pairs) * 1000,
        "ratio": statistics.median(cell / plain for cell, plain in pairs),
        "stages_ms": {
            name: statistics.median(stage.get(name, 0.0) for stage in stages) for name in stages[0]
        },
        "beside_ms": {name: statistics.median(took[1:]) for name, took in plugin.beside.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--task", default="click-button")
    parser.add_argument("--pairs", type=int, default=30, metavar="N")
    parser.add_argument("--profile", default="", metavar="PATH", help="save cProfile's figures")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures here")
    parser.add_argument("--browsergym", metavar="PYTHON", help="also measure BrowserGym")
    args = parser.parse_args()
    peers = {}
    if args.browsergym:
        peers["BrowserGym"] = Peer(args.browsergym)
        peers["BrowserGym without its pauses"] = Peer(args.browsergym, "0", "0")
    plugin = Pairs(args.profile, peers, play_miniwob)
    with tempfile.TemporaryDirectory() as scratch:
        run_session(args.task, args.pairs, Path(scratch), plugin)
    plugin.close(args.profile)
    for peer in peers.values():
        peer.close()
    found = summary(plugin)
    print(f"\n| {found['pairs']} pairs | ms | beside plain |\n|---|--:|--:|")
    print(f"| plain Playwright | {found['plain_ms']:.0f} | 1 |")
    print(f"| **cell** | {found['cell_ms']:.0f} | {found['ratio']:.2f} |")
    for name, spent in found["stages_ms"].items():
        print(f"| … of it `{name}` | {spent:.0f} | |")
    for name, spent in found["beside_ms"].items():
        print(f"| {name} | {spent:.0f} | {spent / found['plain_ms']:.2f} |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
