"""The comparison of the text that a model expects of an element with its actual text. Pure.

Texts are compared in folded forms, and words may describe elements without text. All code that
chooses an element uses it: the act strategy, each phase of the collector, and
`page.get_by_mark(…)`.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from pytest_autoweb.base.values.dates import date_readings
from pytest_autoweb.base.values.quantities import number_readings
from pytest_autoweb.results.records.attempt import MatchedText, Verdict

MAX_CHARS = 400
"""Limit on the characters compared; only the beginnings of longer texts count."""

_SPACE = re.compile(r"\s+")
_LOOSE_SPACE = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
"""Spaces, except those between two digits, because `1 2` is not `12`."""
_OPTIONAL = re.compile("[\u0640\u064b-\u0652\u0670\ufe00-\ufe0f]")
"""Arabic tatweel and vowel signs and emoji variation selectors, which are often left out."""
_GROUPS = {
    "-": "‐‑‒–—−",
    "'": "’‘ʼ`´",
    '"': "“”„",
    "×": "✕✖✗✘⨯╳❌",
    ">": "→➜➔➡⇒❯›▶►▸⟩〉",
    "<": "←⬅⇐❮‹◀◄◂⟨〈",
    "^": "↑▲△⬆",
    ">>": "»⏩",
    "<<": "«⏪",
}
_ALIKE = str.maketrans({sign: plain for plain, signs in _GROUPS.items() for sign in signs})
"""Signs that look the same in a picture; a double arrow differs from a single one."""
_DIRECTIONS = frozenset("<>^")
_CROSS = "×"
_DECORATION = frozenset(" <>^|:.,;!?*·•…、,。،؛؟-_\"'⋮⋯≡˅˄" + _CROSS)
"""Signs at the ends of a text that models often leave out."""

Code = Literal[
    "equal",  # after folding
    "spacing",  # except for spaces
    "decoration",  # except for arrows, bullets and punctuation at the ends
    "number",  # the same number in another notation
    "date",  # the same day in another notation
    "ellipsis",  # one is cut, and says so
    "addition",  # one has a list number before it, or a number in parentheses after it
    "prefix",  # one is a long beginning of the other, without another word or evidently cut
    "contained",  # one is a large part of the other, with no letters next to it
    "picture",  # the expected text describes the usual icon for the element's hidden name
    "kind",  # the expected text is the element's, with a word for its kind: `Search button`
    "line",  # the expected text is a whole line of the element's (agents/choice/partial_text.py)
    "beginning",  # it begins the element's, at a word's end
    "words",  # it consists of whole words within the element's
    "different",
    "short",  # one or two characters, which must be equal
    "no_expected",  # nothing was expected, the element has text
    "no_text",  # a text was expected, the element has none
    "icon",  # the element has no text, and none was expected
]

# A single wrong or missing character in so short a text names another element: `1` and `12`.
SHORT = 2
"""Number of characters up to which texts must be equal."""
PREFIX_CHARS, PREFIX_SHARE = 8, 0.4
"""Minimum number of characters of a beginning, and minimum share of the whole text."""
LONG_PREFIX = 24
"""Columns from which a beginning may come from a cut text; wide characters take two."""
LONG_WHOLE = 60
"""Columns from which lists and models cut a text between two words."""
DIALOG_CHARS = 12
"""Characters up to which dots after whole words announce a dialog (`Delete…`), not a cut label."""
PART_CHARS, PART_SHARE, PART_SHARE_OF_EXPECTED = 5, 0.5, 0.6
SHOWN = 30
"""Limit on the characters of a text in messages."""
_VALUE_CHARS = 60
_ORDINAL = re.compile(r"^\d{1,3}[.)、:]\s*")

_VERDICTS: dict[Code, Verdict] = {
    "different": "mismatch",
    "short": "mismatch",
    "no_expected": "unverifiable",
    "no_text": "unverifiable",
    "icon": "unverifiable",
}
_SURE: frozenset[Code] = frozenset({"equal", "spacing", "decoration", "number", "date"})
_CUT: frozenset[Code] = frozenset({"ellipsis", "addition", "prefix"})


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Return one form for all texts that look alike.

    NFKC and case folding (`ß` is `ss`) are applied, digits of all scripts become ASCII, and spaces
    are collapsed. Zero-width and direction marks and the private characters of icon fonts are
    removed.
    """
    folded = unicodedata.normalize("NFKC", text[:MAX_CHARS].translate(_ALIKE))
    # Case folding can undo the normal form, so it is restored.
    folded = unicodedata.normalize("NFKC", folded.casefold()).translate(_ALIKE)
    kept = (_digit(char) for char in _OPTIONAL.sub("", folded) if not _is_unseen(char))
    return _SPACE.sub(" ", "".join(kept)).strip()


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Co", "Cs") or (char < " " and not char.isspace())


