"""How far judging models agree with people and with each other.

The agreement with people decides whether their verdicts count.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from pytest_autoweb.base.specs import LATER
from pytest_autoweb.results.analysis.statistics import (
    Interval,
    cohen_kappa,
    krippendorff_alpha,
    wilson,
)
from pytest_autoweb.results.records import CellResult, CheckResult, Record

JUDGE_FILE = "judge.json"
"""The name of the file in the run folder."""

MIN_LABELS = 20
"""The minimum number of labels with a verdict from the judge; with fewer, the interval is wider
than 40 points and says nothing."""
MIN_EACH = 5
"""The minimum number of human passes, and of human fails: a judge that always gives the same
verdict agrees well with uniform labels."""


class Agreement(Record):
    """The agreement of one judge with people."""

    judge: str
    """The model and the checksum of its prompt."""
    true_pass: int = 0
    """The number of labels where both said pass."""
    false_pass: int = 0
    """The number of labels where the judge said pass and people said fail."""
    false_fail: int = 0
    """The number of labels where the judge said fail and people said pass."""
    true_fail: int = 0
    """Cells that both the judge and people failed."""
    no_verdict: int = 0
    """The number of labels on which the judge gave no verdict; they are not counted in `n`."""
    n: int = 0
    """The number of labels on which both gave a verdict."""
    accuracy: float | None = None
    """Share of the labelled cells on which the judge and people agree; None without labels."""
    interval: Interval | None = None
    """Wilson's 95% interval of the accuracy."""
    kappa: float | None = None
    """Cohen's kappa, the agreement beyond chance; None when chance alone would always agree."""
    precision: float | None = None
    """The share of the judge's passes that people also passed."""
    recall: float | None = None
    """The share of the human passes that the judge also passed."""
    calibrated: bool = False
    """Whether the judge's verdicts count in this run."""
    reason: str = ""
    """The reason why they do not count."""


def agreement(judge: str, pairs: Iterable[tuple[str, str]]) -> Agreement:
    """Compare the human verdict of each pair with the judge's."""
    counts = Counter(pairs)
    tp, fp = counts["pass", "pass"], counts["fail", "pass"]
    fn, tn = counts["pass", "fail"], counts["fail", "fail"]
    n = tp + fp + fn + tn
    kappa = cohen_kappa([pair for pair in counts.elements() if pair[1] in ("pass", "fail")])
    interval = wilson(tp + tn, n)
    reason = _too_little(n, tp + fn, fp + tn, kappa, interval)
    return Agreement(
        judge=judge,
        true_pass=tp,
        false_pass=fp,
        false_fail=fn,
        true_fail=tn,
        no_verdict=counts.total() - n,
        n=n,
        accuracy=_share(tp + tn, n),
        interval=interval,
        kappa=kappa,
        precision=_share(tp, tp + fp),
        recall=_share(tp, tp + fn),
        calibrated=not reason,
        reason=reason,
    )


class PanelAgreement(Record):
    """How far several judges agree with each other, on the checks that all of them voted on."""

    judges: tuple[str, ...]
    """The models and the checksums of their prompts."""
    checks: int
    """The number of results that they voted on, over all attempts."""
    unanimous: int
    """How many of these have the same verdict from all of them."""
    undecided: int
    """How many have no verdict with more than half of the votes."""
    alpha: float | None
    """Krippendorff's alpha of their verdicts, the agreement beyond chance; votes without a verdict
    are left out. None if there are too few, or all are the same."""


_NO_RATING = ("no_verdict", "unfounded")


def panel_agreements(cells: Iterable[CellResult]) -> tuple[PanelAgreement, ...]:
    """Return how far the judges agree that voted together, for each such group."""
    panels: dict[tuple[str, ...], list[CheckResult]] = {}
    for cell in cells:
        for check in (check for attempt in cell.attempts for check in attempt.checks):
            if check.votes:
                panels.setdefault(tuple(sorted(v.judge for v in check.votes)), []).append(check)
    return tuple(_panel(judges, own) for judges, own in sorted(panels.items()))


def _panel(judges: tuple[str, ...], checks: Sequence[CheckResult]) -> PanelAgreement:
    votes = [[vote.verdict for vote in check.votes] for check in checks]
    return PanelAgreement(
        judges=judges,
        checks=len(checks),
        unanimous=sum(len(set(own)) == 1 for own in votes),
        undecided=sum(2 * Counter(own).most_common(1)[0][1] <= len(own) for own in votes),
        alpha=krippendorff_alpha([[v for v in own if v not in _NO_RATING] for own in votes]),
    )


def panel_line(found: PanelAgreement) -> str:
    alpha = "unknown" if found.alpha is None else f"{found.alpha:.2f}"
    return (
        f"judges {', '.join(found.judges)} agree with each other on {found.unanimous} of "
        f"{found.checks} checks, Krippendorff's alpha {alpha}, no majority on {found.undecided}"
    )


def agreements(pairs: Mapping[str, Iterable[tuple[str, str]]]) -> tuple[Agreement, ...]:
    """Return the agreement of each judge, in the order of their names."""
    return tuple(agreement(judge, pairs[judge]) for judge in sorted(pairs))


def agreement_line(found: Agreement) -> str:
    if found.interval is None or found.accuracy is None:
        said = "has no verdict on a labelled cell yet"
    else:
        kappa = "unknown" if found.kappa is None else f"{found.kappa:.2f}"
        said = (
            f"agrees with people on {found.true_pass + found.true_fail} of {found.n} labels "
            f"({found.accuracy:.0%}, 95 % interval {found.interval.low:.0%} to "
            f"{found.interval.high:.0%}), Cohen's kappa {kappa}, precision of pass "
            f"{_percent(found.precision)}, recall {_percent(found.recall)}, "
            f"no verdict on {found.no_verdict}"
        )
    then = "its verdicts count" if found.calibrated else f"advice only: {found.reason}"
    return f"judge {found.judge} {said}; {then}"


def save_agreements(folder: Path, found: Iterable[Agreement]) -> None:
    """Write `judge.json` of a run folder."""
    rows = [entry.model_dump(mode="json") for entry in found]
    (folder / JUDGE_FILE).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


AGREEMENTS = TypeAdapter(tuple[Agreement, ...], config=LATER)
"""Reads `judge.json`."""


def _too_little(
    n: int, passes: int, fails: int, kappa: float | None, interval: Interval | None
) -> str:
    if n < MIN_LABELS:
        return f"{n} labels with a verdict of this judge, at least {MIN_LABELS} are needed"
    if min(passes, fails) < MIN_EACH:
        return (
            f"{passes} human passes and {fails} human fails, at least {MIN_EACH} of each are needed"
        )
    if kappa is None or kappa <= 0:
        return "it agrees with people no better than chance"
    if interval is None or interval.low <= 0.5:
        return "a coin might agree with people as often"
    return ""


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.0%}"
