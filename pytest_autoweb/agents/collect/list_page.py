"""Reads a list page: its entries, the pattern of their addresses, and the way to the next page."""

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Page

from pytest_autoweb.agents.collect.saved_state import Collection
from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.base.xpath import xpath_literal
from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.judging.checks.answer_checks import url_fits
from pytest_autoweb.judging.checks.check_type import NotEvaluated

# A page may contain addresses of any length, and regular expressions run in this process.
_LONGEST = 1_000
_SEPARATORS = re.compile(r"([/?&#=;]+)")
_MAX_CHARS = 4_000

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


class CommonAddress(NamedTuple):
    """The pattern that several addresses have in common."""

    pattern: str
    """A regular expression that matches whole addresses."""
    confidence: float
    """Confidence in the pattern, from 0 to 1."""


def joined(base: str, href: str) -> str:
    """Return the address that a link leads to; empty when it does not lead to another page.

    Fragments are kept, because in single-page applications they tell pages apart.
    """
    href = href.strip()
    if not href or len(href) > _MAX_CHARS:
        return ""
    try:
        url = urljoin(base, href).strip()
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    if url.split("#")[0] == base.split("#")[0] and parts.fragment[:1] not in ("/", "!"):
        return ""  # a place on the list page itself
    return url


def new_ones(known: Container[str], found: Iterable[str]) -> list[str]:
    """Return the addresses that are not known yet, in their order and without duplicates."""
    return [url for url in dict.fromkeys(found) if url not in known]


def fits(pattern: str | Pattern | None, url: str) -> bool:
    """Return whether an address matches a glob or regular expression; None matches every address.

    An address of more than 1,000 characters matches no pattern.

    Raises:
        CaseError: the search for the regular expression takes too long.
    """
    try:
        return pattern is None or (len(url) <= _LONGEST and url_fits(pattern, url))
    except NotEvaluated as error:
        raise CaseError(str(error), field="collect.pattern") from None


def common_address(urls: Sequence[str]) -> CommonAddress | None:
    """Return the pattern that most addresses share, or None when no two are alike.

    Addresses are split at `/ ? & # = ;`. A piece that differs between them may be anything without
    these separators, but keeps the beginning and the end that all have in common (`item-….html`).
    """
    shapes: dict[tuple[str, ...], list[list[str]]] = {}
    for url in dict.fromkeys(urls):
        pieces = _pieces(url)
        shapes.setdefault((pieces[0], *pieces[2::2]), []).append(pieces)
    best = max(shapes.values(), key=len, default=[])
    if len(best) < MIN_VISITS:
        return None
    parts, varying, fixed = [], 0, 0
    for column in zip(*best, strict=True):
        if len(set(column)) == 1:
            parts.append(re.escape(column[0]))
            fixed += bool(column[0]) and not _SEPARATORS.fullmatch(column[0])
        else:
            varying += 1
            parts.append(_varying(column))
    # The origin is always the same. With nothing else in common, every page would match.
    words = fixed - 1
    confidence = 0.4 if not words else max(0.0, 1.0 - 0.2 * (varying - 1))
    return CommonAddress(f"^{''.join(parts)}$", confidence)


def _pieces(url: str) -> list[str]:
    """Split an address into its origin and then, in turn, separators and words."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return [origin, *_SEPARATORS.split(url[len(origin) :])]


def _varying(column: Sequence[str]) -> str:
    head = _edge(column)
    tail = _edge([word[len(head) :][::-1] for word in column])[::-1]
    # A word that consists only of the common part has no varying part.
    some = "+" if min(map(len, column)) > len(head) + len(tail) else "*"
    return f"{re.escape(head)}[^/?&#=;]{some}{re.escape(tail)}"


def _edge(words: Sequence[str]) -> str:
    """Return the common beginning of all words, up to its last separator.

    Digits are left out: ids that share a beginning, such as a year, may do so only by chance.
    """
    shared = ""
    for letters in zip(*words, strict=False):
        if len(set(letters)) > 1:
            break
        shared += letters[0]
    border = re.match(r"(?:\D*[\W_])?", shared)
    return border[0] if border else ""


MIN_CONFIDENCE = 0.6
"""Minimum confidence of a pattern for collecting."""

MIN_VISITS = 2
"""Minimum number of elements to learn from: a single one has everything in common with itself."""

_STATE = re.compile(
    r"^(?:is-|has-)?(?:active|current|selected|hover|focus(?:ed)?|visited|read|unread|new|odd|even"
    r"|first|last|on|open|checked|disabled|seen)$",
    re.IGNORECASE,
)
_MADE_UP = re.compile(r"\d{3,}|^(?=.*\d)(?=.*[a-z])[a-z\d]{6,}$|^(?:css|sc|jsx|emotion)-", re.I)
_COST = {0: 0.0, 1: 1.0, 2: 0.8, 3: 0.6}
"""The confidence by the number of segments whose position varies: one in a list, two in a grid."""


class Segment(NamedTuple):
    """One element on the path from the document to another."""

    tag: str
    position: int | None
    """The position among siblings with the same tag, from 1; None stands for any position."""
    facts: frozenset[tuple[str, str]] = frozenset()
    """The attributes that distinguish it: `id`, `role`, `rel` and each word of `class`."""


Place = tuple[Segment, ...]
"""An element's chain of segments, outermost first."""


class CommonPath(NamedTuple):
    """The path that several places have in common."""

    place: Place
    xpath: str
    confidence: float
    """Confidence in the path, from 0 to 1."""
    visits: int
    """The number of places that it was derived from."""


