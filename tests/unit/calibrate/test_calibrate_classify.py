"""The classifier on messages that were really said (`benchmarks/messages`)."""

import json
from pathlib import Path

import pytest

from pytest_autoweb.calibrate.classify import classify

CORPUS = Path(__file__).parents[3] / "benchmarks/messages/corpus.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
MACHINES = ("python", "playwright", "chromium", "http.server", "HTTP ", "gateway", "sqlite")


def share_right(rows: list[dict[str, object]]) -> float:
    found = [
        classify(row["message"], error_type=row["error_type"], status=row["status"]).type  # type: ignore[arg-type]
        for row in rows
    ]
    right = sum(one == row["label"] for one, row in zip(found, rows, strict=True))
    return right / len(rows)


@pytest.mark.parametrize(("part", "least"), [("seen", 0.95), ("held_out", 0.95)])
def test_each_part_of_the_corpus_keeps_its_accuracy(part: str, least: float) -> None:
    assert share_right([row for row in ROWS if row["part"] == part]) >= least


def test_machine_messages_held_out_are_told_apart() -> None:
    rows = [
        row for row in ROWS if row["part"] == "held_out" and str(row["source"]).startswith(MACHINES)
    ]
    assert len(rows) > 60
    assert share_right(rows) >= 0.95


def test_a_timeout_for_an_element_is_no_service_that_is_down() -> None:
    said = (
        'Locator.click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for get_by_role("button")'
    )
    assert classify(said, error_type="TimeoutError").type == "DATA_NOT_FOUND"
