"""The classifier on messages that were really said (`benchmarks/messages`)."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.correct.failure_types import classify

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs/calibration.md").read_text(encoding="utf-8")
SIX = ("playwright", "chromium", "http", "form", "provider", "python")


def rows_of(corpus: str, part: str) -> list[dict[str, Any]]:
    file = ROOT / f"benchmarks/messages/{corpus}.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["part"] == part]


def right_of(rows: list[dict[str, Any]]) -> int:
    found = (
        classify(row["message"], error_type=row["error_type"], status=row["status"]).type
        for row in rows
    )
    return sum(one == row["label"] for one, row in zip(found, rows, strict=True))


def test_the_published_accuracy_is_that_of_the_rules_on_unseen_messages() -> None:
    unseen = rows_of("six_sources", "again")
    right = right_of(unseen)
    told = r"^\| [^|]+ \| (\d+ of \d+) \| \d+ of \d+ \| \d+ of \d+ \|$"
    sources = [[row for row in unseen if row["of"] == name] for name in SIX]

    assert right / len(unseen) >= 0.95
    assert f"{right / len(unseen):.1%}".replace("%", " %") + f" ({right} of {len(unseen)};" in DOCS
    assert re.findall(told, DOCS, re.MULTILINE) == [
        f"{right_of(rows)} of {len(rows)}" for rows in (*sources, unseen)
    ]


def test_a_hash_draws_the_first_held_out_third_and_no_message_is_in_two_parts() -> None:
    parts = {part: rows_of("six_sources", part) for part in ("tune", "held_out", "again")}
    texts = [row["message"] for rows in parts.values() for row in rows]

    assert len(texts) == len(set(texts)) >= 800
    for part in ("tune", "held_out"):
        for row in parts[part]:
            steady = re.sub(r"\d+", "0", row["message"]).encode()
            assert (int(hashlib.sha256(steady).hexdigest(), 16) % 3 == 0) == (part == "held_out")


@pytest.mark.parametrize(
    ("corpus", "part"),
    [("corpus", "seen"), ("corpus", "held_out"), ("six_sources", "tune"),
     ("six_sources", "held_out")],
)  # fmt: skip
def test_what_the_rules_have_learnt_they_keep(corpus: str, part: str) -> None:
    rows = rows_of(corpus, part)
    assert right_of(rows) / len(rows) >= 0.97


def test_a_timeout_for_an_element_is_no_service_that_is_down() -> None:
    said = (
        'Locator.click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for get_by_role("button")'
    )
    assert classify(said, error_type="TimeoutError").type == "DATA_NOT_FOUND"
