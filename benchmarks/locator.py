"""How well the vision locator's algorithms find elements, answered by a simulated model.

    python benchmarks/locator.py --pages FILE --json OUT   # the tables of docs/locator.md, minutes
    python benchmarks/locator.py --quick                   # the same on fewer targets, seconds
    python benchmarks/locator.py --live [URL...]           # real pictures of pages, in Chromium
    python benchmarks/locator.py --capture OUT GROUP=URL...  # page geometries for --pages

No vision model is asked. The simulated one knows the target and errs on purpose: `noise` is the
share of its answers about one line that are wrong. With any noise it also says that a line crosses
within 8 px, misreads 5 % of the numbers (more with more than nine boxes), and overlooks 2, 3 or 5 %
of the targets; a target that is not there it takes for one and the same other element in 20 % of
the calls. Without noise it makes no mistake. Mistakes belong to the picture: the same picture
brings the same answer.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.locator_live import capture, live
from benchmarks.locator_rows import HEAD, RULE, Row, goals, print_goal, print_row, row_of
from benchmarks.search_trials import Contender, PageGeometry, SearchTrial, geometry_of, trials
from benchmarks.simulated_vision import ModelNoise, Oracle
from pytest_autoweb.agents.locate.candidates import Candidate, Rect
from pytest_autoweb.agents.locate.region import search_region
from pytest_autoweb.agents.locate.search_limits import SearchLimits

PAGES = Path(__file__).parent / "locator_pages.json"
LESS_SURE = SearchLimits(confidence=0.95)
CONTENDERS = (
    Contender("seed", "seed", SearchLimits()),
    Contender("bayes", "bayes", SearchLimits(), echo=True),
    Contender("bayes-95", "bayes", LESS_SURE, echo=True),
    Contender("mute", "bayes", SearchLimits()),
    Contender("mute-95", "bayes", LESS_SURE),
    Contender("lines-95", "bayes", replace(LESS_SURE, combined_marks=0)),
    Contender("lines-90", "bayes", SearchLimits(confidence=0.9, combined_marks=0)),
)
"""`bayes` is what the product does. `95`: a probability of 0.95 is enough. `mute`: the simulated
model does not say what text it reads on the target. `lines`: nor does it, and lines and numbered
boxes come in separate pictures."""
NOISES = {
    0.0: ModelNoise(),
    0.05: ModelNoise(wrong=0.05, slack=8, overlooked=0.02, pick=0.05, noticed=0.8),
    0.10: ModelNoise(wrong=0.10, slack=8, overlooked=0.03, pick=0.05, noticed=0.8),
    0.20: ModelNoise(wrong=0.20, slack=8, overlooked=0.05, pick=0.05, noticed=0.8),
}
HARDER = {
    "10 % of numbers wrong too": replace(NOISES[0.10], pick=0.10),
    "20 % of numbers wrong too": replace(NOISES[0.20], pick=0.20),
    "5 % of targets always taken for another": replace(NOISES[0.05], fooled=0.05),
    "10 % of replies unreadable": replace(NOISES[0.05], invalid=0.10),
    "crossing said within 24 px": replace(NOISES[0.05], slack=24),
}
SIZES = (10, 30, 100, 200, 500)
BINS = (0.9, 0.95, 0.97, 0.98, 0.99, 1.01)
"""The edges of the bins of confidence."""
ROOM = Rect(200, 100, 640, 480)
"""The area of a canvas, in CSS pixels."""


class Effort(NamedTuple):
    """The extent of a measurement."""

    pages: int
    targets: int
    """The number of targets on each page."""
    layouts: int
    """The number of made-up pages of each kind and size."""
    places: int
    """The number of targets on a canvas."""
    every: int
    """Of the bundled pages, with --live."""


FULL, QUICK = Effort(10_000, 8, 6, 400, 2), Effort(40, 2, 1, 40, 20)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=Path, default=PAGES, help="page geometries, JSON")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all numbers there")
    parser.add_argument("--quick", action="store_true", help="few pages and targets")
    parser.add_argument("--seed", type=int, default=0, help="of targets and mistakes")
    parser.add_argument("--seeds", type=int, default=1, help="so many, from --seed on, together")
    parser.add_argument(
        "--live", nargs="*", metavar="URL", help="locate on these pages, or the bundled ones"
    )
    parser.add_argument(
        "--capture", nargs="+", metavar=("OUT", "GROUP=URL"), help="write page geometries instead"
    )
    parser.add_argument("--script", type=Path, help="run in every page before it is captured")
    parser.add_argument("--cookie", help="NAME=VALUE, sent to every page that is captured")
    options = parser.parse_args()
    if options.capture:
        out, *sources = options.capture
        script = options.script.read_text(encoding="utf-8") if options.script else ""
        return capture(Path(out), sources, script.replace("__SEED__", "1"), options.cookie or "")
    effort = QUICK if options.quick else FULL
    if options.live is not None:
        result = live(options.live, options.seed, 2, effort.every)
    else:
        seeds = range(options.seed, options.seed + options.seeds)
        result = measure(read_pages(options.pages), effort, seeds)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def read_pages(path: Path) -> list[PageGeometry]:
    """Read the pages of a file, leaving out pages without candidates."""
    pages = [geometry_of(page) for page in json.loads(path.read_text(encoding="utf-8"))["pages"]]
    return [page for page in pages if page.candidates]


def measure(pages: Sequence[PageGeometry], effort: Effort, seeds: range) -> dict[str, Any]:
    """Measure all tables, printing each as soon as it is known."""
    began = time.monotonic()
    step = max(1, len(pages) // effort.pages)
    pages = pages[::step]
    print(f"{len(pages)} pages, {sum(len(page.candidates) for page in pages)} candidates\n")
    print(f"{HEAD}\n{RULE}")
    rows, said = [], []
    for contender in CONTENDERS:
        for noise, mistakes in NOISES.items():
            present = tried(pages, contender, mistakes, effort, seeds)
            gone = tried(pages, contender, mistakes, effort, seeds, absent=True)
            rows.append(row_of(contender.name, noise, present, gone))
            print_row(rows[-1])
            said += list(calibration(contender, noise, present, gone))
    print("\n| | said | noise | searches | mean | right | right, if there |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for one in said:
        if one["algorithm"] in ("bayes", "bayes-95") and one["noise"] in (0.05, 0.10):
            print_said(one)
    print(f"\n{HEAD}\n{RULE}")
    harder = list(rows_of_harder(pages, effort, seeds))
    sizes = list(rows_of_sizes(effort, seeds[0]))
    places = list(rows_of_places(effort, seeds[0]))
    reached = list(goals(rows, said, sizes))
    print("\n| goal | wanted | measured | reached |\n|---|--:|--:|---|")
    for goal in reached:
        print_goal(goal)
    print(f"\n{time.monotonic() - began:.0f} s")
    tables = {"calibration": said, "harder": harder, "sizes": sizes, "places": places}
    return {"rows": rows, **tables, "goals": reached}


def tried(
    pages: Sequence[PageGeometry],
    contender: Contender,
    mistakes: ModelNoise,
    effort: Effort,
    seeds: range,
    *,
    absent: bool = False,
) -> list[SearchTrial]:
    """Run the searches with each seed."""
    return [
        trial
        for seed in seeds
        for trial in trials(
            pages, contender, mistakes, targets=effort.targets, absent=absent, seed=seed
        )
    ]


def print_said(one: Row) -> None:
    """Print a bin of confidence as a line of Markdown."""
    there = one["right_when_present"] or 0.0
    print(
        f"| {one['algorithm']} | {one['from']:.2f} to {one['to']:.2f} | {one['noise']:.0%}"
        f" | {one['searches']} | {one['said']:.1%} | {one['right']:.1%} | {there:.1%} |"
    )


def calibration(
    contender: Contender, noise: float, present: Sequence[SearchTrial], gone: Sequence[SearchTrial]
) -> Iterator[Row]:
    """Yield how often `found` is right, by confidence; targets are missing as the prior expects."""
    share = contender.limits.absent
    weight = share / (1 - share) * len(present) / max(1, len(gone))
    found = [(trial, 1.0) for trial in present] + [(trial, weight) for trial in gone]
    found = [pair for pair in found if pair[0].outcome.status == "found"]
    for low, high in pairwise(BINS):
        inside = [pair for pair in found if low <= pair[0].outcome.confidence < high]
        total = sum(weight for _, weight in inside)
        there = [trial.solved for trial, _ in inside if trial.target is not None]
        if inside:
            yield {
                "algorithm": contender.name,
                "noise": noise,
                "from": low,
                "to": min(high, 1.0),
                "searches": len(inside),
                "said": sum(trial.outcome.confidence * part for trial, part in inside) / total,
                "right": sum(trial.solved * part for trial, part in inside) / total,
                "right_when_present": sum(there) / len(there) if there else None,
            }


def rows_of_harder(pages: Sequence[PageGeometry], effort: Effort, seeds: range) -> Iterator[Row]:
    """Yield rows for mistakes that the assumed ones do not cover."""
    for contender in CONTENDERS[:2]:
        for name, mistakes in HARDER.items():
            row = row_of(contender.name, name, tried(pages, contender, mistakes, effort, seeds))
            print_row(row)
            yield row


def rows_of_sizes(effort: Effort, seed: int) -> Iterator[Row]:
    """Yield rows for made-up pages of 10 to 500 candidates with 5 % noise."""
    for contender in CONTENDERS[:2]:
        for size in SIZES:
            pages = [page for luck in range(effort.layouts) for page in layouts(size, seed + luck)]
            began = time.process_time()
            found = list(trials(pages, contender, NOISES[0.05], targets=6, seed=seed))
            spent = time.process_time() - began
            row = row_of(contender.name, f"5%, {size} candidates", found)
            asked = sum(trial.outcome.calls for trial in found)
            row["ms_per_question"] = 1000 * spent / asked
            print_row(row)
            yield row


def rows_of_places(effort: Effort, seed: int) -> Iterator[Row]:
    """Yield rows for things of 16 to 200 px on a canvas, clicked within 4 px of them or not."""
    print("\n| noise | targets | mean calls | clicked | elsewhere | endings |")
    print("|--:|--:|--:|--:|--:|---|")
    for noise, mistakes in NOISES.items():
        endings: Counter[str] = Counter()
        calls = clicked = 0
        for number in range(effort.places):
            dice = random.Random(f"{seed} {number}")
            wide, high = (16 * (200 / 16) ** dice.random() for _ in "xy")
            left = ROOM.x + dice.random() * (ROOM.width - wide)
            target = Rect(left, ROOM.y + dice.random() * (ROOM.height - high), wide, high)
            oracle = Oracle((Candidate(target),), 0, mistakes, dice.randrange(2**32))
            place = search_region(ROOM, oracle)
            endings[place.status] += 1
            calls += place.calls
            if place.point is not None:
                x, y = place.point
                across = target.x - 4 <= x <= target.right + 4
                clicked += across and target.y - 4 <= y <= target.bottom + 4
        row = {
            "noise": noise,
            "targets": effort.places,
            "mean_calls": calls / effort.places,
            "clicked": clicked / effort.places,
            "elsewhere": (endings["found"] - clicked) / effort.places,
            "endings": dict(endings),
        }
        print(
            f"| {noise:.0%} | {effort.places} | {row['mean_calls']:.1f} | {row['clicked']:.1%}"
            f" | {row['elsewhere']:.1%} | {row['endings']} |"
        )
        yield row


def layouts(size: int, luck: int) -> Iterator[PageGeometry]:
    """Yield made-up pages of so many elements: a table, cards with buttons, tiny icons, a heap."""
    dice = random.Random(f"{size} {luck}")
    for kind in ("table", "cards", "icons", "heap"):
        elements: list[dict[str, Any]] = []
        columns = max(2, round((size * 1.6) ** 0.5))
        wide, high = 1240 / columns, 680 / (-(-size // columns))
        for index in range(size):
            left, top = 20 + index % columns * wide, 20 + index // columns * high
            box = [left, top, wide * dice.uniform(0.4, 0.95), high * dice.uniform(0.5, 0.9)]
            parent = -1
            if kind == "cards" and index % 2:
                x, y, w, h = (elements[-1][key] for key in "xywh")
                box, parent = [x + w * 0.6, y + h * 0.5, w * 0.35, h * 0.4], index - 1
            elif kind == "icons":
                box[2:] = [dice.uniform(6, 14), dice.uniform(6, 14)]
            elif kind == "heap":
                box = [dice.uniform(0, 1100), dice.uniform(0, 650), dice.uniform(9, 180)]
                box.append(dice.uniform(9, 70))
            elements.append(dict(zip("xywh", box, strict=True), name=f"{index}", parent=parent))
        yield geometry_of(
            {"name": f"{kind} {size} {luck}", "viewport": (1280, 720), "elements": elements}
        )


if __name__ == "__main__":
    raise SystemExit(main())
