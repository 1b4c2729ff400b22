"""Reads the type of a failure from its words, as the last resort.

Key words decide where they make up most of a message. All other messages are weighed.
"""

import re
from typing import NamedTuple

from pytest_autoweb.agents.correction.failure_weights import weigh
from pytest_autoweb.results.records.record import FailureType

_SERVICES: tuple[tuple[FailureType, str], ...] = (
    (
        "DATA_NOT_FOUND",
        r"models?\b.{0,60}(not (be )?found|not exist)|(invalid|unknown|no such) model"
        r"|^model: \S+$|模型.{0,12}(不存在|未找到)",
    ),
    (
        "BUSINESS_ERROR",
        r"billing|credit|balance|arrear|good standing|payment|insufficient (funds|quota)"
        r"|subscription|inappropriate|safety|content (polic|filter|management)|moderation"
        r"|prohibited|sensitive|欠费|余额|充值|敏感|不安全|违规",
    ),
    (
        "PERMISSION_ERROR",
        r"api[- _]?key|(location|region|country)\b.*not supported|permission|unauthori"
        r"|not authori|member of|have access|身份|鉴权|认证|无权|token ?非法",
    ),
    (
        "PARAMETER_ERROR",
        r"(token|context|prompt|input|length|size)s?\b.{0,30}(limit|too (long|large)|exceed"
        r"|maximum)|exceed(s|ed)?\b.{0,30}(token|context|length|size|bytes)|unsupported"
        r"|not support|invalid|\bmust\b|should be|range of|grammar|pars(e|ing)\b|参数|格式",
    ),
    (
        "SERVICE_UNAVAILABLE",
        r"memory|terminated|killed|crash|loading|exhausted|deadline|internal|capacity|并发|繁忙"
        r"|内部",
    ),
)
"""Words of model services, where the same words mean something else than in a shop."""
_KEY_WORDS: dict[FailureType, str] = {
    "PARAMETER_ERROR": "参数错误|参数格式|invalid parameter|parameter|missing required|缺少必填"
    "|类型不匹配",
    "PERMISSION_ERROR": "权限不足|无权|forbidden|unauthorized|access denied|禁止访问|token ?过期",
    "SERVICE_UNAVAILABLE": "服务不可用|超时|timeout|service unavailable|connection refused"
    "|连接失败",
    "DATA_NOT_FOUND": "未找到|不存在|not found|no data|empty result|查无此|批次不存在|记录为空"
    "|条件过严",
    "VALIDATION_ERROR": "验证失败|校验|validation failed|invalid|格式错误|不合法|业务规则违反"
    "|数据不合法",
    "BUSINESS_ERROR": "业务异常|操作不允许|business error|状态不允许|流程错误|库存不足|流程约束",
    "RESOURCE_CONFLICT": "冲突|已存在|conflict|duplicate|重复|并发修改|锁定资源",
    "UNKNOWN": "未分类错误|系统异常",
}
"""The words that name each type, in English and Chinese. They are not learnt, but laid down."""
_READ = 4_000
"""Maximum number of characters of a message that are searched; a page may contain any number."""
_LONGEST = 400
"""Maximum length in characters of a message that is weighed: logs and pages contain too much
else."""
_TYPED = 0.2
"""Minimum probability of a type for it to be named at all."""
_CLEAR = 0.8
"""Minimum probability of a type that is clear. `docs/calibration.md` says how often such a type is
right."""


class WordsFound(NamedTuple):
    """The classification of a message by its words."""

    type: FailureType
    """The type of the failure."""
    words: str
    """The words that decided."""
    clear: bool = True
    """False if they only lean towards this type."""


def find_of_service(message: str) -> WordsFound | None:
    """Return the same as `find`, but for a message of a model service; its words are clear."""
    for failure_type, words in _SERVICES:
        if hit := re.search(words, message[:_READ], re.IGNORECASE):
            return WordsFound(failure_type, hit[0])
    return None


def find(message: str) -> WordsFound | None:
    """Return the type that a message's words indicate, with the words that decided.

    Returns:
        None if no words are known, or if they say only that something failed.
    """
    message = message[:_READ]
    named = _named(message)
    if len(message) > _LONGEST:
        return named and named._replace(clear=False)
    # A key word that makes up most of the message leaves no doubt.
    if named is None or len(named.words) < len(message.strip()) / 2:
        named = _weighed(message)
    return None if named is None or named.type == "UNKNOWN" else named


def _named(message: str) -> WordsFound | None:
    """Return the type of the longest key word in a message."""
    hits = (
        WordsFound(failure_type, hit[0])
        for failure_type, words in _KEY_WORDS.items()
        for hit in re.finditer(rf"(?<![a-z])(?:{words})", message, re.IGNORECASE)
    )
    return max(hits, key=lambda hit: len(hit.words), default=None)


def _weighed(message: str) -> WordsFound | None:
    weighed = weigh(message)
    if weighed is None or weighed.probability < _TYPED:
        return None
    return WordsFound(weighed.type, weighed.words, weighed.probability >= _CLEAR)
