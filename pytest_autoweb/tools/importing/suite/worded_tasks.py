"""The task of a recorded test in a model's words, which a person has yet to accept."""

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.redaction import SECRET
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import strip_reasoning
from pytest_autoweb.results.records import Usage
from pytest_autoweb.tools.importing.suite.suite_cases import SuiteCase
from pytest_autoweb.tools.importing.written_cases import tidy

PROPOSED = "task-proposed"
"""The tag of cases whose task a model has worded and nobody has accepted yet."""
_MOST_CHARS = 1_000
_TOLD_CHARS = 6_000


def worded(client: Client, spec: ModelSpec, one: SuiteCase) -> tuple[SuiteCase, Usage]:
    """Return a case with the task that a model proposes, and what that cost.

    A reply that is empty, or names secrets that the test has not, leaves the case as it is.

    Raises:
        ModelError: the model cannot be asked.
    """
    expected = "\n".join(step.code for step in one.checks)
    doc = one.test.doc or "(none)"
    about = f"Title: {one.test.name}\nDocstring: {doc}\nTask so far: {one.task}"
    told = f"{about}\n\nWhat it does:\n{one.oracle}\nWhat must hold:\n{expected}"
    request = Request(
        model=spec.name,
        messages=render("suite_task", test=fence(told[:_TOLD_CHARS], "test")),
        stage="explore",
    )
    answered = ask_once(client, request, lambda text: text)
    usage = answered.exchange.usage
    if isinstance(answered.outcome, ModelError):
        raise answered.outcome
    said = tidy(strip_reasoning(answered.outcome.text)).strip("\"'` ")[:_MOST_CHARS]
    if not said or set(SECRET.findall(said)) - set(one.secrets):
        return one, usage
    return one.with_task(said).tagged(PROPOSED), usage
