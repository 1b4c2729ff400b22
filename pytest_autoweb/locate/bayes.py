"""The Bayesian search: ask the most informative question, update, stop when one thing is sure."""

from pytest_autoweb.locate.belief import Belief
from pytest_autoweb.locate.endings import Outcome, Turn, nothing_to_ask
from pytest_autoweb.locate.likelihood import line_model
from pytest_autoweb.locate.limits import SearchLimits
from pytest_autoweb.locate.question import Ask, Candidate, Viewport
from pytest_autoweb.locate.questions import RELEVANT, Planner
from pytest_autoweb.results.location import LocatorStatus

AMBIGUOUS_AMONG = 3
"""A search whose budget is spent is `ambiguous` if surely one of this many candidates is meant."""


def narrow(
    candidates: tuple[Candidate, ...], viewport: Viewport, ask: Ask, limits: SearchLimits
) -> Outcome:
    """Search with a posterior over the candidates; see `algorithm.search`."""
    if not candidates:
        return nothing_to_ask()
    model = line_model(limits, viewport.scale)
    belief = Belief(candidates, model, limits)
    planner = Planner(candidates, viewport, model, limits)
    turns: list[Turn] = []
    calls = 0
    told = False
    while calls < limits.calls and not (told and _sure(belief, limits)):
        question = planner.next(belief, len(turns) + 1, limits.calls - calls)
        if question is None:
            break
        answer = ask(question)
        calls += answer.calls if answer else 1
        read = answer is not None and belief.update(question, answer)
        told = told or read
        leader = belief.leader
        turns.append(
            Turn(
                question,
                answer if read else None,
                tuple(sorted(belief.ranked(RELEVANT))),
                leader,
                belief.present * belief.weights[leader],
                belief.absent,
            )
        )
    status = _status(belief, limits, told)
    return _outcome(status, belief, turns, calls)


def _sure(belief: Belief, limits: SearchLimits) -> bool:
    best = belief.present * belief.weights[belief.leader]
    return max(best, belief.absent, belief.erratic) >= limits.confidence


def _status(belief: Belief, limits: SearchLimits, told: bool) -> LocatorStatus:
    if not told:
        return "budget"
    posterior = sorted(belief.posterior, reverse=True)
    if posterior[0] >= limits.confidence:
        return "found"
    if belief.absent >= limits.confidence:
        return "not_found"
    if belief.erratic > 0.5:
        return "inconsistent"
    return "ambiguous" if sum(posterior[:AMBIGUOUS_AMONG]) >= limits.confidence else "budget"


def _outcome(status: LocatorStatus, belief: Belief, turns: list[Turn], calls: int) -> Outcome:
    leader = belief.leader
    probability = belief.present * belief.weights[leader]
    confidence = {"not_found": belief.absent, "inconsistent": belief.erratic}
    reasons: dict[LocatorStatus, str] = {
        "found": f"{calls} calls leave a probability of {probability:.3f}.",
        "not_found": f"The target is missing, with a probability of {belief.absent:.3f}.",
        "inconsistent": "The answers contradict each other and fit no candidate.",
        "ambiguous": "The answers fit a few candidates and could not tell them apart.",
        "budget": f"{calls} calls left the best candidate at a probability of {probability:.3f}.",
    }
    return Outcome(
        status,
        leader if status == "found" else None,
        leader,
        confidence.get(status, probability),
        belief.posterior,
        belief.absent,
        belief.erratic,
        tuple(turns),
        calls,
        reasons[status],
    )
