"""A model's own lessons from a failure, and whether they helped.

After Shinn et al., "Reflexion" (arXiv 2303.11366). A reflection belongs to a case and a model, and
records the outcome of the retry that it led to.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from pytest_autoweb.models.replies import objects_in
from pytest_autoweb.models.reply_forms import OneOf, ReplyForm, Share, Text, schema_of
from pytest_autoweb.results.records import Attempt, Correction
from pytest_autoweb.results.records.record import CorrectionStrategy

MIN_CONFIDENCE = 0.3
"""Confidence below which a reflection is ignored."""
KEPT = 3
"""Number of past reflections in the prompt for a new one."""
_TEXT_CHARS = 600
_KEYS = {
    "analysis": ("errorAnalysis", "error_analysis", "analysis", "错误分析", "分析"),
    "strategy": ("correctionStrategy", "correction_strategy", "strategy", "修正策略", "策略"),
    "reflection": ("reflection", "反思"),
    "confidence": ("confidence", "置信度", "信心"),
}
_CHINESE: dict[str, CorrectionStrategy] = {
    "放弃": "ABANDON",
    "格式": "FIX_FORMAT",
    "重新": "RE_QUERY",
    "扩大": "EXPAND_RANGE",
    "条件": "CHANGE_CONDITION",
}
FORM = ReplyForm(
    {
        "errorAnalysis": Text(max_chars=400),
        "correctionStrategy": OneOf(get_args(CorrectionStrategy)),
        "reflection": Text(max_chars=400),
        "confidence": Share(),
    }
)
SCHEMA = schema_of(FORM)
"""JSON Schema of a reply, for servers that enforce one."""


class Reflected(NamedTuple):
    """The fields of a reply."""

    analysis: str
    strategy: CorrectionStrategy | None
    reflection: str
    confidence: float | None
    """From 0 to 1; None if the reply gives none."""


def read_reflection(reply: str) -> Reflected:
    """Read a reply, which is the reflection itself if it contains no JSON; never raises."""
    fields = next(filter(None, objects_in(reply[:20_000])), None)
    if fields is None:
        return Reflected("", None, _short(reply), None)
    return Reflected(
        analysis=_short(_value(fields, "analysis")),
        strategy=_strategy(str(_value(fields, "strategy"))),
        reflection=_short(_value(fields, "reflection")),
        confidence=_share(_value(fields, "confidence")),
    )


def past_reflections(attempts: Sequence[Attempt]) -> str:
    """Return the last three in one line each: number, whether it helped, error, reflection."""
    made = [a.correction for a in attempts if a.correction and a.correction.reflection]
    return "\n".join(_line(number, each) for number, each in enumerate(made[-KEPT:], start=1))


def _line(number: int, made: Correction) -> str:
    helped = {"solved": "helped", "not_solved": "did not help", "pending": "not known yet"}
    error = _short(made.error, 200)
    return f"{number}. [{helped[made.outcome]}] {error} -> {made.reflection}"


def _value(fields: Mapping[str, Any], name: str) -> Any:
    return next((fields[key] for key in _KEYS[name] if key in fields), "")


def _strategy(text: str) -> CorrectionStrategy | None:
    for name in get_args(CorrectionStrategy):
        if name in text.upper().replace("-", "_").replace(" ", "_"):
            found: CorrectionStrategy = name
            return found
    return next((name for word, name in _CHINESE.items() if word in text), None)


def _share(value: Any) -> float | None:
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    # Models also write 70 when they mean 0.7.
    number = number / 100 if 1 < number <= 100 else number
    return number if 0 <= number <= 1 else None


def _short(text: Any, limit: int = _TEXT_CHARS) -> str:
    clean = " ".join(str(text).split())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
