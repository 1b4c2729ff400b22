"""Asks a model outside the comparison whether an attempt's evidence satisfies a rubric.

The evidence is the state of the page and the network traffic, as text for a model. The labels file
pairs people's verdicts on saved cells with those of judges on the same evidence. People fill in
`human`; `autoweb judge-labels` writes everything else.
"""

import base64
import re
import tempfile
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import yaml
from pydantic import ConfigDict, Field

from pytest_autoweb.base.errors import ModelError, SettingsError
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.base.redaction import redact_shapes
from pytest_autoweb.base.specs import Documented, FieldError
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.cases.validation import read_document, validated
from pytest_autoweb.judging.checks.check_type import (
    Evidence,
    JudgeQuery,
    NotEvaluated,
    RubricFinding,
)
from pytest_autoweb.judging.checks.compared_values import as_text
from pytest_autoweb.judging.evidence.page_evidence import shot
from pytest_autoweb.judging.evidence.wire import WireEntry
from pytest_autoweb.models.client import Answered, Client, Request, ask_once
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import fence, prompt_checksum, render
from pytest_autoweb.models.replies import fold_line, objects_in, strip_reasoning
from pytest_autoweb.results.records import Exchange, ToolCall

_LINES = 40
_LINE_CHARS = 300
_ANSWER_CHARS = 4_000
_SHOWN_KINDS = ("document", "xhr", "fetch")
_RUNS_SCRIPTS = re.compile(r"eval|script|function")
_SCRIPT_IN_TARGET = re.compile(r"(eval\w*)\(.*", re.DOTALL)
_NOTHING = "(none)"

Word = Literal["pass", "fail", "impossible", "captcha", "insufficient_evidence"]
VERDICTS: tuple[Word, ...] = get_args(Word)

MAX_QUOTES = 3
MAX_CHARS = 400
"""The maximum length of a stored reason or quote, in characters."""
# A single character is found in almost any evidence.
_LEAST_QUOTE = 2

_WORDS: dict[Word, str] = {
    "pass": "pass passed satisfied success successful succeeded 通过 成功 满足 合格",
    "fail": "fail failed failure not_satisfied unsatisfied 不通过 未通过 失败 不满足 未满足 不合格",
    "impossible": "impossible not_possible 不可能 无法完成 不可行",
    "captcha": "captcha 验证码 人机验证",
    "insufficient_evidence": "insufficient_evidence insufficient not_enough_evidence 证据不足"
    " 无法判断",
}
_MEANING: dict[str, Word] = {
    word: verdict for verdict, words in _WORDS.items() for word in words.split()
}
_KEYS = {
    "verdict": r"verdict|结论|判定|裁决|结果",
    "reason": r"reason|理由|原因",
    "quotes": r"quotes?|evidence|引用|证据",
}
_LINE = {
    name: re.compile(
        rf"^[\s/#*>•·\-]*(?:{words})\s*\**\s*:\s*\**\s*(?P<value>.+?)\s*$", re.IGNORECASE
    )
    for name, words in _KEYS.items()
}
_EDGES = " \t\"'`*.。!！,，“”‘’「」<>[]()"

HumanWord = Literal["pass", "fail"]

_HEAD = """\
# What people say of saved cells, beside what judging models said of the same evidence.
# Fill in `human: pass` or `human: fail` after looking at the cell in the report, before you look
# at any judge's verdict. Everything else is written by `autoweb judge-labels`.
"""


class JudgeEvidence(NamedTuple):
    """All evidence behind one question to a judge, redacted."""

    page: str
    actions: str
    wire: str
    downloads: str
    answer: str
    picture: str | None
    """A picture of the page as a `data:` URI, if there is one."""

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
            "downloads": fence(self.downloads, "files") if self.downloads else "",
            "answer": fence(self.answer, "answer") if self.answer else "",
        }


