"""The two controls, `builtin/oracle` and `builtin/noop`, as clients.

They answer the same requests as a model, so their replies pass through the same plan parsing,
lint, sandbox, execution and judge.
"""

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.cases.case import Case
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.models.replies import HEADING, fold_line, heading_number

ORACLE = "builtin/oracle"
NOOP = "builtin/noop"


class OracleClient:
    """A client that replies with the case's own `oracle` script.

    A passing oracle shows that the case can be solved and that its checks can pass.
    """

    def __init__(self, case: Case) -> None:
        self._case = case

    def complete(self, request: Request) -> Reply:
        """Reply with a plan made from the script's headings, or with the script itself.

        Raises:
            ModelError: the case has no oracle.
        """
        script = self._case.oracle
        if not script:
            raise ModelError("unavailable", ORACLE, f"case {self._case.id!r} has no oracle")
        text = _plan(_headings(script)) if request.stage == "plan" else f"```python\n{script}\n```"
        return Reply(text=text, model_served=ORACLE)


class NoopClient:
    """A client whose script does nothing; if the checks still pass, the case proves nothing."""

    def complete(self, request: Request) -> Reply:
        """Reply with a one-step plan, or with a script that only logs."""
        text = _plan([(1, "do nothing")])
        if request.stage != "plan":
            text = '```python\n# Step 1\nlog("nothing was done")\n```'
        return Reply(text=text, model_served=NOOP)


def builtin_client(name: str, case: Case) -> Client:
    """Return the client for a control's name; a mutant is an oracle of a changed case."""
    return NoopClient() if name == NOOP else OracleClient(case)


def _headings(script: str) -> list[tuple[int, str]]:
    found: dict[int, str] = {}
    for line in script.splitlines():
        if line.lstrip().startswith(("#", "//")) and (n := heading_number(line)) is not None:
            match = HEADING.match(fold_line(line))
            # A script may repeat a heading; the first one describes the step.
            found.setdefault(n, match["rest"].strip() if match else "")
    return sorted(found.items()) or [(1, "")]


def _plan(steps: list[tuple[int, str]]) -> str:
    lines = ["PLAN_START"]
    for number, description in steps:
        lines += [
            f"Step {number}: {description}",
            f"- Description: {description or 'as scripted'}",
            "- Target URL: CURRENT_PAGE",
            "- Entry Point Action: Direct URL",
            "- Status: CONFIRMED",
        ]
    return "\n".join([*lines, "PLAN_END"])
