"""How well the vision locator's algorithms find elements, answered by a simulated model.

    python benchmarks/locator.py --pages FILE --json OUT   # the tables of docs/locator.md, minutes
    python benchmarks/locator.py --quick                   # the same on fewer targets, seconds
    python benchmarks/locator.py --live URL...             # real pictures of pages, in Chromium
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
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page, sync_playwright

from pytest_autoweb.browser.chromium import launch_args
from pytest_autoweb.browser.crosshair import View, take_view
from pytest_autoweb.llm.client import Request
from pytest_autoweb.locate.eyes import Eyes
from pytest_autoweb.locate.limits import Limits
from pytest_autoweb.locate.sight import Sight
from pytest_autoweb.locate.simulated import Noise
from pytest_autoweb.locate.trials import Contender, PageGeometry, Trial, geometry_of, trials

PAGES = Path(__file__).parent / "locator_pages.json"
APART = Limits(absent=0.03, combined_marks=0)
CONTENDERS = (
    Contender("seed", "seed", Limits()),
    Contender("bayes", "bayes", Limits()),
    Contender("bayes-text", "bayes", Limits(), echo=True),
    Contender("bayes-fast", "bayes", Limits(absent=0.03)),
    Contender("bayes-lines", "bayes", APART),
    Contender("bayes-lines-90", "bayes", replace(APART, confidence=0.9)),
)
"""`bayes` is what the product does. `text`: it also reads the text on the target. `fast`: a missing
target is held for unlikely. `lines`: lines and numbered boxes come in separate pictures; `90`: a
probability of 0.90 is enough."""
NOISES = {
    0.0: Noise(),
    0.05: Noise(wrong=0.05, slack=8, overlooked=0.02, pick=0.05, noticed=0.8),
    0.10: Noise(wrong=0.10, slack=8, overlooked=0.03, pick=0.05, noticed=0.8),
    0.20: Noise(wrong=0.20, slack=8, overlooked=0.05, pick=0.05, noticed=0.8),
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
"""Edges of the bins of confidence."""
VIEWPORTS = ((1280, 720), (1920, 1080))
HEAD = "| | noise | targets | mean | p50 | p95 | max | solved | wrong | absent reported |"


class Effort(NamedTuple):
    """How much is measured."""

    pages: int
    targets: int
    """Of each page."""
    layouts: int
    """Made-up pages of each kind and size."""


FULL, QUICK = Effort(10_000, 8, 6), Effort(40, 2, 1)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=Path, default=PAGES, help="page geometries, JSON")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all numbers there")
    parser.add_argument("--quick", action="store_true", help="few pages and targets")
    parser.add_argument("--seed", type=int, default=0, help="of targets and mistakes")
    parser.add_argument("--live", nargs="+", metavar="URL", help="locate on these pages instead")
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
    if options.live:
        result: dict[str, Any] = {"live": list(live(options.live, options.seed))}
    else:
        pages = read_pages(options.pages)
        result = measure(pages, QUICK if options.quick else FULL, options.seed)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def read_pages(path: Path) -> list[PageGeometry]:
    """The pages of a file; pages without candidates are left out."""
    pages = [geometry_of(page) for page in json.loads(path.read_text(encoding="utf-8"))["pages"]]
    return [page for page in pages if page.candidates]


def measure(pages: Sequence[PageGeometry], effort: Effort, seed: int) -> dict[str, Any]:
    """All tables; each is printed as soon as it is known."""
    began = time.monotonic()
    step = max(1, len(pages) // effort.pages)
    pages = pages[::step]
    print(f"{len(pages)} pages, {sum(len(page.candidates) for page in pages)} candidates\n")
    print(f"{HEAD}\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    rows, said = [], []
    for contender in CONTENDERS:
        for noise, mistakes in NOISES.items():
            present = list(trials(pages, contender, mistakes, targets=effort.targets, seed=seed))
            gone = list(
                trials(pages, contender, mistakes, targets=effort.targets, absent=True, seed=seed)
            )
            rows.append(row_of(contender.name, noise, present, gone))
            print_row(rows[-1])
            said += list(calibration(contender, noise, present, gone))
    print("\n| `bayes` said | noise | searches | mean | right | right, if there |")
    print("|---|--:|--:|--:|--:|--:|")
    for one in said:
        if one["algorithm"] == "bayes":
            there = one["right_when_present"] or 0.0
            print(
                f"| {one['from']:.2f} to {one['to']:.2f} | {one['noise']:.0%} | {one['searches']}"
                f" | {one['said']:.1%} | {one['right']:.1%} | {there:.1%} |"
            )
    print(f"\n{HEAD}\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    harder = list(rows_of_harder(pages, effort, seed))
    sizes = list(rows_of_sizes(effort, seed))
    print(f"\n{time.monotonic() - began:.0f} s")
    return {"rows": rows, "calibration": said, "harder": harder, "sizes": sizes}


def row_of(
    name: str, noise: float | str, present: Sequence[Trial], gone: Sequence[Trial] = ()
) -> dict[str, Any]:
    """One line of a table. Shares are fractions of all targets."""
    calls = sorted(trial.outcome.calls for trial in present)
    count = len(calls)
    endings = Counter(trial.outcome.status for trial in present)
    reported = sum(trial.outcome.status == "not_found" for trial in gone)
    return {
        "algorithm": name,
        "noise": noise,
        "targets": count,
        "mean_calls": sum(calls) / count,
        "p50": quantile(calls, 0.5),
        "p95": quantile(calls, 0.95),
        "max": calls[-1],
        "solved": sum(trial.solved for trial in present) / count,
        "wrong_returned": sum(trial.wrong for trial in present) / count,
        "absent_reported": reported / len(gone) if gone else None,
        "absent_wrong_returned": sum(t.wrong for t in gone) / len(gone) if gone else None,
        "absent_mean_calls": sum(t.outcome.calls for t in gone) / len(gone) if gone else None,
        "falsely_not_found": endings["not_found"] / count,
        "endings": dict(endings),
    }


def quantile(ordered: Sequence[int], share: float) -> int:
    """The smallest value that at least this share does not exceed."""
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def print_row(row: dict[str, Any]) -> None:
    """As a line of Markdown."""
    noise = row["noise"] if isinstance(row["noise"], str) else f"{row['noise']:.0%}"
    absent = "" if row["absent_reported"] is None else f"{row['absent_reported']:.1%}"
    print(
        f"| {row['algorithm']} | {noise} | {row['targets']} | {row['mean_calls']:.2f}"
        f" | {row['p50']} | {row['p95']} | {row['max']} | {row['solved']:.1%}"
        f" | {row['wrong_returned']:.2%} | {absent} |",
        flush=True,
    )


def calibration(
    contender: Contender, noise: float, present: Sequence[Trial], gone: Sequence[Trial]
) -> Iterator[dict[str, Any]]:
    """How often `found` is right, by what it said; missing targets as often as the prior says."""
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


def rows_of_harder(
    pages: Sequence[PageGeometry], effort: Effort, seed: int
) -> Iterator[dict[str, Any]]:
    """Mistakes that the assumed ones do not cover."""
    for contender in CONTENDERS[:2]:
        for name, mistakes in HARDER.items():
            found = trials(pages, contender, mistakes, targets=effort.targets, seed=seed)
            row = row_of(contender.name, name, list(found))
            print_row(row)
            yield row


def rows_of_sizes(effort: Effort, seed: int) -> Iterator[dict[str, Any]]:
    """Made-up pages of 10 to 500 candidates, 5 % noise."""
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


def layouts(size: int, luck: int) -> Iterator[PageGeometry]:
    """Made-up pages with so many elements: a table, cards with buttons, tiny icons, a heap."""
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


def live(urls: Sequence[str], seed: int, targets: int = 4) -> Iterator[dict[str, Any]]:
    """Locate on real pages: the model's stand-in reads lines and numbers in the pictures."""
    # Needs Pillow, which nothing else here does.
    from pytest_autoweb.testing.pixels import Noise as PixelNoise
    from pytest_autoweb.testing.pixels import PixelReadingClient, Target

    noise = PixelNoise(slack=8, wrong_line=0.05, wrong_mark=0.05, unseen=0.02)
    for url, _, page in opened(urls, VIEWPORTS[:1]):
        view = take_view(page)
        chosen = random.Random(f"{seed} {url}").sample(view.marks, min(targets, len(view.marks)))
        for mark in chosen:
            what = f"target number {mark.number}"
            client = PixelReadingClient(
                {what: Target(*mark.box)}, viewport=(view.width, view.height), noise=noise
            )
            for algorithm in ("seed", "bayes"):
                eyes = Eyes(client, Request(model="fake/pixels", stage="locate", messages=()))
                result = Sight(page, eyes, algorithm=algorithm).locate(what)
                box = result.location.box
                right = box is not None and tuple(box) == tuple(mark.box)
                print(f"{algorithm} {result.status} right={right} {result.location.calls} {url}")
                yield {
                    "algorithm": algorithm,
                    "url": url,
                    "status": result.status,
                    "right": right,
                    "calls": result.location.calls,
                    "candidates": len(view.marks),
                }