def _digit(char: str) -> str:
    return str(unicodedata.decimal(char)) if not char.isascii() and char.isdecimal() else char


def without_spaces(folded: str) -> str:
    """Return a folded text without spaces, except those between digits."""
    return _LOOSE_SPACE.sub("", folded)


def without_decoration(folded: str) -> str:
    """Return a folded text without arrows, bullets, punctuation and emoji at its ends.

    A text that consists only of such signs is returned unchanged.
    """
    start, end = 0, len(folded)
    while start < end and _is_decoration(
        folded[start], folded[start + 1 : start + 2], leading=True
    ):
        start += 1
    while end > start and _is_decoration(
        folded[end - 1], folded[max(end - 2, 0) : end - 1], leading=False
    ):
        end -= 1
    return folded[start:end] or folded


def _is_decoration(char: str, beside: str, *, leading: bool) -> bool:
    # `3×` is a quantity.
    if char == _CROSS and beside.isdigit():
        return False
    # The plus is decoration in `+ New`, but not in `+1`, a number, or `C++`, a name.
    if char == "+":
        return (
            not beside or beside.isspace() or (leading and not beside.isdigit() and beside != "+")
        )
    return char in _DECORATION or unicodedata.category(char) == "So"


def is_cross(folded: str) -> bool:
    """Return whether a text is a cross, as a sign or as the letter that models write for it."""
    return folded in ("x", _CROSS)


def directions(folded: str) -> str:
    """Return the arrows of a text in order."""
    return "".join(char for char in folded if char in _DIRECTIONS)


def is_wide(char: str) -> bool:
    """Return whether a character belongs to a script that is written without spaces."""
    return unicodedata.east_asian_width(char) in ("W", "F") and char.isalnum()


