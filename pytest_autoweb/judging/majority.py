"""The vote of several judging models."""

from collections import Counter
from collections.abc import Callable, Sequence

from pytest_autoweb.judging.checks.check_type import RubricFinding
from pytest_autoweb.results.records import JudgeVote, Usage

NO_MAJORITY = "no_majority"


def majority(findings: Sequence[RubricFinding], advisory: Callable[[str], bool]) -> RubricFinding:
    """Return the verdict that more than half of all judges gave.

    A judge without a verdict has a vote as well, so it can prevent a majority and never make one.

    Args:
        findings: what each of several judges found.
        advisory: tells whether the verdicts of a judge of this name are only advice. The majority
            is a judge of its own: labels of people vouch for it as they do for a single one.
    """
    counts = Counter(finding.verdict for finding in findings)
    verdict, votes = counts.most_common(1)[0]
    if 2 * votes <= len(findings):
        verdict = NO_MAJORITY
    judge = majority_id([finding.judge for finding in findings])
    agreeing = [finding for finding in findings if finding.verdict == verdict]
    said = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return RubricFinding(
        verdict,
        ": ".join((f"{len(findings)} judges: {said}", *(each.reason for each in agreeing[:1]))),
        judge,
        agreeing[0].quotes if agreeing else (),
        advisory(judge),
        sum((finding.usage for finding in findings), Usage()),
        tuple(
            JudgeVote(judge=each.judge, verdict=each.verdict, reason=each.reason)
            for each in findings
        ),
    )


def majority_id(judges: Sequence[str]) -> str:
    """Name the majority of these judges, whatever their order."""
    return f"majority of {', '.join(sorted(judges))}"
