from pathlib import Path

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.results.records import Attempt, CellResult, Failure, Outcome, Usage
from pytest_autoweb.tools.demo.conclusion import conclude, tally

CASES = [f"case-{number}" for number in range(10)]
OUTCOMES: dict[str, Outcome] = {"P": "passed", "H": "healed", "F": "failed", "B": "broken"}


def cells(model: str, letters: str) -> list[CellResult]:
    usage = {"generate": Usage(calls=2, input_tokens=50_000, output_tokens=10_000)}
    return [
        cell(CellKey(case, model), OUTCOMES[letter], usage=usage, attempts=())
        for case, letter in zip(CASES, letters, strict=False)
    ]


def concluded(tmp_path: Path, *every: CellResult) -> tuple[str, ...]:
    return conclude(save_run(tmp_path, list(every)))


def test_the_winner_is_named_with_how_sure_it_is(tmp_path: Path) -> None:
    won, _, _ = concluded(tmp_path, *cells("small", "FFFFFFFFFF"), *cells("large", "PPPPPPPPHF"))

    assert won.startswith(
        "large. large passed 8 of 10 (and 1 more after a repair), small passed 0 of 10. "
        "large passes more: 80% against 0% for small on the same 10 cases (95% "
    )
    assert "p = 0.008" in won


def test_a_small_difference_is_not_decided(tmp_path: Path) -> None:
    won, _, _ = concluded(tmp_path, *cells("small", "PPPFFFFFFF"), *cells("large", "PPPPPFFFFF"))

    assert won.startswith(
        "not decided. large passed 5 of 10, small passed 3 of 10; the sides differ in 2 of 10 cases"
    )


def test_the_failed_check_of_a_case_that_the_winner_solved_is_quoted(tmp_path: Path) -> None:
    lost = cells("small", "FFF")
    check = Failure(kind="check", message="check 1 (sql) does not hold")
    lost[1:] = [
        each.model_copy(update={"failure": check, "reason": f"saw nothing in {each.case_id}"})
        for each in lost[1:]
    ]

    _, wrong, _ = concluded(tmp_path, *lost, *cells("large", "PFP"))

    assert wrong == "case-2 on small, “Press the only button.”: saw nothing in case-2"


def test_a_model_that_failed_nothing_is_not_blamed(tmp_path: Path) -> None:
    _, wrong, _ = concluded(tmp_path, *cells("small", "PP"), *cells("large", "PP"))

    assert wrong == "small failed no case"


def test_the_tokens_are_priced_as_those_of_a_service(tmp_path: Path) -> None:
    _, _, cost = concluded(tmp_path, *cells("small", "F"), *cells("large", "P"))

    assert cost == (
        "nothing, since both models run locally: 4 calls, 100,000 tokens in and 20,000 out. "
        "As many tokens of openai/gpt-5-mini ($0.25 and $2.00 per million) would cost $0.065"
    )


def test_a_cell_without_a_verdict_is_an_error_and_no_result(tmp_path: Path) -> None:
    with pytest.raises(AutowebError, match="1 cell of the demo could not be run") as error:
        concluded(tmp_path, *cells("small", "FB"), *cells("large", "PP"))

    assert "made-up reason for broken" in str(error.value)


def test_a_repair_without_a_recorded_reply_is_an_error_as_well(tmp_path: Path) -> None:
    strayed = Attempt(
        attempt_index=2, failure=Failure(kind="model", cause="unavailable", message="no recording")
    )
    lost = cell(CellKey("case-0", "small"), "failed", attempts=(strayed,))

    with pytest.raises(AutowebError, match="could not be run"):
        concluded(tmp_path, lost, *cells("large", "P"))


def test_the_live_line_counts_what_each_model_solved() -> None:
    ended = [("b", True), ("a", False), ("b", False), ("b", True)]

    assert tally(ended, 24) == "4 of 24 done, solved: b 2 of 3, a 0 of 1"
    assert tally([], 24) == "0 of 24 done"
