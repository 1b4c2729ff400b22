"""What the sandbox costs, against the same code with Playwright's own objects.

    python benchmarks/sandbox.py                      # about a minute
    python benchmarks/sandbox.py --rounds 200 --json sandbox.json

The same source runs in both arms, on the same page, in alternating blocks, so that whatever else
the machine does hits both. Times are medians; beside them the 10th percentile, which a busy machine
disturbs less. So there are two ratios.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page, expect, sync_playwright

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.sandbox.engine import Limits, SandboxBorder
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.levels import Level
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.sandbox.worker_process import WorkerProcess, Workers

FORM = """<!doctype html><title>Shop</title><h1>Shop</h1>
<label>User <input id=user></label> <label>Comment <textarea></textarea></label>
<label>Size <select><option value=s>Small</option><option value=l>Large</option></select></label>
<label><input type=checkbox> Terms</label> <a href="#top">Top</a>
<button onclick="setTimeout(() => { done.textContent = 'Welcome, ' + user.value }, 5)">Go</button>
<p id=done></p><ul><li>apple<li>pear<li>plum</ul>"""

ACTIONS = {
    "inner_text": "page.locator('#done').inner_text()",
    "count": "page.get_by_role('listitem').count()",
    "expect": "expect(page.get_by_role('heading')).to_be_visible()",
    "wait_for": "page.get_by_text('pear').wait_for()",
    "fill": "page.get_by_label('User').fill('ana')",
    "select_option": "page.get_by_label('Size').select_option(label='Large')",
    "check": "page.get_by_label('Terms').set_checked(turn % 2 == 0)",
    "click": "page.get_by_role('button', name='Go').click()",
}
TIMED = """import time
spent = []
for turn in range(6):
    began = time.perf_counter()
    {}
    spent.append(time.perf_counter() - began)
answer(spent)
"""
STEPS = (
    "page.get_by_label('User').fill('ana')\npage.get_by_label('Comment').fill('no nuts, please')\n"
    "page.get_by_label('Size').select_option(label='Large')\npage.get_by_label('Terms').check()",
    "page.get_by_role('button', name='Go').click()\n"
    "expect(page.locator('#done')).to_have_text('Welcome, ana')\n"
    "page.get_by_text('pear').wait_for()",
    "fruit = [item.inner_text() for item in page.get_by_role('listitem').all()]\n"
    "page.get_by_label('Terms').uncheck()\nanswer({'fruit': fruit, 'title': page.title()})",
)
"""The page of typical actions: thirteen of them, as a model writes them."""
LIMITS = Limits(step_s=60)


class Row(NamedTuple):
    """One line of the table; times in milliseconds."""

    what: str
    raw: list[float]
    sandboxed: list[float]

    @property
    def ratios(self) -> tuple[float, float] | None:
        """Return how many times longer it takes, by the medians and by the 10th percentiles."""
        if not self.raw:
            return None
        medians = statistics.median(self.sandboxed) / statistics.median(self.raw)
        return medians, _p10(self.sandboxed) / _p10(self.raw)

    def as_json(self) -> dict[str, Any]:
        """Return the row for machines."""
        numbers = {"raw": _summary(self.raw), "sandboxed": _summary(self.sandboxed)}
        return {"what": self.what, "ratios": self.ratios, **numbers}


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, metavar="N")
    parser.add_argument("--level", choices=("auto", "strict", "off"), default="auto")
    parser.add_argument("--json", type=Path, metavar="PATH")
    parsed = parser.parse_args()
    workers = Workers(parsed.level)
    layers = str(workers.layers())
    with a_page() as page:
        rows = [*action_rows(page, workers, parsed.rounds), page_row(page, workers, parsed.rounds)]
        rows.append(attempt_row(page, workers, parsed.rounds))
    rows += worker_rows(parsed.level, max(5, parsed.rounds // 4))
    workers.close()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"layers: {layers}; {os.cpu_count()} CPUs, load {load:.1f}; rounds: {parsed.rounds}\n")
    print("\n".join(table(rows)))
    if parsed.json:
        found = {"layers": layers, "load": load, "rows": [row.as_json() for row in rows]}
        parsed.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


@contextmanager
def a_page() -> Iterator[Page]:
    """Open the form in a browser of its own, and yield its page."""
    with sync_playwright() as playwright:
        args = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        browser = playwright.chromium.launch(**args)
        page = browser.new_page()
        page.set_content(FORM)
        yield page
        browser.close()


def border(page: Page) -> SandboxBorder:
    """Return what an attempt would hand out, with a secret to look for in every text."""
    return SandboxBorder(
        page=page, artifacts=Path(os.devnull), redact=Redactor({"pw": "hunter2-hunter2"})
    )


def in_process(page: Page, code: str, names: dict[str, Any] | None = None) -> Any:
    """Run code with the real page; what it answers."""
    answers: list[Any] = []
    names = {} if names is None else names
    exec(code, names | {"page": page, "expect": expect, "answer": answers.append})
    return answers[-1] if answers else None


def timed(call: Callable[[], object]) -> float:
    """Return the milliseconds that a call takes."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def step(engine: WorkerEngine, page: Page, index: int, code: str) -> None:
    """Run a block; a failure would make the numbers worthless."""
    outcome = engine.run_step(index, code, root=page, limits=LIMITS)
    if not outcome.ok:
        sys.exit(f"the block failed: {outcome.failure}")


