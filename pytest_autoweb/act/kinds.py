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
_PICTURES = (
    (
        "trash bin dustbin garbage 垃圾桶 ごみ箱 papierkorb mülleimer",
        "delete remove 删除 移除 削除",
    ),
    ("magnifier magnifying loupe 放大镜 虫眼鏡 lupe", "search find 搜索 查找 検索 suche suchen"),
    ("gear cog cogwheel 齿轮 歯車 zahnrad", "settings preferences options 设置 設定 einstellungen"),
    ("pencil pen 铅笔 鉛筆 stift bleistift", "edit change rename 编辑 修改 編集 bearbeiten"),
    ("hamburger bars lines 三条横线", "menu navigation 菜单 メニュー menü"),
    ("cross x 叉 kreuz", "close dismiss cancel 关闭 閉じる schließen"),
    ("house 房子 haus", "home 首页 主页 ホーム startseite"),
    ("heart star 心形 星星 herz stern", "favorite favourite favorites favourites like 收藏 merken"),
    ("bell 铃铛 glocke", "notifications alerts 通知 benachrichtigungen"),
    ("envelope 信封 umschlag", "mail email message messages inbox 邮件 メール"),
    ("plus 加号", "add new create 添加 新建 追加 hinzufügen neu"),
    ("printer 打印机 drucker", "print 打印 印刷 drucken"),
    ("floppy disk 软盘 diskette", "save 保存 speichern"),
)
"""How people call pictures on buttons, and words in the names of such buttons."""
_WORDS = re.compile(r"[^\W_]+")


def _folded(words: str) -> tuple[str, ...]:
    return tuple(fold(word) for word in words.split())


_ICON_WORDS = _folded(_ICONS)
_FIELD_WORDS = tuple((roles, _folded(words)) for roles, words in _FIELDS.items())
_FIELD_ROLES = frozenset[str]().union(*_FIELDS) - {"button"}
_PICTURE_WORDS = tuple((_folded(seen), _folded(meant)) for seen, meant in _PICTURES)


def describes_icon(expected: str) -> bool:
    """Whether a text is no element's text, but says what its icon looks like, or is a sign."""
    return names_icon(expected) or not any(map(str.isalnum, fold(expected)))


def names_icon(expected: str) -> bool:
    """Whether a text has a word for an icon."""
    return _names(fold(expected), _ICON_WORDS)


def names_picture(expected: str, name: str) -> bool:
    """Whether a text describes the picture that often stands for a name: a trash can, `Delete`."""
    shown, called = fold(expected), fold(name)
    return any(_names(shown, seen) and _names(called, meant) for seen, meant in _PICTURE_WORDS)


def is_field(role: str) -> bool:
    """Whether an element of this role is a field, not an icon."""
    return role in _FIELD_ROLES


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
