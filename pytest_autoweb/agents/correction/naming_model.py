"""Asks a model for a failure's type when no rule is clear, after its cell has ended.

A cell's retries never see its answer, so it cannot change an outcome.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, get_args

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.redaction import redact_shapes
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import strip_reasoning
from pytest_autoweb.models.reply_forms import ReplyForm, Word, grammar_of, schema_of, untyped_words
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.records.record import Classification, FailureType

PROMPT = "classify"
TYPES: tuple[FailureType, ...] = get_args(FailureType)
FORM = ReplyForm({"type": Word(TYPES)})
SCHEMA = untyped_words(schema_of(FORM))
GRAMMAR = grammar_of([FORM])
"""The GBNF grammar of the reply."""

_SAID = ("page_says", "dialog_open", "field_invalid")
_MOST_CHARS = 1_500
_REPLY_TOKENS = 200


class AskedCell(NamedTuple):
    """The cell whose failures are classified, for the record of the calls."""

    case_id: str
    capture_mode: str
    repeat: int


class NamingModel:
    """Names the types of failures, asking only once about the same words."""

    def __init__(self, name: str, client: Callable[[], Client]) -> None:
        """Keep the model to ask.

        Args:
            name: the name of the model.
            client: returns the model's client; called only when needed.
        """
        self._name, self._client = name, client
        self._known: dict[str, FailureType] = {}

    def named(self, attempt: Attempt, cell: AskedCell) -> Attempt:
        """Return the attempt with the type that the model gives, if the rules have no clear one."""
        found, said = attempt.classification, _said(attempt)
        if found is None or (found.clear and found.type != "UNKNOWN") or not said:
            return attempt
        if said not in self._known:
            attempt = self._ask(attempt, said, cell)
        given = self._known.get(said, "UNKNOWN")
        if given == "UNKNOWN":
            return attempt
        own = Classification(
            type=given, web_kind=found.web_kind, by="model", clear=False, ruled=found.type
        )
        return attempt.model_copy(update={"classification": own})

    def _ask(self, attempt: Attempt, said: str, cell: AskedCell) -> Attempt:
        request = Request(
            model=self._name,
            messages=render(PROMPT, said=fence(said, "said")),
            stage="classify",
            case_id=cell.case_id,
            capture_mode=cell.capture_mode,
            repeat=cell.repeat,
            attempt=attempt.attempt_index,
            grammar=GRAMMAR,
            json_schema=SCHEMA,
            max_tokens=_REPLY_TOKENS,
        )
        asked = ask_once(self._client(), request, redact_shapes)
        # After a failed call, the model may still be asked about the next failure.
        if not isinstance(asked.outcome, ModelError):
            self._known[said] = read_type(asked.outcome.text)
        return attempt.charged(asked.exchange)


def read_type(reply: str) -> FailureType:
    """Return the one type that a reply names; `UNKNOWN` if it names none, or several."""
    words = set(re.findall(r"[A-Z_]+", strip_reasoning(reply).upper()))
    named = [name for name in TYPES if name in words]
    # A reply that discusses several types has decided on none.
    return named[0] if len(named) == 1 else "UNKNOWN"


def _said(attempt: Attempt) -> str:
    """Return the words of the failure and of the page, as recorded, without secrets."""
    if attempt.failure is None or attempt.checks_passed:
        return ""
    own = str(attempt.failure.evidence.get("detail") or attempt.failure.message)
    facts = (finding.fact for finding in attempt.findings if finding.code in _SAID)
    return redact_shapes("\n".join((own, *facts))[:_MOST_CHARS])