def is_border(text: str, at: int) -> bool:
    """Return whether a word ends or begins between `text[at - 1]` and `text[at]`."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if not (_in_word(before) and _in_word(after)):
        return True
    return is_wide(before) != is_wide(after)


def _in_word(char: str) -> bool:
    # A sign inside a number or a name belongs to it: `4.5`, `don't`, `e-mail`.
    return char.isalnum() or char in "'_.," or unicodedata.category(char)[0] == "M"


_ICONS = (
    "icon icons image picture logo symbol arrow glyph avatar thumbnail emoji "
    "图标 图片 箭头 图像 标志 圖標 圖示 アイコン 矢印 画像 ロゴ "
    "pfeil bild سهم أيقونة ايقونة رمز صورة شعار"
)
_FIELDS: Mapping[frozenset[str], str] = {
    frozenset({"textbox", "searchbox", "combobox", "spinbutton", "input", "textarea"}): (
        "textbox textarea input field textfield searchbox searchbar inputbox "
        "输入框 文本框 搜索框 密码框 搜索栏 輸入框 密碼框 入力欄 テキスト欄 検索欄 "
        "feld eingabefeld textfeld suchfeld passwortfeld حقل"
    ),
    frozenset({"checkbox", "switch", "menuitemcheckbox"}): (
        "checkbox tickbox 复选框 勾选框 チェックボックス kontrollkästchen ankreuzfeld"
    ),
    frozenset({"radio", "menuitemradio"}): "radio 单选框 单选按钮 ラジオボタン optionsfeld",
    frozenset({"combobox", "listbox", "select", "button"}): (
        "dropdown select listbox combobox 下拉框 下拉菜单 ドロップダウン auswahlfeld قائمة"
    ),
    frozenset({"slider", "range"}): "slider 滑块 スライダー schieberegler",
}
_KINDS: Mapping[frozenset[str], str] = {
    frozenset({"button"}): (
        "button btn 按钮 按鈕 ボタン 버튼 knopf schaltfläche bouton botón botão زر"
    ),
    frozenset({"link"}): "link hyperlink 链接 連結 リンク 링크 lien enlace رابط",
    frozenset({"tab"}): "tab 标签页 选项卡 タブ 탭 reiter onglet pestaña",
    frozenset({"menuitem"}): "menuitem 菜单项",
    frozenset({"checkbox", "switch", "menuitemcheckbox"}): "switch toggle schalter 开关 スイッチ",
}
"""Words for kinds of elements other than fields, which models add to names: `Search button`."""
_TYPES = {
    "password": "password passwort kennwort passwortfeld contraseña passe 密码 密碼 パスワード",
    "email": "email mail correo 邮箱 邮件 メール",
    "search": "search suche suchfeld buscar recherche 搜索 検索",
    "tel": "phone telephone telefon teléfono téléphone 电话 電話",
    "number": "number zahl número nombre 数字 数値",
    "date": "date datum fecha 日期 日付",
    "time": "time uhrzeit hora heure 时间 時刻",
    "file": "file upload datei archivo fichier 文件 ファイル",
    "url": "url address adresse 网址",
}
"""Values of a field's attribute `type`, each with the words that describe such fields."""
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
"""Words for pictures on buttons, each with words in the names of such buttons."""
_WORDS = re.compile(r"[^\W_]+")


def _folded(words: str) -> tuple[str, ...]:
    return tuple(fold(word) for word in words.split())


_ICON_WORDS = _folded(_ICONS)
_FIELD_WORDS = tuple((roles, _folded(words)) for roles, words in _FIELDS.items())
_KIND_WORDS = (
    *_FIELD_WORDS,
    *((roles, _folded(words)) for roles, words in _KINDS.items()),
)
_FILLERS = _folded(
    "text empty blank unchecked checked the a an box bar area picker editor menu list choose "
    "空 文本 框 栏 欄 leeres"
)
_ON_PRESS = frozenset({"button", "link", "tab", "menuitem"})
"""Roles that a picture without text does not distinguish."""
_PRESSED = _ON_PRESS | {"checkbox", "switch", "menuitemcheckbox", "radio", "menuitemradio"}
_PRESSED_WORDS = tuple(
    words for roles, words in _KIND_WORDS if roles & _PRESSED and not roles & {"listbox"}
)
_COMPOUNDS = frozenset(word for _, words in _KIND_WORDS for word in words)
_TWO_WORDS = re.compile(r"([^\W_]+)[\s-]+(?=([^\W_]+))")
_TYPE_WORDS = {kind: _folded(words) for kind, words in _TYPES.items()}
_FIELD_ROLES = frozenset[str]().union(*_FIELDS) - {"button"}
_PICTURE_WORDS = tuple((_folded(seen), _folded(meant)) for seen, meant in _PICTURES)


def describes_icon(expected: str) -> bool:
    """Return whether a text describes an icon or is a sign, instead of quoting an element."""
    return names_icon(expected) or not any(map(str.isalnum, fold(expected)))


def names_icon(expected: str) -> bool:
    """Return whether a text contains a word for an icon."""
    return names_any(fold(expected), _ICON_WORDS)