def capture(out: Path, sources: Sequence[str], script: str, cookie: str) -> int:
    """Write what is visible and clickable on pages; pages with fewer than five are left out."""
    pages = []
    groups = [source.partition("=") for source in sources]
    names = {url: group for group, _, url in groups}
    for url, viewport, page in opened(list(names), VIEWPORTS, cookie):
        if script:
            page.evaluate(script)
        elements = elements_of(take_view(page))
        if len(elements) >= 5:
            name = url.rpartition("/")[2] or url
            pages.append(
                {
                    "name": f"{name} {viewport[0]}",
                    "group": names[url],
                    "viewport": viewport,
                    "title": page.title(),
                    "elements": elements,
                }
            )
    lines = ",\n".join(
        json.dumps(page, ensure_ascii=False, separators=(",", ":")) for page in pages
    )
    out.write_text(f'{{"pages": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(pages)} pages, {sum(len(page['elements']) for page in pages)} elements")
    return 0


def elements_of(view: View) -> list[dict[str, Any]]:
    """The elements that the product would search, in the format of --pages."""
    return [
        {
            **{key: round(value, 1) for key, value in zip("xywh", mark.box, strict=True)},
            "tag": mark.tag,
            "role": mark.role,
            "name": (mark.text or mark.name)[:30],
            "own": 1,
            "parent": -1,
        }
        for mark in view.marks
    ]


def opened(
    urls: Sequence[str], viewports: Sequence[tuple[int, int]], cookie: str = ""
) -> Iterator[tuple[str, tuple[int, int], Page]]:
    """Each page, one after the other, in one viewport after the other."""
    with sync_playwright() as playwright:
        arguments = launch_args(
            {}, playwright_executable=playwright.chromium.executable_path, browser_name="chromium"
        )
        browser = playwright.chromium.launch(**arguments)
        page = browser.new_page()
        for url, (width, height) in zip(urls, cycle(viewports), strict=False):
            if cookie:
                name, _, value = cookie.partition("=")
                page.context.add_cookies([{"name": name, "value": value, "url": url}])
            page.set_viewport_size({"width": width, "height": height})
            page.goto(url, wait_until="load")
            yield url, (width, height), page
        browser.close()


if __name__ == "__main__":
    raise SystemExit(main())
