"""Several judging models: how they vote, and which pictures they are shown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.judging.checks.check_type import RubricFinding, WayPicture
from pytest_autoweb.judging.judge_pictures import spread
from pytest_autoweb.judging.majority import NO_MAJORITY, majority, majority_id
from pytest_autoweb.results.records import Usage

WORDS = ("pass", "fail", "captcha", "insufficient_evidence", "no_verdict", "unfounded")


def findings(*words: str) -> list[RubricFinding]:
    return [
        RubricFinding(word, f"I say {word}", f"judge {at}", ("quote",), usage=Usage(calls=1))
        for at, word in enumerate(words)
    ]


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        (("pass", "pass", "fail"), "pass"),
        (("fail", "pass", "fail"), "fail"),
        (("pass", "fail"), NO_MAJORITY),
        (("pass", "fail", "no_verdict"), NO_MAJORITY),
        # One of three is no majority, although nobody says otherwise.
        (("pass", "no_verdict", "insufficient_evidence"), NO_MAJORITY),
        (("pass", "pass", "no_verdict"), "pass"),
        (("pass", "pass", "fail", "fail"), NO_MAJORITY),
        (("no_verdict", "no_verdict", "pass"), "no_verdict"),
    ],
)
def test_more_than_half_of_all_judges_decide(votes: tuple[str, ...], verdict: str) -> None:
    found = majority(findings(*votes), lambda judge: True)

    assert found.verdict == verdict
    assert [vote.verdict for vote in found.votes] == [*votes]
    assert found.usage.calls == len(votes)
    assert found.advisory


@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=7))
def test_no_vote_is_decided_by_half_or_less(votes: list[str]) -> None:
    found = majority(findings(*votes), lambda judge: False)

    if found.verdict == NO_MAJORITY:
        assert all(2 * votes.count(word) <= len(votes) for word in votes)
    else:
        assert 2 * votes.count(found.verdict) > len(votes)


def test_the_majority_is_a_judge_of_its_own_whatever_the_order_of_its_judges() -> None:
    named = majority_id(["b", "a"])
    found = majority(
        findings("pass", "pass"), lambda judge: judge != majority_id(["judge 1", "judge 0"])
    )

    assert named == majority_id(["a", "b"])
    # Labels of a single judge do not vouch for the majority; its own do.
    assert not found.advisory
    assert majority(findings("pass", "pass"), lambda judge: judge != "judge 0").advisory


@given(st.integers(0, 60), st.integers(2, 9))
def test_pictures_are_spread_over_the_whole_way(length: int, most: int) -> None:
    way = [WayPicture(str(at), Path(str(at))) for at in range(length)]
    shown = spread(way, most)

    assert len(shown) == min(length, most)
    assert len(set(shown)) == len(shown)
    assert [*shown] == sorted(shown, key=lambda picture: int(picture.moment))
    if length:
        assert (shown[0], shown[-1]) == (way[0], way[-1])