def names_picture(expected: str, name: str) -> bool:
    """Return whether a text describes the usual picture for a name: a trash can for `Delete`."""
    shown, called = fold(expected).replace(_CROSS, "x"), fold(name)
    return any(
        names_any(shown, seen) and names_any(called, meant) for seen, meant in _PICTURE_WORDS
    )


def is_field(role: str) -> bool:
    """Return whether an element of this role is a field rather than an icon."""
    return role in _FIELD_ROLES


def without_icon_words(expected: str) -> str:
    """Remove the words for icons: `cart icon` becomes `cart`, which may be the element's name."""
    return _without(fold(expected), _ICON_WORDS)


def without_kind_words(expected: str, role: str) -> str:
    """Remove the words for elements of a role: of a button, `Search button` becomes `search`.

    The result is empty if nothing else is left, or if there is no such word.
    """
    folded = _in_one_word(fold(expected))
    left = folded
    for roles, words in _KIND_WORDS:
        if role in roles:
            left = _without(left, words)
    return left if left != folded else ""


def _names_pressed(expected: str, role: str) -> bool:
    """Return whether a text only says that something is pressed, such as `toggle button`.

    Pages draw switches as buttons and buttons as checkboxes, so a picture does not tell them apart.
    """
    left = folded = _in_one_word(fold(expected))
    for words in _PRESSED_WORDS if role in _PRESSED else ():
        left = _without(left, words)
    return left != folded and not any(map(str.isalnum, _without(left, _FILLERS)))


def names_kind_only(expected: str, role: str, kind: str = "") -> bool:
    """Return whether a text only says what kind of element it means, and that is this one's.

    `text field` and `password box` do so for a field for passwords, and `button` does for a button.

    Args:
        expected: the text as the model sees it.
        role: the element's role.
        kind: the attribute `type` of a field.
    """
    folded = _in_one_word(fold(expected))
    # A picture does not show whether a press follows a link.
    like = _ON_PRESS if role in _ON_PRESS else {role}
    kinds = [words for roles, words in _KIND_WORDS if roles & like]
    types = _TYPE_WORDS.get(kind, ())
    if not any(names_any(folded, words) for words in (*kinds, types)):
        return False
    if types:
        kinds += [words for _, words in _FIELD_WORDS]
    for words in (*kinds, *_TYPE_WORDS.values(), _FILLERS):
        folded = _without(folded, words)
    return not any(map(str.isalnum, folded))


def _in_one_word(folded: str) -> str:
    """Return a text with words for kinds in one word, as `check box` and `check-box`."""
    return _TWO_WORDS.sub(lambda m: m[1] if m[1] + m[2] in _COMPOUNDS else m[0], folded)


def _without(folded: str, words: tuple[str, ...]) -> str:
    for word in words:
        pattern = rf"(?<!\w){re.escape(word)}(?!\w)" if _has_spaces(word) else re.escape(word)
        folded = re.sub(pattern, " ", folded)
    return fold(folded)


def roles_of(expected: str) -> frozenset[str]:
    """Return the roles that a bare description such as `text field` refers to; empty if none."""
    folded = _in_one_word(fold(expected))
    found = [roles for roles, words in _FIELD_WORDS if names_any(folded, words)]
    return frozenset[str]().union(*found)


def types_of(expected: str) -> frozenset[str]:
    """Return the field types that a bare description such as `password field` refers to."""
    folded = _in_one_word(fold(expected))
    return frozenset(kind for kind, words in _TYPE_WORDS.items() if names_any(folded, words))


def names_any(folded: str, words: tuple[str, ...]) -> bool:
    """Return whether a folded text contains one of these folded words."""
    tokens = set(_WORDS.findall(folded))
    return any(word in tokens if _has_spaces(word) else word in folded for word in words)


