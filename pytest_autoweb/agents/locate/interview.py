"""Asks a vision model the questions of one search, each on a picture, and reads its answers."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec import Struct, field
from msgspec.structs import replace

from pytest_autoweb.agents.locate.candidates import Candidate, Rect
from pytest_autoweb.agents.locate.questions import (
    Outcome,
    PictureAnswer,
    PictureQuestion,
    XRelation,
    YRelation,
)
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.browser.marks.crosshair import ViewportView
from pytest_autoweb.browser.marks.marking import PageBox
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.messages import Message, Request, picture_uri, redacted_messages
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import objects_in
from pytest_autoweb.models.reply_forms import (
    Flag,
    Kind,
    Number,
    ReplyForm,
    Text,
    Word,
    schema_of,
)
from pytest_autoweb.models.unfenced import without_fences
from pytest_autoweb.results.records import Exchange
from pytest_autoweb.results.records.attempt import Probe

_MAX_TEXT = 200
# Replies come in English or Chinese, as JSON or in sections, so all of these are read.
_KEYS: dict[str, str] = {
    name: key
    for key, names in {
        "found": "found|visible|present|发现|是否发现|可见",
        "v": "v|vertical|vertical line|x|竖线|竖线位置|垂直线",
        "h": "h|horizontal|horizontal line|y|横线|横线位置|水平线",
        "mark": "mark|number|box|choice|编号|数字|选择|框",
        "text": "text|文字|文本",
    }.items()
    for name in names.split("|")
}
_WORDS: dict[str, tuple[str, ...]] = {
    "left": ("left", "左"),
    "right": ("right", "右"),
    "above": ("above", "over", "上"),
    "below": ("below", "under", "下"),
    "crossed": ("crossed", "cross", "crosses", "crossing", "touches", "on", "穿过", "相交", "接触"),
}
_ABSENT = re.compile(
    r"not (found|visible|present|there|in the picture)|absent|cannot (find|see)|can't (find|see)"
    r"|未发现|没有?发现|未找到|找不到|没找到|不可见|不存在"
)
_YES = {"true", "yes", "y", "是", "有", "发现", "已发现", "可见"}
_NO = {"false", "no", "n", "否", "无", "没有"}
_NONE = {"none", "none of these", "无", "没有", "都不是"}
_SECTION = re.compile(r"^\s*[\[【](?P<name>[^\]】]{1,30})[\]】]\s*(?P<rest>.*)$")
_FIELD = re.compile(r"^[\s*\-\"]*(?P<name>[^\W\d][\w ]{0,30}?)[\s*\"]*[:：=]\s*(?P<rest>.*)$")


class Reading(NamedTuple):
    """The content of a reply, and any problem with it."""

    answer: PictureAnswer
    problem: str
    """Part of a sentence for asking again; empty when the answer can be used as it is."""


def read_reply(reply: str, question: PictureQuestion) -> Reading:
    """Parse the reply to a question; parts that are missing or contradictory are None."""
    fields = _fields(reply)
    if not fields:
        return Reading(PictureAnswer(), "it holds no JSON object with the asked fields")
    words = {key: normalise(str(value)).casefold() for key, value in fields.items()}
    x, x_problem = _relation(words, "v", ("left", "right"), asked=question.x is not None)
    y, y_problem = _relation(words, "h", ("above", "below"), asked=question.y is not None)
    mark, mark_problem = _mark(words, question)
    visible, problem = _visible(words, (x, y), mark, asked=question.kind == "look")
    text = normalise(str(fields.get("text") or ""))[:_MAX_TEXT]
    if problem:
        return Reading(PictureAnswer(text=text), problem)
    if visible is False:
        return Reading(PictureAnswer(visible=False), "")
    answer = PictureAnswer(
        visible=visible,
        x=cast("XRelation | None", x),
        y=cast("YRelation | None", y),
        mark=mark,
        text=text,
    )
    return Reading(answer, x_problem or y_problem or mark_problem)


_SIDES = {"v": ("left", "right", "crossed"), "h": ("above", "below", "crossed")}
_UNASKED = "none"
_ANSWER: dict[str, Kind] = {
    "found": Flag(),
    **{axis: Word((*sides, _UNASKED)) for axis, sides in _SIDES.items()},
    "mark": Number(0, whole=True),
    "text": Text(),
}
ANSWER_SCHEMA = schema_of(ReplyForm(_ANSWER))
"""The JSON schema of all answers alike, because services compile each schema anew."""


def whole_form() -> str:
    """Return the form of an answer that `ANSWER_SCHEMA` demands, as shown in the prompt."""
    sides = (f'"{axis}": "{"|".join((*named, _UNASKED))}"' for axis, named in _SIDES.items())
    return "{" + ", ".join(['"found": true|false', *sides, '"mark": number', '"text": "…"']) + "}"


def form_of(question: PictureQuestion) -> str:
    """Return the form of an answer to this question alone, as shown in the prompt."""
    form = ['"found": true|false']
    form += ['"v": "left|right|crossed"'] if question.x is not None else []
    form += ['"h": "above|below|crossed"'] if question.y is not None else []
    form += ['"mark": number'] if question.badges else []
    return "{" + ", ".join([*form, '"text": "…"']) + "}"


def _fields(reply: str) -> dict[str, Any]:
    """Return the last JSON object with a known key, else the sections."""
    found: dict[str, Any] = {}
    for item in objects_in(reply):
        known = _known(item)
        found = known or found
    return found or _sections(reply)


def _sections(reply: str) -> dict[str, str]:
    """Parse `[header]` sections and `name: value` lines; of equal names the last one counts."""
    found: dict[str, str] = {}
    current = ""
    for line in reply.splitlines():
        header = _SECTION.match(line) or _FIELD.match(line)
        key = _key(header["name"]) if header else ""
        if header and key:
            current, found[key] = key, header["rest"].strip().strip('",')
        elif current and not found[current]:
            found[current] = line.strip()
    return {key: value for key, value in found.items() if value}


def _known(item: Mapping[str, Any]) -> dict[str, Any]:
    return {_key(name): value for name, value in item.items() if _key(name) and value is not None}


def _key(name: str) -> str:
    return _KEYS.get(normalise(name).casefold(), "")


def _relation(
    words: Mapping[str, str], key: str, sides: tuple[str, str], *, asked: bool
) -> tuple[str | None, str]:
    """Return the side that a value names, or `absent`, and any problem with the value."""
    value = words.get(key, "")
    if not asked:
        return None, ""
    if not value:
        return None, f'"{key}" is missing'
    # Before the sides, because *not found on the left* names one of them.
    if _ABSENT.search(value):
        return "absent", ""
    named = {word for word in (*sides, "crossed") if any(_has(value, w) for w in _WORDS[word])}
    if len(named) != 1:
        return None, f'"{key}" is {value[:40]!r} instead of {sides[0]}, {sides[1]} or crossed'
    return named.pop(), ""


def _has(value: str, word: str) -> bool:
    return word in value if not word.isascii() else bool(re.search(rf"\b{word}\b", value))


def _mark(words: Mapping[str, str], question: PictureQuestion) -> tuple[int | None, str]:
    if not question.badges:
        return None, ""
    value = words.get("mark", "")
    if not value:
        return None, '"mark" is missing'
    if value in _NONE | _NO:
        return 0, ""
    number = int(value) if re.fullmatch(r"[0-9]{1,4}", value) else -1
    numbers = {0, *(badge.number for badge in question.badges)}
    if number not in numbers:
        return None, f'"mark" is {value[:40]!r}, which is no number in the picture'
    return number, ""


def _visible(
    words: Mapping[str, str], axes: tuple[str | None, ...], mark: int | None, *, asked: bool
) -> tuple[bool | None, str]:
    """Return whether the reply sees the target in the picture, and any contradiction."""
    value = words.get("found", "")
    said = True if value in _YES else None
    if value in _NO or _ABSENT.search(value):
        said = False
    absent = [axis == "absent" for axis in axes if axis is not None]
    placed = any(not gone for gone in absent) or bool(mark)
    if any(absent):
        if placed or said:
            return None, "it says both that the target was not found and where it is"
        return False, ""
    if said is False and placed:
        return None, "it says both that the target was not found and where it is"
    if said is None and asked:
        return None, '"found" is missing'
    return said, ""


class VisionModel:
    """The vision model of one attempt.

    Args:
        client: the client that answers requests.
        request: the fields that all requests share: the model, the case and the attempt.
        redact: removes the case's secrets from text.
        constrained: whether the model's server holds it to a JSON schema.
        fences: whether texts are marked as data.
    """

    def __init__(
        self,
        client: Client,
        request: Request,
        redact: Callable[[str], str] = lambda text: text,
        *,
        constrained: bool = False,
        fences: bool = True,
    ) -> None:
        schema = ANSWER_SCHEMA if constrained else None
        self._client, self._redact, self._fences = client, redact, fences
        self._request = request.model_copy(update={"json_schema": schema})
        self.constrained = constrained
        self.exchanges: list[Exchange] = []
        """All exchanges so far, in order."""

    @property
    def model(self) -> str:
        """The model's name."""
        return self._request.model

    def look(self, messages: tuple[Message, ...]) -> str:
        """Ask the model and return its reply; failed calls are kept as exchanges, too.

        Raises:
            ModelError: the model could not be asked.
        """
        turn = len(self.exchanges)
        shown = messages if self._fences else without_fences(messages)
        update = {"messages": redacted_messages(shown, self._redact), "turn": turn}
        request = self._request.model_copy(update=update)
        asked = ask_once(self._client, request, self._redact, usable=str)
        self.exchanges.append(asked.exchange)
        if isinstance(asked.outcome, ModelError):
            raise asked.outcome
        return asked.outcome.text


