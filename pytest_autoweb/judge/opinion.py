"""What a judging model's reply means. Pure text.

JSON is asked for; lines such as `Verdict: pass` are read too, in English and Chinese, with
full-width colons and bold marks. A reply that says two things says nothing.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

from pytest_autoweb.llm.replies import fold_line, strip_reasoning

Word = Literal["pass", "fail", "impossible", "captcha", "insufficient_evidence"]
VERDICTS: tuple[Word, ...] = get_args(Word)

MAX_QUOTES = 3
MAX_CHARS = 400
"""Of a reason or a quote."""
_LEAST_QUOTE = 2
_MOST_OBJECTS = 50

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


class Opinion(NamedTuple):
    """A verdict with its reason."""

    verdict: Word
    reason: str
    quotes: tuple[str, ...]


def read_opinion(reply: str) -> Opinion | None:
    """The one verdict of a reply; None when there is none, or more than one."""
    text = strip_reasoning(reply)
    opinions = list(_from_json(text)) or _from_lines(text)
    return opinions[0] if len({opinion.verdict for opinion in opinions}) == 1 else None


def quoted(opinion: Opinion, evidence: str) -> tuple[str, ...]:
    """The quotes whose words really stand in the evidence, in that order."""
    stock = _plain(evidence)
    return tuple(
        quote
        for quote in opinion.quotes
        if len(plain := _plain(quote)) >= _LEAST_QUOTE and f" {plain} " in f" {stock} "
    )


def _from_json(text: str) -> Iterator[Opinion]:
    decoder, at = json.JSONDecoder(), 0
    for _ in range(_MOST_OBJECTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            data, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
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
    """Words alone: models drop the marks of a page listing when they quote it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()
