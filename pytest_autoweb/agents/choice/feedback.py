"""Words the feedback to a model on its refused choices and the kinds it often mistakes. Pure.

Headings, lines and advice reach models, so recorded replies depend on every character.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from pytest_autoweb.agents.choice.disambiguate import LOW_CONFIDENCE
from pytest_autoweb.agents.choice.expected_text import excerpt, excerpts
from pytest_autoweb.agents.choice.refusals import (
    CONTRADICTED,
    Refusal,
    advice_lines,
    heading_lines,
    refusal_of,
)
from pytest_autoweb.agents.choice.verify_choice import Resolution
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.results.records import Verdict

_FAILED = "Your last action came to nothing:"
_OTHER_PICTURE = "The numbers above are those of the previous picture; they may have changed."
CHOICES_COUNTED = 50
"""Maximum number of choices from earlier runs that count for a kind; the latest are used."""
FEWEST = 5
"""Number of choices of a kind below which earlier runs are ignored."""
OFTEN = 0.2
"""Share of wrong choices from which a kind counts as often mistaken."""
IN_THIS_ATTEMPT = 2
"""Number of wrong choices of a kind in the same attempt that suffice as well."""
CAREFUL_CONFIDENCE = 0.8
"""The confidence below which a choice of such a kind gets a second look."""
_SHOWN = 3
_KIND_CHARS = 20
_WHOLE_CHARS = 120
_CHINESE: dict[Refusal, str] = {
    "missing": "元素不存在",
    "unsaid": "没有给出文本",
    "incomplete": "文本不完整",
    "kind": "文本不完整",
    "alike": "不明确",
    "twice": "编号重复",
    "unsure": "没有确认",
    "gone": "元素不存在",
}
"""How small models are told of refusals other than that of another text."""


class Problem(Struct, frozen=True):
    """A refused choice, or a reply or action that failed."""

    phase: str
    """`act`, or a phase of the collector."""
    step: int
    """Index of the decision."""
    mark: int | None
    expected: str
    actual: str
    verdict: Verdict | None
    """None if the problem does not concern an element's text."""
    reason: str
    kind: str = ""
    """Role or tag of the element, for statistics."""
    xpath: str = ""
    note: str = ""
    """Further facts that the texts do not show, e.g. that several elements share them."""
    english: bool = False
    """Whether the wording is all English; small models get the wording that was recorded, which is
    partly Chinese."""
    refusal: Refusal | None = None
    """Why the choice was refused; None if only the verdict says so."""
    numbers: int = 0
    """How many marks the picture had."""
    used: int = 0
    """How many other choices of the same reply were used."""
    of: int = 1
    """How many choices the reply held."""

    @property
    def line(self) -> str:
        """Return the problem on one line for the prompt and the report, with page text cut."""
        label = "-" if self.mark is None else self.mark
        if self.verdict is None:
            return f"[{label}] {one_line(self.reason)}"
        return f"[{label}] {self._in_english() if self.english else self._in_chinese()}"

    @property
    def why(self) -> Refusal:
        return self.refusal or ("alike" if self.verdict == "unverifiable" else "wrong")

    @property
    def contradicted(self) -> bool:
        """Return whether the element is not the one that was meant, judging by its text."""
        return self.why in CONTRADICTED

    def _in_chinese(self) -> str:
        expected, actual = excerpts(self.expected, self.actual)
        if self.why in _CHINESE:
            return f"{_CHINESE[self.why]}: {self._said()}"
        if self.phase == "paginate":
            return f"翻页按钮验证失败: 文本不匹配: 期望包含'{expected}'，实际是'{actual}'"
        return f"验证失败: 期望'{expected}' 实际'{actual}'{self._noted}"

    def _in_english(self) -> str:
        if self.why == "alike":
            return f"is not clear: {self._said()}"
        if self.why not in ("wrong", "changed"):
            return self._said()
        expected, actual = excerpts(self.expected, self.actual)
        what = "does not match"
        if self.phase == "paginate":
            what = f"the control for the next page {what}"
        reads = f"reads '{actual}'" if actual else "shows no text"
        return f"{what}: expected '{expected}', but it {reads}{self._noted}"

    def _said(self) -> str:
        """Return what is to be said about any refusal but that of another text."""
        whole = excerpt(self.actual, _WHOLE_CHARS)
        whole += "…" if len(self.actual) > len(whole) == _WHOLE_CHARS else ""
        match self.why:
            case "missing":
                return _no_such_number(self.mark, self.numbers)
            case "unsaid":
                return f"you gave no text for it: give its text, which is '{whole}'"
            case "incomplete":
                return f"this may be the one: copy its whole text, '{whole}'{self._noted}"
            case "kind":
                return f"this may be the one: write the text that it reads, '{whole}'"
            case "blank":
                return f"shows no text, but you expected '{excerpt(self.expected)}'{self._noted}"
            case "twice":
                return "was chosen for several texts"
            case "unsure":
                return f"is not used: {one_line(self.reason)}"
            case "gone":
                return "is no longer there"
        return one_line(self.note or self.reason)

    @property
    def _noted(self) -> str:
        return f" ({one_line(self.note)})" if self.note else ""


def _no_such_number(number: int | None, numbers: int) -> str:
    if number is None:
        return "no number was given"
    there_are = {0: "nothing here has a number", 1: "the only number is 1"}
    return f"there is no {number}; {there_are.get(numbers, f'the numbers go from 1 to {numbers}')}"


