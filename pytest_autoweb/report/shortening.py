"""Keeps a report under a size limit: the longest texts give way first, it stays valid JSON."""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from pytest_autoweb.saving import json_text

SMALLEST_TEXT = 120
"""Texts up to this length are never cut: a marker would save nothing."""
_MARKER = 60
"""No marker is longer."""

_NAMES = frozenset(
    {"id", "case_id", "case_path", "folder", "nodeid", "model", "format", "ts", "screenshot"}
    | {"final_screenshot", "cache_key"}
)
"""Fields that other fields or files refer to."""

Place = tuple[Any, Any]
"""A dict or list and the key of one text in it."""


def shorten(report: dict[str, Any], max_chars: int) -> dict[str, Any]:
    """A copy of the report whose JSON has at most `max_chars` characters.

    First the longest texts are cut to a common length, each with a marker that gives the number
    of missing characters and the start of the whole text's SHA-256. If that is not enough, the
    attempts of the largest cells go, then whole cases, then everything but the head of the report;
    that head (some hundred characters and the models' names) is the smallest there can be.
    """
    text = json_text(report)
    copy: dict[str, Any] = json.loads(text)
    if len(text) <= max_chars:
        return copy
    for reduce in (_cut_texts, _drop_attempts, _drop_cases, _keep_only_head):
        reduce(copy, max_chars)
        if _size(copy) <= max_chars:
            break
    return copy


def truncated(text: str, keep: int) -> str:
    """The first `keep` characters and the marker for the rest."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{text[:keep]}…[truncated {len(text) - keep} chars, sha256 {digest}]"


def _size(report: dict[str, Any]) -> int:
    return len(json_text(report))


def _cut_texts(report: dict[str, Any], max_chars: int) -> None:
    """Cut the longest texts to the largest common length at which the report fits."""
    _note(report, "texts were shortened to keep the report under its size limit")
    places = list(_texts(report))
    texts = [holder[key] for holder, key in places]
    rest = _size(report) - sum(map(_json_length, texts))
    fits, too_long = 0, max(map(len, texts), default=0)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        size = rest + sum(_cut_length(text, middle) for text in texts)
        fits, too_long = (middle, too_long) if size <= max_chars else (fits, middle)
    for (holder, key), text in zip(places, texts, strict=True):
        if len(text) > fits + _MARKER:
            holder[key] = truncated(text, fits)


def _cut_length(text: str, keep: int) -> int:
    """Characters of a text in the JSON once it is cut."""
    if len(text) <= keep + _MARKER:
        return _json_length(text)
    return _json_length(text[:keep]) + _MARKER


def _json_length(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False))


def _texts(node: Any) -> Iterator[Place]:
    """Every text that may be cut."""
    items: Any = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, str):
            if len(value) > SMALLEST_TEXT and key not in _NAMES:
                yield node, key
        elif isinstance(value, dict | list):
            yield from _texts(value)


def _drop_attempts(report: dict[str, Any], max_chars: int) -> None:
    """Empty the cells with the most to say, until it fits."""
    cells = [cell for case in report.get("cases", []) for cell in case.get("cells", [])]
    _note(report, "attempts were left out to keep the report under its size limit")

    def drop(cell: Any) -> None:
        cell["attempts"] = []

    _drop_largest(report, max_chars, cells, drop)


def _drop_cases(report: dict[str, Any], max_chars: int) -> None:
    """Empty the largest cases, until it fits."""
    _note(report, "cells were left out to keep the report under its size limit")

    def drop(case: Any) -> None:
        case["cells"] = []

    _drop_largest(report, max_chars, report.get("cases", []), drop)


def _drop_largest(
    report: dict[str, Any], max_chars: int, items: list[Any], drop: Callable[[Any], None]
) -> None:
    excess = _size(report) - max_chars
    for size, _, item in sorted(
        ((len(json_text(item)), -i, item) for i, item in enumerate(items)), reverse=True
    ):
        if excess <= 0:
            return
        drop(item)
        excess -= size - len(json_text(item))


def _keep_only_head(report: dict[str, Any], max_chars: int) -> None:
    """The last resort: what a report cannot be without."""
    _note(report, "everything but the head was left out: the size limit is too small")
    report["cases"], report["summary"] = [], None
    report["settings"], report["environment"] = {}, {}
    report["analysis_prompt"], report["local_analysis"] = "", None
    report["local_analysis_error"] = ""
    report["comparisons"], report["gates"] = [], []


def _note(report: dict[str, Any], sentence: str) -> None:
    report["notes"] = [*report.get("notes", [])[-3:], sentence]
