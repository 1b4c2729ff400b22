"""MADE-UP decisions for the report: every status and verdict; no model or page made any of them."""

from made_up_run import CellKey, cell

from pytest_autoweb.results.records import Attempt, CellResult, Usage
from pytest_autoweb.results.records.attempt import ChosenMark, Decision

SCREEN = (640, 400)
"""Of the made-up picture."""
THOUGHT = "The list goes on, so the next page is what I need.\n<b>5</b> looks right."

DECISIONS = (
    Decision(
        index=1,
        url="http://127.0.0.1:8000/events",
        picture="attempt-1/decision-1.png",
        viewport=SCREEN,
        marks=24,
        action={"action": "click", "mark_id": 15, "expected_text": "Next page", "confidence": 0.9},
        thinking=THOUGHT,
        confidence=0.9,
        chosen=(
            ChosenMark(
                mark=15,
                expected_text="Next page",
                actual_text="Previous page",
                verdict="mismatch",
                reason="'Next page' was expected, but the element reads 'Previous page'",
                kind="button",
                box=(60, 330, 90, 30),
            ),
        ),
        status="refused",
        duration_ms=1840,
    ),
    Decision(
        index=2,
        url="http://127.0.0.1:8000/events",
        picture="attempt-1/decision-2.png",
        viewport=SCREEN,
        marks=24,
        failed_marks=(15,),
        feedback=("[15] 验证失败: 期望'Next page' 实际'Previous page'",),
        action={"action": "click", "mark_id": 14, "expected_text": "Next page"},
        confidence=0.55,
        chosen=(
            ChosenMark(
                mark=14,
                taken=16,
                expected_text="Next page",
                actual_text="Page 2",
                verdict="mismatch",
                reason="'Next page' was expected, but the element reads 'Page 2'; mark 16 alone "
                "reads 'Next page'",
                kind="button",
                box=(160, 330, 90, 30),
            ),
        ),
        status="performed",
        duration_ms=1500,
    ),
    Decision(
        index=3,
        picture="attempt-1/decision-3.png",
        viewport=SCREEN,
        marks=31,
        action={"action": "type", "mark_id": 3, "expected_text": "Search", "text": "chamber"},
        confidence=0.95,
        chosen=(
            ChosenMark(
                mark=3,
                expected_text="Search",
                actual_text="Search",
                verdict="match",
                reason="'Search' is 'Search'",
                kind="textbox",
                box=(220, 110, 200, 30),
            ),
        ),
        second_look=True,
        second_picture="attempt-1/decision-3-again.png",
        calls=2,
        status="performed",
        duration_ms=2600,
    ),
    Decision(
        index=4,
        marks=31,
        action={"action": "click", "mark_id": 9, "expected_text": ""},
        confidence=0.4,
        chosen=(
            ChosenMark(
                mark=9,
                verdict="unverifiable",
                reason="no text to compare: an icon was expected, and the element has no text",
                kind="button",
            ),
        ),
        status="failed",
        error="TimeoutError: another element covers the button",
        duration_ms=5100,
    ),
    Decision(
        index=5,
        action=None,
        thinking="I would rather write a poem.",
        status="invalid",
        error="the reply holds no JSON object",
    ),
)


def sight_cell(model: str = "fake/seeing", **changes: object) -> CellResult:
    """A failed cell of the strategy act."""
    attempt = Attempt(
        decisions=DECISIONS,
        usage={"act": Usage(calls=6, input_tokens=9000, output_tokens=400, unpriced_calls=6)},
        duration_ms=12_540,
        final_screenshot="attempt-1/final.png",
    )
    fields = {"strategy": "act", "attempts": (attempt,), "duration_ms": 12_540.0, **changes}
    return cell(CellKey("book-flight", model), "failed", **fields)