ASKED_AGAIN = 2
"""How many times a question is repeated when its answer cannot be used."""
UNNAMED = "clickable"


class Asked(Struct):
    """One question with everything that the film shows about it."""

    question: PictureQuestion
    picture: str | None
    answer: PictureAnswer | None
    reply: str


class Questioner(Struct):
    """The `ask` function of `search.search`, which also keeps each picture for the film."""

    view: ViewportView
    eyes: VisionModel
    description: str
    candidates: Sequence[Candidate]
    save: Callable[[bytes], str | None]
    known: dict[tuple[Hashable, ...], Asked] = field(default_factory=dict)
    """Earlier questions about the target, by picture. No picture is shown twice: searches of one
    view for several kinds of elements may produce the same one."""
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, question: PictureQuestion) -> PictureAnswer | None:
        """Draw the picture, ask the model and return its answer; see `types.Ask`.

        Raises:
            ModelError: the model could not be asked.
        """
        shown = (self.view.digest, question.x, question.y, self._boxes(question))
        if earlier := self.known.get(shown):
            answer = earlier.answer and _with_calls(earlier.answer, 0)
            self.asked.append(replace(earlier, question=question, answer=answer))
            return answer
        picture = self.view.picture(
            question.x,
            question.y,
            [(badge.number, PageBox(*badge.box)) for badge in question.badges],
        )
        asked = self.known[shown] = Asked(question, self.save(picture), None, "")
        self.asked.append(asked)
        messages = self._messages(question, picture)
        # A model at temperature 0 repeats its reply unless the prompt names the problem.
        for calls in range(1, 1 + min(1 + ASKED_AGAIN, max(1, question.calls_left))):
            asked.reply = self.eyes.look(messages)
            reading = read_reply(asked.reply, question)
            asked.answer = _with_calls(reading.answer, calls)
            if not reading.problem:
                break
            again = render("locate_again", problem=reading.problem, form=self._form(question))
            said = Message(role="assistant", content=asked.reply)
            messages = (*messages, said, again[1])
        return asked.answer

    def _messages(self, question: PictureQuestion, picture: bytes) -> tuple[Message, ...]:
        return render(
            "locate",
            images=(picture_uri(picture),),
            target=fence(self.description, "target"),
            x=question.x is not None,
            y=question.y is not None,
            boxes=[(number, role) for number, role, _ in self._boxes(question)],
            whole=self.eyes.constrained,
            form=self._form(question),
        )

    def _form(self, question: PictureQuestion) -> str:
        return whole_form() if self.eyes.constrained else form_of(question)

    def _boxes(self, question: PictureQuestion) -> tuple[tuple[int, str, Rect], ...]:
        return tuple(
            (badge.number, self._role(badge.candidate), badge.box) for badge in question.badges
        )

    def _role(self, candidate: int | None) -> str:
        """Return the prompt's name for a candidate: its role, without its own name.

        If the prompt gave the name, the text that the model reads would not be independent
        evidence.
        """
        return UNNAMED if candidate is None else self.candidates[candidate].role or UNNAMED