def collect_evidence(
    evidence: Evidence, *, with_answer: bool, with_picture: bool, page_tokens: int
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
    return JudgeEvidence(
        page=clean(f"URL: {page.url}\n{snapshot.text}"),
        actions=clean(_lines(map(_action, filter(_is_action, evidence.actions)))),
        wire=clean(_lines(map(_request, filter(_is_told, evidence.wire)))),
        downloads=clean(_lines(files)),
        answer=clean(answer)[:_ANSWER_CHARS],
        picture=_picture(evidence) if with_picture else None,
    )


def _lines(lines: Iterable[str]) -> str:
    """Return the last lines, each cut to length; the end of an attempt matters most."""
    shown = [" ".join(line.split())[:_LINE_CHARS] for line in lines]
    left_out = [f"({len(shown) - _LINES} earlier ones)"] if len(shown) > _LINES else []
    return "\n".join((*left_out, *shown[-_LINES:]))


def _is_action(call: ToolCall) -> bool:
    return call.acting and not call.replayed


def _action(call: ToolCall) -> str:
    # The source of a script may hold comments, in which a model could plead its own case.
    arguments = "<script>" if _RUNS_SCRIPTS.search(call.method) else call.arguments
    target = _SCRIPT_IN_TARGET.sub(r"\1(<script>)", call.target)
    return f"{target}.{call.method}({arguments}): {'done' if call.ok else 'failed'}"


def _is_told(entry: WireEntry) -> bool:
    return entry.counted and (
        entry.resource_type in _SHOWN_KINDS or entry.method not in ("GET", "HEAD")
    )


def _request(entry: WireEntry) -> str:
    status = str(entry.status) if entry.status is not None else entry.failed or "no answer"
    return f"{entry.method} {entry.url} -> {status}"


def _picture(evidence: Evidence) -> str | None:
    """Take a picture of the viewport, with password fields covered."""
    with tempfile.TemporaryDirectory(prefix="autoweb-judge-") as folder:
        path = Path(folder) / "page.jpg"
        if not shot(evidence.page, path):
            return None
        return "data:image/jpeg;base64," + base64.b64encode(path.read_bytes()).decode()


class Opinion(NamedTuple):
    """A verdict with its reason and quotes."""

    verdict: Word
    reason: str
    quotes: tuple[str, ...]


def read_opinion(reply: str) -> Opinion | None:
    """Read the one verdict of a reply; None when there is none, or more than one."""
    text = strip_reasoning(reply)
    opinions = list(_from_json(text)) or _from_lines(text)
    # A model may repeat its verdict, as in JSON twice over; only a contradiction is refused.
    return opinions[0] if len({opinion.verdict for opinion in opinions}) == 1 else None


def quoted(opinion: Opinion, evidence: str) -> tuple[str, ...]:
    """Return the quotes whose words occur, in that order, in the evidence."""
    # The spaces around both texts let a quote match whole words only.
    stock = _plain(evidence)
    return tuple(
        quote
        for quote in opinion.quotes
        if len(plain := _plain(quote)) >= _LEAST_QUOTE and f" {plain} " in f" {stock} "
    )


def _from_json(text: str) -> Iterator[Opinion]:
    for data in objects_in(text):
        if (opinion := _from_mapping(data)) is not None:
            yield opinion


def _from_mapping(data: dict[Any, Any]) -> Opinion | None:
    fields = {
        name: value
        for key, value in data.items()
        for name, words in _KEYS.items()
        if re.fullmatch(words, str(key).strip(), re.IGNORECASE)
    }
    verdict = _meaning(fields.get("verdict"))
    if verdict is None:
        return None
    quotes = fields.get("quotes", [])
    quotes = quotes if isinstance(quotes, list) else [quotes]
    return _opinion(verdict, str(fields.get("reason", "")), [q for q in quotes if _is_text(q)])


def _from_lines(text: str) -> list[Opinion]:
    found: dict[str, list[str]] = {name: [] for name in _LINE}
    for line in text.splitlines():
        for name, pattern in _LINE.items():
            if match := pattern.match(fold_line(line)):
                found[name].append(match["value"])
    verdicts = [_meaning(value) for value in found["verdict"]]
    if None in verdicts:
        return []
    reason = " ".join(found["reason"])
    return [_opinion(verdict, reason, found["quotes"]) for verdict in verdicts if verdict]


def _opinion(verdict: Word, reason: str, quotes: list[str]) -> Opinion:
    shown = (quote.strip(_EDGES)[:MAX_CHARS] for quote in quotes[:MAX_QUOTES])
    return Opinion(verdict, reason.strip()[:MAX_CHARS], tuple(filter(None, shown)))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _meaning(value: Any) -> Word | None:
    if not isinstance(value, str):
        return None
    word = unicodedata.normalize("NFKC", value).strip(_EDGES).casefold()
    return _MEANING.get(re.sub(r"[\s-]+", "_", word))


def _plain(text: str) -> str:
    """Reduce a text to its words, because models drop a page listing's marks when they quote it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()


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
        return SelectedJudge(
            spec, self._client_of(spec.name), judge_id(spec) not in self._calibrated
        )


def judge_id(spec: ModelSpec) -> str:
    """Name the model and its prompt in one line."""
    return f"{spec.litellm_model} (prompt {prompt_checksum(PROMPT)[:12]})"


NO_VERDICT = "no_verdict"
UNFOUNDED = "unfounded"

_REPLY_TOKENS = 500
_PAGE_SHARE = 2
"""The page may fill one part in this many of the judge's context."""
_MOST_PAGE_TOKENS = 16_000

# In this order a model quotes and reasons before it decides.
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
"""The GBNF grammar of the reply."""


class JudgedAttempt(NamedTuple):
    """The attempt being judged."""

    case_id: str
    user_task: str
    capture_mode: str
    repeat: int
    attempt: int
    model: ModelSpec
    """The model whose work is being judged."""


@dataclass(slots=True)
class ModelJudge:
    """The `RubricJudge` of one attempt; `exchanges` are its questions so far."""

    judges: Callable[[str | None], SelectedJudge]
    """Selects the judge; raises SettingsError when there is none, or when it must not judge."""
    place: JudgedAttempt
    exchanges: tuple[Exchange, ...] = ()

    def __call__(self, query: JudgeQuery, evidence: Evidence) -> RubricFinding:
        """Ask once.

        Raises:
            NotEvaluated: no judge model is named, or it is one of those compared.
        """
        try:
            selected = self.judges(query.model)
        except SettingsError as error:
            raise NotEvaluated(str(error)) from None
        spec = selected.spec
        if spec.litellm_model == self.place.model.litellm_model:
            raise NotEvaluated(f"the judge {spec.name} is the model whose work is judged")
        shown = collect_evidence(
            evidence,
            with_answer=query.answer,
            with_picture=spec.vision,
            page_tokens=min(_MOST_PAGE_TOKENS, spec.context_tokens // _PAGE_SHARE),
        )
        request = self._request(query, shown, spec)
        asked = ask_once(
            selected.client,
            request,
            evidence.redact,
            usable=lambda text: text if read_opinion(text) else "",
        )
        self.exchanges = (*self.exchanges, asked.exchange)
        finding = _finding(asked, shown, selected.id)
        return finding._replace(advisory=selected.advisory)

    def _request(self, query: JudgeQuery, shown: JudgeEvidence, spec: ModelSpec) -> Request:
        messages = render(
            PROMPT,
            images=(shown.picture,) if shown.picture else (),
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
    if verdict == "pass" and not founded and shown.picture is None:
        verdict = UNFOUNDED
    return RubricFinding(verdict, opinion.reason, judge, founded, usage=usage)


class _Entry(Documented):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeVerdict(_Entry):
    """One judge's verdict on the labelled evidence."""

    judge: str
    """The model and the checksum of its prompt."""
    verdict: str
    reason: str = ""


class Label(_Entry):
    """One rubric on one attempt."""

    run: str
    """The `ts` of the run."""
    cell: str
    """The cell's folder below the run folder."""
    attempt: int = Field(ge=1)
    check: int = Field(ge=0)
    """The position of the check in the case's `expect`, from 0."""
    rubric: str
    """The rubric as the report shows it; a changed rubric is another question."""
    rubric_checksum: str
    """The SHA-256 of the rubric."""
    human: HumanWord | None = None
    """The human verdict; None until somebody has looked."""
    note: str = ""
    """A note by the person who labelled."""
    judged: tuple[JudgeVerdict, ...] = ()

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """Return the key of the labelled item."""
        return self.run, self.cell, self.attempt, self.check, self.rubric_checksum


class LabelFile(_Entry):
    """The content of a labels file."""

    version: Literal[1] = 1
    labels: tuple[Label, ...] = ()

    def pairs(self) -> dict[str, list[tuple[HumanWord, str]]]:
        """Return, for each judge, every human verdict with the judge's own."""
        found: dict[str, list[tuple[HumanWord, str]]] = {}
        for label in self.labels:
            for said in label.judged:
                if label.human is not None:
                    found.setdefault(said.judge, []).append((label.human, said.verdict))
        return found


def read_labels(path: Path) -> LabelFile:
    """Read the labels of a file.

    Raises:
        CaseError: it cannot be read or breaks the format, with line and field.
    """
    document = read_document(path)
    try:
        file = validated(LabelFile, document.data)
        seen: dict[tuple[str, str, int, int, str], int] = {}
        for index, label in enumerate(file.labels):
            judges = [said.judge for said in label.judged]
            if len(judges) != len(set(judges)):
                raise FieldError(("labels", index, "judged"), "one judge is listed twice")
            if (first := seen.setdefault(label.key, index)) != index:
                line = document.line(("labels", first))
                raise FieldError(("labels", index), f"the same check is labelled on line {line}")
    except FieldError as error:
        raise document.error(error) from error
    return file


def write_labels(path: Path, labels: Iterable[Label]) -> None:
    """Replace the file, in the order given."""
    rows = [label.model_dump(mode="json") for label in labels]
    text = yaml.safe_dump(
        {"version": 1, "labels": rows}, sort_keys=False, allow_unicode=True, width=100
    )
    # As a whole, because an interruption must never lose people's verdicts.
    replace_text(path, _HEAD + text)
