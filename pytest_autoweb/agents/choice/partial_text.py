"""Recognises an expected text that is only a part of an element's text. Pure.

Models shorten long texts, for example that of a row to its title. Such a part does not identify an
element by itself; it confirms a number if no other element holds it as well.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from pytest_autoweb.agents.choice.expected_text import (
    LONG_PREFIX,
    LONG_WHOLE,
    PREFIX_CHARS,
    SHORT,
    TextComparison,
    fold,
    is_border,
    is_wide,
    names_any,
    quoted_apart,
    without_decoration,
    without_kind_words,
    without_spaces,
)
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.results.records.attempt import Verdict

_LINE_BREAK = re.compile(r"[\n\t]+")
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Thai, Lao, Burmese and Khmer, which are written without spaces although not in wide letters."""
_SIGNS = "'_.,"
_IRREVERSIBLE = """
    delete remove erase destroy discard purge wipe clear reset revoke terminate deactivate disable
    uninstall unsubscribe cancel pay payment buy purchase checkout transfer withdraw send publish
    trash bin dustbin garbage
    删除 刪除 移除 清空 清除 销毁 注销 停用 退订 取消 撤销 重置 支付 付款 购买 購買 下单 转账 提现
    发送 发布 垃圾桶 削除 消去 支払 購入 注文 送信 解約 キャンセル ごみ箱 삭제 결제 구매 취소 전송
    löschen entfernen verwerfen zurücksetzen kündigen abbrechen bezahlen zahlen kaufen überweisen
    senden papierkorb mülleimer supprimer effacer annuler payer acheter envoyer eliminar borrar
    quitar anular cancelar pagar comprar enviar excluir apagar remover
    удалить удаление отменить оплатить купить отправить حذف إلغاء دفع شراء إرسال
"""
_NEGATIONS = """
    not no never don without cannot nicht kein keine ohne ne pas non sans sin nunca não
    不 勿 ない 않 не нет без لا بدون
"""


def _folded(words: str) -> tuple[str, ...]:
    return tuple(map(fold, words.split()))


_IRREVERSIBLE_WORDS, _NEGATION_WORDS = _folded(_IRREVERSIBLE), _folded(_NEGATIONS)


class PartPlace(IntEnum):
    """Where a part is found in the whole; the higher, the more it says about the element."""

    WORDS = 1
    BEGINNING = 2
    LINE = 3
    """The part is a whole line, like the title of a card."""


class TextPart(NamedTuple):
    """A part of an element's text."""

    place: PartPlace
    part: str
    whole: str
    """The text that it is a part of."""
    rest: str
    """The other words of its line, folded; they may change its meaning."""

    def compared(self, expected: str) -> TextComparison:
        """Return the part as the result of a comparison.

        A line or a long beginning is as good as the whole text; anything else is incomplete.
        """
        one, other = quoted_apart(expected, self.whole)
        long = self.place is PartPlace.BEGINNING and _columns(self.part) >= PREFIX_CHARS
        verdict: Verdict = "match" if long or self.place is PartPlace.LINE else "incomplete"
        if self.place is PartPlace.LINE:
            return TextComparison(verdict, "line", f"{one} is a line of {other}")
        if self.place is PartPlace.BEGINNING:
            return TextComparison(verdict, "beginning", f"{one} is the beginning of {other}")
        return TextComparison(verdict, "words", f"{one} is only a part of {other}")

    @property
    def needs_confirmation(self) -> bool:
        """Return whether the rest may turn it into something that must not happen by mistake."""
        if self.place is PartPlace.BEGINNING and _columns(self.part) >= LONG_WHOLE:
            return False
        negated = names_any(self.rest, _NEGATION_WORDS)
        return negated or is_irreversible(self.part) or is_irreversible(self.rest)


def is_irreversible(text: str) -> bool:
    """Return whether a text names an action that can hardly be undone, such as `Delete`."""
    return names_any(fold(text), _IRREVERSIBLE_WORDS)


def part_of(expected: str, mark: Mark) -> TextPart | None:
    """Return the part of a mark's texts that a text is, if it is one; the best place counts."""
    forms = _forms(expected, mark.role)
    whole_texts = [text for text in dict.fromkeys((*mark.texts, mark.name)) if text]
    lines = mark.lines or tuple(_LINE_BREAK.split(mark.text))
    found = (
        part
        for form in forms
        for text in whole_texts
        if (part := _part(form, text, lines if text == mark.text else ()))
    )
    return max(found, key=lambda part: part.place, default=None)