def problem_of(
    found: Resolution,
    marks: Sequence[Mark],
    *,
    phase: str,
    step: int,
    english: bool,
    used: int = 0,
    of: int = 1,
) -> Problem:
    """Return the problem with a choice that was refused.

    Args:
        found: the resolved choice.
        marks: the marks of the picture that it was made on.
        phase: `act`, or a phase of the collector.
        step: index of the decision.
        english: whether the wording is all English.
        used: how many other choices of the same reply were used.
        of: how many choices the reply held.
    """
    chosen, refusal = found.chosen, refusal_of(found)
    mark = next((mark for mark in marks if mark.number == chosen.mark), None)
    return Problem(
        phase,
        step,
        chosen.mark,
        chosen.expected_text,
        chosen.actual_text,
        chosen.verdict,
        chosen.reason,
        kind=(mark.role or mark.tag) if mark else "",
        xpath=next(iter(mark.xpaths), "") if mark else "",
        note=_note(found, refusal),
        english=english,
        refusal=refusal,
        numbers=len(marks),
        used=used,
        of=of,
    )


def overruled_line(found: Resolution) -> str:
    """Return a line for the log about a number that gave way to its text; empty if it did not."""
    chosen = found.chosen
    if found.mark is None or chosen.taken in (None, chosen.mark):
        return ""
    label = "-" if chosen.mark is None else chosen.mark
    return f"[{label}] is not the element: [{chosen.taken}] is taken ({one_line(chosen.reason)})"


def _note(found: Resolution, refusal: Refusal) -> str:
    if found.status == "part_ambiguous":
        return found.chosen.reason.rpartition("; ")[2]
    return found.chosen.reason if refusal == "alike" else ""


class Feedback(Struct):
    """The problems of the last cycle, and those of all cycles.

    Args:
        enabled: False for the control arm, in which recorded problems are withheld from the model.
        english: the value of `english` for new problems.
    """

    enabled: bool = True
    english: bool = False
    current: list[Problem] = field(default_factory=list)
    history: list[Problem] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        self.current.append(problem)
        self.history.append(problem)

    def withdraw(self, problem: Problem) -> None:
        """Forget a problem that turned out not to be one."""
        for known in (self.current, self.history):
            if problem in known:
                known.remove(problem)

    def begin_cycle(self) -> tuple[Problem, ...]:
        """Return the problems of the previous cycle, which no later prompt repeats."""
        last = tuple(self.current)
        self.current.clear()
        return last if self.enabled else ()

    def per_kind(self) -> dict[str, int]:
        """Return how often each kind of element was chosen wrongly."""
        wrong = (problem for problem in self.history if problem.verdict == "mismatch")
        return dict(Counter(problem.kind for problem in wrong if problem.contradicted))


def section(problems: Sequence[Problem], *, same_picture: bool = False) -> str:
    """Return the part of a prompt that reports the last problems; empty if there are none.

    Args:
        problems: the problems of the last cycle.
        same_picture: the marks still have the numbers that they had then.
    """
    refused = [problem for problem in problems if problem.verdict]
    others = [f"  - {one_line(problem.reason)}" for problem in problems if not problem.verdict]
    lines: list[str] = []
    if refused:
        english = any(problem.english for problem in problems)
        reasons = [problem.why for problem in refused]
        used, of = refused[0].used, refused[0].of
        lines += heading_lines(reasons, used=used, of=of, english=english)
        lines += [f"  - {problem.line}" for problem in refused]
        lines += advice_lines(reasons, english=english)
    if refused and not same_picture:
        lines.append(_OTHER_PICTURE)
    return "\n".join([*lines, _FAILED, *others] if others else lines)


def one_line(reason: str) -> str:
    """Return a sentence on one line, without control characters that a page could smuggle in."""
    plain = "".join(char if char.isprintable() else " " for char in reason)
    return " ".join(plain.split())[:200]


def often_mistaken(
    before: Mapping[str, tuple[int, int]], here: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the kinds that the model often mistakes, the worst first.

    Args:
        before: for each kind, the wrong choices and all choices of earlier runs.
        here: for each kind, the wrong choices of this attempt.
    """
    shares = {
        kind: wrong / chosen
        for kind, (wrong, chosen) in before.items()
        if chosen >= FEWEST and wrong / chosen >= OFTEN
    }
    # Two mistakes in a single attempt weigh more than any share.
    shares |= {kind: 1.0 + count for kind, count in here.items() if count >= IN_THIS_ATTEMPT}
    known = (kind for kind in shares if kind)
    return tuple(sorted(known, key=lambda kind: (-shares[kind], kind)))[:_SHOWN]


def warning(kinds: tuple[str, ...]) -> str:
    """Return the sentence of the prompt about such kinds; empty if there are none."""
    if not kinds:
        return ""
    named = ", ".join(one_line(kind)[:_KIND_CHARS] for kind in kinds)
    return (
        f"Elements of these kinds were often mistaken before: {named}. Compare number and text of "
        "such an element once more before you choose it."
    )


def confidence_limit(kind: str, kinds: tuple[str, ...]) -> float:
    return CAREFUL_CONFIDENCE if kind in kinds else LOW_CONFIDENCE