def _has_spaces(word: str) -> bool:
    """Return whether the word's script puts spaces between words."""
    return all(unicodedata.east_asian_width(char) not in ("W", "F") for char in word)


class TextComparison(NamedTuple):
    """A verdict with its reason."""

    verdict: Verdict
    code: Code
    reason: str
    """A plain sentence that quotes both texts."""
    matched: MatchedText = ""
    """Which text of the element fits, if that is known."""

    @property
    def sure(self) -> bool:
        """Return whether both are the same text in spellings that look alike."""
        return self.code in _SURE

    @property
    def cut(self) -> bool:
        """Return whether one is the other, cut or with an addition."""
        return self.code in _CUT

    @property
    def allowed(self) -> bool:
        """Return whether the element may be acted on: it matches, or is an icon as expected."""
        return self.verdict == "match" or self.code == "icon"


def compare(expected: str, actual: str) -> TextComparison:
    """Compare the expected text with the actual one.

    `match` requires the same text, or a part of it that cannot be mistaken for another text.
    `unverifiable` means that one side has no text to compare. Of these, only an element without
    text is allowed, and only if an icon or nothing was expected.
    """
    code = _code(fold(expected), fold(actual))
    return TextComparison(_VERDICTS.get(code, "match"), code, _reason(code, expected, actual))


def compare_element(
    expected: str, texts: Sequence[str], *, visible: str = "", role: str = ""
) -> TextComparison:
    """Compare an expected text with all texts of an element; the best comparison counts.

    Args:
        expected: the text as the model sees it.
        texts: the element's text, label, placeholder, title and value; empty ones are skipped.
        visible: the text among them that a picture shows; empty if there is none.
        role: the element's role, for descriptions such as `text field` where there is no text.
    """
    known = [text for text in texts if fold(text)]
    results = [compare(expected, text) for text in known] or [compare(expected, "")]
    best = min(results, key=lambda found: (not found.sure, found.verdict != "match"))
    if best.verdict == "match" or best.code == "no_expected":
        return best
    return _by_kind(expected, known, visible, role) or best


def of_other_kind(expected: str, kind: str) -> TextComparison:
    """Return the verdict on a field without text that is of another kind than expected."""
    reason = f"no text to compare; {_quoted(expected)} was expected, and this field is of type"
    return TextComparison("mismatch", "different", f"{reason} {excerpt(kind)}")


def _by_kind(expected: str, texts: Sequence[str], visible: str, role: str) -> TextComparison | None:
    """Compare a description with an element that shows no text; None if it is not one."""
    named = without_icon_words(expected)
    if describes_icon(expected) and len(named) > SHORT:
        found = next((c for t in texts if (c := compare(named, t)).verdict == "match"), None)
        if found:
            return found
    plain = without_kind_words(expected, role)
    if plain and (same := next((text for text in texts if compare(plain, text).sure), None)):
        return TextComparison("match", "kind", _reason("kind", expected, same))
    if any(map(str.isalnum, fold(visible))):
        return None
    if (names_kind_only(expected, role) and not is_field(role)) or _names_pressed(expected, role):
        return TextComparison("unverifiable", "icon", _reason("icon", expected, ""))
    roles = roles_of(expected)
    if roles and role:
        code: Code = "icon" if role in roles else "different"
        reason = f"no text to compare; {_quoted(expected)} was expected of this {role}"
        return TextComparison(_VERDICTS[code], code, reason)
    if pictured := [text for text in texts if names_picture(expected, text)]:
        return TextComparison("match", "picture", _reason("picture", expected, pictured[0]))
    if describes_icon(expected):
        code = "different" if names_icon(expected) and is_field(role) else "icon"
        return TextComparison(_VERDICTS[code], code, _reason(code, expected, ""))
    return None


