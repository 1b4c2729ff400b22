"""The posterior, and the questions chosen by it."""

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulated_vision import ModelNoise, Oracle
from pytest_autoweb.agents.locate.belief import Belief, line_model
from pytest_autoweb.agents.locate.candidates import (
    Candidate,
    Element,
    Rect,
    Viewport,
    gather,
    weigh,
)
from pytest_autoweb.agents.locate.questions import PictureAnswer, PictureQuestion, numbered
from pytest_autoweb.agents.locate.search import search
from pytest_autoweb.agents.locate.search_limits import SearchLimits

VIEWPORT = Viewport(1280, 720)
GRID = tuple(
    Candidate(Rect(40 + 240 * x, 30 + 130 * y, 120, 24), "link", f"item {x} {y}")
    for x in range(5)
    for y in range(5)
)
MODEL = line_model(SearchLimits(), 1.0)
EVIDENCE = (
    (PictureQuestion(1, "both", 640, 360), PictureAnswer(True, "left", "above")),
    (PictureQuestion(2, "vertical", 400), PictureAnswer(x="crossed")),
    (PictureQuestion(3, "pick", badges=numbered(GRID, range(6), 0)), PictureAnswer(mark=2)),
    (PictureQuestion(4, "look"), PictureAnswer(visible=False)),
    (PictureQuestion(5, "both", 200, 100), PictureAnswer(True, "right", "below", text="item 1 1")),
)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(list(permutations(EVIDENCE))))
def test_the_order_of_independent_answers_does_not_matter(
    order: tuple[tuple[PictureQuestion, PictureAnswer], ...],
) -> None:
    usual, other = Belief(GRID, MODEL, SearchLimits()), Belief(GRID, MODEL, SearchLimits())

    for evidence in EVIDENCE:
        usual.update(*evidence)
    for evidence in order:
        other.update(*evidence)

    assert other.posterior == pytest.approx(usual.posterior)
    assert other.absent == pytest.approx(usual.absent, abs=1e-6)


def test_an_answer_raises_what_fits_it_and_an_empty_one_nothing() -> None:
    belief = Belief(GRID, MODEL, SearchLimits())
    before = belief.posterior

    told_nothing = belief.update(PictureQuestion(1, "both", 640, 360), PictureAnswer())
    unchanged = belief.posterior
    told = belief.update(PictureQuestion(1, "both", 640, 360), PictureAnswer(True, "left", "above"))

    fitting = [one.box.right < 620 and one.box.bottom < 340 for one in GRID]
    likely = [now > then for now, then in zip(belief.posterior, before, strict=True)]
    assert (told_nothing, told) == (False, True)
    assert unchanged == before
    assert likely == fitting


def test_lines_stand_in_the_gaps_and_share_the_candidates_out() -> None:
    questions: list[PictureQuestion] = []

    search(GRID, VIEWPORT, lambda question: questions.append(question))

    first = questions[0]
    assert first.kind == "combined"
    assert first.x is not None
    assert first.y is not None
    assert all(abs(first.x - edge) > 14 for one in GRID for edge in (one.box.x, one.box.right))
    sides = Counter(
        (
            one.box.right < first.x,
            one.box.x > first.x,
            one.box.bottom < first.y,
            one.box.y > first.y,
        )
        for one in GRID
    )
    assert len(sides) >= 6
    assert max(sides.values()) <= 5
    assert [one.candidate for one in first.badges[:2]] == [0, 5]


def test_lines_and_numbers_come_apart_when_asked_so() -> None:
    limits = SearchLimits(combined_marks=0, absent=0.03)
    kinds = set()

    for target in range(len(GRID)):
        outcome = search(GRID, VIEWPORT, Oracle(GRID, target, ModelNoise(), 0), limits=limits)
        kinds |= {turn.question.kind for turn in outcome.turns}
        assert outcome.chosen == target

    assert "combined" not in kinds
    assert kinds >= {"both", "pick"}


def test_the_text_read_on_the_target_tells_boxes_apart_that_lines_do_not() -> None:
    belief = Belief(GRID, MODEL, SearchLimits())

    belief.update(PictureQuestion(1, "look"), PictureAnswer(True, text="Item  3 2"))
    once = belief.posterior
    belief.update(PictureQuestion(2, "look"), PictureAnswer(True, text="Item  3 2"))

    assert GRID[belief.leader].name == "item 3 2"
    assert belief.weights[belief.leader] == pytest.approx(max(once) / sum(once))


def test_a_picture_shown_smaller_widens_the_slack() -> None:
    whole, half = line_model(SearchLimits(), 1.0), line_model(SearchLimits(), 0.5)

    assert whole.outcomes[whole.place(120, (0, 100))][1] < 0.1
    assert half.outcomes[half.place(120, (0, 100))][1] > 0.1


def test_what_no_picture_can_tell_apart_is_one_candidate() -> None:
    elements = [
        Element(Rect(10, 10, 200, 100), "link", "", own=0),
        Element(Rect(20, 20, 80, 30), "button", "Buy", parent=0),
        Element(Rect(300, 10, 50, 20), "checkbox", "Agree"),
        Element(Rect(301, 10, 50, 20), "", "Agree to the terms"),
        Element(Rect(500, 10, 0, 20), "link", "nothing to see"),
    ]

    first, second = gather(elements)

    assert (first.box, first.name, first.members) == (elements[1].box, "Buy", (1, 0))
    assert (second.name, set(second.members)) == ("Agree to the terms", {2, 3})


def test_an_expected_text_counts_only_where_some_candidate_has_it() -> None:
    known = weigh(GRID, expected_text="Item 2 3")
    unknown = weigh(GRID, expected_text="basket")

    outcome = search(known, VIEWPORT, Oracle(known, 13, ModelNoise(), 0))

    assert GRID[13].name == "item 2 3"
    assert known[13].weight > 20 * known[0].weight
    assert unknown == GRID
    assert outcome.chosen == 13
