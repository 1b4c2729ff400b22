"""What stands near marked elements that read alike: the row, card or heading they belong to."""

import json
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import element_script

if TYPE_CHECKING:
    from playwright.sync_api import JSHandle


CHARS = 80
"""Of a text at most."""


def texts_near(
    handle: "JSHandle",
    texts: Sequence[Sequence[str]],
    icons: Sequence[str],
    clean: Callable[[str], str],
    *,
    together: Sequence[int] = (),
    nameless: Sequence[int] = (),
) -> tuple[tuple[str, ...], ...]:
    """The texts around each element that shares one of its texts with another; else nothing.

    Read are, from the inside out, the largest part of the page that holds the element and no other
    with its text (a row, a card); where that is the element alone, the texts before and after it;
    then the heading above it. At most 11 texts for each text that is shared.

    Args:
        handle: the elements, as `find_marks` returns them.
        texts: all texts of each.
        icons: of each that shows no text its kind; empty: it shows one.
        clean: takes secrets out of text.
        together: indexes of elements to be told apart whatever they read.
        nameless: indexes of fields that nothing but the text beside them names.
    """
    groups = [list(together)] if together else alike(texts, icons)
    if nameless and not together:
        groups.append(list(nameless))
    near: list[tuple[str, ...]] = [()] * len(texts)
    if groups:
        found = json.loads(handle.evaluate(element_script("marks_near"), groups))
        for group, around in zip(groups, found, strict=True):
            for index, pieces in zip(group, around, strict=True):
                # Cleaned before it is cut: half a secret is not recognised any more.
                known = set(map(_key, texts[index]))
                own = [clean(piece)[:CHARS] for piece in pieces if _key(piece) not in known]
                near[index] = tuple(dict.fromkeys((*near[index], *own)))
    return tuple(near)


def alike(texts: Sequence[Sequence[str]], icons: Sequence[str]) -> list[list[int]]:
    """Indexes of the elements that have a text in common, a group for each such text.

    Case, spaces and punctuation make no difference. Icons of one kind are a group as well, but for
    those that share a name.
    """
    groups: dict[str, list[int]] = {}
    for index, own in enumerate(texts):
        for key in dict.fromkeys(filter(None, map(_key, own))):
            groups.setdefault(key, []).append(index)
    shared = [group for group in groups.values() if len(group) > 1]
    named = {index for group in shared for index in group}
    kinds: dict[str, list[int]] = {}
    for index, kind in enumerate(icons):
        if kind and index not in named:
            kinds.setdefault(kind, []).append(index)
    return [*shared, *(group for group in kinds.values() if len(group) > 1)]


def _key(text: str) -> str:
    folded = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return "".join(filter(str.isalnum, folded)) or folded