def _code(expected: str, actual: str) -> Code:
    if not expected:
        return "no_expected" if actual else "icon"
    if not actual:
        return "icon" if describes_icon(expected) else "no_text"
    if same := _same(expected, actual):
        return same
    # Models write a letter for the sign. Not being text, it never takes precedence over an equal
    # text.
    if is_cross(expected) and is_cross(actual):
        return "picture"
    if min(len(without_spaces(expected)), len(without_spaces(actual))) <= SHORT:
        shorter, longer = sorted((expected, actual), key=len)
        # Two characters are a whole word in scripts that are written without spaces.
        return "addition" if _but_for_addition(longer, shorter) else "short"
    return _variant(expected, actual) or "different"


def _same(expected: str, actual: str) -> Code | None:
    if expected == actual:
        return "equal"
    if without_spaces(expected) == without_spaces(actual):
        return "spacing"
    bare = without_spaces(without_decoration(expected)), without_spaces(without_decoration(actual))
    arrows = {directions(expected), directions(actual)} - {""}
    if bare[0] == bare[1] and len(arrows) < 2:
        return "decoration"
    # A long text contains more than a number or a date, so equal values in it prove little.
    if max(len(expected), len(actual)) > _VALUE_CHARS or not _both_have_digits(expected, actual):
        return None
    # If both spellings are ambiguous (03/04 and 04/03), they may mean different days.
    # `+1` changes a number and `1` is one.
    alike = expected.startswith("+") == actual.startswith("+")
    if alike and _one_value(_numbers(expected), _numbers(actual)):
        return "number"
    if _one_value(_days(expected), _days(actual)):
        return "date"
    return None


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[object]:
    return frozenset(number_readings(text, None))


@lru_cache(maxsize=4096)
def _days(text: str) -> frozenset[object]:
    return frozenset(date_readings(text, None))


def _both_have_digits(first: str, second: str) -> bool:
    return any(map(str.isdigit, first)) and any(map(str.isdigit, second))


def _one_value(first: frozenset[object], second: frozenset[object]) -> bool:
    return bool(first & second) and min(len(first), len(second)) == 1


def _variant(expected: str, actual: str) -> Code | None:
    """Return how one text is a cut or shortened form of the other, or None."""
    if _cut_with_dots(expected, actual) or _cut_with_dots(actual, expected):
        return "ellipsis"
    if _but_for_addition(expected, actual) or _but_for_addition(actual, expected):
        return "addition"
    shorter, longer = sorted((without_decoration(expected), without_decoration(actual)), key=len)
    # The element must not lack an expected number, because numbers distinguish rows.
    if shorter == without_decoration(actual) and re.search(r"\d", longer.replace(shorter, "", 1)):
        return None
    if _is_long_beginning(shorter, longer):
        return "prefix"
    share = PART_SHARE if shorter == without_decoration(expected) else PART_SHARE_OF_EXPECTED
    return "contained" if _is_large_part(shorter, longer, share) else None


def _cut_with_dots(cut: str, whole: str) -> bool:
    head, dots, _ = cut.partition("...")
    plain = whole.partition("...")[0]
    head = head.rstrip()
    if not dots or len(without_spaces(head)) <= SHORT:
        return False
    # `Delete…` announces a dialog; it is not the beginning of `Delete all`.
    announces = len(head) <= DIALOG_CHARS and _columns(plain) < LONG_WHOLE
    if announces and plain.startswith(f"{head} "):
        return False
    return without_spaces(plain).startswith(without_spaces(head))


