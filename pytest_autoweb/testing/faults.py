"""A fake that knows what is right and errs on purpose: for measuring what catches errors."""

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Reply, Request
from pytest_autoweb.results import Usage

_LISTED = re.compile(r"^\[(\d+)\] .*$", re.MULTILINE)
"""A mark in the list that models without vision are given."""
_NEAR = re.compile(r' near "(.*)"$')
"""In its line, what tells a mark from others with its text; only such marks have it."""
_TOLD = re.compile(r"^\s+- \[(?:\d+|-)\] .*$|^Your last reply could not be used", re.MULTILINE)
"""What the prompts say of the last decision, when it was stopped."""

SlipKind = Literal["none", "swapped", "dropped", "malformed"]


@dataclass(frozen=True, slots=True)
class Faults:
    """How often the fake errs, and what it makes of being told; all are chances from 0 to 1."""

    swap: float = 0.0
    """Gives the number of another mark; the text, and what is near, are still those of the right
    one."""
    drop: float = 0.0
    """Leaves the text out."""
    drop_near: float = 0.0
    """Leaves out what is near the element, although others have its text."""
    malformed: float = 0.0
    """Answers in a form that is no decision."""
    loose: float = 0.0
    """Writes texts as a hasty reader would: cut with dots, in capitals, without their ends. That is
    no error, but a verifier may take it for one."""
    heeds: float = 0.8
    """Decides anew when the prompt says what was wrong; else it says the same again."""
    rethinks: float = 0.3
    """Decides anew when it is asked again without being told why."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 <= getattr(self, field.name) <= 1:
                raise ValueError(f"{field.name} is a chance: needs 0 to 1")


class Right(NamedTuple):
    """What would be right to do next."""

    action: Mapping[str, Any]
    """The decision without the element's own fields, e.g. `{"action": "click"}`."""
    listed: str | None = None
    """A regular expression that finds the element's line in the list of marks; None: the action
    has no element."""
    expected_text: str = ""
    """What the element reads."""
    near: str = ""
    """What it stands in, e.g. its row's first cell. Said where the list says that others have its
    text; empty: then what the list says is copied."""


class Slip(NamedTuple):
    """One answer, and what was wrong with it on purpose."""

    kind: SlipKind
    right: int | None
    """Number of the right mark; None: no element is meant, or it is not in the list."""
    given: int | None
    text: str
    """As given for the element's."""


class FaultyClient:
    """FAKE: plays the right decisions with seeded faults. No model is asked.

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

    Two clients with the same seed err alike at first, so that ways to help them can be compared in
    pairs.
    """

    def __init__(self, right: Callable[[str], Right], faults: Faults, seed: object = 0) -> None:
        self._right, self._faults, self._seed = right, faults, seed
        self._last: tuple[Right, dict[int, str], str] | None = None
        self._asked = 0
        self.slips: list[Slip] = []
        """What was done wrong in each answer, in order: the known truth."""

    def complete(self, request: Request) -> Reply:
        """The right decision, or what the faults make of it.

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
        # Every draw is made, so that other chances do not shift what follows.
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
