"""Says to a model why its choice was not used, and how to correct it. Pure.

Each reason needs another correction, so each has its own heading, line and advice. A choice that
may be right is never called wrong.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pytest_autoweb.agents.choice.verify_choice import Resolution, Status

Refusal = Literal[
    "wrong",  # the element has another text
    "blank",  # the element shows no text, although one was expected
    "missing",  # there is no such number
    "unsaid",  # the choice came without a text
    "incomplete",  # the text is only a part of the element's
    "kind",  # the text only says what kind of element it is
    "alike",  # several elements fit
    "twice",  # one number was chosen for several texts
    "unsure",  # the model was not sure, and did not choose it again
    "changed",  # the element reads otherwise than in the picture
    "gone",  # the element is no longer there
]

CONTRADICTED: frozenset[Refusal] = frozenset({"wrong", "blank"})
"""Reasons that speak against the element, which is therefore crossed out in the next picture."""

_OF_STATUS: dict[Status, Refusal] = {
    "no_such_mark": "missing",
    "no_expected_text": "unsaid",
    "number_part": "incomplete",
    "part_ambiguous": "incomplete",
    "kind_only": "kind",
    "chosen_twice": "twice",
    "not_confirmed": "unsure",
    "text_changed": "changed",
    "element_gone": "gone",
}


def refusal_of(found: Resolution) -> Refusal:
    """Return why a resolved choice has no mark to act on."""
    if found.status in _OF_STATUS:
        return _OF_STATUS[found.status]
    if found.candidates:
        return "alike"
    return "wrong" if found.chosen.verdict == "mismatch" else "blank"


class RefusalWording(NamedTuple):
    """What a prompt says about all choices that were refused for one reason."""

    heading: str
    advice: str
    chinese_heading: str
    """Small models get headings and advice in Chinese too, as they were measured with it."""
    chinese_advice: str
    measured_advice: str = ""
    """The English advice that small models were measured with, if it is another."""


_COMPARE = "compare the text of each element with what you look for, and do not choose the same"
_POSITION = "A position in a list (1., 2.) is not a mark's number."
_CHANGED = RefusalWording(
    "The page changed after you looked.",
    "Look at the page as it is now, and choose again.",
    "页面在你查看之后改变了",
    "请根据现在的页面重新选择",
)
_INCOMPLETE = RefusalWording(
    "The texts that you gave last time were not whole.",
    "The elements may be the right ones: if so, choose them again and copy their whole text.",
    "上次给出的文本不完整，元素可能是对的",
    "请抄写元素的完整文本",
)
_WORDINGS: dict[Refusal, RefusalWording] = {
    "wrong": RefusalWording(
        "The elements you chose last time were wrong.",
        f"Check the numbers again: {_COMPARE} number with the same text again. {_POSITION}",
        "上次元素验证失败详情（你选错了这些元素！）",
        "请重新核对编号 (check the numbers again)",
        f"{_COMPARE} elements again. {_POSITION}",
    ),
    "blank": RefusalWording(
        "The elements you chose last time do not show the text that you gave.",
        'If an element without a text is the right one, describe it, such as "cart icon" or "text '
        'field", or copy the text right beside the field. Else choose the one that shows the text.',
        "上次选择的元素没有显示给出的文本",
        "请选择显示该文本的元素",
    ),
    "missing": RefusalWording(
        "There is no element with the number that you gave last time.",
        f"Take the number that stands in the element's box. {_POSITION}",
        "上次给出的编号不存在",
        "请使用元素框中的编号",
    ),
    "unsaid": RefusalWording(
        "You did not say what the elements you chose last time read.",
        "Give the text of each element as expected_text, copied as it stands.",
        "上次没有给出元素的文本",
        "请抄写元素的文本",
    ),
    "incomplete": _INCOMPLETE,
    "kind": _INCOMPLETE,
    "alike": RefusalWording(
        "It was not clear which elements you meant last time.",
        "They may be the right ones: say what is near the one that you mean.",
        "上次的选择不明确，元素可能是对的",
        "请说明它附近的文本",
    ),
    "twice": RefusalWording(
        "You gave several texts for one number last time.",
        "Give one text for each number.",
        "上次同一个编号给出了多个文本",
        "每个编号只给出一个文本",
    ),
    "unsure": RefusalWording(
        "You were not sure last time, and did not choose the same element again.",
        "Choose the element that you are sure of.",
        "上次你不确定，也没有再次选择它",
        "请选择你确定的元素",
    ),
    "changed": _CHANGED,
    "gone": _CHANGED,
}
_MIXED = ("Not everything that you chose last time could be used.", "上次的选择没有全部被使用")


def heading_lines(
    reasons: Sequence[Refusal], *, used: int, of: int, english: bool
) -> tuple[str, ...]:
    """Return the lines above a list of refused choices.

    Args:
        reasons: the reason for each of them.
        used: how many other choices of the same reply were used.
        of: the number of choices in the reply.
        english: whether the wording is all English.
    """
    headings = {(one.heading, one.chinese_heading) for one in _wordings(reasons)}
    heading, chinese = headings.pop() if len(headings) == 1 and not used else _MIXED
    result = "Nothing was done."
    if used:
        these = "this one was" if len(reasons) == 1 else "these were"
        result = f"{used} of {of} {'was' if used == 1 else 'were'} used; {these} not."
    said = f"{heading} {result}"
    return (f"## {said}",) if english else (f"## ⚠️ {chinese}", f"({said})")


def advice_lines(reasons: Sequence[Refusal], *, english: bool) -> tuple[str, ...]:
    """Return the lines below a list of refused choices, one for each correction."""
    if english:
        return tuple(one.advice for one in _wordings(reasons))
    return tuple(
        f"**{one.chinese_advice}**: {one.measured_advice or one.advice}"
        for one in _wordings(reasons)
    )


def _wordings(reasons: Sequence[Refusal]) -> tuple[RefusalWording, ...]:
    return tuple(dict.fromkeys(_WORDINGS[reason] for reason in reasons))
