"""The check that asks a model whether a rubric is met; who asks it is the judge's affair."""

from pytest_autoweb.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    JudgeQuery,
    NotEvaluated,
    Verdict,
)


@CHECKS.add
class JudgeCheck(Check):
    """A model's opinion; it decides nothing unless it was calibrated with human labels."""

    name = "judge"
    rests_on = "opinion"

    judge: JudgeQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Ask for a model's opinion on the rubric, once."""
        judge = evidence.rubric_judge
        if judge is None:
            raise NotEvaluated("there is no judge; name a model with --autoweb-judge-model")

        def look(seconds: float) -> Verdict:
            finding = judge(self.judge, evidence)
            passed = {"pass": True, "fail": False}.get(finding.verdict)
            shown = "; ".join(f"“{quote}”" for quote in finding.quotes)
            said = f"{finding.verdict}: {finding.reason}"
            return Verdict(
                passed,
                f"{said} [{shown}]" if shown else said,
                where=finding.judge,
                finding=finding.verdict,
                reason="" if passed is not None else said,
                advisory=finding.advisory,
                usage=finding.usage,
            )

        # Each question costs a call, and the same evidence would bring the same answer.
        return CheckProbe(f"rubric: {self.judge.rubric}", look, retry=False)
