"""Texts near marked elements with equal text, such as the row, card or heading around them."""

import json
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import element_script

if TYPE_CHECKING:
    from playwright.sync_api import JSHandle


CHARS = 80
"""Limit on the characters of one text."""


def texts_near(
    handle: "JSHandle",
    texts: Sequence[Sequence[str]],
    icons: Sequence[str],
    clean: Callable[[str], str],
    *,
    together: Sequence[int] = (),
    nameless: Sequence[int] = (),
) -> tuple[tuple[str, ...], ...]:
    """Return the texts around each element that shares a text with another element.

    The texts are read from the inside out. First comes the largest part of the page that contains
    the element but no other one with its text, such as a row or a card. If that part is the element
    itself, the texts before and after it are used. Then comes the heading above it. There are at
    most 11 texts for each shared text.

    Args:
        handle: the handle of the elements from `find_marks`.
        texts: all texts of each element.
        icons: the kind of each element that shows no text; empty for one that does.
        clean: removes secrets from text.
        together: indexes of elements to distinguish, whatever their texts are.
        nameless: indexes of fields that only the text beside them names.
    """
    groups = [list(together)] if together else groups_by_text(texts, icons)
    if nameless and not together:
        groups.append(list(nameless))
    near: list[tuple[str, ...]] = [()] * len(texts)
    if groups:
        found = json.loads(handle.evaluate(element_script("marks_near"), groups))
        for group, around in zip(groups, found, strict=True):
            for index, pieces in zip(group, around, strict=True):
                # Secrets are removed before the text is cut, as half a secret is not recognised.
                known = set(map(_key, texts[index]))
                own = [clean(piece)[:CHARS] for piece in pieces if _key(piece) not in known]
                near[index] = tuple(dict.fromkeys((*near[index], *own)))
    return tuple(near)


def groups_by_text(texts: Sequence[Sequence[str]], icons: Sequence[str]) -> list[list[int]]:
    """Return, for each text that several elements share, the indexes of those elements.

    Case, spaces and punctuation are ignored. Icons of the same kind form a group as well, except
    those that already share a name.
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
    # Texts that differ only in width, case or spacing look alike to a model.
    folded = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return "".join(filter(str.isalnum, folded)) or folded
