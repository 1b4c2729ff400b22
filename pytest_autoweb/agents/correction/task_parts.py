"""A task cut into its parts, in English or Chinese, by punctuation and words alone.

A model that forgets the second half of a task sees from its parts what was never done. Nothing is
added or lost: the parts, one after the other, are the task.
"""

import re
from collections.abc import Iterator

MOST_PARTS = 30
"""Parts of a task that are told apart; the last one holds the rest."""

_VERBS = (
    "accept|add|answer|apply|approve|archive|assign|attach|book|buy|cancel|change|check|choose|"
    "clear|click|close|collect|comment|compare|complete|confirm|copy|count|create|deactivate|"
    "decline|delete|disable|discard|disconnect|download|edit|empty|enable|ensure|enter|expand|"
    "export|fill|filter|find|finish|follow|forward|give|go|import|insert|invite|leave|list|log|"
    "look|make|mark|mention|merge|move|name|navigate|note|open|order|pay|pick|pin|place|post|press|"
    "print|put|read|refund|register|reject|remove|rename|reopen|reply|report|reschedule|reset|"
    "restore|return|revoke|save|schedule|search|select|send|set|share|show|sign|sort|star|start|"
    "state|submit|subscribe|switch|tag|take|tell|tick|toggle|turn|type|uncheck|undo|unsubscribe|"
    "untick|update|upload|use|verify|view|visit|wait|write"
)
_VERBS_ZH = (
    "保存|输出|返回|回答|告诉|记录|记下|点击|打开|关闭|删除|提交|确认|选择|输入|填写|设置|添加|新增|"
    "修改|更改|发送|回复|下载|上传|取消|勾选|登录|退出|搜索|查找|移动|复制|标记|归档|创建|新建|重命名|"
    "把|将|给出|写"
)
_QUOTES = {"“": "”", "「": "」", "『": "』", "《": "》", "‘": "’", "«": "»", "`": "`", '"': '"'}
_BRACKETS = {"(": ")", "（": "）", "[": "]", "【": "】", "{": "}", "<": ">"}
_CLOSING = "”」』》’»`\"')）]】}>"
_LONGEST_QUOTE = 300
_CUT_WITHIN = 3_000
"""The characters of a task that are looked at; the rest belongs to the last part."""
_ADDRESS = re.compile(r"https?://[^\s，。；！？、]+")
_CLOSED = re.compile(r"'(?!\w)")

# A dot ends a sentence only before a space; that of an abbreviation or of a number does not.
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nos|nr|mr|mrs|ms|dr|prof|st|inc|ltd|co|corp|dept|fig|"
    r"vol|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|a\.m|p\.m)|(?:^|\W)[A-Za-z])\.\Z",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:^|\s)(?:\d{1,3}|[a-z]|step \d{1,3})[.)]\Z", re.IGNORECASE)
_STOPS = re.compile(r"[.!?…;。！？；]")
_WHOLE_STOPS = "。！？；;"
_ITEM = re.compile(r"[ \t]*(?:[-*•]|\d{1,3}[.)、]|[a-z]\))[ \t]+\S", re.IGNORECASE)
_ENDED = re.compile(r"[.!?:;。！？：；][ \t\r]*\Z")
_ADVERBS = r"(?:(?:then|also|finally|afterwards|next|please|lastly|subsequently)\b,?\s+)"
_BINDS = re.compile(
    rf"(?:and\s+|but\s+)?{_ADVERBS}\S|(?:and|but|or else)\s+(?:{_VERBS})\b|"
    rf"(?:and|but)\s+(?:do not|don't|never|not)\b|"
    rf"(?:before|after)\s+(?:that|this)\b|(?:then|afterwards),?\s+\S",
    re.IGNORECASE,
)
_COMMA = re.compile(r",\s+")
_COMMA_VERB = re.compile(rf"\s+(?:{_VERBS})\b", re.IGNORECASE)
_BINDS_ZH = re.compile(
    rf"(?:然后|接着|随后|最后|之后再|并且|同时|再(?={_VERBS_ZH})|并(?={_VERBS_ZH}))"
)
_NOT_AFTER_ZH = "合兼吞归"


def task_parts(task: str) -> tuple[str, ...]:
    """Return the sentences of a task and the clauses that ask for a step of their own.

    Quoted texts, brackets, addresses, numbers and abbreviations stay whole.
    """
    parts: list[str] = []
    began = 0
    for end in _ends(task[:_CUT_WITHIN]):
        part = task[began:end]
        # What has neither letters nor digits, such as a line of dashes, is no part of its own.
        if any(map(str.isalnum, part)) and len(parts) < MOST_PARTS - 1:
            parts.append(part)
            began = end
    parts.append(task[began:])
    if len(parts) > 1 and not any(map(str.isalnum, parts[-1])):
        parts[-2:] = ["".join(parts[-2:])]
    return tuple(filter(None, map(str.strip, parts)))


def _ends(task: str) -> Iterator[int]:
    """Yield the places at which a part ends and the next one begins."""
    place = 0
    while place < len(task):
        if (after := _end_of_quoted(task, place)) is not None:
            place = after
            continue
        if (end := _end_at(task, place)) is not None:
            yield end
            place = max(end, place + 1)
            continue
        place += 1


def _end_of_quoted(task: str, place: int) -> int | None:
    """Return the end of the quote, bracket or address that begins here; None if none does."""
    char = task[place]
    if char == "h" and (address := _ADDRESS.match(task, place)):
        return place + len(address[0].rstrip(".,;!?"))
    if char == "'" and (place == 0 or not task[place - 1].isalnum()):
        close = _CLOSED.search(task, place + 1, place + _LONGEST_QUOTE)
        return close.end() if close else None
    closing = _QUOTES.get(char) or _BRACKETS.get(char)
    if closing is None:
        return None
    end = task.find(closing, place + 1, place + _LONGEST_QUOTE)
    return end + 1 if end >= 0 else None


def _end_at(task: str, place: int) -> int | None:
    """Return the end of a part that this character brings about; None if it brings none."""
    char = task[place]
    if char == "\n":
        # Other line breaks only wrap a sentence.
        ends = _ENDED.search(task[max(0, place - 9) : place]) or _ITEM.match(task, place + 1)
        return place + 1 if ends or not task[place + 1 : place + 2].strip() else None
    if _STOPS.match(char):
        return _after_stop(task, place)
    if char in "，":
        return place + 1
    if char == "," and _COMMA_VERB.match(task, place + 1):
        return place + 1
    if char == "," and (found := _COMMA.match(task, place)):
        return place + 1 if _BINDS.match(task, found.end()) else None
    if char.isspace() and _BINDS.match(task, place + 1):
        return place + 1
    bound = _BINDS_ZH.match(task, place) if place else None
    return place if bound and task[place - 1] not in _NOT_AFTER_ZH + "，" else None


def _after_stop(task: str, place: int) -> int | None:
    end = place + 1
    while end < len(task) and (task[end] in _CLOSING or _STOPS.match(task[end])):
        end += 1
    if task[place] in _WHOLE_STOPS:
        return end
    if end < len(task) and not task[end].isspace():
        return None
    said = task[max(0, place - 12) : place + 1]
    if task[place] == "." and (_SHORT.search(said) or _NUMBERED.search(said)):
        return None
    return end
