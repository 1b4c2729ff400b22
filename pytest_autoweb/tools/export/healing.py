"""The repair of a broken exported test: a model writes new action lines, and the proof decides."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from pytest_autoweb.agents.codegen.generate import extract_code
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import closed_block, strip_reasoning
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.records import Record, Usage
from pytest_autoweb.tools.export.action_lines import NoActions, PlainTest, RefusedLines
from pytest_autoweb.tools.export.failing_page import FailureLook
from pytest_autoweb.tools.export.proof import Prover, TooLong, blocked_sentence

PROMPT_OVERHEAD_TOKENS = 2_500
"""Estimate of the tokens of rules, test and error around the page."""
_HEAD = re.compile(r"^[ \t]*# ?[Bb]lock (\d+):?[ \t]*$", re.MULTILINE)
_MARKER = re.compile(r"^[ \t]*#(?:>>>|<<<) ?block \d+[ \t]*\n?", re.MULTILINE)
_CANNOT = re.compile(r"^\W*CANNOT:\s*(.+)", re.MULTILINE)
_TRIED_CHARS = 4_000

NEAREST = 0
"""Placeholder for the number of the block that failed, or of the last one before the failure."""

HealVerdict = Literal["passes", "healed", "not healed"]


class HealedTest(Record):
    """What became of one test."""

    name: str
    verdict: HealVerdict
    reason: str = ""
    """Why it could not be repaired, or what it failed of before it was."""
    attempts: int = 0
    """How often the model was asked."""
    usage: Usage = Usage()


class Repair(NamedTuple):
    """The outcome of a test, and the text of its file."""

    test: HealedTest
    text: str


class Healer(Struct, frozen=True):
    """Repairs a file's tests.

    Args:
        prover: runs drafts of the file.
        client: asks the model.
        spec: the model.
        redact: removes secrets from everything shown to the model.
        attempts: maximum number of model calls per test.
        say: called with progress messages.
    """

    prover: Prover
    client: Client
    spec: ModelSpec
    redact: Callable[[str], str]
    attempts: int = 3
    say: Callable[[str], None] = lambda line: None

    @property
    def budget(self) -> int:
        """Return the token limit of a page shown to the model."""
        room = self.spec.context_tokens - self.spec.max_tokens - PROMPT_OVERHEAD_TOKENS
        return max(400, min(room, self.spec.page_tokens))

    def heal(self, file: Path, text: str, only: str = "") -> tuple[list[HealedTest], str]:
        """Run a file, and repair its failing tests one by one.

        Args:
            file: the file; drafts have the same name.
            text: its text.
            only: the only test to consider; by default all of them.

        Returns:
            The outcome of each test, and the text with the repaired ones.

        Raises:
            AutowebError: pytest cannot run the file.
            ModelError: the model cannot be called.
        """
        # No line of a model is in it yet.
        run, looks = self.prover.look(file.name, text, self.budget, only, walled=False)
        done = []
        for name, outcome in run.outcomes.items():
            if outcome in ("passed", "skipped"):
                why = "" if outcome == "passed" else "it was skipped"
                done.append(HealedTest(name=name, verdict="passes", reason=why))
                continue
            seen = looks.get(name) or FailureLook(error=run.said.get(name, ""))
            self.say(f"{name} fails: {_first(self.redact(seen.error))}")
            if outcome == "error":
                why = f"it could not be set up: {_first(self.redact(seen.error))}"
                done.append(HealedTest(name=name, verdict="not healed", reason=why))
                continue
            try:
                repair = self._repaired(file, PlainTest(text, name), seen)
            except ModelError as error:
                if not any(test.attempts for test in done):
                    raise
                # Earlier repairs, which cost money, are not discarded.
                failed = HealedTest(name=name, verdict="not healed", reason=_first(str(error)))
                repair = Repair(failed, text)
            done.append(repair.test)
            text = repair.text
        return done, text

    def _repaired(self, file: Path, test: PlainTest, seen: FailureLook) -> Repair:
        """Ask for new lines until the proof accepts some."""
        before, usage, tried, reason, number = test, Usage(), "", "", 0
        try:
            _refuse_too_early(test, seen)
            for number in range(1, self.attempts + 1):
                self.say(f"{test.name}: asking {self.spec.name}, {number} of {self.attempts}")
                reply, used = self._ask(test, seen, tried)
                usage += used
                changed, reason = self._tried(file, test, _new_lines(reply), seen)
                if changed and not reason:
                    told = f"it failed with: {_first(self.redact(seen.error))}"
                    if self.prover.blocked:
                        told += f"; {blocked_sentence(self.prover.blocked)}"
                    return Repair(self._done(test, "healed", told, number, usage), changed.text)
                self.say(f"{test.name}: {_first(reason)}")
                tried = _said(reply, reason)
                if changed and number < self.attempts:
                    seen, test = self._further(file, test, changed, seen)
        except NoActions as problem:
            reason = str(problem)
        except _Unable as unable:
            reason = f"{self.spec.name} says that it cannot: {unable}"
        done = self._done(test, "not healed", _first(reason), number, usage)
        return Repair(done, before.text)

    @staticmethod
    def _done(
        test: PlainTest, verdict: HealVerdict, reason: str, attempts: int, usage: Usage
    ) -> HealedTest:
        return HealedTest(
            name=test.name, verdict=verdict, reason=reason, attempts=attempts, usage=usage
        )

    def _tried(
        self, file: Path, test: PlainTest, code: Mapping[int, str], seen: FailureLook
    ) -> tuple[PlainTest | None, str]:
        """Return the test with new lines if these are allowed, and why it is not accepted."""
        if NEAREST in code:
            code = {_nearest(test, seen): code[NEAREST]}
        try:
            changed = PlainTest(test.repaired(code), test.name)
        except RefusedLines as refusal:
            return None, f"its lines were refused: {refusal}"
        self.say(f"{test.name}: proving new lines, three times and once without actions")
        self.prover.blocked.clear()
        wrong = self.prover.why_not(file.name, changed.text, changed.idle(), test.name)
        why = self.redact(wrong.get(test.name, ""))
        if why and self.prover.blocked:
            why += f"; {blocked_sentence(self.prover.blocked)}"
        return changed, f"the proof refused its lines: {why}" if why else ""

    def _further(
        self, file: Path, test: PlainTest, changed: PlainTest, seen: FailureLook
    ) -> tuple[FailureLook, PlainTest]:
        """Return the start of the next try: the changed test if it got further, else as before."""
        try:
            run, looks = self.prover.look(file.name, changed.text, self.budget, test.name)
        except TooLong:
            return seen, test
        look = looks.get(test.name)
        if look is None or run.outcomes.get(test.name) != "failed":
            return seen, test
        return (look, changed) if _left(changed, look) < _left(test, seen) else (seen, test)

    def _ask(self, test: PlainTest, seen: FailureLook, tried: str) -> tuple[str, Usage]:
        """Return the model's reply.

        Raises:
            ModelError: there was no reply.
        """
        messages = render("heal", **_prompt(test, seen, tried, self.redact))
        request = Request(
            model=self.spec.name, messages=messages, stage="repair", case_id=test.name
        )
        answered = ask_once(self.client, request, self.redact, usable=closed_block)
        if isinstance(answered.outcome, ModelError):
            raise answered.outcome
        return answered.outcome.text, answered.exchange.usage


class _Unable(Exception):
    """Raised when the model reports that the actions are not at fault."""


def _refuse_too_early(test: PlainTest, seen: FailureLook) -> None:
    """Reject a test whose failure cannot be caused by its actions.

    Raises:
        NoActions: it has none, or fails before the first one.
    """
    first = test.blocks[0].first
    if seen.line and seen.line < first:
        raise NoActions(f"it fails in line {seen.line}, before its first action in line {first}")


def _prompt(
    test: PlainTest, seen: FailureLook, tried: str, redact: Callable[[str], str]
) -> dict[str, Any]:
    lines = test.text.split("\n")
    at = lines[seen.line - 1].strip() if 0 < seen.line <= len(lines) else ""
    inside = any(block.first <= seen.line <= block.last for block in test.blocks)
    kind = "An action failed" if inside else "An assertion, or a line that stays, failed"
    numbers = [str(block.number) for block in test.blocks]
    return {
        "test": fence(redact(test.shown()), "test"),
        "where": f"{kind}:" if not at else f"{kind}, in the line `{redact(at)[:300]}`:",
        "error": fence(redact(seen.error), "error"),
        "url": redact(seen.url),
        "page": fence(redact(seen.page), "page"),
        "tried": redact(tried),
        "blocks": "the block" if len(numbers) == 1 else f"the blocks among {', '.join(numbers)}",
    }


def _new_lines(reply: str) -> dict[int, str]:
    """Return the new lines of a reply, by the numbers of their blocks.

    Raises:
        _Unable: the model reports that no lines would help.
    """
    code = _MARKER.sub("", extract_code(reply))
    if (unable := _CANNOT.search(strip_reasoning(reply))) and "page." not in code:
        raise _Unable(one_line(unable[1]))
    heads = list(_HEAD.finditer(code))
    if not heads:
        return {NEAREST: code}
    ends = [head.start() for head in heads[1:]] + [len(code)]
    return {int(head[1]): code[head.end() : end] for head, end in zip(heads, ends, strict=True)}


def _nearest(test: PlainTest, seen: FailureLook) -> int:
    """Return the number of the block that failed, or else of the last one before the failure."""
    before = [block.number for block in test.blocks if block.first <= (seen.line or block.first)]
    return before[-1] if before else test.blocks[0].number


def _left(test: PlainTest, seen: FailureLook) -> int:
    """Return how many statements a test still had to run when it failed."""
    return sum((node.end_lineno or 0) >= seen.line for node in test.function.body)


def _said(reply: str, why: str) -> str:
    said = fence(extract_code(reply)[:_TRIED_CHARS], "tried")
    return f"This was tried before:\n{said}\nIt was not accepted:\n{fence(why, 'reason')}"


def _first(text: str) -> str:
    return one_line(text.strip().split("\n")[0], 300)
