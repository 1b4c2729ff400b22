"""The shortening of a report to a size limit, which cuts the longest texts first."""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from pytest_autoweb.report.json_report import Report
from pytest_autoweb.results import CellResult
from pytest_autoweb.runs.saving import compact_json

SMALLEST_TEXT = 120
"""Texts up to this length are never cut, since the marker would be about as long."""
_MARKER = 60
"""The greatest length of a marker."""

_NAMES = frozenset(
    {"id", "case_id", "case_path", "folder", "nodeid", "model", "format", "ts", "screenshot"}
    | {"final_screenshot", "picture", "cache_key", "verdict"}
)
"""Fields that are never cut, because other fields or files refer to them."""

Place = tuple[Any, Any]
"""A dict or list and the key of one text in it."""


def shorten(report: dict[str, Any], max_chars: int) -> dict[str, Any]:
    """Return a copy of the report whose JSON has at most `max_chars` characters.

    First the longest texts are cut to a common length, each with a marker that gives the number of
    missing characters and the start of the whole text's SHA-256. If that is not enough, these are
    left out in turn: the evidence of cells; the cases of comparisons that do not differ; the
    attempts of cells, those of passed cells and large ones first; the cells of whole cases; and
    everything but the head of the report, which is a few hundred characters and the names of the
    models. The field `shortened` says how far this went.

    Args:
        report: the report as JSON values; if it says itself how far it was shortened, the steps up
            to that one are not taken again.
        max_chars: the most characters of the JSON that `compact_json` writes.
    """
    text = compact_json(report)
    copy: dict[str, Any] = json.loads(text)
    if len(text) <= max_chars:
        return copy
    names = list(_STEPS)
    taken = names.index(report["shortened"]) + 1 if report.get("shortened") else 0
    for name in names[taken:]:
        reduce = _STEPS[name]
        reduce(copy, max_chars)
        copy["shortened"] = name
        if len(compact_json(copy)) <= max_chars:
            break
    return copy


def shorten_large(report: Report, max_chars: int) -> dict[str, Any]:
    """Do the same for a report without evidence, of which not even that much fits into memory.

    It begins without attempts, and takes up those that there is room for: small ones first, and
    those of passed cells last.
    """
    bare = report.model_copy(
        update={"cases": tuple(case.model_copy(update={"cells": ()}) for case in report.cases)}
    )
    short: dict[str, Any] = json.loads(bare.model_dump_json()) | {"shortened": ""}
    _drop_same(short, max_chars)
    rows: list[tuple[CellResult, dict[str, Any]]] = []
    for case, filled in zip(report.cases, short["cases"], strict=True):
        for cell in case.cells:
            row = json.loads(cell.model_dump_json(exclude={"attempts", "arms"}))
            filled["cells"].append(row | {"attempts": [], "arms": []})
            rows.append((cell, filled["cells"][-1]))
    short["shortened"] = "attempts"
    _note(short, "prompts, captures and calls were left out")
    room = max_chars - len(compact_json(short))
    return _with_attempts(short, rows, room) if room > 0 else shorten(short, max_chars)


def _with_attempts(
    short: dict[str, Any], rows: list[tuple[CellResult, dict[str, Any]]], room: int
) -> dict[str, Any]:
    """Add the attempts of as many cells as there is room for."""
    sized = [(cell, row, cell.model_dump_json(include={"attempts", "arms"})) for cell, row in rows]
    sized.sort(key=lambda each: (each[0].outcome == "passed", len(each[2])))
    for _, row, text in sized:
        room -= len(text)
        if room < 0:
            _note(short, "attempts were left out")
            return short
        row |= json.loads(text)
    return short | {"shortened": "same_cases"}


