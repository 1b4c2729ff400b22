"""The goals of docs/locator.md hold on captured pages, with simulated answers."""

import json
from pathlib import Path

import pytest

from benchmarks.search_trials import Contender, PageGeometry, SearchTrial, geometry_of, trials
from benchmarks.simulated_vision import ModelNoise
from pytest_autoweb.agents.locate.search_limits import SearchLimits

PAGES = Path(__file__).parents[4] / "benchmarks/locator_pages.json"
FIVE = ModelNoise(wrong=0.05, slack=8, overlooked=0.02, pick=0.05, noticed=0.8)
TEN = ModelNoise(wrong=0.10, slack=8, overlooked=0.03, pick=0.05, noticed=0.8)
BAYES = Contender("bayes", "bayes", SearchLimits(), echo=True)
LESS_SURE = Contender("bayes-95", "bayes", SearchLimits(confidence=0.95))
SEED = Contender("seed", "seed", SearchLimits())


@pytest.fixture(scope="module")
def pages() -> list[PageGeometry]:
    captured = json.loads(PAGES.read_text(encoding="utf-8"))["pages"]
    return [geometry_of(page) for page in captured[::3]]


def run(
    pages: list[PageGeometry], contender: Contender, noise: ModelNoise, *, absent: bool = False
) -> list[SearchTrial]:
    return list(trials(pages, contender, noise, targets=4, absent=absent, seed=1))


def share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


@pytest.mark.long
def test_with_right_answers_every_target_is_found_in_two_or_three_calls(
    pages: list[PageGeometry],
) -> None:
    found = run(pages, BAYES, ModelNoise())

    assert all(trial.solved for trial in found)
    assert max(trial.outcome.calls for trial in found) <= 4


def test_with_a_tenth_of_the_answers_wrong_it_still_finds_and_elimination_does_not(
    pages: list[PageGeometry],
) -> None:
    found, baseline = run(pages, BAYES, TEN), run(pages, SEED, TEN)

    assert share([trial.solved for trial in found]) >= 0.975
    assert share([trial.wrong for trial in found]) <= 0.025
    assert share([trial.solved for trial in baseline]) <= 0.85


def test_two_calls_are_enough_for_most_and_one_for_half_when_less_sure(
    pages: list[PageGeometry],
) -> None:
    calls = sorted(trial.outcome.calls for trial in run(pages, BAYES, FIVE))
    fewer = [trial.outcome.calls for trial in run(pages, LESS_SURE, FIVE)]

    assert sum(calls) / len(calls) <= 2.4
    assert calls[int(0.95 * len(calls))] <= 4
    assert sum(fewer) / len(fewer) <= 1.9
    assert fewer.count(1) >= len(fewer) / 3


def test_a_missing_target_is_reported_though_the_model_takes_another_for_it(
    pages: list[PageGeometry],
) -> None:
    gone = run(pages, BAYES, TEN, absent=True)

    assert share([trial.outcome.status == "not_found" for trial in gone]) >= 0.9
    assert sum(trial.outcome.calls for trial in gone) / len(gone) <= 4