def action_rows(page: Page, workers: Workers, rounds: int) -> Iterator[Row]:
    """Yield each action by itself, timed from within the code."""
    rows = {name: Row(f"`{name}`", [], []) for name in ACTIONS}
    with WorkerEngine(border(page), workers=workers) as engine:
        for turn in range(rounds):
            for name, action in ACTIONS.items():
                code = TIMED.format(action)
                rows[name].raw.extend(1000 * s for s in in_process(page, code))
                step(engine, page, turn, code)
                _, seconds = engine.answer
                assert isinstance(seconds, list)
                rows[name].sandboxed.extend(1000 * float(s) for s in seconds)
    yield from rows.values()


def page_row(page: Page, workers: Workers, rounds: int) -> Row:
    """Time all typical actions one after the other, in three steps of one attempt."""
    row = Row("a page of typical actions", [], [])
    with WorkerEngine(border(page), workers=workers) as engine:

        def sandboxed() -> None:
            for index, code in enumerate(STEPS):
                step(engine, page, index, code)

        sandboxed()
        for _ in range(rounds):
            row.raw.append(timed(lambda: [in_process(page, code) for code in STEPS]))
            row.sandboxed.append(timed(sandboxed))
    return row


def attempt_row(page: Page, workers: Workers, rounds: int) -> Row:
    """Time the same with everything that an attempt adds: lint, a worker of its own, its end.

    Between two attempts there is the time that a model takes to answer at the very least, in which
    the spare worker starts.
    """
    row = Row("an attempt: lint, worker, the same page, end", [], [])

    def attempt() -> None:
        lint_code("\n".join(STEPS))
        with WorkerEngine(border(page), workers=workers) as engine:
            for index, code in enumerate(STEPS):
                step(engine, page, index, code)

    for _ in range(max(5, rounds // 2)):
        workers.layers()
        row.raw.append(timed(lambda: [in_process(page, code) for code in STEPS]))
        row.sandboxed.append(timed(attempt))
    return row


def worker_rows(level: Level, rounds: int) -> Iterator[Row]:
    """Yield the times of starting, restarting and linting, which have no counterpart."""
    workers = Workers(level)
    walls = workers._walls
    start, warm, restart = [], [], []
    for _ in range(rounds):
        began = time.perf_counter()
        worker = WorkerProcess(memory_mb=LIMITS.memory_mb, cpu_s=LIMITS.cpu_s, walls=walls)
        worker.wait_ready()
        start.append((time.perf_counter() - began) * 1000)
        worker.close()
        workers.layers()
        warm.append(timed(lambda: workers.ready(workers.take(LIMITS)).close()))
    page: Any = object()
    with WorkerEngine(
        SandboxBorder(page=page, artifacts=Path(os.devnull)), workers=workers
    ) as engine:
        for turn in range(rounds):
            workers.layers()
            step(engine, page, 2 * turn, "kept = 1")
            engine._worker.kill()
            while engine._worker.alive:
                time.sleep(0.001)
            restart.append(timed(partial(step, engine, page, 2 * turn + 1, "kept = kept + 1")))
    workers.close()
    yield Row("start of a worker until it is ready", [], start)
    yield Row("a warm worker, taken and ended", [], warm)
    yield Row("restart after a kill, until the next step has run", [], restart)
    lint = [timed(lambda: lint_code("\n".join(STEPS))) for _ in range(rounds * 4)]
    yield Row("lint of the page's script", [], lint)


def table(rows: list[Row]) -> Iterator[str]:
    """Yield the rows as markdown."""
    yield "| what | Playwright alone, ms (p10) | sandboxed, ms (p10) | ratio (of p10) |"
    yield "|---|--:|--:|--:|"
    for row in rows:
        raw = _shown(row.raw) if row.raw else ""
        ratio = "{:.2f} ({:.2f})".format(*row.ratios) if row.ratios else ""
        yield f"| {row.what} | {raw} | {_shown(row.sandboxed)} | {ratio} |"


def _summary(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {"median": statistics.median(values), "p10": _p10(values), "n": len(values)}


def _shown(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({_p10(values):.2f})"


def _p10(values: list[float]) -> float:
    return sorted(values)[len(values) // 10]


if __name__ == "__main__":
    raise SystemExit(main())
