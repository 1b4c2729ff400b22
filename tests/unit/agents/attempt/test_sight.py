"""What the vision locator finds is compared with the expected text before it is acted on."""

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_autoweb.agents.attempt import sight_finder
from pytest_autoweb.agents.attempt.sight_finder import UNVERIFIED_LIMIT, SightFinder
from pytest_autoweb.agents.attempt.tools import RunLog
from pytest_autoweb.agents.locate.locator import LocatorResult
from pytest_autoweb.browser.marks.marking import Mark, PageBox
from pytest_autoweb.results.records import Location
from pytest_autoweb.sandbox.engine import StepCallError

PAGE: Any = object()


def test_a_text_that_fits_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    sight, after = finder(monkeypatch, found := result(0.97, text="Send", live="Send"))

    assert sight.find(PAGE, "the button", expected_text="Send") is found.element
    location = recorded(after)
    assert (location.verdict, location.actual_text, location.expected_text) == (
        *("match", "Send", "Send"),
    )


def test_the_text_of_the_moment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    sight, after = finder(monkeypatch, result(1.0, text="Send", live="Delete all"))

    with pytest.raises(StepCallError, match="another text: 'Send' was expected"):
        sight.find(PAGE, "the button", expected_text="Send")
    assert (recorded(after).verdict, recorded(after).actual_text) == ("mismatch", "Delete all")


@pytest.mark.parametrize("point", [None, (5.0, 5.0)])
def test_without_a_text_confidence_decides(
    monkeypatch: pytest.MonkeyPatch, point: tuple[float, float] | None
) -> None:
    below, after = finder(monkeypatch, result(UNVERIFIED_LIMIT - 0.01, point=point))

    with pytest.raises(StepCallError, match=r"no text to compare.*is below 0\.9") as refused:
        below.find(PAGE, "the red dot", expected_text="Red dot")
    assert "click" not in (refused.value.evidence or {})
    assert recorded(after).verdict == "unverifiable"

    enough, after = finder(monkeypatch, found := result(UNVERIFIED_LIMIT, point=point))
    if point is None:
        assert enough.find(PAGE, "the red dot", expected_text="Red dot") is found.element
    else:
        with pytest.raises(StepCallError, match=r"use page.mouse.click\(5, 5\)"):
            enough.find(PAGE, "the red dot", expected_text="Red dot")
    assert recorded(after).verdict == "unverifiable"


def test_a_script_that_expects_no_text_gets_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sight, after = finder(monkeypatch, found := result(0.5, text="Send", live="Other"))

    assert sight.find(PAGE, "the button") is found.element
    assert recorded(after).verdict is None


def mark(text: str, tag: str = "button") -> Mark:
    return Mark(
        number=1,
        tag=tag,
        role="",
        text=text,
        name=text,
        box=PageBox(0, 0, 9, 9),
        texts=(text,) if text else (),
    )


class Elements:
    """Stands for the locator of what was found; it reads the given text."""

    def __init__(self, live: str) -> None:
        self.live = live

    def evaluate_all(self, *asked: Any) -> str:
        return f'[["{self.live}"]]' if self.live else "[[]]"


def finder(monkeypatch: pytest.MonkeyPatch, found: LocatorResult) -> tuple[SightFinder, list[Any]]:
    monkeypatch.setattr(
        sight_finder, "Sight", lambda *_, **__: SimpleNamespace(locate=lambda *_, **__: found)
    )
    monkeypatch.setattr(sight_finder, "VisionModel", lambda *_, **__: None)
    monkeypatch.setattr(sight_finder, "_page_of", lambda page: page)
    after: list[Any] = []
    tools: Any = SimpleNamespace(
        previous=None,
        spec=SimpleNamespace(name="fake/eyes", constrained="none", fences=True),
        case=SimpleNamespace(id="a"),
        mode="ARIA_SNAPSHOT",
        repeat=1,
        client=None,
        redact=str,
        progress=lambda said: None,
        settings=SimpleNamespace(locator="bayes"),
        hidden=None,
        after_step=after,
        log=RunLog(str),
    )
    return SightFinder(tools), after


def result(
    confidence: float, *, text: str = "", live: str = "", point: tuple[float, float] | None = None
) -> LocatorResult:
    element: Any = None if point else Elements(live)
    return LocatorResult(
        status="found",
        element=element,
        confidence=confidence,
        probes=(),
        transcript=(),
        location=Location(
            description="d", algorithm="bayes", status="found", confidence=confidence
        ),
        point=point,
        mark=mark(text, "canvas" if point else "button"),
    )


def recorded(after: list[Any]) -> Location:
    found: LocatorResult = after[0].args[0]
    return found.location
