"""How far a judging model agrees with people, and whether its verdicts may therefore count."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from pytest_autoweb.report.statistics import Interval, cohen_kappa, wilson
from pytest_autoweb.results import Record

JUDGE_FILE = "judge.json"
"""Name of the file in the run folder."""

MIN_LABELS = 20
"""Verdicts of the judge on cells that people labelled; with fewer the interval is wider than
40 points, and nothing is known."""
MIN_EACH = 5
"""Human passes, and human fails, among them: a judge that always says the same agrees well with
labels that are all alike."""


class Agreement(Record):
    """One judge against the people."""

    judge: str
    """The model and the checksum of its prompt."""
    true_pass: int = 0
    """Both said pass."""
    false_pass: int = 0
    """The judge said pass, people fail."""
    false_fail: int = 0
    """The judge said fail, people pass."""
    true_fail: int = 0
    no_verdict: int = 0
    """Labelled, but the judge gave neither pass nor fail; not in `n`."""
    n: int = 0
    """Both gave a verdict."""
    accuracy: float | None = None
    interval: Interval | None = None
    """Wilson's, of the accuracy, at 95 %."""
    kappa: float | None = None
    """Cohen's: agreement beyond chance; None when chance alone would agree always."""
    precision: float | None = None
    """Share of the judge's passes that are passes to people too."""
    recall: float | None = None
    """Share of the human passes that the judge passes."""
    calibrated: bool = False
    """Whether the judge's verdicts count in this run."""
    reason: str = ""
    """Why they do not."""


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


def agreements(pairs: Mapping[str, Iterable[tuple[str, str]]]) -> tuple[Agreement, ...]:
    """Return one for each judge."""
    return tuple(agreement(judge, pairs[judge]) for judge in sorted(pairs))


def agreement_line(found: Agreement) -> str:
    """Return one sentence for a terminal."""
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


AGREEMENTS = TypeAdapter(tuple[Agreement, ...])
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
