"""Whatever the page and the answers are, a search ends in time and claims no more than it knows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulated_vision import ModelNoise, Oracle
from pytest_autoweb.agents.locate.candidates import Candidate, Rect, Viewport
from pytest_autoweb.agents.locate.questions import PictureAnswer, PictureQuestion
from pytest_autoweb.agents.locate.search import search
from pytest_autoweb.agents.locate.search_limits import SearchLimits
from pytest_autoweb.results.records.attempt import LocatorAlgorithm

VIEWPORT = Viewport(1280, 720)
BOTH: list[LocatorAlgorithm] = ["bayes", "seed"]
ROW = tuple(Candidate(Rect(20 + 60 * n, 40, 50, 20), "link", f"page {n}") for n in range(20))

sides = st.sampled_from([0.0, 0.4, 1.0, 17.3, 90.0, 2000.0])
boxes = st.builds(Rect, st.floats(-50, 1300), st.floats(-50, 800), sides, sides)
candidates = st.lists(
    st.builds(Candidate, boxes, name=st.sampled_from(["", "Save", "Cancel"])), max_size=14
).map(tuple)
answers = st.none() | st.builds(
    PictureAnswer,
    visible=st.sampled_from([None, True, False]),
    x=st.sampled_from([None, "left", "right", "crossed"]),
    y=st.sampled_from([None, "above", "below", "crossed"]),
    mark=st.none() | st.integers(-1, 16),
    text=st.sampled_from(["", "save", "something else"]),
)


class Script:
    """Answers in turn, and keeps the questions."""

    def __init__(self, *replies: PictureAnswer | None) -> None:
        self.replies = replies
        self.questions: list[PictureQuestion] = []

    def __call__(self, question: PictureQuestion) -> PictureAnswer | None:
        self.questions.append(question)
        return self.replies[min(len(self.questions), len(self.replies)) - 1]


@settings(max_examples=60, deadline=None)
@given(candidates, st.lists(answers, min_size=1, max_size=20), st.sampled_from(BOTH))
def test_any_answers_about_any_boxes_end_within_the_budget_and_honestly(
    page: tuple[Candidate, ...], replies: list[PictureAnswer | None], algorithm: LocatorAlgorithm
) -> None:
    script = Script(*replies)
    limits = SearchLimits()

    outcome = search(page, VIEWPORT, script, limits=limits, algorithm=algorithm)

    budget = limits.calls if algorithm == "bayes" else limits.seed_calls
    total = sum(outcome.posterior) + outcome.absent + outcome.erratic
    pictures = [(one.x, one.y, one.badges) for one in script.questions]
    assert outcome.calls == len(script.questions) <= budget
    assert [turn.question for turn in outcome.turns] == script.questions
    assert [one.index for one in script.questions] == list(range(1, len(pictures) + 1))
    assert total == pytest.approx(1)
    assert (outcome.chosen is not None) == (outcome.status == "found")
    assert outcome.status != "found" or outcome.confidence >= limits.confidence
    assert algorithm == "seed" or len(set(pictures)) == len(pictures)


@pytest.mark.parametrize("algorithm", BOTH)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_right_answers_find_every_target_that_lies_apart(
    algorithm: LocatorAlgorithm, data: st.DataObject
) -> None:
    cells = st.tuples(st.integers(0, 20), st.integers(0, 20))
    drawn = data.draw(st.lists(cells, min_size=1, max_size=40, unique=True))
    page = tuple(Candidate(Rect(10 + 60 * x, 10 + 34 * y, 40, 18)) for x, y in drawn)
    target = data.draw(st.integers(0, len(page) - 1))

    outcome = search(page, VIEWPORT, Oracle(page, target, ModelNoise(), 1), algorithm=algorithm)

    assert (outcome.status, outcome.chosen) == ("found", target)


@pytest.mark.parametrize("algorithm", BOTH)
def test_a_single_candidate_is_asked_about_before_it_is_a_success(
    algorithm: LocatorAlgorithm,
) -> None:
    yes, no = Script(PictureAnswer(True, mark=1)), Script(PictureAnswer(True, mark=0))

    confirmed = search(ROW[:1], VIEWPORT, yes, algorithm=algorithm)
    refused = search(ROW[:1], VIEWPORT, no, algorithm=algorithm)

    assert confirmed.status == "found"
    assert yes.questions[0].kind == "confirm"
    assert refused.status != "found"
    assert refused.chosen is None


@pytest.mark.parametrize("algorithm", BOTH)
def test_no_candidates_are_not_asked_about(algorithm: LocatorAlgorithm) -> None:
    script = Script(PictureAnswer(True, mark=1))

    outcome = search((), VIEWPORT, script, algorithm=algorithm)

    assert (outcome.status, outcome.guess, script.questions) == ("not_found", None, [])


@pytest.mark.parametrize("algorithm", BOTH)
def test_a_target_that_is_never_seen_is_not_found(algorithm: LocatorAlgorithm) -> None:
    script = Script(PictureAnswer(False, mark=0))

    outcome = search(ROW, VIEWPORT, script, algorithm=algorithm)

    assert (outcome.status, outcome.chosen, outcome.calls) == ("not_found", None, 2)


@pytest.mark.parametrize("algorithm", BOTH)
def test_unreadable_answers_are_no_information(algorithm: LocatorAlgorithm) -> None:
    outcome = search(ROW, VIEWPORT, Script(None), algorithm=algorithm)

    assert outcome.status in ("budget", "ambiguous")
    assert outcome.chosen is None
    assert len(outcome.turns[-1].surviving) == len(ROW)
    assert all(turn.answer is None for turn in outcome.turns)


def test_a_target_that_is_seen_but_is_no_candidate_is_inconsistent() -> None:
    elsewhere = Script(PictureAnswer(True, "right", "below", 0))

    outcome = search(ROW, VIEWPORT, elsewhere)

    assert (outcome.status, outcome.chosen) == ("inconsistent", None)
    assert outcome.erratic > 0.5


@pytest.mark.parametrize("algorithm", BOTH)
def test_calls_that_an_answer_took_count(algorithm: LocatorAlgorithm) -> None:
    script = Script(PictureAnswer(calls=3))

    outcome = search(ROW, VIEWPORT, script, limits=SearchLimits(seed_calls=8), algorithm=algorithm)

    left = [question.calls_left for question in script.questions]
    assert outcome.calls == 3 * len(left)
    assert left == [(8 if algorithm == "bayes" else 7) - 3 * n for n in range(len(left))]
