"""The parser of a vision model's replies: JSON or sections, in English or Chinese.

Parts that cannot be parsed count as no information and are never turned into an answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from pytest_autoweb.locate.question import PictureAnswer, PictureQuestion, XRelation, YRelation
from pytest_autoweb.values.text import normalise

_MAX_TEXT = 200
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
    """The content of a reply, and what is wrong with it."""

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


def form_of(question: PictureQuestion) -> str:
    """Return the form of an answer to this question, as shown in the prompt."""
    form = ['"found": true|false']
    form += ['"v": "left|right|crossed"'] if question.x is not None else []
    form += ['"h": "above|below|crossed"'] if question.y is not None else []
    form += ['"mark": number'] if question.badges else []
    return "{" + ", ".join([*form, '"text": "…"']) + "}"


def _fields(reply: str) -> dict[str, Any]:
    """Return the last JSON object with a known key, else the sections."""
    found: dict[str, Any] = {}
    for item in _objects(reply):
        known = _known(item)
        found = known or found
    return found or _sections(reply)


def _objects(reply: str) -> Iterator[Mapping[str, Any]]:
    decoder, at = json.JSONDecoder(), reply.find("{")
    while at >= 0:
        try:
            item, end = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(item, dict):
                yield item
        at = reply.find("{", end)


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
    """Return the side that a value names or `absent`, and what is wrong with the value."""
    value = words.get(key, "")
    if not asked:
        return None, ""
    if not value:
        return None, f'"{key}" is missing'
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
    """Tell whether the reply sees the target in the picture, and what contradicts that."""
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
