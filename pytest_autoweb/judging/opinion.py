"""A judge's verdict on a rubric: the form of its reply, how it is read, and what it may quote."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

from pytest_autoweb.models.replies import fold_line, objects_in, strip_reasoning
from pytest_autoweb.models.reply_forms import (
    Items,
    ReplyForm,
    StringRule,
    Text,
    Word,
    grammar_of,
    schema_of,
)

VerdictWord = Literal["pass", "fail", "impossible", "captcha", "insufficient_evidence"]
VERDICTS: tuple[VerdictWord, ...] = get_args(VerdictWord)

MAX_QUOTES = 3
MAX_CHARS = 400
"""The maximum length of a stored reason or quote, in characters."""
# A single character is found in almost any evidence.
_LEAST_QUOTE = 2

_WORDS: dict[VerdictWord, str] = {
    "pass": "pass passed satisfied success successful succeeded 通过 成功 满足 合格",
    "fail": "fail failed failure not_satisfied unsatisfied 不通过 未通过 失败 不满足 未满足 不合格",
    "impossible": "impossible not_possible 不可能 无法完成 不可行",
    "captcha": "captcha 验证码 人机验证",
    "insufficient_evidence": "insufficient_evidence insufficient not_enough_evidence 证据不足"
    " 无法判断",
}
_MEANING: dict[str, VerdictWord] = {
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

# In this order a model quotes and reasons before it decides.
FORM = ReplyForm(
    {
        "quotes": Items((Text(),), least=0, most=MAX_QUOTES),
        "reason": Text(),
        "verdict": Word(VERDICTS),
    }
)
SCHEMA = schema_of(FORM)
# With escapes, because a quote may hold quotation marks of the page.
_TEXT = StringRule(
    "text",
    r"""text ::= "\"" char{1,160} "\""
char ::= [^"\\\x00-\x1F] | "\\" ["\\/nt]""",
)
GRAMMAR = grammar_of([FORM], _TEXT)
"""The GBNF grammar of the reply."""


class Opinion(NamedTuple):
    """A verdict with its reason and quotes."""

    verdict: VerdictWord
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


def _opinion(verdict: VerdictWord, reason: str, quotes: list[str]) -> Opinion:
    shown = (quote.strip(_EDGES)[:MAX_CHARS] for quote in quotes[:MAX_QUOTES])
    return Opinion(verdict, reason.strip()[:MAX_CHARS], tuple(filter(None, shown)))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _meaning(value: Any) -> VerdictWord | None:
    if not isinstance(value, str):
        return None
    word = unicodedata.normalize("NFKC", value).strip(_EDGES).casefold()
    return _MEANING.get(re.sub(r"[\s-]+", "_", word))


def _plain(text: str) -> str:
    """Reduce a text to its words, because models drop a page listing's marks when they quote it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()
