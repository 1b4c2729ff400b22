"""A fake client that makes known mistakes, to measure how well verification catches them."""

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.results.records import Usage

_LISTED = re.compile(r"^\[(\d+)\] .*$", re.MULTILINE)
"""Finds a mark in the list that models without vision get."""
_NEAR = re.compile(r' near "(.*)"$')
"""Finds the neighbouring text in a mark's line; only marks that share their text have one."""
_TOLD = re.compile(r"^\s+- \[(?:\d+|-)\] .*$|^Your last reply could not be used", re.MULTILINE)
"""Finds the prompt's explanation of why the last decision was refused."""

SlipKind = Literal["none", "swapped", "dropped", "malformed"]


class Faults(Struct, frozen=True):
    """How often the fake errs and how it reacts to feedback, as probabilities from 0 to 1."""

    swap: float = 0.0
    """It gives the number of another mark, but the text and neighbouring text of the right one."""
    drop: float = 0.0
    """It leaves out the element's text."""
    drop_near: float = 0.0
    """It leaves out the neighbouring text, although other elements have the same text."""
    malformed: float = 0.0
    """It gives a reply that is not a valid decision."""
    loose: float = 0.0
    """It copies texts loosely: shortened, in capitals, or without punctuation at the ends. That is
    not an error, but a verifier may take it for one."""
    heeds: float = 0.8
    """It decides again when the prompt explains the mistake; otherwise it repeats its reply."""
    rethinks: float = 0.3
    """It decides again when it is asked again without a reason."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a probability and must be from 0 to 1")


class Right(NamedTuple):
    """The right decision in a situation."""

    action: Mapping[str, Any]
    """The decision without the element's own fields, e.g. `{"action": "click"}`."""
    listed: str | None = None
    """A regular expression that finds the element's line in the list of marks; None for an action
    without an element."""
    expected_text: str = ""
    """The text of the element."""
    near: str = ""
    """Text near the element, such as the first cell of its row. It is used where other elements
    have the same text; when empty, the list's own wording is copied."""


class Slip(NamedTuple):
    """One answer, and the mistake that was made in it on purpose."""

    kind: SlipKind
    right: int | None
    """The number of the right mark; None when no element is meant."""
    given: int | None
    """The number of the mark that was given; None when none was."""
    text: str
    """The text that was given as the element's."""


class FaultyClient:
    """A FAKE client that gives the right decisions with seeded faults; no model is asked.

    It reads the list of marks in the prompt, so its model must not have `vision`. Use it through
    the hook, in a conftest::

        from pytest_autoweb.testing import Faults, FaultyClient, Right

        def next_step(prompt):
            if "page=2" in prompt:
                return Right({"action": "click"}, '"Sign up"', "Sign up")
            return Right({"action": "click"}, '"Next page"', "Next page")

        def pytest_autoweb_client(spec):
            if spec.name == "fake/faulty":
                return FaultyClient(next_step, Faults(swap=0.2), seed=1)

    Two clients with the same seed make the same mistakes at first, so that ways of correcting them
    can be compared in pairs.
    """

    def __init__(self, right: Callable[[str], Right], faults: Faults, seed: object = 0) -> None:
        self._right, self._faults, self._seed = right, faults, seed
        self._last: tuple[Right, dict[int, str], str] | None = None
        self._asked = 0
        self.slips: list[Slip] = []
        """The mistake in each answer, in order: the ground truth of a measurement."""

    def complete(self, request: Request) -> Reply:
        """Return the right decision, changed by the faults that are drawn.

        Raises:
            ModelError: the right element is not in the list of marks.
        """
        prompt = request.messages[-1].content
        right = self._right(prompt)
        lines = {int(match[1]): match[0] for match in _LISTED.finditer(prompt)}
        chance = random.Random(f"{self._seed}/{self._asked}")
        self._asked += 1
        anew = self._faults.heeds if _TOLD.search(prompt) else self._faults.rethinks
        thinks_anew = chance.random() < anew
        if self._last and self._last[:2] == (right, lines) and not thinks_anew:
            text = self._last[2]
            self.slips.append(self.slips[-1])
        else:
            text = self._decide(right, lines, chance, request.model)
        self._last = (right, lines, text)
        usage = Usage(calls=1, input_tokens=len(prompt.split()), output_tokens=len(text.split()))
        return Reply(text=text, usage=usage, model_served="fake with faults")

    def _decide(
        self, right: Right, lines: dict[int, str], chance: random.Random, model: str
    ) -> str:
        meant = _meant(right, lines, model)
        # All random draws are always made, so that one setting does not shift those of the others.
        swaps, drops, breaks, hasty, pick, leaves = (chance.random() for _ in range(6))
        if breaks < self._faults.malformed:
            self.slips.append(Slip("malformed", meant, None, ""))
            return _FORMLESS[int(pick * len(_FORMLESS))]
        decision: dict[str, Any] = {"thinking": "fake", **right.action}
        kind: SlipKind = "none"
        if meant is not None:
            given, text = meant, right.expected_text
            if hasty < self._faults.loose:
                text = _hasty(text, pick)
            if swaps < self._faults.swap:
                kind, given = "swapped", _other(lines, meant, pick)
            if drops < self._faults.drop:
                kind, text = "dropped" if kind == "none" else kind, ""
            decision |= {"mark_id": given, "expected_text": text}
            if (listed := _NEAR.search(lines[meant])) and leaves >= self._faults.drop_near:
                near = right.near or listed[1]
                decision["near"] = _hasty(near, pick) if hasty < self._faults.loose else near
        sure = 0.7 + 0.3 * pick if kind == "none" else 0.4 + 0.55 * pick
        self.slips.append(
            Slip(kind, meant, decision.get("mark_id"), decision.get("expected_text", ""))
        )
        return json.dumps({**decision, "confidence": round(sure, 2)}, ensure_ascii=False)


_FORMLESS = (
    "I would press the button in the middle.",
    '{"mark_id": 3, "expected_text": "OK"}',
    '{"action": "smash", "mark_id": 1}',
    "[1, 2, 3]",
)


def _meant(right: Right, lines: dict[int, str], model: str) -> int | None:
    if right.listed is None:
        return None
    for number, line in lines.items():
        if re.search(right.listed, line):
            return number
    raise ModelError("empty", model, f"no mark in the prompt fits {right.listed!r}")


def _other(lines: dict[int, str], meant: int, pick: float) -> int:
    others = [number for number in lines if number != meant] or [meant + 1]
    return others[int(pick * len(others))]


def _hasty(text: str, pick: float) -> str:
    forms = [
        text.upper(),
        text.strip(" .:…›»→*"),
        "  ".join(text.split()),
        f"{text[:12]}…" if len(text) > 18 else text,
        text.splitlines()[0] if text else text,
    ]
    return forms[int(pick * len(forms))]
