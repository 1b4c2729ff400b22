"""Trees written as indented lines within a budget of tokens."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from pytest_autoweb.base.scripts import east_asian


def estimate_tokens(text: str) -> int:
    """Estimate the tokens: one per four characters, and one per Chinese, Japanese, Korean one."""
    return math.ceil(quarter_tokens(text) / 4)


def quarter_tokens(text: str) -> int:
    """Return four times the estimate, which pieces of a text can add up without rounding."""
    if text.isascii():
        return len(text)
    # Tokenisers have short tokens for these scripts and tokens of about four letters for others.
    return len(text) + 3 * sum(1 for _ in east_asian().finditer(text))


def truncation_marker(shown: int, total: int) -> str:
    """Return the last line of a snapshot that was cut to its budget."""
    return f"...(truncated: {shown} of {total} elements shown)"


MARKER_TOKENS = 16
"""Tokens reserved for the marker."""


LEAST_ROWS = 4
"""Siblings of a long list that are kept however little room there is."""

FEW = "nameless"
"""The kind of lines of which only the first are shown, unless more is asked for."""

DEPTH_LIMIT = 120
"""Number of levels kept; deeper nodes move up. Only hostile pages are deeper."""


class Line(Struct, frozen=True):
    """One node of an outline."""

    text: str
    kind: str = ""
    """Property that similar siblings share, e.g. the role."""
    children: tuple["Line", ...] = field(default=())

    def count(self) -> int:
        return sum(1 for _ in self.walk())

    def walk(self) -> Iterator["Line"]:
        """Yield this node and all nodes below it, in reading order."""
        # Not recursive, because a hostile page can be very deep.
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))


class UnreadRow(Line, frozen=True):
    """Stands for a row of a long list that was not read, since it is hardly ever shown."""


class Cut(NamedTuple):
    """A text that fits into its budget."""

    text: str
    truncated: bool
    unread: bool = False
    """A row that was not read would be shown, so the page must be read whole."""


def parse_outline(text: str, read: Callable[[str], Line]) -> tuple[Line, ...]:
    """Parse an indented text (two spaces per level); `read` makes a node of each line."""
    roots: list[_Draft] = []
    open_drafts: list[_Draft] = []
    # Names may contain other line separators, so `splitlines` must not be used.
    for raw in text.split("\n"):
        if not raw.strip():
            continue
        depth = min((len(raw) - len(raw.lstrip(" "))) // 2, DEPTH_LIMIT)
        draft = _Draft(read(raw.strip()))
        del open_drafts[depth:]
        (open_drafts[-1].below if open_drafts else roots).append(draft)
        open_drafts.append(draft)
    return tuple(draft.freeze() for draft in roots)


class _Draft(Struct):
    line: Line
    below: list["_Draft"] = field(default_factory=list)

    def freeze(self) -> Line:
        if not self.below:
            return self.line
        # `replace` takes several times as long, and pages have thousands of lines.
        return Line(self.line.text, self.line.kind, tuple(draft.freeze() for draft in self.below))


def render_outline(roots: Iterable[Line], indent: str = "  ") -> str:
    """Return the trees as indented lines."""
    return "\n".join(_lines(roots, indent))


def _lines(roots: Iterable[Line], indent: str) -> Iterator[str]:
    pending = [(root, 0) for root in reversed(tuple(roots))]
    while pending:
        node, depth = pending.pop()
        yield indent * depth + node.text
        pending.extend((child, depth + 1) for child in reversed(node.children))


def fit_outline(roots: tuple[Line, ...], budget_tokens: int, folds: "Folds | None" = None) -> Cut:
    """Fit the outline into the budget: thin long lists as far as needed, and only then cut.

    Args:
        roots: the trees.
        budget_tokens: the most tokens of the text, as `estimate_tokens` counts them.
        folds: gives the thinned lists numbers by which more of them can be asked for, and knows
            which were asked for; None if nobody can ask.
    """
    asked = folds.begin() if folds else {}
    indent = "  " if folds is None else " "
    whole = render_outline(roots, indent)
    first = asked.pop(_PAGE, 1)
    few = folds is not None and any(one.kind == FEW for root in roots for one in root.walk())
    if not asked and not few and estimate_tokens(whole) <= budget_tokens:
        return Cut(whole, truncated=False, unread=_has_unread(roots))
    total = sum(root.count() for root in roots)
    short = tuple(_with_short_texts(root) for root in roots)
    room = budget_tokens - MARKER_TOKENS
    # A line that stands for one row alone would save nothing.
    least = 1 if folds is None else 2
    thinned = thin_lists(short, room, _line_tokens, asked=asked, least=least)
    lines = [
        indent * depth + (_told(node, folds) if isinstance(node, Fold) else node.text)
        for depth, node in _with_depth(thinned)
    ]
    if sum(map(_tokens_of_line, lines)) <= budget_tokens - MARKER_TOKENS:
        shown = sum(_shown(node) for root in thinned for node in root.walk())
        text, cut = "\n".join(lines), shown < total
        text = f"{text}\n{truncation_marker(shown, total)}" if cut else text
        return Cut(text, truncated=cut, unread=_has_unread(thinned))
    if folds is not None:
        text = "\n".join(_around(lines, budget_tokens, first, folds))
        return Cut(text, truncated=True, unread=_has_unread(thinned))
    kept = lines[: _fitting(lines, budget_tokens - MARKER_TOKENS)]
    shown = len(kept) - sum(isinstance(node, Fold) for node in _first(thinned, len(kept)))
    text = "\n".join([*kept, truncation_marker(shown, total)])
    return Cut(text, truncated=True, unread=_has_unread(thinned))


def _has_unread(roots: Iterable[Line]) -> bool:
    return any(isinstance(node, UnreadRow) for root in roots for node in root.walk())


def _shown(node: Line) -> int:
    """Return how many lines of the page stand there; those without a name count as shown."""
    if not isinstance(node, Fold):
        return 1
    return node.left_out if node.kind == FEW else 0


def _tokens_of_line(line: str) -> int:
    return estimate_tokens(f"{line}\n")


def _fitting(lines: Iterable[str], room: int) -> int:
    """Return how many of the first lines fit."""
    count = 0
    for line in lines:
        room -= _tokens_of_line(line)
        if room < 0:
            break
        count += 1
    return count


def _first(roots: Iterable[Line], count: int) -> Iterator[Line]:
    return itertools.islice((node for _, node in _with_depth(roots)), count)


def _around(lines: list[str], budget: int, first: int, folds: "Folds") -> Iterator[str]:
    """Yield what fits of too many lines: from a line on, with the last ones of the page."""
    room = budget - 2 * MARKER_TOKENS
    began = min(first, len(lines)) - 1
    tail = _fitting(reversed(lines[began:]), room // _TAIL_SHARE) if began == 0 else 0
    used = sum(map(_tokens_of_line, lines[len(lines) - tail :]))
    ends = began + _fitting(lines[began : len(lines) - tail], room - used)
    # A line that is too long for the budget is not left out for ever.
    ends = max(ends, began + 1)
    number = folds.add(_PAGE)
    if began:
        yield folds.told(began, "lines", number)
    yield from lines[began:ends]
    if left := len(lines) - tail - ends:
        yield folds.told(left, "lines", number, ends + 1)
    yield from lines[len(lines) - tail :]


def thin_lists(
    roots: tuple[Line, ...],
    budget: int,
    cost: Callable[[Line, int], int],
    *,
    fold_cost: int = 16,
    asked: "dict[FoldKey, int] | None" = None,
    least: int = 1,
) -> tuple[Line, ...]:
    """Return the trees with their longest lists thinned until all fits, or each is at its least.

    What is left out of a list is one line of the class `Fold`.

    Args:
        roots: the trees.
        budget: what the trees may cost together.
        cost: what a node costs by itself on a level.
        fold_cost: what is reserved for a line that stands for rows left out.
        asked: the lists of which more was asked for, and the row from which on.
        least: so many rows are left out of a list, or none.
    """
    return _Thinning(roots, budget, cost, fold_cost, asked or {}, least).lines()


def _line_tokens(node: Line, depth: int) -> int:
    return estimate_tokens("  " * depth + node.text + "\n")


LONG_TEXT = 1_000
"""Characters of a line that are kept where there is not enough room for all."""


def _with_short_texts(node: Line) -> Line:
    left_out = len(node.text) - LONG_TEXT
    text = f"{node.text[:LONG_TEXT]}… ({left_out} more characters)" if left_out > 0 else node.text
    return replace(node, text=text, children=tuple(map(_with_short_texts, node.children)))


FoldKey = tuple[str, ...]
"""What a list is found again by on the next look: the lines above it, and which of them it is."""
_PAGE: FoldKey = ()
"""Stands for the lines of the whole page."""
_TAIL_SHARE = 5
"""Divisor of the room of a page that is cut: the share of its end."""


class Folds(Struct):
    """Which lists of the newest listing were thinned, and of which the next one shows more."""

    listed: dict[int, FoldKey] = field(default_factory=dict)
    wanted: dict[FoldKey, int] = field(default_factory=dict)
    """The first row to be shown, from 1."""
    begun: bool = False
    """A listing was made; a script that runs again without any may still ask."""
    may_ask: bool = True
    """Whether more can be asked for; otherwise the listing only says what it leaves out."""

    def ask(self, number: int, row: int = 1) -> None:
        """Let the next listing show the list with this number, from a row on.

        Raises:
            LookupError: the newest listing has no such list.
        """
        if not self.begun:
            return
        if number not in self.listed:
            known = f"1 to {len(self.listed)}" if self.listed else "none"
            raise LookupError(f"the listing has no shortened list {number} (there are: {known})")
        self.wanted[self.listed[number]] = max(1, row)

    def begin(self) -> dict[FoldKey, int]:
        """Return what was asked for, and forget the listing before."""
        asked, self.wanted = self.wanted, {}
        self.listed, self.begun = {}, True
        return asked

    def add(self, key: FoldKey) -> int:
        """Return the number of a thinned list in this listing."""
        for number, known in self.listed.items():
            if known == key:
                return number
        self.listed[len(self.listed) + 1] = key
        return len(self.listed)

    def told(self, left_out: int, kind: str, number: int, row: int = 0) -> str:
        """Return the line that stands for what is left out."""
        what = f"({left_out} more {kind}"
        if not self.may_ask:
            return f"{what})"
        return f"{what}; page.show_more({number}{f', {row}' if row else ''}))"


class Fold(Line, frozen=True):
    """Stands for siblings that are left out."""

    key: FoldKey = ()
    left_out: int = 0
    next_row: int = 0
    """Row from which more can be asked for; 0 for the list from its beginning."""


_KINDS = {
    **{"row": "rows", "listitem": "items", "link": "links", "option": "options", "run": "lines"},
    **{"tr": "rows", "li": "items", "a": "links", FEW: "links without a name"},
}


def _told(fold: Fold, folds: Folds | None) -> str:
    kind = _KINDS.get(fold.kind, "alike")
    if folds is None:
        return f"- text: ({fold.left_out} more {kind})"
    return folds.told(fold.left_out, kind, folds.add(fold.key), fold.next_row)


def _with_depth(roots: Iterable[Line]) -> Iterator[tuple[int, Line]]:
    pending = [(0, root) for root in reversed(tuple(roots))]
    while pending:
        depth, node = pending.pop()
        yield depth, node
        pending.extend((depth + 1, child) for child in reversed(node.children))


class _Run(NamedTuple):
    """Siblings of which the middle may be left out."""

    rows: tuple[Line, ...]
    key: FoldKey


_NEAR = 3
"""Siblings that may stand between two of one kind in a list: title, text, button, title, …"""


def _runs(rows: tuple[Line, ...], above: FoldKey, seen: dict[FoldKey, int]) -> Iterator[_Run]:
    """Split siblings into lists and what stands between them."""
    began = 0
    for index in range(1, len(rows) + 1):
        near = {row.kind for row in rows[max(began, index - _NEAR) : index]}
        if index < len(rows) and rows[index].kind and rows[index].kind in near:
            continue
        # A row that begins a pattern of several kinds is followed by one of its own kind soon.
        ahead = rows[index : index + _NEAR] if index < len(rows) else ()
        if any(row.kind and row.kind in near for row in ahead):
            continue
        run = rows[began:index]
        nth = seen[above] = seen.get(above, 0) + (len(run) > LEAST_ROWS)
        yield _Run(run, (*above, str(nth)))
        began = index


class _Thinning:
    """The search for the longest lists that fit."""

    def __init__(
        self,
        roots: tuple[Line, ...],
        budget: int,
        own: Callable[[Line, int], int],
        fold_cost: int,
        asked: dict[FoldKey, int],
        least: int,
    ) -> None:
        self._roots, self._budget, self._asked = roots, budget, asked
        self._of, self._fold_cost, self._least = own, fold_cost, least
        self._costs: dict[tuple[int, int], int] = {}
        self._runs: dict[int, tuple[_Run, ...]] = {}
        self._longest = LEAST_ROWS
        self._room = self._wide = 0
        self._prepare()

    def _prepare(self) -> None:
        seen: dict[FoldKey, int] = {}
        top = Line("", "", self._roots)
        self._top = top
        pending: list[tuple[Line, FoldKey]] = [(top, ())]
        while pending:
            node, above = pending.pop()
            runs = self._runs[id(node)] = tuple(_runs(node.children, above, seen))
            for run in runs:
                self._longest = max(self._longest, len(run.rows))
            lists = (child for child in node.children if child.children)
            pending.extend((child, (*above, child.text)) for child in lists)

    def lines(self) -> tuple[Line, ...]:
        """Return the trees thinned as far as needed."""
        if self._asked:
            # What was asked for comes first; the other lists share what it leaves.
            self._wide = self._most(lambda rows: self._cost(LEAST_ROWS, rows))
        limit = self._most(lambda rows: self._cost(rows, self._wide))
        return self._thin(self._top, limit)

    def _most(self, cost: Callable[[int], int]) -> int:
        low, high = LEAST_ROWS, self._longest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if cost(middle) <= self._budget else (low, middle - 1)
        return low

    def _kept(self, run: _Run, limit: int, wide: int) -> tuple[slice, slice, int]:
        """Return the first and the last rows that are kept, and how many come before the first."""
        count = len(run.rows)
        if (start := self._asked.get(run.key)) is not None and count > LEAST_ROWS:
            begin = min(start, count) - 1
            return slice(begin, begin + wide), slice(count, count), begin
        if run.rows[0].kind == FEW and count > LEAST_ROWS:
            return slice(0, LEAST_ROWS), slice(count, count), 0
        if count < limit + self._least:
            return slice(0, count), slice(count, count), 0
        tail = max(1, limit // 5)
        return slice(0, limit - tail), slice(count - tail, count), 0

    def _cost(self, limit: int, wide: int) -> int:
        total, pending = 0, [(self._top, -1)]
        while pending:
            node, depth = pending.pop()
            if depth >= 0:
                total += self._own(node, depth)
            for run in self._runs.get(id(node), ()):
                head, tail, before = self._kept(run, limit, wide)
                kept = (*run.rows[head], *run.rows[tail])
                total += self._fold_cost * ((len(kept) < len(run.rows)) + bool(before))
                pending.extend((row, depth + 1) for row in kept)
            if total > self._budget:
                break
        return total

    def _own(self, node: Line, depth: int) -> int:
        # No node goes away during the walk, so its id is unambiguous.
        if (known := self._costs.get((id(node), depth))) is None:
            known = self._costs[id(node), depth] = self._of(node, depth)
        return known

    def _thin(self, node: Line, limit: int) -> tuple[Line, ...]:
        kept: list[Line] = []
        for run in self._runs.get(id(node), ()):
            head, tail, before = self._kept(run, limit, self._wide)
            shown, last = run.rows[head], run.rows[tail]
            if before:
                kept.append(_fold(run, 0, before, 0))
            kept += [replace(row, children=self._thin(row, limit)) for row in shown]
            left_out = len(run.rows) - before - len(shown) - len(last)
            if left_out:
                asked = run.key in self._asked
                few = run.rows[0].kind == FEW
                next_row = before + len(shown) + 1 if asked or few else 0
                kept.append(_fold(run, before + len(shown), left_out, next_row))
            kept += [replace(row, children=self._thin(row, limit)) for row in last]
        return tuple(kept)


def _fold(run: _Run, first: int, left_out: int, next_row: int) -> Fold:
    return Fold("", run.rows[first].kind, key=run.key, left_out=left_out, next_row=next_row)