def read_place(chain: Iterable[Sequence[object]]) -> Place:
    """Read a place from the page's script: a list of `[tag, position, [[name, value], …]]`."""
    return tuple(
        Segment(str(tag), int(str(position)), stable_facts(facts))
        for tag, position, facts in chain
        if isinstance(facts, list)
    )


def stable_facts(facts: Iterable[Sequence[str]]) -> frozenset[tuple[str, str]]:
    """Return the stable attributes: no states, and no names generated by a build."""
    return frozenset(
        (name, value)
        for name, value in facts
        if value and len(value) <= 60 and not _STATE.match(value) and not _MADE_UP.search(value)
    )


def common_path(places: Sequence[Place]) -> CommonPath | None:
    """Return the path that most of the places share, or None when no two are alike.

    Places with a different chain of tags, such as a menu link chosen by mistake, are left out.
    """
    shapes: dict[tuple[str, ...], list[Place]] = {}
    for place in dict.fromkeys(places):
        shapes.setdefault(tuple(segment.tag for segment in place), []).append(place)
    best = max(shapes.values(), key=len, default=[])
    if len(best) < MIN_VISITS:
        return None
    common = tuple(_shared(column) for column in zip(*best, strict=True))
    varying = sum(segment.position is None for segment in common)
    return CommonPath(common, xpath_of(common), _COST.get(varying, 0.4), len(best))


def _shared(column: Sequence[Segment]) -> Segment:
    positions = {segment.position for segment in column}
    return Segment(
        column[0].tag,
        positions.pop() if len(positions) == 1 else None,
        frozenset.intersection(*(segment.facts for segment in column)),
    )


def xpath_of(place: Place) -> str:
    """Return the place as an XPath that starts at the last element with an id above the list.

    Segments without a position are described by their attributes, the others by their position.
    """
    first = next((n for n, segment in enumerate(place) if segment.position is None), len(place))
    named = [n for n in range(first) if _id_of(place[n])]
    start = named[-1] if named else 0
    parts = [_step(segment) for segment in place[start:]]
    if not named:
        return "/" + "/".join(parts)
    anchor = place[start]
    return "//" + "/".join(
        [f"{_node(anchor.tag)}[@id={xpath_literal(_id_of(anchor))}]", *parts[1:]]
    )


def _id_of(segment: Segment) -> str:
    return next((value for name, value in segment.facts if name == "id"), "")


def _step(segment: Segment) -> str:
    node = _node(segment.tag)
    if segment.position is not None:
        return f"{node}[{segment.position}]"
    return node + "".join(_condition(name, value) for name, value in sorted(segment.facts))


def _node(tag: str) -> str:
    """Return the XPath test for a tag; names that are not HTML, such as SVG's, need `name()`."""
    return tag if re.fullmatch(r"[a-z][a-z0-9-]*", tag) else f"*[name()={xpath_literal(tag)}]"


def _condition(name: str, value: str) -> str:
    if name == "class":
        return f"[contains(concat(' ',normalize-space(@class),' '),{xpath_literal(f' {value} ')})]"
    return f"[@{name}={xpath_literal(value)}]"


@dataclass(frozen=True, slots=True)
class Control:
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
        """Return the name for messages and comparisons."""
        return self.text or self.label

    @property
    def leads_away(self) -> bool:
        """Return whether it is a link to another address."""
        return bool(self.href) and not self.href.strip().startswith(("#", "javascript:"))


class ControlChoice(NamedTuple):
    """The control to press, or the reason why there is none."""

    control: Control | None
    reason: str
    """How it was recognised: `text`, `rel`, `label`, `class` or `number`; without a control,
    `disabled` or `none`."""


def read_controls(found: Sequence[dict[str, Any]]) -> tuple[Control, ...]:
    """Return the controls that the page's script found."""
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


class ListEntry(NamedTuple):
    """One entry of a list."""

    url: str
    """The address it leads to; empty when only a click can show it."""
    text: str
    place: Place = ()
    path: str = ""
    """The XPath of this element alone."""

    @property
    def key(self) -> str:
        """Return the address or text that identifies the entry."""
        return self.url or self.text


def read_entries(page: Page, collection: Collection) -> tuple[ListEntry, ...]:
    """Return the entries that a collection's pattern finds on the page, in the order of the page.

    Entries without an address are only found by an XPath.

    Raises:
        CaseError: the XPath is invalid, or the pattern takes too long.
    """
    return tuple(
        entry
        for entry in _read(page, collection.detail_xpath)
        if (entry.url and fits(collection.detail_pattern, entry.url))
        or (not entry.url and collection.detail_xpath and collection.detail_pattern is None)
    )


def read_links(page: Page) -> tuple[ListEntry, ...]:
    """Return all links of the page that lead to another page."""
    return tuple(entry for entry in _read(page, "") if entry.url)


def _read(page: Page, xpath: str) -> Iterable[ListEntry]:
    found = run_script(page, "list_links", {"xpath": xpath})
    if found["problem"]:
        raise CaseError(
            f"{xpath!r} is not a valid XPath: {found['problem']}", field="collect.xpath"
        )
    return entries_of(found)


def entries_of(found: dict[str, object]) -> Iterable[ListEntry]:
    """Yield the entries in the result of `list_links.js`."""
    items = found["items"]
    assert isinstance(items, list)
    for item in items:
        url = joined(str(found["base"]), item["href"])
        if url or item["text"]:
            yield ListEntry(url, item["text"], read_place(item["chain"]), item["path"])


def page_controls(page: Page) -> tuple[Control, ...]:
    """Return the clickable controls of the page."""
    return read_controls(run_script(page, "clickable_candidates")["controls"])
