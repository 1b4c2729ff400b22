"""Asks a model whether the evidence of an attempt satisfies a rubric.

Only `pass` and `fail` are verdicts on the attempt. All else (impossible, captcha, not enough
evidence, no usable reply, a service that fails) leaves the check without one: ungraded, never
passed and never failed. And even a verdict is advice, unless the judge was calibrated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_autoweb.checks.attempt_evidence import (
    Evidence,
    JudgeQuery,
    NotEvaluated,
    RubricFinding,
)
from pytest_autoweb.errors import ModelError, SettingsError
from pytest_autoweb.judge.chairs import PROMPT, Chair
from pytest_autoweb.judge.dossier import Dossier, collect_evidence
from pytest_autoweb.judge.opinion import MAX_QUOTES, VERDICTS, quoted, read_opinion
from pytest_autoweb.llm.client import Client, Reply, Request
from pytest_autoweb.llm.prompts import render
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.results import Exchange, Usage

NO_VERDICT = "no_verdict"
UNFOUNDED = "unfounded"

_REPLY_TOKENS = 500
_PAGE_SHARE = 2
"""The page may take this part of the judge's context."""
_MOST_PAGE_TOKENS = 16_000

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "quotes": {"type": "array", "items": {"type": "string"}},
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": list(VERDICTS)},
    },
    "required": ["quotes", "reason", "verdict"],
    "additionalProperties": False,
}
_ENDINGS = " | ".join(f'"{word}"' for word in VERDICTS)
GRAMMAR = f"""\
root ::= "{{\\"quotes\\": [" (text (", " text){{0,{MAX_QUOTES - 1}}})? "], \\"reason\\": " text \
", \\"verdict\\": \\"" verdict "\\"}}"
verdict ::= {_ENDINGS}
text ::= "\\"" char{{1,160}} "\\""
char ::= [^"\\\\\\x00-\\x1F] | "\\\\" ["\\\\/nt]
"""
"""GBNF of the reply."""


class Place(NamedTuple):
    """The attempt that is judged."""

    case_id: str
    user_task: str
    capture_mode: str
    repeat: int
    attempt: int
    model: ModelSpec
    """The model that was at work."""


@dataclass(slots=True)
class ModelJudge:
    """The judge of one attempt (`evidence.RubricJudge`); `exchanges` are its questions so far."""

    chairs: Callable[[str | None], Chair]
    """Raises SettingsError when there is no judge, or when it must not judge."""
    place: Place
    exchanges: tuple[Exchange, ...] = ()

    def __call__(self, query: JudgeQuery, evidence: Evidence) -> RubricFinding:
        """Ask once.

        Raises:
            NotEvaluated: no model is named, or it is one of those compared.
        """
        try:
            chair = self.chairs(query.model)
        except SettingsError as error:
            raise NotEvaluated(str(error)) from None
        spec = chair.spec
        if spec.litellm_model == self.place.model.litellm_model:
            raise NotEvaluated(f"the judge {spec.name} is the model that is judged")
        dossier = collect_evidence(
            evidence,
            with_answer=query.answer,
            with_picture=spec.vision,
            page_tokens=min(_MOST_PAGE_TOKENS, spec.context_tokens // _PAGE_SHARE),
        )
        request = self._request(query, dossier, spec)
        reply = self._ask(chair.client, request, evidence.redact)
        finding = _finding(reply, dossier, chair.id)
        return finding._replace(advisory=chair.advisory)

    def _request(self, query: JudgeQuery, dossier: Dossier, spec: ModelSpec) -> Request:
        messages = render(
            PROMPT,
            images=(dossier.picture,) if dossier.picture else (),
            task=self.place.user_task,
            rubric=query.rubric,
            **dossier.fenced(),
        )
        return Request(
            model=spec.name,
            messages=messages,
            stage="judge",
            case_id=self.place.case_id,
            capture_mode=self.place.capture_mode,
            repeat=self.place.repeat,
            attempt=self.place.attempt,
            turn=len(self.exchanges),
            grammar=GRAMMAR,
            json_schema=SCHEMA,
            max_tokens=_REPLY_TOKENS,
        )

    def _ask(
        self, client: Client, request: Request, redact: Callable[[str], str]
    ) -> Reply | ModelError:
        outcome: Reply | ModelError
        try:
            outcome = client.complete(request)
        except ModelError as error:
            outcome = error
        exchange = Exchange(
            stage="judge",
            turn=request.turn,
            prompt=redact("\n\n".join(f"[{m.role}]\n{m.content}" for m in request.messages)),
            reply=redact(outcome.text) if isinstance(outcome, Reply) else "",
            usage=_usage_of(outcome),
            model_served=outcome.model_served if isinstance(outcome, Reply) else "",
            error=redact(outcome.detail) if isinstance(outcome, ModelError) else None,
        )
        self.exchanges = (*self.exchanges, exchange)
        return outcome


def _finding(reply: Reply | ModelError, dossier: Dossier, judge: str) -> RubricFinding:
    usage = _usage_of(reply)
    if isinstance(reply, ModelError):
        reason = f"the judge gave no answer ({reply.cause}: {reply.detail})"
        return RubricFinding(NO_VERDICT, reason, judge, usage=usage)
    opinion = read_opinion(reply.text)
    if opinion is None:
        reason = "the judge's reply holds no verdict, or more than one"
        return RubricFinding(NO_VERDICT, reason, judge, usage=usage)
    founded = quoted(opinion, dossier.text)
    verdict: str = opinion.verdict
    if verdict == "pass" and not founded and dossier.picture is None:
        verdict = UNFOUNDED
    return RubricFinding(verdict, opinion.reason, judge, founded, usage=usage)


def _usage_of(outcome: Reply | ModelError) -> Usage:
    if isinstance(outcome, Reply):
        return outcome.usage
    return outcome.usage if isinstance(outcome.usage, Usage) else Usage()
