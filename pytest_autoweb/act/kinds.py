"""Words by which people describe an element that shows no text: icons and bare fields. Pure."""

import re
import unicodedata
from collections.abc import Mapping

from pytest_autoweb.act.folding import fold

_ICONS = (
    "icon icons image picture logo symbol arrow glyph avatar thumbnail emoji "
    "图标 图片 箭头 图像 标志 圖標 圖示 アイコン 矢印 画像 ロゴ "
    "pfeil bild سهم أيقونة ايقونة رمز صورة شعار"
)
_FIELDS: Mapping[frozenset[str], str] = {
    frozenset({"textbox", "searchbox", "combobox", "spinbutton", "input", "textarea"}): (
        "textbox textarea input field textfield 输入框 文本框 搜索框 輸入框 入力欄 テキスト欄 "
        "eingabefeld textfeld suchfeld حقل"
    ),
    frozenset({"checkbox", "switch", "menuitemcheckbox"}): (
        "checkbox 复选框 勾选框 チェックボックス kontrollkästchen ankreuzfeld"
    ),
    frozenset({"radio", "menuitemradio"}): "radio 单选框 单选按钮 ラジオボタン optionsfeld",
    frozenset({"combobox", "listbox", "select", "button"}): (
        "dropdown select listbox combobox 下拉框 下拉菜单 ドロップダウン auswahlfeld قائمة"
    ),
    frozenset({"slider", "range"}): "slider 滑块 スライダー schieberegler",
}
_WORDS = re.compile(r"[^\W_]+")


def _folded(words: str) -> tuple[str, ...]:
    return tuple(fold(word) for word in words.split())


_ICON_WORDS = _folded(_ICONS)
_FIELD_WORDS = tuple((roles, _folded(words)) for roles, words in _FIELDS.items())


def describes_icon(expected: str) -> bool:
    """Whether a text is no element's text, but says what its icon looks like, or is a sign."""
    folded = fold(expected)
    return _names(folded, _ICON_WORDS) or not any(map(str.isalnum, folded))


def without_icon_words(expected: str) -> str:
    """`cart icon` without `icon`: what is left may be the element's name."""
    folded = fold(expected)
    for word in _ICON_WORDS:
        pattern = rf"(?<!\w){re.escape(word)}(?!\w)" if _has_spaces(word) else re.escape(word)
        folded = re.sub(pattern, " ", folded)
    return fold(folded)


def roles_of(expected: str) -> frozenset[str]:
    """The roles that a bare description such as `text field` means; empty: it means none."""
    folded = fold(expected)
    found = [roles for roles, words in _FIELD_WORDS if _names(folded, words)]
    return frozenset[str]().union(*found)


def _names(folded: str, words: tuple[str, ...]) -> bool:
    tokens = set(_WORDS.findall(folded))
    return any(word in tokens if _has_spaces(word) else word in folded for word in words)


def _has_spaces(word: str) -> bool:
    """Whether the word's script puts spaces between words."""
    return all(unicodedata.east_asian_width(char) not in ("W", "F") for char in word)
