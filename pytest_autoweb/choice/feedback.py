"""Words the feedback to a model on its wrong choices and the kinds it often mistakes. Pure.

The heading and the line formats reach models, so recorded replies depend on every character.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_autoweb.choice.disambiguate import LOW_CONFIDENCE
from pytest_autoweb.choice.expected_text import excerpt
from pytest_autoweb.results import Verdict

HEADING = "## ⚠️ 上次元素验证失败详情（你选错了这些元素！）"
_SUBHEADING = "(The elements you chose last time were wrong. Nothing was done.)"
_COMPARE = (
    "compare the text of each element with what you "
    "look for, and do not choose the same elements again. A position in a list (1., 2.) is not a "
    "mark's number."
)
_ADVICE = f"**请重新核对编号 (check the numbers again)**: {_COMPARE}"
_ENGLISH_HEADING = "## The elements you chose last time were wrong. Nothing was done."
_ENGLISH_ADVICE = f"Check the numbers again: {_COMPARE}"
_UNCLEAR_HEADING = "## It was not clear which elements you meant last time. Nothing was done."
_UNCLEAR_ADVICE = "They may be the right ones: say what is near the one that you mean."
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


@dataclass(frozen=True, slots=True)
class Problem:
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

    @property
    def line(self) -> str:
        """Return the problem on one line for the prompt and the report, with page text cut."""
        label = "-" if self.mark is None else self.mark
        if self.verdict is None:
            return f"[{label}] {one_line(self.reason)}"
        if self.english:
            return f"[{label}] {self._in_english()}"
        if self.phase == "paginate":
            inner = (
                f"文本不匹配: 期望包含'{excerpt(self.expected)}'，实际是'{excerpt(self.actual)}'"
            )
            return f"[{label}] 翻页按钮验证失败: {inner}"
        line = f"[{label}] 验证失败: 期望'{excerpt(self.expected)}' 实际'{excerpt(self.actual)}'"
        return f"{line} ({one_line(self.note)})" if self.note else line

    def _in_english(self) -> str:
        expected, actual = excerpt(self.expected), excerpt(self.actual)
        if self.unclear:
            return f"is not clear: {one_line(self.note or self.reason)}"
        what = "does not match"
        if self.phase == "paginate":
            what = f"the control for the next page {what}"
        note = f" ({one_line(self.note)})" if self.note else ""
        reads = f"reads '{actual}'" if actual else "shows no text"
        return f"{what}: expected '{expected}', but it {reads}{note}"

    @property
    def unclear(self) -> bool:
        """Return whether the choice may have been right, judging by the texts."""
        return self.english and self.verdict == "unverifiable"


@dataclass(slots=True)
class Feedback:
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
        """Add a problem to this cycle."""
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
        return dict(Counter(problem.kind for problem in self.history if problem.verdict))


def section(problems: Sequence[Problem], *, same_picture: bool = False) -> str:
    """Return the part of a prompt that reports the last problems; empty if there are none.

    Args:
        problems: the problems of the last cycle.
        same_picture: the marks still have the numbers that they had then.
    """
    wrong = [f"  - {problem.line}" for problem in problems if problem.verdict]
    others = [f"  - {one_line(problem.reason)}" for problem in problems if not problem.verdict]
    if any(problem.english for problem in problems):
        lines = _in_english(wrong, unclear=all(p.unclear for p in problems if p.verdict))
    else:
        lines = [HEADING, _SUBHEADING, *wrong, _ADVICE] if wrong else []
    if wrong and not same_picture:
        lines.append(_OTHER_PICTURE)
    return "\n".join([*lines, _FAILED, *others] if others else lines)


def _in_english(wrong: Sequence[str], *, unclear: bool) -> list[str]:
    """Return the refused choice with advice; one that was merely unclear is not called wrong."""
    if not wrong:
        return []
    if unclear:
        return [_UNCLEAR_HEADING, *wrong, _UNCLEAR_ADVICE]
    return [_ENGLISH_HEADING, *wrong, _ENGLISH_ADVICE]


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
    """Return the confidence below which a choice of this kind gets a second look."""
    return CAREFUL_CONFIDENCE if kind in kinds else LOW_CONFIDENCE
