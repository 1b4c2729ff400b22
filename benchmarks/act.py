"""How well verification tells wrong choices from right ones, measured with known truth.

    python benchmarks/act.py
    python benchmarks/act.py --groups town miniwob --seeds 2 --json act.json --list

Real pages, real marks, the real reader of replies and the real verifier; the model is the fake
that errs on purpose (`pytest_autoweb.testing.FaultyClient`). Every marked element of every page is
once the element that is meant. What the fake "reads" of an element is not taken from the marks: it
is the text that the browser renders there, or a field's label, or "icon" where there is no text.

What tells elements with the same text apart is read as a person would as well: the first line of
the row, item, card or section around it that no other of them has. Where there is none, the fake
copies what the list of marks says, which may be no more than a place (`2 of 4`).

The fake also drops texts, answers in the wrong form and writes texts as a hasty reader would. After
a stopped choice it is asked again, up to twice: once with the lines that say what was wrong and
once, as the control arm, without them. How far it heeds them is an assumption, and printed.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from playwright.sync_api import sync_playwright

from benchmarks.verifier_facts import (
    ChoiceTrial,
    Gain,
    Performed,
    ShareOfChoices,
    VerifierFacts,
    gain,
    share,
    verifier_facts,
)
from pytest_autoweb.agents.act.actions import validate_action
from pytest_autoweb.agents.choice.decision_json import ReplyProblem, read_choices, read_object
from pytest_autoweb.agents.choice.disambiguate import ambiguous, distinguishing_texts, resolve_apart
from pytest_autoweb.agents.choice.feedback import Problem, section
from pytest_autoweb.agents.choice.verify_choice import Choice, Resolution
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.browser.marks.mark_list import full_line
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.testing import Faults, FaultyClient, Right

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.act_pages import GROUPS, Shown, Target, same_address, shown_pages

RATES = (0.1, 0.2, 0.3)
TRIES = 3
FAULTS = Faults(drop=0.05, drop_near=0.05, malformed=0.05, loose=0.2, heeds=0.8, rethinks=0.3)


class Course(NamedTuple):
    """What became of one choice and of those after it."""

    trials: tuple[ChoiceTrial, ...]
    """The choice of the first decision, and that of its second look."""
    first: Performed
    end: Performed
    calls: int
    told: str
    """How the first choice ended, for people."""


class Chooser:
    """Asks the fake for one target until something was performed, or the tries are used up."""

    def __init__(self, shown: Shown, target: Target, faults: Faults, seed: object) -> None:
        self._shown, self._target = shown, target
        self._meant = target.mark.number
        self._text = target.text or "icon"
        self._near = shown.near(target)
        self._client = FaultyClient(self._right, faults, seed)
        self.calls = 0
        self._ended = ""
        self._trials: list[ChoiceTrial] = []

    def _right(self, prompt: str) -> Right:
        return Right({"action": "click"}, rf"^\[{self._meant}\] ", self._text, self._near)

    def course(self, *, told: bool) -> Course:
        """Make up to `TRIES` decisions.

        Args:
            told: whether the next prompt says what was wrong.
        """
        performed, said = self._decide(self._shown.marks, "")
        first, trials, ended = performed, tuple(self._trials), self._ended
        for _ in range(TRIES - 1):
            if performed != "nothing":
                break
            performed, said = self._decide(self._shown.marks, said if told else "")
        return Course(trials, first, performed, self.calls, ended)

    def _decide(self, marks: tuple[Mark, ...], problems: str) -> tuple[Performed, str]:
        """Make one decision, with its second look where the text fits several elements."""
        self._meant = self._target.mark.number
        answer = self._ask(marks, problems, ambiguous(marks))
        if isinstance(answer, str):
            self._ended = answer
            self._note("nothing", marks)
            return "nothing", f"Your last reply could not be used: {answer}"
        found = resolve_apart(answer, marks)
        self._ended = f"{found.status}: {found.chosen.reason}"
        self._note("asked" if found.candidates else self._performed(found), marks)
        if found.candidates:
            found = self._second_look(found)
        if found.mark is not None:
            return self._performed(found), ""
        chosen = found.chosen
        problem = Problem(
            phase="act",
            step=1,
            mark=chosen.mark,
            expected=chosen.expected_text,
            actual=chosen.actual_text,
            verdict=chosen.verdict,
            reason=chosen.reason,
        )
        return "nothing", section([problem], same_picture=True)

    def _second_look(self, found: Resolution) -> Resolution:
        by_number = {mark.number: mark for mark in self._shown.marks}
        only = tuple(
            replace(by_number[number], number=place)
            for place, number in enumerate(found.candidates, 1)
        )
        self._meant = next((m.number for m in only if m.box == self._target.mark.box), 0)
        if not self._meant:
            return found._replace(candidates=())
        answer = self._ask(only, "", distinguishing_texts(only))
        if isinstance(answer, str):
            return found._replace(candidates=())
        same = answer._replace(expected_text=found.chosen.expected_text)
        again = resolve_apart(same, only, again=True)
        self._ended += f"; then {again.status}: {again.chosen.reason}"
        self._note(self._performed(again), only)
        return again

    def _performed(self, found: Resolution) -> Performed:
        if found.mark is None:
            return "nothing"
        return "right" if self._is_meant(found.mark) else "wrong"

    def _is_meant(self, mark: Mark) -> bool:
        meant = self._target.mark
        return mark.box == meant.box or same_address(mark, meant)

    def _ask(self, marks: Sequence[Mark], problems: str, near: Mapping[int, str]) -> Choice | str:
        self.calls += 1
        listed = "\n".join(full_line(mark, near.get(mark.number, "")) for mark in marks)
        message = Message(role="user", content=f"{listed}\n{problems}")
        request = Request(model="fake/faulty", messages=(message,), stage="decide")
        try:
            fields = read_object(self._client.complete(request).text)
            validate_action(fields)
            return read_choices(fields)[0]
        except ReplyProblem as problem:
            return str(problem)

    def _note(self, performed: Performed, marks: Sequence[Mark]) -> None:
        """Compare the answer just given with the truth."""
        slip = self._client.slips[-1]
        given = next((mark for mark in marks if mark.number == slip.given), None)
        # Where a link to the same address was given, nothing is wrong.
        wrong = slip.kind == "swapped" and not (given and self._is_meant(given))
        self._trials.append(ChoiceTrial(wrong, True, bool(slip.text), performed))


class Row(NamedTuple):
    """The measurements at one rate of wrong numbers."""

    rate: float
    facts: dict[str, VerifierFacts]
    """The facts about each group of elements, by the keys of `NAMES`."""
    end: dict[str, ShareOfChoices]
    """For the same groups, actions on another element than was meant, at any of the tries."""
    feedback: Gain
    """How many choices that were stopped at first ended on the right element."""
    calls: float
    """The number of model calls per choice, with the message."""


def measure(pages: Sequence[Shown], rate: float, seeds: int, *, listed: bool) -> Row:
    """Measure both arms on every element of every page."""
    faults = replace(FAULTS, swap=rate)
    courses: dict[str, list[Course]] = {name: [] for name in NAMES}
    pairs = []
    for shown, target, seed in product_of(pages, seeds):
        kind = shown.kind_of(target)
        key = f"{target.page}/{target.mark.number}/{seed}"
        told, untold = (
            Chooser(shown, target, faults, key).course(told=flag) for flag in (True, False)
        )
        courses[kind].append(told)
        courses["all"].append(told)
        if told.first == "nothing":
            pairs.append((told.end == "right", untold.end == "right"))
        if listed and (line := remarkable(told)):
            print(f"{target.page} [{target.mark.number}] {target.text!r}: {line}")
    facts = {
        name: verifier_facts([trial for c in own for trial in c.trials])
        for name, own in courses.items()
    }
    end = {
        name: share(sum(c.end == "wrong" for c in own), len(own)) for name, own in courses.items()
    }
    calls = sum(course.calls for course in courses["all"]) / max(1, len(courses["all"]))
    return Row(rate, facts, end=end, feedback=gain(pairs), calls=calls)


def product_of(pages: Sequence[Shown], seeds: int) -> Iterator[tuple[Shown, Target, int]]:
    """Yield every element of every page, as many times as asked."""
    for shown in pages:
        for target in shown.targets():
            for seed in range(seeds):
                yield shown, target, seed


def remarkable(course: Course) -> str:
    """Describe a false alarm, or a wrong choice that was not caught, in words."""
    first = course.trials[0]
    if first.performed == "nothing" and not first.wrong and first.has_text:
        return f"false alarm: {course.told}"
    if first.performed == "wrong" and first.wrong and first.distinguishable:
        return f"missed: {course.told}"
    return ""


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table as Markdown."""
    yield "| q | elements | choices | caught | set right | false alarms | wrong actions |"
    yield "|--:|---|--:|---|---|---|---|"
    for row in rows:
        for name, facts in row.facts.items():
            yield (
                f"| {row.rate} | {NAMES[name]} | {facts.trials:,} | {said(facts.caught)} "
                f"| {said(facts.set_right)} | {said(facts.false_alarms)} "
                f"| {said(row.end[name])} |"
            )
    yield ""
    yield "| q | stopped at first | solved with the message | without it | difference | p | calls |"
    yield "|--:|--:|--:|--:|---|--:|--:|"
    for row in rows:
        g = row.feedback
        low, high = (g.interval.low, g.interval.high) if g.interval else (0.0, 0.0)
        p = "< 0.0001" if g.p < 1e-4 else f"{g.p:.4f}"
        yield (
            f"| {row.rate} | {g.n:,} | {g.solved_with / g.n:.1%} | {g.solved_without / g.n:.1%} "
            f"| {100 * (g.difference or 0):+.1f} points ({100 * low:.1f} to {100 * high:.1f}) "
            f"| {p} | {row.calls:.2f} |"
        )


