#!/usr/bin/env python3
"""Compare cells with plain Playwright on eight kinds of tasks, in pairs in one browser.

    python benchmarks/cell_kinds.py --rounds 10

The pages and cases are in `benchmarks/kinds`: one click, a form, a long list, a login, a password
that stays on the page (so that it is covered in each picture), three pages, reading, a frame. Both
arms do what `cell.py` says: the same steps, from a fresh context of the same browser to its end;
the plain arm does nothing else. For each kind the table has the medians, and the median of the
ratios within the pairs, which a busy machine moves least.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.cell import Pairs

KINDS = Path(__file__).parent / "kinds" / "kinds.yaml"
PASSWORD = "tea-time"


def play(browser: Browser, case: Any, attempt: Any) -> bool:
    """Run the code of a cell in plain Playwright, and look for the result."""
    given: list[Any] = []
    code = attempt.code.replace("<secret:password>", PASSWORD)
    context = browser.new_context()
    page = context.new_page()
    page.goto(attempt.entry_url_used)
    exec(code, {"page": page, "re": re, "answer": given.append})
    if given:
        done = given == ["561"]
    else:
        where = page.frame_locator("iframe") if case.id == "frame" else page
        where.get_by_text("Done.").wait_for()
        done = True
    context.close()
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    parser.add_argument("--kind", default="", metavar="NAME", help="only this one")
    parser.add_argument("--profile", default="", metavar="PATH", help="save cProfile's figures")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures here")
    args = parser.parse_args()
    if args.rounds < 3:
        parser.error("--rounds: at least 3, since neither the first nor the last cell is paired")
    plugin = Pairs(args.profile, {}, play)
    with tempfile.TemporaryDirectory() as scratch:
        arguments = [str(KINDS), "-q", "-k", args.kind, "-p", "no:cacheprovider"]
        arguments += ["--autoweb-models=builtin/oracle", f"--autoweb-repeat={args.rounds}"]
        arguments += [f"--autoweb-report={scratch}/report"]
        if code := pytest.main(arguments, plugins=[plugin]):
            raise SystemExit(f"the session ended with exit code {code}")
    plugin.close(args.profile)
    paired = list(zip(plugin.cases, plugin.pairs, strict=True))[1:]
    found = {
        kind: [pair for name, pair in paired if name == kind]
        for kind in dict.fromkeys(plugin.cases)
    }
    print("\n| kind | pairs | plain, ms | cell, ms | ratio |\n|---|--:|--:|--:|--:|")
    ratios: dict[str, float] = {}
    for kind, pairs in found.items():
        cell, plain = (statistics.median(each) * 1000 for each in zip(*pairs, strict=True))
        ratios[kind] = statistics.median(cell / plain for cell, plain in pairs)
        print(f"| {kind} | {len(pairs)} | {plain:.0f} | {cell:.0f} | {ratios[kind]:.2f} |")
    print(f"| median | | | | {statistics.median(ratios.values()):.2f} |")
    stages: dict[str, list[float]] = {}
    for stage in plugin.stages[1:]:
        for name, spent in stage.items():
            stages.setdefault(name, []).append(spent)
    told = ", ".join(f"{name} {statistics.median(spent):.0f}" for name, spent in stages.items())
    print(f"\nstages of a cell, medians in ms: {told}")
    if args.json:
        args.json.write_text(json.dumps({"pairs": found, "ratios": ratios}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