def _but_for_addition(longer: str, plain: str) -> bool:
    if (rest := _ORDINAL.sub("", longer)) != longer and without_spaces(rest) == without_spaces(
        plain
    ):
        return _columns(without_spaces(rest)) > SHORT
    head, sign, inner = longer.partition("(")
    # Words in parentheses can change the meaning: `Delete (all)`.
    if not sign or "(" in plain or _has_letters(inner):
        return False
    head = without_spaces(without_decoration(head))
    return _columns(head) > SHORT and head == without_spaces(plain)


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _is_long_beginning(shorter: str, longer: str) -> bool:
    size = len(shorter)
    if not longer.startswith(shorter) or size < max(PREFIX_CHARS, PREFIX_SHARE * len(longer)):
        return False
    before, after = longer[size - 1], longer[size : size + 1]
    # `Room 1` is not the beginning of `Room 12`.
    if before.isdigit() and after.isdigit():
        return False
    between_words = is_border(longer, size)
    if not _has_letters(longer[size:]):
        return between_words or is_wide(before)
    # Words after it can change the meaning, as can words before it: `Delete all`, `Order now`.
    in_a_word = not between_words and not is_wide(before)
    long = _columns(longer) >= LONG_WHOLE
    return _columns(shorter) >= LONG_PREFIX and (in_a_word or long)


def _columns(text: str) -> int:
    return len(text) + sum(map(is_wide, text))


def _is_large_part(part: str, whole: str, share: float) -> bool:
    if len(part) < PART_CHARS or len(part) < share * len(whole):
        return False
    at = whole.find(part)
    while at >= 0:
        end = at + len(part)
        # Letters next to it can change the meaning: `Don't save`, `Unlock all`, `Order now`.
        alone = not _has_letters(whole[:at]) and not _has_letters(whole[end:])
        if alone and is_border(whole, at) and is_border(whole, end):
            return True
        at = whole.find(part, at + 1)
    return False


def _reason(code: Code, expected: str, actual: str) -> str:
    expected_quoted, actual_quoted = quoted_apart(expected, actual)
    if code == "no_expected":
        return f"no text was expected, but the element reads {_quoted(actual)}"
    if code == "no_text":
        return f"{_quoted(expected)} was expected, but the element has no text"
    if code == "icon":
        return "no text to compare: an icon was expected, and the element has no text"
    if code == "different":
        return f"{expected_quoted} was expected, but the element reads {actual_quoted}"
    if code == "short":
        return f"texts this short must be equal: {expected_quoted} is not {actual_quoted}"
    how = {
        "equal": "is",
        "spacing": "is, but for spaces,",
        "decoration": "is, but for its ends,",
        "number": "is the same number as",
        "date": "is the same day as",
        "ellipsis": "is, one of them cut,",
        "addition": "is, but for an addition,",
        "prefix": "has a long beginning in common with",
        "contained": "has whole words in common with",
        "picture": "is the usual picture for",
        "kind": "is, with a word for its kind,",
    }[code]
    return f"{expected_quoted} {how} {actual_quoted}"


def _quoted(text: str) -> str:
    return f"'{excerpt(text)}'"


def quoted_apart(expected: str, actual: str) -> tuple[str, str]:
    """Return two texts in quotes, cut as by `excerpts`."""
    one, other = excerpts(expected, actual)
    return f"'{one}'", f"'{other}'"


def excerpt(text: str, limit: int = SHOWN) -> str:
    """Return a page text for quoting in messages: on one line, cut, without control characters."""
    return _plain(text)[:limit]


def excerpts(first: str, second: str) -> tuple[str, str]:
    """Return two texts for quoting next to each other, cut so that they do not look the same.

    Two long texts that differ only after their beginnings are cut around the difference.
    """
    one, other = _plain(first), _plain(second)
    if fold(one[:SHOWN]) != fold(other[:SHOWN]) or max(len(one), len(other)) <= SHOWN:
        return one[:SHOWN], other[:SHOWN]
    shorter = min(len(one), len(other))
    differ = (at for at in range(shorter) if not _look_alike(one[at], other[at]))
    start = max(next(differ, shorter) - SHOWN // 2, 0)
    return tuple(_window(text, start) for text in (one, other))  # type: ignore[return-value]


def _plain(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _look_alike(first: str, second: str) -> bool:
    return first == second or fold(first) == fold(second) != ""


def _window(text: str, start: int) -> str:
    return f"{'…' if start else ''}{text[start : start + SHOWN - 1]}"