def truncated(text: str, keep: int) -> str:
    """Return the first `keep` characters and a marker for the rest."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{text[:keep]}…[truncated {len(text) - keep} chars, sha256 {digest}]"


def _cut_texts(report: dict[str, Any], max_chars: int) -> None:
    """Cut the longest texts to the largest common length at which the report fits."""
    _note(report, "texts were shortened")
    places = list(_texts(report))
    texts = [holder[key] for holder, key in places]
    rest = len(compact_json(report)) - sum(map(_json_length, texts))
    fits, too_long = 0, max(map(len, texts), default=0)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        size = rest + sum(_cut_length(text, middle) for text in texts)
        fits, too_long = (middle, too_long) if size <= max_chars else (fits, middle)
    for (holder, key), text in zip(places, texts, strict=True):
        if len(text) > fits + _MARKER:
            holder[key] = truncated(text, fits)


def _cut_length(text: str, keep: int) -> int:
    """Return the length of a text in the JSON after it is cut."""
    if len(text) <= keep + _MARKER:
        return _json_length(text)
    return _json_length(text[:keep]) + _MARKER


def _json_length(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False))


def _texts(node: Any) -> Iterator[Place]:
    """Yield every text that may be cut."""
    items: Any = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, str):
            if len(value) > SMALLEST_TEXT and key not in _NAMES:
                yield node, key
        elif isinstance(value, dict | list):
            yield from _texts(value)


def _drop_evidence(report: dict[str, Any], max_chars: int) -> None:
    """Leave out the evidence of attempts, cell by cell, until the report fits."""
    _note(report, "prompts, captures and calls were left out")

    def drop(cell: Any) -> None:
        for attempt in cell["attempts"]:
            attempt |= {"exchanges": [], "snapshots": [], "tool_calls": [], "scene": None}

    _drop(report, max_chars, _cells(report), drop)


def _drop_same(report: dict[str, Any], max_chars: int) -> None:
    """Leave out of all comparisons the cases that do not differ."""
    _note(report, "comparisons list only the cases that differ")
    for comparison in report["comparisons"]:
        comparison["cases"] = [case for case in comparison["cases"] if case["flip"] != "same"]


def _drop_attempts(report: dict[str, Any], max_chars: int) -> None:
    """Leave out the attempts, cell by cell, until the report fits."""
    _note(report, "attempts were left out")

    def drop(cell: Any) -> None:
        cell["attempts"] = []

    _drop(report, max_chars, _cells(report), drop)


def _drop_cases(report: dict[str, Any], max_chars: int) -> None:
    """Leave out earlier runs and the cases of comparisons, then cells until the report fits."""
    _note(report, "cells were left out")
    report["baseline"], report["history"], report["rejudging"] = None, None, None
    for comparison in report["comparisons"]:
        comparison["cases"], comparison["left_out"] = [], []

    def drop(case: Any) -> None:
        case["cells"] = []

    _drop(report, max_chars, report["cases"], drop)


def _cells(report: dict[str, Any]) -> list[Any]:
    return [cell for case in report["cases"] for cell in case["cells"]]


def _drop(
    report: dict[str, Any], max_chars: int, items: list[Any], drop: Callable[[Any], None]
) -> None:
    """Shrink one item after the other until the report fits, passed and large ones first."""
    excess = len(compact_json(report)) - max_chars
    sizes = [len(compact_json(item)) for item in items]
    order = sorted(
        range(len(items)), key=lambda i: (items[i].get("outcome") != "passed", -sizes[i])
    )
    for i in order:
        if excess <= 0:
            return
        drop(items[i])
        excess -= sizes[i] - len(compact_json(items[i]))


def _keep_only_head(report: dict[str, Any], max_chars: int) -> None:
    """Leave out everything that a report is valid without, as the last resort."""
    _note(report, "everything but the head was left out, because the limit is too small")
    report["cases"], report["summary"] = [], None
    report["settings"], report["environment"] = {}, {}
    report["analysis_prompt"], report["local_analysis"] = "", None
    report["local_analysis_error"] = ""
    report["comparisons"], report["gates"], report["judges"] = [], [], []
    report["decision_facts"] = []
    report["corrections"], report["panels"] = [], []
    report["baseline"], report["history"], report["rejudging"] = None, None, None


def _note(report: dict[str, Any], sentence: str) -> None:
    """Add what was done to the single note about it, and keep the last of the run's own notes."""
    notes = list(report.get("notes", []))
    if report.get("shortened"):
        report["notes"] = [*notes[:-1][-3:], f"{notes[-1]}; {sentence}"]
    else:
        report["notes"] = [*notes[-3:], f"to keep the report under its size limit, {sentence}"]


_STEPS: dict[str, Callable[[dict[str, Any], int], None]] = {
    "texts": _cut_texts,
    "evidence": _drop_evidence,
    "same_cases": _drop_same,
    "attempts": _drop_attempts,
    "cells": _drop_cases,
    "everything": _keep_only_head,
}
"""The steps in the order in which they are tried, by their name in `shortened`."""
