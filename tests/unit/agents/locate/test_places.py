"""Places that are no element, such as something drawn on a canvas."""

import random

from benchmarks.simulated_vision import ModelNoise, Oracle
from pytest_autoweb.agents.locate.candidates import Candidate, Rect
from pytest_autoweb.agents.locate.questions import PictureAnswer
from pytest_autoweb.agents.locate.region import RegionResult, search_region
from pytest_autoweb.agents.locate.search_limits import SearchLimits

ROOM = Rect(200, 100, 640, 480)
DICE = random.Random(7)
TARGETS = [
    Rect(
        DICE.uniform(200, 640), DICE.uniform(100, 380), DICE.uniform(30, 200), DICE.uniform(30, 200)
    )
    for _ in range(20)
]


_RIGHT = ModelNoise()


def look_for(target: Rect, noise: ModelNoise) -> RegionResult:
    return search_region(ROOM, Oracle((Candidate(target),), 0, noise, int(target.x * 1000)))


def hit(place: RegionResult, target: Rect) -> bool:
    assert place.point is not None
    x, y = place.point
    return target.x <= x <= target.right and target.y <= y <= target.bottom


def test_right_answers_bracket_every_place_and_the_point_lies_on_it() -> None:
    places = [look_for(target, ModelNoise()) for target in TARGETS]

    assert {place.status for place in places} == {"found"}
    assert all(map(hit, places, TARGETS))
    assert all(
        place.calls == len(place.questions) <= SearchLimits().place_calls for place in places
    )


def test_wrong_answers_now_and_then_are_outweighed() -> None:
    noise = ModelNoise(wrong=0.05, slack=8, overlooked=0.02, pick=0.05)

    pairs = [(look_for(target, noise), target) for target in TARGETS]

    found = [(place, target) for place, target in pairs if place.status == "found"]
    assert len(found) >= 17
    assert sum(hit(*pair) for pair in found) >= len(found) - 1


def test_nothing_more_is_asked_once_the_box_is_confirmed() -> None:
    noise = ModelNoise(wrong=0.05, slack=8, overlooked=0.02, pick=0.05)

    asked = [look_for(target, some).questions for target in TARGETS for some in (noise, _RIGHT)]

    confirmed = [
        place
        for questions in asked
        for place, (question, answer) in enumerate(questions, 1)
        if question.kind == "confirm" and answer is not None and answer.mark == 1
        if place < len(questions)
    ]
    assert confirmed == []


def test_what_is_not_seen_not_readable_or_refused_is_no_find() -> None:
    gone = search_region(ROOM, lambda _: PictureAnswer(visible=False))
    mute = search_region(ROOM, lambda _: None)
    refused = search_region(ROOM, lambda _: PictureAnswer(True, "left", "above", 0))

    assert (gone.status, gone.calls) == ("not_found", 2)
    assert mute.status == "budget"
    assert refused.status == "inconsistent"
    assert {gone.point, mute.point, refused.point} == {None}