def _with_calls(answer: PictureAnswer, calls: int) -> PictureAnswer:
    return PictureAnswer(answer.visible, answer.x, answer.y, answer.mark, answer.text, calls)


def probes_of(
    asked: Sequence[Asked], outcome: Outcome | None, candidates: Sequence[Candidate], first: int
) -> tuple[Probe, ...]:
    """Return the frames of the film.

    Args:
        asked: the questions, in order.
        outcome: the outcome of the search; None when the search was aborted.
        candidates: the candidates of the search.
        first: the number of the first frame.
    """
    turns = outcome.turns if outcome else ()
    probes = []
    for number, one in enumerate(asked):
        turn = turns[number] if number < len(turns) else None
        leader = turn.leader if turn else None
        probes.append(
            Probe(
                index=first + number,
                kind=one.question.kind,
                picture=one.picture,
                lines=one.question.lines,
                answer=describe_answer(one.answer) if turn is None or turn.answer else "",
                reply=one.reply,
                surviving=len(turn.surviving) if turn else len(candidates),
                leader="" if leader is None else describe_candidate(candidates[leader]),
                leader_probability=turn.probability if turn else 0.0,
            )
        )
    return tuple(probes)


def denied(asked: Sequence[Asked], chosen: int) -> bool:
    """Tell whether the model denied the chosen candidate's box each time it was asked about it."""
    said = [
        badge.number == one.answer.mark
        for one in asked
        if one.answer and one.answer.mark is not None
        for badge in one.question.badges
        if badge.candidate == chosen and one.answer.mark in (0, badge.number)
    ]
    return bool(said) and not any(said)


def describe_candidate(candidate: Candidate) -> str:
    role = candidate.role or UNNAMED
    return f"{role} “{candidate.name[:60]}”" if candidate.name else role


def describe_answer(answer: PictureAnswer | None) -> str:
    """Return the content of an answer for people; empty when there is none."""
    if answer is None:
        return ""
    if answer.visible is False:
        return "not found"
    sides = {"left": "left of V", "right": "right of V", "above": "above H", "below": "below H"}
    parts = [sides.get(answer.x, "crossed by V")] if answer.x else []
    parts += [sides.get(answer.y, "crossed by H")] if answer.y else []
    if answer.mark is not None:
        parts.append(f"box {answer.mark}" if answer.mark else "in none of the boxes")
    if answer.text:
        parts.append(f"reads “{answer.text[:60]}”")
    return ", ".join(parts) or ("found" if answer.visible else "")
