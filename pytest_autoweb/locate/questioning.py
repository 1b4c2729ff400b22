"""The asking of one search's questions, on pictures of one view of the page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_autoweb.browser.crosshair import ViewportView
from pytest_autoweb.browser.marks import PageBox
from pytest_autoweb.llm.client import Message, picture_uri
from pytest_autoweb.llm.prompts import fence, render
from pytest_autoweb.locate.algorithm import Candidate, Outcome, PictureAnswer, PictureQuestion
from pytest_autoweb.locate.eyes import VisionModel
from pytest_autoweb.locate.reading import form_of, read_reply
from pytest_autoweb.results.location import Probe

ASKED_AGAIN = 2
"""How many times a question is repeated when its answer cannot be used."""
UNNAMED = "clickable"


@dataclass(slots=True)
class Asked:
    """One question with everything that the film shows about it."""

    question: PictureQuestion
    picture: str | None
    answer: PictureAnswer | None
    reply: str


@dataclass(slots=True)
class Questioner:
    """The `ask` function of `algorithm.search`, which also keeps each picture for the film."""

    view: ViewportView
    eyes: VisionModel
    description: str
    candidates: Sequence[Candidate]
    save: Callable[[bytes], str | None]
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, question: PictureQuestion) -> PictureAnswer | None:
        """Draw the picture, ask the model and return its answer; see `algorithm.Ask`.

        Raises:
            ModelError: the model could not be asked.
        """
        picture = self.view.picture(
            question.x,
            question.y,
            [(badge.number, PageBox(*badge.box)) for badge in question.badges],
        )
        asked = Asked(question, self.save(picture), None, "")
        self.asked.append(asked)
        messages = self._messages(question, picture)
        for calls in range(1, 1 + min(1 + ASKED_AGAIN, max(1, question.calls_left))):
            asked.reply = self.eyes.look(messages)
            reading = read_reply(asked.reply, question)
            asked.answer = _with_calls(reading.answer, calls)
            if not reading.problem:
                break
            again = render("locate_again", problem=reading.problem, form=form_of(question))
            said = Message(role="assistant", content=asked.reply)
            messages = (*messages, said, again[1])
        return asked.answer

    def _messages(self, question: PictureQuestion, picture: bytes) -> tuple[Message, ...]:
        return render(
            "locate",
            images=(picture_uri(picture),),
            target=fence(self.description, "target"),
            x=question.x is not None,
            y=question.y is not None,
            boxes=[(badge.number, self._role(badge.candidate)) for badge in question.badges],
            form=form_of(question),
        )

    def _role(self, candidate: int | None) -> str:
        """Return how the prompt calls a candidate: by its role, without its name.

        With the name in the prompt, the text that the model reads would be no independent evidence.
        """
        return UNNAMED if candidate is None else self.candidates[candidate].role or UNNAMED


def _with_calls(answer: PictureAnswer, calls: int) -> PictureAnswer:
    return PictureAnswer(answer.visible, answer.x, answer.y, answer.mark, answer.text, calls)


def probes_of(
    asked: Sequence[Asked], outcome: Outcome | None, candidates: Sequence[Candidate], first: int
) -> tuple[Probe, ...]:
    """Return the frames of the film.

    Args:
        asked: the questions, in order.
        outcome: the outcome of the search; None when the search was aborted.
        candidates: the candidates of the search.
        first: the number of the first frame.
    """
    turns = outcome.turns if outcome else ()
    probes = []
    for number, one in enumerate(asked):
        turn = turns[number] if number < len(turns) else None
        leader = turn.leader if turn else None
        probes.append(
            Probe(
                index=first + number,
                kind=one.question.kind,
                picture=one.picture,
                lines=one.question.lines,
                answer=describe_answer(one.answer) if turn is None or turn.answer else "",
                reply=one.reply,
                surviving=len(turn.surviving) if turn else len(candidates),
                leader="" if leader is None else describe_candidate(candidates[leader]),
                leader_probability=turn.probability if turn else 0.0,
            )
        )
    return tuple(probes)


def denied(asked: Sequence[Asked], chosen: int) -> bool:
    """Tell whether the model only ever denied that the chosen candidate's box is the target."""
    said = [
        badge.number == one.answer.mark
        for one in asked
        if one.answer and one.answer.mark is not None
        for badge in one.question.badges
        if badge.candidate == chosen and one.answer.mark in (0, badge.number)
    ]
    return bool(said) and not any(said)


def describe_candidate(candidate: Candidate) -> str:
    """Return a short description of a candidate for people."""
    role = candidate.role or UNNAMED
    return f"{role} “{candidate.name[:60]}”" if candidate.name else role


def describe_answer(answer: PictureAnswer | None) -> str:
    """Return the content of an answer for people; empty when there is none."""
    if answer is None:
        return ""
    if answer.visible is False:
        return "not found"
    sides = {"left": "left of V", "right": "right of V", "above": "above H", "below": "below H"}
    parts = [sides.get(answer.x, "crossed by V")] if answer.x else []
    parts += [sides.get(answer.y, "crossed by H")] if answer.y else []
    if answer.mark is not None:
        parts.append(f"box {answer.mark}" if answer.mark else "in none of the boxes")
    if answer.text:
        parts.append(f"reads “{answer.text[:60]}”")
    return ", ".join(parts) or ("found" if answer.visible else "")
