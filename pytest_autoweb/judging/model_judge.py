"""Asks a model outside the comparison whether an attempt's evidence satisfies a rubric.

The evidence is the state of the page and the network traffic, as text for a model.
"""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from pytest_autoweb.base.errors import ModelError, SettingsError
from pytest_autoweb.base.redaction import redact_shapes
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.judging.checks.check_type import (
    Evidence,
    JudgeQuery,
    NotEvaluated,
    RubricFinding,
)
from pytest_autoweb.judging.checks.compared_values import as_text
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.judging.judge_pictures import pictures_of_way
from pytest_autoweb.judging.majority import majority
from pytest_autoweb.judging.opinion import GRAMMAR, SCHEMA, quoted, read_opinion
from pytest_autoweb.models.client import Answered, Client, ask_once
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import fence, prompt_checksum, render
from pytest_autoweb.results.records import Exchange, ToolCall

_LINES = 40
_LINE_CHARS = 300
_ANSWER_CHARS = 4_000
_SHOWN_KINDS = ("document", "xhr", "fetch")
_RUNS_SCRIPTS = re.compile(r"eval|script|function")
_SCRIPT_IN_TARGET = re.compile(r"(eval\w*)\(.*", re.DOTALL)
_NOTHING = "(none)"


class JudgeEvidence(NamedTuple):
    """All evidence behind one question to a judge, redacted."""

    page: str
    actions: str
    wire: str
    downloads: str
    answer: str
    moments: tuple[str, ...] = ()
    """When each picture was taken, oldest first."""
    pictures: tuple[str, ...] = ()
    """The pictures as `data:` URIs."""

    @property
    def text(self) -> str:
        """Return all evidence that can be quoted."""
        return "\n".join((self.page, self.actions, self.wire, self.downloads, self.answer))

    def fenced(self) -> dict[str, str]:
        """Return the prompt's variables, each fenced as data."""
        parts = {
            "page": fence(self.page, "page"),
            "actions": fence(self.actions or _NOTHING, "actions"),
            "wire": fence(self.wire or _NOTHING, "network"),
        }
        return parts | {
            "pictures": "\n".join(f"{at}: {told}" for at, told in enumerate(self.moments, 1)),
            "downloads": fence(self.downloads, "files") if self.downloads else "",
            "answer": fence(self.answer, "answer") if self.answer else "",
        }


def collect_evidence(
    evidence: Evidence, *, with_answer: bool, with_pictures: bool, page_tokens: int
) -> JudgeEvidence:
    """Look at the page once, without touching it."""

    def clean(text: str) -> str:
        return redact_shapes(evidence.redact(text))

    page = evidence.page
    snapshot = capture_snapshot(
        page,
        "ARIA_SNAPSHOT",
        url=page.url,
        entry_action="",
        step_indexes=(),
        budget_tokens=page_tokens,
    )
    files = [f"{download.name} ({download.size} bytes)" for download in evidence.downloads]
    answer = ""
    if with_answer:
        answer = as_text(evidence.answer) if evidence.answered else "(no answer was given)"
    pictures = pictures_of_way(evidence) if with_pictures else ()
    # The moments of the pictures name steps, so the actions say to which step they belong.
    action = partial(_action, with_step=len(pictures) > 1)
    return JudgeEvidence(
        page=clean(f"URL: {page.url}\n{snapshot.text}"),
        actions=clean(_lines(map(action, filter(_is_action, evidence.actions)))),
        wire=clean(_lines(map(_request, filter(_is_told, evidence.wire)))),
        downloads=clean(_lines(files)),
        answer=clean(answer)[:_ANSWER_CHARS],
        moments=tuple(moment for moment, _ in pictures),
        pictures=tuple(uri for _, uri in pictures),
    )


def _lines(lines: Iterable[str]) -> str:
    """Return the last lines, each cut to length; the end of an attempt matters most."""
    shown = [" ".join(line.split())[:_LINE_CHARS] for line in lines]
    left_out = [f"({len(shown) - _LINES} earlier ones)"] if len(shown) > _LINES else []
    return "\n".join((*left_out, *shown[-_LINES:]))


def _is_action(call: ToolCall) -> bool:
    return call.acting and not call.replayed


def _action(call: ToolCall, *, with_step: bool = False) -> str:
    # The source of a script may hold comments, in which a model could plead its own case.
    arguments = "<script>" if _RUNS_SCRIPTS.search(call.method) else call.arguments
    target = _SCRIPT_IN_TARGET.sub(r"\1(<script>)", call.target)
    step = f"step {call.step_index}: " if with_step else ""
    return f"{step}{target}.{call.method}({arguments}): {'done' if call.ok else 'failed'}"


def _is_told(entry: WireEntry) -> bool:
    return entry.counted and (
        entry.resource_type in _SHOWN_KINDS or entry.method not in ("GET", "HEAD")
    )


def _request(entry: WireEntry) -> str:
    status = str(entry.status) if entry.status is not None else entry.failed or "no answer"
    return f"{entry.method} {entry.url} -> {status}"


PROMPT = "judge"


class SelectedJudge(NamedTuple):
    """The model that judges, with its client."""

    spec: ModelSpec
    client: Client
    advisory: bool = True
    """Whether its verdict is excluded because its agreement with people is unknown or too low."""

    @property
    def id(self) -> str:
        """Return the key of a calibration: the model and its prompt."""
        return judge_id(self.spec)


