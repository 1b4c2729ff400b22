"""How often a text of the wrong element is accepted, and one of the right element refused.

    python benchmarks/expected_texts.py
    python benchmarks/expected_texts.py --groups town admin --list 10

Real pages, real marks, the real verifier; no model. Every marked element of every page is chosen
by its number with a text that a person reads on it, whole or in part, and with texts of other
elements: of its own page, where the text is to win over the number, and of other pages, where
nothing is to be done. See "How a choice is verified" in docs/act.md.
"""

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import sync_playwright

from pytest_autoweb.agents.choice.disambiguate import resolve_apart
from pytest_autoweb.agents.choice.verify_choice import Choice, Resolution
from pytest_autoweb.browser.egress.chromium import launch_args

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.act import said
from benchmarks.act_pages import GROUPS, Shown, Target, alike, same_address, shown_pages
from benchmarks.verifier_facts import share

_WORDS = 3
"""The beginning of a text that is given as a part has so many words."""


class Trial(NamedTuple):
    """One choice, with what became of it."""

    kind: str
    """A key of `KINDS`."""
    became: str
    """`own` (the numbered element), `other` (the one that has the text), `asked` or `nothing`."""
    said: str


KINDS = {
    "whole": "its own text",
    "line": "a line of its text",
    "beginning": f"the first {_WORDS} words of its text",
    "same page": "the text of another element of the page",
    "other page": "the text of an element of another page",
}
RIGHT = ("whole", "line", "beginning")


def trials(pages: Sequence[Shown], wrong: int, seed: int) -> Iterator[Trial]:
    """Choose each element with texts of its own, and with some that are not."""
    draw = random.Random(seed)
    texts = {shown.name: [text for text in shown.texts if text] for shown in pages}
    for shown in pages:
        foreign = [text for name, own in texts.items() if name != shown.name for text in own]
        for target in shown.targets():
            if not target.text:
                continue
            for kind, text in _own_texts(target.text):
                yield _tried(shown, target, kind, text)
            others = [text for text in texts[shown.name] if not alike(text, target.text)]
            for kind, pool in (("same page", others), ("other page", foreign)):
                for text in draw.sample(pool, min(wrong, len(pool))):
                    if not _is_on(shown, text) or kind == "same page":
                        yield _tried(shown, target, kind, text)


def _own_texts(text: str) -> Iterator[tuple[str, str]]:
    yield "whole", text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        yield "line", lines[0]
    words = text.split()
    if len(words) > _WORDS:
        yield "beginning", " ".join(words[:_WORDS])


def _is_on(shown: Shown, text: str) -> bool:
    return any(alike(text, own) for own in shown.texts)


def _tried(shown: Shown, target: Target, kind: str, text: str) -> Trial:
    near = shown.near(target) if kind in RIGHT else ""
    found = resolve_apart(Choice(target.mark.number, text, near), shown.marks)
    told = f"{target.page} [{target.mark.number}] {target.text!r:.60} as {text!r:.60}"
    return Trial(kind, _became(found, target), f"{told}: {found.status}, {found.chosen.reason}")


def _became(found: Resolution, target: Target) -> str:
    if found.mark is not None:
        meant = found.mark.box == target.mark.box or same_address(found.mark, target.mark)
        return "own" if meant else "other"
    return "asked" if found.candidates else "nothing"


def table(made: Sequence[Trial]) -> Iterator[str]:
    """Yield the table as Markdown."""
    yield "| the number of an element, and | it was taken | another was | asked again |"
    yield "|---|---|---|---|"
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for trial in made:
        by_kind[trial.kind][trial.became] += 1
    for kind, name in KINDS.items():
        counts = by_kind[kind]
        if not (n := counts.total()):
            continue
        taken, other, asked = (said(share(counts[end], n)) for end in ("own", "other", "asked"))
        yield f"| {name} | {taken} | {other} | {asked} |"


def main() -> None:
    """Mark the pages once, then choose."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--wrong", type=int, default=4, help="wrong texts of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", type=int, default=0, metavar="N", help="print N errors of a kind")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        browser = playwright.chromium.launch(**launch_args({}, playwright_executable=own))
        pages = list(shown_pages(browser.new_page(), options.groups))
    made = list(trials(pages, options.wrong, options.seed))
    elements = sum(len(shown.marks) for shown in pages)
    print(f"{len(pages)} pages, {elements} elements, seed {options.seed}\n")
    print("\n".join(table(made)))
    for kind in KINDS:
        errors = [t.said for t in made if t.kind == kind and (t.became == "own") != (kind in RIGHT)]
        for told in errors[: options.list]:
            print(f"{kind}: {told}")


if __name__ == "__main__":
    main()
