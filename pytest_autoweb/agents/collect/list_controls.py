"""The controls of a list page: which leads to the next page, and which loads more entries."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from playwright.sync_api import Page

from pytest_autoweb.browser.page.frames import run_script

_NEXT_TEXTS = frozenset(
    text
    for language in (
        "next|next page|older|older posts|next results",
        "下一页|下页|下一頁|下頁|后一页|后页|後一頁|翻页",
        "次へ|次のページ|次",
        "다음|다음 페이지",
        "weiter|nächste|nächste seite",
        "suivant|page suivante|siguiente|página siguiente|avanti|successiva|volgende",
        "próximo|próxima|próxima página",
        "следующая|следующая страница|вперед|далее",
        "التالي|الصفحة التالية",
    )
    for text in language.split("|")
)

_NEXT_SIGNS = frozenset({">", "»", "›", "→", "⟩", "▶", "▸", "►", ">>", "≫", "❯", "⏵"})

_NEXT_CLASS = re.compile(
    r"(?:^|[\s_-])(?:next(?:page)?|(?:arrow|chevron|angle|caret|icon)-?right)(?:$|[\s_-])", re.I
)

_MORE_TEXTS = re.compile(
    "|".join(
        (
            r"(?:load|show|view|see)(?: \d+)? more(?: \w+)?",
            r"more(?: results| items)?",
            r"(?:点击|點擊)?(?:加载|載入|查看|显示|顯示)?更多\w{0,4}",
            r"もっと(?:見る|読み込む)|さらに(?:表示|読み込む)",
            r"더 ?보기",
            r"mehr(?: laden| anzeigen)?",
            r"(?:voir|charger|afficher) plus|(?:cargar|mostrar|ver) más|(?:carregar|ver) mais",
            r"(?:показать|загрузить) (?:ещё|еще)",
            r"(?:(?:تحميل|عرض) )?المزيد",
        )
    )
)

_ORNAMENT = re.compile(r"[\s.…↓▼⌄+>»›→]+$")

# A sign with such a class leads to the last page, not to the next one.
_STOP_CLASS = re.compile(r"(?:^|[\s_-])(?:last|end|end-page|lastpage)(?:$|[\s_-])", re.IGNORECASE)

# A lone sign such as ">" is pressed only inside a pager, which adds 0.2.
_SIGN_SCORE = 0.5

_MIN_SCORE = 0.6


class Control(Struct, frozen=True):
    """A clickable element with a short text."""

    text: str
    label: str
    """The `aria-label` or `title`."""
    rel: str
    classes: str
    icon: str
    """The classes and the alternative text of a picture inside."""
    tag: str
    href: str
    disabled: bool
    current: bool
    """It is marked as the current page."""
    pager: bool
    """It is inside an element that looks like a pager."""
    other: bool
    """It is inside a carousel, a calendar or another element that has its own "next"."""
    top: float
    path: str
    """The XPath; empty inside a shadow root, which XPath cannot reach."""

    @property
    def name(self) -> str:
        return self.text or self.label

    @property
    def leads_away(self) -> bool:
        return bool(self.href) and not self.href.strip().startswith(("#", "javascript:"))


class ControlChoice(NamedTuple):
    """The control to press, or the reason why there is none."""

    control: Control | None
    reason: str
    """How it was recognised: `text`, `rel`, `label`, `class` or `number`; without a control,
    `disabled` or `none`."""


def read_controls(found: Sequence[dict[str, Any]]) -> tuple[Control, ...]:
    return tuple(Control(**entry) for entry in found)


def choose_next(controls: Sequence[Control], page_number: int) -> ControlChoice:
    """Return the control that leads to the page after `page_number`.

    A control with a text such as "next" wins over one with a sign such as ">", and that over the
    number of the page in a row of numbers. The "next" of a carousel or a calendar does not count.
    """
    scored = [(_next_score(control), control) for control in controls if not control.other]
    best = max(scored, key=lambda pair: (pair[0][0], pair[1].pager, pair[1].top), default=None)
    if best and best[0][0] >= _MIN_SCORE:
        (_, reason), control = best
        return (
            ControlChoice(None, "disabled") if control.disabled else ControlChoice(control, reason)
        )
    return _next_number(controls, page_number)


def choose_more(controls: Sequence[Control]) -> Control | None:
    """Return the control that loads more entries into the same page."""
    fitting = [
        control
        for control in controls
        if _MORE_TEXTS.fullmatch(_ORNAMENT.sub("", comparable_text(control.name)))
        and not (control.leads_away or control.disabled or control.other)
    ]
    return max(fitting, key=lambda control: control.top, default=None)


def by_text(controls: Sequence[Control], text: str) -> Control | None:
    """Return the lowest control with that name, since pagers usually stand below their list."""
    wanted = comparable_text(text)
    fitting = [c for c in controls if wanted in (comparable_text(c.text), comparable_text(c.label))]
    return max(fitting, key=lambda control: (control.pager, control.top), default=None)


def comparable_text(text: str) -> str:
    """Return a text normalised for comparison: without case, character width and extra spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _next_score(control: Control) -> tuple[float, str]:
    """Return the confidence that a control leads to the next page, and how it was recognised."""
    text, label = comparable_text(control.text), comparable_text(control.label)
    pager = 0.2 if control.pager else 0.0
    if "next" in control.rel.lower().split():
        return 1.0, "rel"
    if _ORNAMENT.sub("", text) in _NEXT_TEXTS:
        return 0.7 + pager, "text"
    if _ORNAMENT.sub("", label) in _NEXT_TEXTS and not _is_number(text):
        return 0.7 + pager, "label"
    if text in _NEXT_SIGNS and not _STOP_CLASS.search(control.classes):
        # ">>" may also lead to the last page, so ">" is preferred.
        return _SIGN_SCORE + pager - (0.05 if len(text) > 1 or text in "»≫" else 0.0), "text"
    if not text and _NEXT_CLASS.search(f"{control.classes} {control.icon}"):
        return _SIGN_SCORE + pager, "class"
    return 0.0, ""


def _next_number(controls: Sequence[Control], page_number: int) -> ControlChoice:
    """Choose the number after the current page, in a row of at least two numbers."""
    rows: dict[str, list[Control]] = {}
    for control in controls:
        if _is_number(comparable_text(control.text)) and not control.other:
            rows.setdefault(_row_of(control.path), []).append(control)
    for row in sorted(rows.values(), key=lambda row: (row[0].pager, len(row)), reverse=True):
        numbers = {int(comparable_text(control.text)): control for control in row}
        if len(numbers) < 2 or not (row[0].pager or 1 in numbers or 2 in numbers):
            continue
        shown = next((n for n, control in numbers.items() if control.current), page_number)
        if (following := numbers.get(shown + 1)) and not following.disabled:
            return ControlChoice(following, "number")
        if following is None and max(numbers) <= shown:
            return ControlChoice(None, "disabled")
    return ControlChoice(None, "none")


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= 5


def _row_of(path: str) -> str:
    """Return the path without the positions in its last two steps, which neighbours share."""
    steps = path.split("/")
    return "/".join([*steps[:-2], *(step.split("[")[0] for step in steps[-2:])])


def page_controls(page: Page) -> tuple[Control, ...]:
    return read_controls(run_script(page, "clickable_candidates")["controls"])
