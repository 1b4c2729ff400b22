"""The elimination method as a baseline, with its faults mended."""

import pytest

from benchmarks.simulated_vision import ModelNoise, Oracle
from pytest_autoweb.agents.locate.candidates import Candidate, Rect, Viewport
from pytest_autoweb.agents.locate.elimination import Extent
from pytest_autoweb.agents.locate.questions import (
    CROSSED,
    HIGH,
    LOW,
    PictureAnswer,
    PictureQuestion,
)
from pytest_autoweb.agents.locate.search import search

VIEWPORT = Viewport(1280, 720)
WALL = tuple(Candidate(Rect(10, 4 + 34 * n, 60, 24)) for n in range(20))
GRID = tuple(Candidate(Rect(20 + 150 * (n % 8), 20 + 80 * (n // 8), 90, 24)) for n in range(64))


def eliminate(
    page: tuple[Candidate, ...], *replies: PictureAnswer | None
) -> tuple[str, list[PictureQuestion]]:
    questions: list[PictureQuestion] = []

    def ask(question: PictureQuestion) -> PictureAnswer | None:
        questions.append(question)
        return replies[min(len(questions), len(replies)) - 1]

    return search(page, VIEWPORT, ask, algorithm="seed").status, questions


def test_edges_limit_each_other_so_that_no_line_is_asked_about_twice() -> None:
    extent = Extent.within(0, 1920).after(960, LOW, 8)

    assert extent == Extent(0, 960, 0, 960)
    assert extent.next_line(100, [960]) == 480
    assert extent.after(480, HIGH, 8) == Extent(480, 960, 480, 960)


def test_an_edge_is_held_against_its_own_interval() -> None:
    extent = Extent.within(0, 1920).after(960, CROSSED, 8)

    assert extent.admits((900, 1000))
    assert extent.admits((965, 1000))
    assert not extent.admits((0, 900))
    assert not extent.after(200, LOW, 8).consistent


def test_one_line_is_drawn_when_only_one_axis_needs_it() -> None:
    outcome = search(WALL, Viewport(90, 720), Oracle(WALL, 3, ModelNoise(), 0), algorithm="seed")

    assert outcome.chosen == 3
    assert {turn.question.kind for turn in outcome.turns} == {"horizontal", "pick"}


def test_a_target_not_seen_is_asked_about_without_lines() -> None:
    status, questions = eliminate(GRID, PictureAnswer(visible=False))

    assert status == "not_found"
    assert [one.kind for one in questions] == ["both", "look"]


@pytest.mark.parametrize("reply", [None, PictureAnswer(True, mark=0), PictureAnswer(True, mark=9)])
def test_a_choice_that_fails_is_no_success(reply: PictureAnswer | None) -> None:
    status, questions = eliminate(GRID[:3], reply)

    assert status == "ambiguous"
    assert {one.kind for one in questions} == {"pick"}


def test_contradictions_are_undone_asked_again_and_then_reported() -> None:
    status, questions = eliminate(
        GRID, PictureAnswer(True, "left", "above"), PictureAnswer(True, "right", "above")
    )

    lines = [one.lines for one in questions if one.lines]
    assert status == "ambiguous"
    assert questions[-1].kind == "pick"
    assert len(set(lines)) == len(lines)
