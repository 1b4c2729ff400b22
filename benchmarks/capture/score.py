"""How much of a page a listing says."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.capture.entries import Entry, group_of
from benchmarks.capture.truth import Element, Truth

COLUMNS = (
    *("elements", "options", "chosen", "values", "placeholders", "texts", "states", "collapsed"),
)
_SAID: dict[str, str] = {
    "checked": r"(?<![\w-])checked(?!\W{0,2}false)",
    "disabled": r"\bdisabled(?!\W{0,2}false)",
    "expanded": r"\bexpanded(?!\W{0,2}false)|\bopen\b",
    "collapsed": r"\bcollapsed\b|\bexpanded\W{0,2}false|\bclosed\b|\bexpandable\b(?!.*\bexpanded)",
    "selected": r"\bselected(?!\W{0,2}false)",
    "pressed": r"\bpressed(?!\W{0,2}false)",
    "chosen": r"\b(?:selected|checked|current|active|pressed|chosen|on)\b(?!\W{0,2}false)",
}
# Numbers and marks of the tools are no texts of the page.
_MARKS = re.compile(
    r"(?:^|[|,] )\s*(?:- )?(?:\*?\[[\w-]+\]|uid=\w+|f?\d*e\d+(?= ))"
    r"|\btext (?=\")|\[(?:ref|cursor|box|level)=[^\]]*\]|@\([\d,]+\)",
    re.MULTILINE,
)
# Texts within one block that a listing has on lines of their own.
_WORDING = re.compile(
    r"^\s*(?:text|statictext|strong|emphasis|generic|code|mark|time|labeltext)\b(?=[ :])",
    re.MULTILINE | re.IGNORECASE,
)
# What another tool, a minute later, is shown otherwise.
_PASSING = re.compile(r"\d (?:second|minute)s? ago|Time left:|took [\d.]+ms")
_NOTATION = re.compile(r"[\s\"'`\\|\[\]:<>(){}=,;*#\u200b\ue000-\uf8ff]+")
_ENDS = re.compile(r"(?:\s*[.,:;!?]+\s+)+|\s+")


@dataclass(slots=True)
class Score:
    """One listing of one page."""

    wanted: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    """What is not there, a line each."""

    def count(self, column: str, found: bool, what: str) -> None:
        """Count one thing that should be there."""
        self.wanted[column] += 1
        self.present[column] += found
        if not found:
            self.lost.append(f"{column}: {what}")


def key(text: str) -> str:
    """Return the words of a text, which the tools quote and space differently."""
    return _words(text) or text.strip()


def _words(text: str) -> str:
    return _ENDS.sub(" ", f"{_NOTATION.sub(' ', text)} ").strip().casefold()


def score(truth: Truth, listing: str, entries: Iterable[Entry]) -> Score:
    """Compare a listing and the entries read from it with what is on the page."""
    made = Score()
    listed = list(entries)
    matched = match(truth.elements, listed)
    whole = f" {key(_WORDING.sub(' ', _MARKS.sub(' ', listing)))} "
    for at, element in enumerate(truth.elements):
        if any(_PASSING.search(name) for name in element.names):
            continue
        entry = matched.get(at)
        label = f"{element.kind} {element.names[0][:80] if element.names else '(nameless)'!r}"
        made.count("elements", entry is not None, f"{label} <{element.tag}>")
        _count_facts(made, element, entry, label)
    lasting = [text for text in truth.texts if not _PASSING.search(text)]
    for text, missing in _missing_texts(lasting, whole):
        for nth in range(lasting.count(text)):
            made.count("texts", nth >= missing, repr(text[:120]))
    return made


def _count_facts(made: Score, element: Element, entry: Entry | None, label: str) -> None:
    head = entry.head.casefold() if entry else ""
    said = entry.said if entry else ""
    for state in element.states:
        column = "collapsed" if state == "collapsed" else "states"
        heads = f"{entry.around} {head}" if entry and state == "chosen" else head
        made.count(column, bool(re.search(_SAID[state], heads)), f"{state} at {label}")
    for option in element.options:
        if not key(option.text):
            continue
        found = _says(option.text, said)
        made.count("options", found, f"{option.text!r} of {label}")
        if option.disabled:
            found = bool(re.search(rf"{re.escape(option.text)}\W{{0,3}}disabled", said))
            made.count("states", found, f"disabled option {option.text!r} of {label}")
        if option.chosen:
            made.count("chosen", _says_chosen(option.text, said), f"{option.text!r} of {label}")
    if element.value:
        made.count("values", _says_value(element.value, said), f"{element.value[:80]!r} in {label}")
    if element.placeholder:
        shown = _says(element.placeholder, said)
        made.count("placeholders", shown, f"{element.placeholder!r} in {label}")


def _says(text: str, said: str) -> bool:
    # Signs that are also notation are compared as they are.
    return f" {key(text)} " in f" {key(said)} " or (not _words(text) and text in said)


def _says_chosen(text: str, said: str) -> bool:
    plain = re.escape(text)
    after = rf"{plain}['\"]?(?:\s*\[(?:ref|level)=[^\]]*\])?[\s\[(,]*(?:selectable,? ?)?selected"
    before = rf"(?:selected|value|current|holds)\W{{1,3}}{plain}(?!\w)"
    alone = rf"^[^\n]*: ['\"]?{plain}['\"]?$"
    return bool(re.search(f"{after}|{before}", said) or re.search(alone, said.split("\n")[0]))


def _says_value(value: str, said: str) -> bool:
    if not _words(value):
        return value.strip() in said
    lines = [key(line) for line in value.split("\n") if key(line)]
    in_one_line = re.sub(r"\\n|⏎|↵", " ", said)
    if f" {' '.join(lines)} " not in f" {key(in_one_line)} ":
        return False
    if len(lines) < 2:
        return True
    # Where a line ends must be said too.
    ends = r"\s*(?:\n|\\n|⏎|↵|¶| / | \| )\s*"
    plain = [re.escape(line.strip()) for line in value.split("\n") if line.strip()]
    return bool(re.search(ends.join(f"[\"']?{line}[\"']?" for line in plain[:3]), said))


def _missing_texts(texts: Sequence[str], whole: str) -> Iterable[tuple[str, int]]:
    """Yield each text and how many times it is missing; longer ones take their words first."""
    wanted = Counter(texts)
    for text in sorted(wanted, key=lambda one: -len(key(one))):
        words = f" {key(text)} "
        if not words.strip():
            continue
        found = 0
        while found < wanted[text] and words in whole:
            whole = whole.replace(words, " \0 ", 1)
            found += 1
        yield text, wanted[text] - found


def match(elements: Sequence[Element], entries: Sequence[Entry]) -> dict[int, Entry]:
    """Return which entry stands for which element: an entry for one element, in their order."""
    made: dict[int, Entry] = {}
    free = dict(enumerate(entries))
    names = {
        at: [key(name.removesuffix("…")) for name in (entry.name, *entry.others) if key(name)]
        for at, entry in free.items()
    }
    for fits in (_exact, _begins, _holds):
        index = _index(free, names)
        for at, element in enumerate(elements):
            if at in made or not element.names:
                continue
            group = "any" if element.kind == "file" else group_of(element.kind)
            for name in map(key, element.names):
                near = index.get(name[:2], ()) if fits is not _holds else tuple(free)
                found = next(
                    (
                        one
                        for one in near
                        if one in free
                        and group in ("any", free[one].group)
                        and any(fits(name, listed) for listed in names[one])
                    ),
                    None,
                )
                if found is not None:
                    made[at] = free.pop(found)
                    break
    _match_nameless(elements, free, names, made)
    return made


def _index(free: dict[int, Entry], names: dict[int, list[str]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = defaultdict(list)
    for at in free:
        for name in names[at]:
            found[name[:2]].append(at)
    return {start: tuple(where) for start, where in found.items()}


def _exact(name: str, listed: str) -> bool:
    return bool(name) and name == listed


def _begins(name: str, listed: str) -> bool:
    shorter, longer = sorted((name, listed), key=len)
    return len(shorter) >= 2 and longer.startswith(shorter)


def _holds(name: str, listed: str) -> bool:
    return len(name) >= 2 and f" {name} " in f" {listed} "


def _match_nameless(
    elements: Sequence[Element],
    free: dict[int, Entry],
    names: dict[int, list[str]],
    made: dict[int, Entry],
) -> None:
    known = {key(name) for element in elements for name in element.names}
    for same_role in (True, False):
        for wants in (lambda at: not names[at], lambda at: not known & set(names[at])):
            _take_any(elements, free, made, wants, same_role)


def _take_any(
    elements: Sequence[Element],
    free: dict[int, Entry],
    made: dict[int, Entry],
    wants: Callable[[int], bool],
    same_role: bool,
) -> None:
    for at, element in enumerate(elements):
        if at in made or any(map(key, element.names)):
            continue
        group = "any" if element.kind == "file" else group_of(element.kind)
        for one in list(free):
            fits = (
                free[one].role == element.kind if same_role else group in ("any", free[one].group)
            )
            if fits and wants(one):
                made[at] = free.pop(one)
                break