NAMES = {
    "unique": "with a text of their own",
    "shared": "that share their text, but not what is near",
    "links": "that share their text and address (links)",
    "placed": "that share all but their place",
    "bare": "without a text",
    "all": "all",
}


def said(part: ShareOfChoices) -> str:
    """Format a share with its interval."""
    if part.value is None or part.interval is None:
        return "–"
    low, high = part.interval.low, part.interval.high
    return f"{part.count:,}/{part.n:,} = {part.value:.2%} ({low:.2%} to {high:.2%})"


def main() -> None:
    """Mark the pages once, then let the fake choose."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--seeds", type=int, default=2, help="choices of each element")
    parser.add_argument("--list", action="store_true", help="print false alarms and misses")
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        browser = playwright.chromium.launch(**launch_args({}, playwright_executable=own))
        pages = list(shown_pages(browser.new_page(), options.groups))
    elements = sum(len(shown.marks) for shown in pages)
    print(f"{len(pages)} pages, {elements} elements, {options.seeds} choices of each; {FAULTS}\n")
    rows = [measure(pages, rate, options.seeds, listed=options.list) for rate in RATES]
    print("\n".join(table(rows)))
    if options.json:
        facts = [
            {
                "rate": row.rate,
                "calls": row.calls,
                "wrong_actions": {n: own.model_dump(mode="json") for n, own in row.end.items()},
                **{name: own.model_dump(mode="json") for name, own in row.facts.items()},
                "feedback": row.feedback.model_dump(mode="json"),
            }
            for row in rows
        ]
        options.json.write_text(json.dumps(facts, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
