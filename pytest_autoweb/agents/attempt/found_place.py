"""What a finder of the step language found, in a line for the model that asked for it.

A locator that works says nothing of what it found, and after a click the page may look as before.
"""

from collections.abc import Mapping
from typing import Any

from playwright.sync_api import Error, Locator

from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.page.frames import run_on_elements

_NTH = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_NAME_CHARS = 60
_PLACE_CHARS = 100


def found_told(element: Locator) -> str:
    """Return what an element is and where it stands; empty if it is gone.

    For example `button "Edit" in row "Ana Kovač | Weaving | 3", third of 3`.
    """
    try:
        found = run_on_elements(element, "found_place")
    except Error:
        return ""
    return _told(found[0]) if found else ""


def _told(found: Mapping[str, Any]) -> str:
    name, place = _cut(found["name"], _NAME_CHARS), _cut(found["place"], _PLACE_CHARS)
    told = found["role"] or "element"
    if name:
        told += f' "{name}"'
    if place:
        told += f' in {found["kind"]} "{place}"'
    nth, of = found["nth"], found["of"]
    if nth and of > 1:
        told += f", {_NTH[nth] if nth < len(_NTH) else f'number {nth}'} of {of}"
    return told


def _cut(text: object, most: int) -> str:
    flat = " ".join(whole_text(str(text)).split())
    return flat if len(flat) <= most else f"{flat[:most]}…"