def holds_line(expected: str, mark: Mark) -> bool:
    """Return whether a text is a whole line of a mark's text."""
    part = part_of(expected, mark)
    return part is not None and part.place is PartPlace.LINE


def other_holders(
    expected: str, own: Mark, part: TextPart, marks: Sequence[Mark]
) -> tuple[Mark, ...]:
    """Return the other marks that hold the text at least as well as a mark does.

    A part of the page around the mark holds everything that the mark holds, which says nothing;
    neither does a part of it with the same text.
    """
    return tuple(
        other
        for other in marks
        if other.number != own.number
        and not is_within(own, other)
        and not (is_within(other, own) and fold(other.text) == fold(own.text))
        and (held := part_of(expected, other))
        and held.place >= part.place
    )


def is_within(inner: Mark, outer: Mark) -> bool:
    """Return whether a mark lies in another one, as a button lies in a row."""
    left, top, width, height = inner.box
    x, y, wide, high = outer.box
    across = left >= x - 1 and left + width <= x + wide + 1
    return across and top >= y - 1 and top + height <= y + high + 1 and inner.box != outer.box


def _forms(expected: str, role: str) -> tuple[str, ...]:
    """Return the folded text, also without its ends, what follows its dots, or words for kinds."""
    folded = fold(expected)
    bare, head = without_decoration(folded), folded.partition("...")[0].strip()
    plain = without_kind_words(expected, role)
    return tuple(form for form in dict.fromkeys((folded, bare, head, plain)) if form)


def _is_short(form: str) -> bool:
    return _columns(without_spaces(form)) <= SHORT


def _columns(text: str) -> int:
    return len(text) + sum(map(is_wide, text))


def _part(form: str, whole: str, lines: Sequence[str]) -> TextPart | None:
    folded_lines = [line for line in map(fold, lines) if line]
    if len(folded_lines) > 1 and any(_is_line(form, line) for line in folded_lines):
        return TextPart(PartPlace.LINE, form, whole, "")
    folded = fold(whole)
    at = next(_places(form, folded), None)
    if at is None and _is_cut_beginning(form, folded):
        at = 0
    if at is None or _is_line(form, folded):
        return None
    # One or two characters within a text say nothing.
    if at and _is_short(form):
        return None
    place = PartPlace.WORDS if at else PartPlace.BEGINNING
    held_by = next(
        (line for line in folded_lines if any(True for _ in _places(form, line))), folded
    )
    return TextPart(place, form, whole, held_by.replace(form, " ", 1))


def _is_cut_beginning(form: str, whole: str) -> bool:
    """Return whether a text is the beginning of another, cut within a word as lists cut theirs."""
    if not whole.startswith(form) or _columns(form) < LONG_PREFIX:
        return False
    # `No. 1` is not the beginning of `No. 12`.
    return not (form[-1].isdigit() and whole[len(form) : len(form) + 1].isdigit())


def _is_line(form: str, line: str) -> bool:
    bare = without_spaces(without_decoration(line))
    return without_spaces(form) in (without_spaces(line), bare)


def _places(form: str, whole: str) -> Iterator[int]:
    """Yield where a text stands in another one in whole words."""
    at = whole.find(form)
    while at >= 0:
        if _ends_word(whole, at) and _ends_word(whole, at + len(form)):
            yield at
        at = whole.find(form, at + 1)


def _ends_word(text: str, at: int) -> bool:
    if is_border(text, at):
        return True
    before, after = text[at - 1], text[at]
    # A vowel sign belongs to the letter before it.
    if unicodedata.category(after)[0] == "M":
        return False
    # A sign inside a number or a name belongs to it, but not one at its end: `Report, 2 MB`.
    if after in _SIGNS and not text[at + 1 : at + 2].isalnum():
        return True
    if before in _SIGNS and not text[max(at - 2, 0) : at - 1].isalnum():
        return True
    return (is_wide(before) and is_wide(after)) or bool(
        _WITHOUT_SPACES.match(before) and _WITHOUT_SPACES.match(after)
    )
