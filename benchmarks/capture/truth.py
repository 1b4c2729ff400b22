"""What a page shows and offers to a person, found without any of the tools that are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page

LISTENERS, TRUTH = (
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("listeners.js", "truth.js")
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a select box."""

    text: str
    chosen: bool
    disabled: bool


@dataclass(frozen=True, slots=True)
class Element:
    """Something that a person can use."""

    kind: str
    """A role, `file`, or `clickable` for what has none."""
    tag: str
    names: tuple[str, ...]
    """What it may be called: its text, its labels, its title; empty for an icon without any."""
    states: tuple[str, ...]
    value: str
    placeholder: str
    options: tuple[Option, ...]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Element":
        """Read what the script says of one element."""
        options = tuple(Option(**option) for option in found["options"])
        lists = {key: tuple(found[key]) for key in ("names", "states")}
        return cls(**{**found, **lists, "options": options})


@dataclass(frozen=True, slots=True)
class Truth:
    """All of one page, with its open shadow roots and its frames of the same origin."""

    elements: tuple[Element, ...]
    texts: tuple[str, ...]


def find_truth(page: Page) -> Truth:
    """Return what a person sees and can use: visible, and hit by a pointer after scrolling.

    The page's `truthElements` are the elements afterwards, in the same order.
    """
    session = page.context.new_cdp_session(page)
    contexts: list[int] = []
    session.on(
        "Runtime.executionContextCreated",
        lambda event: (
            contexts.append(event["context"]["id"])
            if event["context"]["auxData"]["isDefault"]
            else None
        ),
    )
    try:
        session.send("Runtime.enable")
        for context in contexts:
            _evaluate(session, LISTENERS, contextId=context)
        found = _evaluate(session, TRUTH)
    finally:
        session.detach()
    elements: Sequence[Mapping[str, Any]] = found["elements"]
    return Truth(tuple(map(Element.of, elements)), tuple(found["texts"]))


def _evaluate(session: CDPSession, script: str, **more: int) -> Any:
    asked = {"expression": script, "includeCommandLineAPI": True, "returnByValue": True}
    answer = session.send("Runtime.evaluate", {**asked, **more})
    if "exceptionDetails" in answer:
        raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
    return answer["result"].get("value")
