"""Reads the JSON of a decision in the variants that models write. Pure text.

It accepts fences, surrounding prose, comments, trailing commas, other kinds of quotes, Chinese
names of fields and actions, and a map from number to text (`mark_id_text_map`). Anything else is
reported to the model.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_autoweb.agents.choice.verify_choice import Choice
from pytest_autoweb.base.python_source import NOT_PYTHON
from pytest_autoweb.models.replies import strip_reasoning

# Unclosed braces make the search for objects quadratic.
_MAX_CHARS = 50_000
_MOST_OBJECTS = 200
_KEYS = {
    "action": "动作 操作 行动 type_of_action act",
    "decision": "决定",
    "mark_id": "mark mark_number markid id element element_id number index 编号 标记 元素编号 序号",
    "mark_ids": "marks ids 编号列表",
    "expected_text": "target_text expectedtext element_text 期望文本 预期文本 元素文本 目标文本",
    "expected_texts": "target_texts 期望文本列表",
    "mark_id_text_map": "map 编号文本",
    "near": "beside context row near_text 附近 旁边 所在行",
    "text": "value content input_text 内容 输入 文字",
    "option": "label choice 选项",
    "key": "keys 按键 键",
    "url": "link href 网址 地址 链接",
    "answer": "result data 答案 结果",
    "direction": "方向",
    "timeout_ms": "timeout ms 毫秒",
    "fields": "form inputs form_fields 字段 表单",
    "to_mark_id": "to to_mark target target_mark_id drop_on 目标编号",
    "to_expected_text": "to_text drop_text 目标元素文本",
    "to_near": "目标附近",
    "file": "file_name filename files path 文件",
    "tab": "tab_number 标签页",
    "steps": "actions sequence 步骤",
    "x": "",
    "y": "",
    "to_x": "x2 end_x",
    "to_y": "y2 end_y",
    "last": "final is_last last_action 最后",
    "thinking": "thought thoughts reasoning reason 思考 理由 推理",
    "confidence": "certainty 置信度 信心",
}
_ACTIONS = {
    "click": "点击 单击 tap press_button click_element check uncheck",
    "type": "输入 填写 fill input enter_text type_text",
    "select": "选择 select_option choose",
    "fill_form": "填表 填写表单 fill_fields form",
    "extract": "提取 读取 read get_text",
    "press": "按键 press_key key keypress",
    "scroll": "滚动 scroll_down scroll_up",
    "navigate": "导航 跳转 打开 goto open visit",
    "wait": "等待 sleep",
    "go_back": "返回 后退 back goback",
    "double_click": "双击 dblclick doubleclick",
    "right_click": "右键 右键点击 context_click contextmenu rightclick",
    "hover": "悬停 mouse_over mouseover move_to",
    "drag": "拖动 拖拽 drag_to drag_and_drop",
    "upload": "上传 upload_file set_input_files",
    "scroll_in": "scroll_box scroll_inside",
    "wait_for": "等待文本 wait_for_text",
    "switch_tab": "切换标签页 change_tab",
    "click_at": "click_coordinates click_point",
    "hover_at": "hover_coordinates hover_point point_at",
    "drag_at": "drag_coordinates",
    "steps": "多步 several multiple sequence",
    "done": "完成 结束 finish finished stop answer complete",
    "retry": "重试 再试",
}
# Strings are matched first and kept, so that `//` in a URL is not mistaken for a comment.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_NUMBER = re.compile(r"\s*(?:mark|#|\[|【|第|编号)*\s*(\d{1,4})\s*(?:\]|】|号)*\s*", re.IGNORECASE)
_ASCII = str.maketrans("“”：，｛｝", '"":,{}')
# Some models answer in words when asked for a number from 0 to 1.
_WORDS = {"high": 0.9, "medium": 0.6, "low": 0.3, "高": 0.9, "中": 0.6, "低": 0.3}


class ReplyProblem(ValueError):
    """An error in a reply, as a sentence for the model that wrote it."""


def _inverted(table: Mapping[str, str]) -> dict[str, str]:
    return {word: name for name, words in table.items() for word in (name, *words.split())}


_KEY_OF, _ACTION_OF = _inverted(_KEYS), _inverted(_ACTIONS)


class Decisions(NamedTuple):
    """The decisions of a reply, under the standard names of their fields and actions."""

    fields: tuple[dict[str, Any], ...]
    """Usually one; several if the reply is a list of them, or one follows the other directly."""
    repaired: bool = False
    """Whether the reply was no JSON that any of the tolerated forms covers, and was repaired."""


def read_decisions(reply: str) -> Decisions:
    """Return the decisions of a reply.

    Of objects with words between them the last one that names an action counts, because models
    think aloud first. What cannot be read is repaired, and counts only if it names an action: the
    element's text on the page, or the action's schema, then verifies it.

    Raises:
        ReplyProblem: the reply holds no JSON object.
    """
    text = strip_reasoning(reply)
    found = [(named, span) for raw, span in _objects(text) if (named := _named(raw))]
    if acting := [one for one in found if "action" in one[0]] or found:
        return Decisions(_in_sequence(acting, text))
    if repaired := [one for one in _repaired(text) if one.get("action") in _ACTIONS]:
        return Decisions(tuple(repaired), repaired=True)
    beginning = " ".join(text.split())[:80]
    raise ReplyProblem(f"the reply is no JSON object: {beginning!r}")


def read_object(reply: str) -> dict[str, Any]:
    """Return the last decision of a reply; see `read_decisions`.

    Raises:
        ReplyProblem: the reply holds no JSON object.
    """
    return read_decisions(reply).fields[-1]


def _in_sequence(
    found: list[tuple[dict[str, Any], tuple[int, int]]], text: str
) -> tuple[dict[str, Any], ...]:
    """Return the last decision, with those that stand before it without a word between."""
    *earlier, (last, (start, _)) = found
    taken = [last]
    for fields, (begins, ends) in reversed(earlier):
        if _BETWEEN.fullmatch(text[ends:start]) is None:
            break
        taken.insert(0, fields)
        start = begins
    return tuple(taken)


_BETWEEN = re.compile(
    r"(?:[\s,;:.\[\]*]|`{3,}(?:json)?|~{3,}|(?:step\s*)?\d{1,2}[.):]|[-•+>→]"
    r"|\b(?:and|then|next|after|that|now|finally|second|third|step)\b|然后|接着|再|最后)*",
    re.IGNORECASE,
)
"""What stands between decisions that follow one another: marks of lists, and words such as then."""
_BEGINS = re.compile(r"""[{｛]\s*(?:\\?["'“]|[A-Za-z_]\w*\s*[:=])""")
"""The beginning of an object: a brace and a key, quoted or not."""


def _repaired(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a text that is only nearly JSON, from the first one that begins."""
    if (begin := _BEGINS.search(text)) is None:
        return
    # Late, because few replies need it.
    from json_repair import loads

    tail = _ascii_quotes(text[begin.start() :][:_MAX_CHARS])
    raw = loads(tail, skip_json_loads=True)
    for one in raw if isinstance(raw, list) else [raw]:
        if isinstance(one, Mapping) and (named := _named(one)):
            yield named


def read_choices(fields: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Return the elements that a decision chooses: one, two parallel lists, or a map to texts.

    Raises:
        ReplyProblem: the lists differ in length, so texts might be assigned to wrong numbers, or a
            mark's number is not a number.
    """
    try:
        if isinstance(texts := fields.get("mark_id_text_map"), Mapping):
            return tuple(Choice(mark_of(mark), str(text or "")) for mark, text in texts.items())
        if "mark_ids" in fields:
            return _parallel(fields["mark_ids"], fields.get("expected_texts"))
        if "mark_id" in fields:
            return (_choice(fields),)
    except ValueError as error:
        raise ReplyProblem(str(error)) from None
    return ()


def _choice(fields: Mapping[str, Any]) -> Choice:
    text, near = (str(fields.get(name) or "") for name in ("expected_text", "near"))
    return Choice(mark_of(fields["mark_id"]), text, near)


def _parallel(numbers: Any, texts: Any) -> tuple[Choice, ...]:
    numbers = numbers if isinstance(numbers, list) else [numbers]
    texts = texts if isinstance(texts, list) else []
    if len(numbers) != len(texts):
        raise ReplyProblem(
            f"{len(numbers)} mark_ids but {len(texts)} expected_texts: give each mark its text"
        )
    return tuple(
        Choice(mark_of(number), str(text or ""))
        for number, text in zip(numbers, texts, strict=True)
    )


def mark_of(value: Any) -> int:
    """Read a mark's number in the forms `5`, `"5"`, `"[5]"`, `5.0`.

    Raises:
        ValueError: it is not a number.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value)):
        return int(match[1])
    raise ValueError(f"{value!r:.40} is no mark's number")


def confidence_of(value: Any) -> float | None:
    """Read a confidence from 0 to 1 in the forms `0.9`, `"90%"`, `90`, `"high"`, or return None."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _WORDS:
            return _WORDS[text]
        share = text.endswith("%")
        try:
            value = float(text.rstrip("%")) / (100 if share else 1)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    # Models also write 90 when they mean 0.9.
    value = value / 100 if 1 < value <= 100 else value
    return float(value) if 0 <= value <= 1 else None


def _objects(text: str) -> Iterator[tuple[Any, tuple[int, int]]]:
    """Yield every outermost `{…}` that can be parsed, with its place.

    What stands within an object that is never closed is a part of it and no object of its own.
    """
    start, decoder = text.find("{"), json.JSONDecoder()
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            return
        try:
            raw, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            raw, end = _tolerated(text, start)
        if isinstance(raw, dict):
            yield raw, (start, end)
        elif end < 0:
            return
        start = text.find("{", end)


def _tolerated(text: str, start: int) -> tuple[Any, int]:
    """Return the value at a brace and where to read on; -1 if it was an object that was cut off."""
    end = _closing(text, start)
    if end is None:
        # A reply cut off at its token limit often lacks only the last brace.
        raw = _loaded(text[start : start + _MAX_CHARS] + "}")
        if isinstance(raw, dict):
            return raw, len(text)
        return None, -1 if _BEGINS.match(text, start) else start + 1
    raw = _loaded(text[start:end]) if end - start < _MAX_CHARS else None
    return raw, end if raw is not None else start + 1


def _closing(text: str, start: int) -> int | None:
    depth, quote, escaped = 0, "", False
    for at in range(start, min(len(text), start + _MAX_CHARS)):
        char = text[at]
        if quote:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == quote:
                quote = ""
        # Single quotes do not count, because prose contains apostrophes.
        elif char == '"':
            quote = char
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
    return None


def _loaded(text: str) -> Any:
    tidy = _COMMENT.sub(lambda m: m[1] or "", text)
    tidy = _TRAILING.sub(lambda m: m[1] or "", tidy)
    for form in (text, tidy, _ascii_quotes(tidy)):
        try:
            return json.loads(form, strict=False)
        except (ValueError, RecursionError):
            continue
    # Models that answer in Python use single quotes, True and None.
    try:
        return ast.literal_eval(tidy)
    except (TypeError, *NOT_PYTHON):
        return None


def _ascii_quotes(text: str) -> str:
    return text.translate(_ASCII)


def _named(raw: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the fields under their standard names; those nested in an action are lifted out."""
    fields: dict[str, Any] = {}
    for key, value in raw.items():
        name = _KEY_OF.get(str(key).strip().lower().replace(" ", "_").replace("-", "_"))
        if name in ("action", "decision") and isinstance(value, Mapping):
            fields = {**_named(value), **fields}
        elif name and name not in fields:
            fields[name] = value
    if isinstance(action := fields.get("action"), str):
        word = action.strip().lower().replace(" ", "_").replace("-", "_")
        fields["action"] = _ACTION_OF.get(word, action)
        if word == "scroll_up":
            fields.setdefault("direction", "up")
    return _normalised(fields)


def _normalised(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with a map of one element turned into `mark_id` and `expected_text`."""
    for name in ("expected_text", "near"):
        if fields.get(name, "") is None:
            fields[name] = ""
    texts = fields.get("mark_id_text_map")
    if "mark_id" not in fields and isinstance(texts, Mapping) and len(texts) == 1:
        [(mark, text)] = texts.items()
        fields |= {"mark_id": mark, "expected_text": str(text or "")}
    return fields


def is_yes(value: Any) -> bool:
    """Return whether a value means yes, in any form that models use."""
    return value is True or str(value).strip().lower() in ("true", "yes", "1", "是")


def named_steps(value: Any) -> Any:
    """Return the decisions of a list with their fields and actions under their standard names."""
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        return value
    return [_named(item) if isinstance(item, Mapping) else item for item in value]


def named_items(value: Any) -> Any:
    """Return the objects of a list with their fields under their standard names."""
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        return value
    return [
        {_KEY_OF.get(str(key).strip().lower(), key): inner for key, inner in item.items()}
        if isinstance(item, Mapping)
        else item
        for item in value
    ]