class JudgeSelection:
    """Selects the judge named by a check, or else by the run."""

    def __init__(
        self,
        spec_of: Callable[[str], ModelSpec],
        client_of: Callable[[str], Client],
        *,
        default: str = "",
        compared: Sequence[str] = (),
        calibrated: Container[str] = (),
    ) -> None:
        """Store the selection rules.

        Args:
            spec_of: returns a model's settings; raises SettingsError for unknown names.
            client_of: returns the client that calls it.
            default: the model of checks that name none.
            compared: models that must not judge.
            calibrated: judges (`judge_id`) whose agreement with people was measured.
        """
        self._spec_of, self._client_of = spec_of, client_of
        self._default, self._compared, self._calibrated = default, compared, calibrated

    def named(self, name: str | None) -> ModelSpec:
        """Return the judge of that name, or the run's own.

        Raises:
            SettingsError: there is no such judge, or it must not judge.
        """
        name = name or self._default
        if not name:
            raise SettingsError(
                "no model is named to judge; give the check a `model`, or set --autoweb-judge-model"
            )
        spec = self._spec_of(name)
        if spec.provider == "builtin":
            raise SettingsError(f"{name} is a control and cannot judge")
        # Compared by the name that the service knows, because one model may have several names
        # here.
        rivals = [m for m in self._compared if self._spec_of(m).litellm_model == spec.litellm_model]
        if rivals:
            raise SettingsError(
                f"the judge {name} is one of the models compared ({', '.join(rivals)}); a model "
                "must not judge itself or its rivals"
            )
        return spec

    def __call__(self, name: str | None) -> SelectedJudge:
        """Return the judge of that name, or the run's own, ready to be asked.

        Raises:
            SettingsError: see `named`.
        """
        spec = self.named(name)
        return SelectedJudge(spec, self._client_of(spec.name), self.advisory(judge_id(spec)))

    def advisory(self, judge: str) -> bool:
        """Tell whether a judge, or a majority of several, only gives advice."""
        return judge not in self._calibrated


def judge_id(spec: ModelSpec) -> str:
    """Name the model and its prompt in one line."""
    return f"{spec.litellm_model} (prompt {prompt_checksum(PROMPT)[:12]})"


NO_VERDICT = "no_verdict"
UNFOUNDED = "unfounded"

_REPLY_TOKENS = 500
_PAGE_SHARE = 2
"""The page may fill one part in this many of the judge's context."""
_MOST_PAGE_TOKENS = 16_000


class JudgedAttempt(NamedTuple):
    """The attempt being judged."""

    case_id: str
    user_task: str
    capture_mode: str
    repeat: int
    attempt: int
    model: ModelSpec | None
    """The model whose work is being judged; None if it is the work of a test, which may have its
    own model judge."""


class ModelJudge(Struct):
    """The `RubricJudge` of one attempt; `exchanges` are its questions so far."""

    judges: JudgeSelection
    place: JudgedAttempt
    exchanges: tuple[Exchange, ...] = ()

    def __call__(self, query: JudgeQuery, evidence: Evidence) -> RubricFinding:
        """Ask each judge once; of several, more than half decide.

        All are shown the same evidence, but those without vision no picture.

        Raises:
            NotEvaluated: no judge model is named, or it is one of those compared.
        """
        selected = [self._selected(name) for name in query.named or (None,)]
        shown = collect_evidence(
            evidence,
            with_answer=query.answer,
            with_pictures=any(judge.spec.vision for judge in selected),
            page_tokens=min(
                _MOST_PAGE_TOKENS,
                *(judge.spec.context_tokens // _PAGE_SHARE for judge in selected),
            ),
        )
        findings = [self._asked(judge, query, shown, evidence.redact) for judge in selected]
        if len(findings) == 1:
            return findings[0]
        return majority(findings, self.judges.advisory)

    def _selected(self, name: str | None) -> SelectedJudge:
        try:
            selected = self.judges(name)
        except SettingsError as error:
            raise NotEvaluated(str(error)) from None
        judged = self.place.model
        if judged is not None and selected.spec.litellm_model == judged.litellm_model:
            raise NotEvaluated(f"the judge {selected.spec.name} is the model whose work is judged")
        return selected

    def _asked(
        self,
        selected: SelectedJudge,
        query: JudgeQuery,
        shown: JudgeEvidence,
        redact: Callable[[str], str],
    ) -> RubricFinding:
        if not selected.spec.vision:
            shown = shown._replace(moments=(), pictures=())
        asked = ask_once(
            selected.client,
            self._request(query, shown, selected.spec),
            redact,
            usable=lambda text: text if read_opinion(text) else "",
        )
        self.exchanges = (*self.exchanges, asked.exchange)
        finding = _finding(asked, shown, selected.id)
        return finding._replace(advisory=selected.advisory)

    def _request(self, query: JudgeQuery, shown: JudgeEvidence, spec: ModelSpec) -> Request:
        messages = render(
            PROMPT,
            images=shown.pictures,
            task=self.place.user_task,
            rubric=query.rubric,
            **shown.fenced(),
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


def _finding(asked: Answered, shown: JudgeEvidence, judge: str) -> RubricFinding:
    reply, usage = asked.outcome, asked.exchange.usage
    if isinstance(reply, ModelError):
        reason = f"the judge gave no answer ({reply.cause}: {reply.detail})"
        return RubricFinding(NO_VERDICT, reason, judge, usage=usage)
    opinion = read_opinion(reply.text)
    if opinion is None:
        reason = "the judge's reply holds no verdict, or more than one"
        return RubricFinding(NO_VERDICT, reason, judge, usage=usage)
    founded = quoted(opinion, shown.text)
    verdict: str = opinion.verdict
    # A picture cannot be quoted, so quotes are required only for textual evidence.
    if verdict == "pass" and not founded and not shown.pictures:
        verdict = UNFOUNDED
    return RubricFinding(verdict, opinion.reason, judge, founded, usage=usage)
