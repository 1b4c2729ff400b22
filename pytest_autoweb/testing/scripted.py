"""A fake client that answers from a script."""

from collections.abc import Callable, Mapping, Sequence

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.results.records import StageName, Usage

Answer = str | ModelError | Callable[[Request], str]
"""A canned text, an error to raise, or a function of the request."""


class ScriptedClient:
    r"""A fake client that answers from a script, stage by stage; no model is asked.

    Use it through the hook, in a conftest::

        from pytest_autoweb.testing import ScriptedClient

        def pytest_autoweb_client(spec):
            if spec.name == "fake/good":
                return ScriptedClient({"generate": "```python\n…\n```\nDONE"})

    Such a model writes its script turn by turn, and this one is done after the first. Run it as
    `fake/good@once`, with an answer for the stage `plan` as well, for a script at once.

    Each stage has one answer, or a sequence of answers whose last one repeats.
    """

    def __init__(self, answers: Mapping[StageName, Answer | Sequence[Answer]]) -> None:
        self._answers = {stage: _as_list(answer) for stage, answer in answers.items()}
        self.requests: list[Request] = []
        """All requests, in order."""

    def complete(self, request: Request) -> Reply:
        """Return the next answer for the request's stage.

        Raises:
            ModelError: the script raises it, or has no answer for this stage.
        """
        self.requests.append(request)
        answers = self._answers.get(request.stage)
        if not answers:
            raise ModelError(
                "empty",
                request.model,
                f"nothing scripted for {request.stage}",
                usage=Usage(calls=1, cost_usd=0.0),
            )
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, ModelError):
            raise answer
        text = answer if isinstance(answer, str) else answer(request)
        usage = Usage(
            calls=1,
            input_tokens=_words(request),
            output_tokens=len(text.split()),
            # Nobody is asked, so nobody is paid.
            cost_usd=0.0,
        )
        return Reply(text=text, usage=usage, model_served="scripted")


def _as_list(answer: Answer | Sequence[Answer]) -> list[Answer]:
    if isinstance(answer, str | ModelError) or callable(answer):
        return [answer]
    return list(answer)


def _words(request: Request) -> int:
    return sum(len(message.content.split()) for message in request.messages)


def scripted_plan(*descriptions: str) -> str:
    """Return a well-formed plan with these steps, all on the current page."""
    lines = ["PLAN_START"]
    for number, description in enumerate(descriptions, start=1):
        lines += [
            f"Step {number}: {description}",
            f"- Description: {description}",
            "- Target URL: CURRENT_PAGE",
            "- Entry Point Action: Direct URL",
            "- Status: CONFIRMED",
        ]
    return "\n".join([*lines, "PLAN_END"])
