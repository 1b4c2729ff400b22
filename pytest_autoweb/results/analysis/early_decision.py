"""Which models of a run are decided to be worse than others, while its cells still end; pure.

It also says which cell to run next: new cases first, since they teach most; then repeats of cases
in which models differ, until one leads clearly; then repeats of the others.

What must not happen is that quick outcomes are counted before slow ones: a model that fails slowly
would look better than it is as long as its failures are still on their way. So a pair counts when
everything that was begun before it has ended, whatever ended first.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple, Self

from msgspec import Struct, field

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, CellSummary
from pytest_autoweb.results.analysis.controls import (
    ORACLE,
    is_control,
    must_fail,
    proves_change,
)
from pytest_autoweb.results.analysis.counted_outcomes import GOOD, GRADED
from pytest_autoweb.results.analysis.e_process import adjusted, e_value
from pytest_autoweb.results.analysis.fair_changes import page_change
from pytest_autoweb.results.analysis.statistics import difference_interval
from pytest_autoweb.results.records import Outcome, PlannedCell, Record

_GOOD = GOOD["first_attempt"]
LEADS = (1, 2)
"""The leads, in pairs of a repeated case, by which it may count as won."""
_LAST = 5
"""The stage of cells that nobody needs any more."""


class PairDecision(Record):
    """One model was decided to be worse than another before all cells had run."""

    better: str
    """The model that passes more at the first attempt."""
    worse: str
    """The other one, whose further cells are left out."""
    e: float
    """The e-value at that moment, already adjusted for the number of pairs of models."""
    needed: float
    """What it had to reach: 20 for 5 %."""
    pairs: int
    """The number of pairs of cells until then: the same case, capture mode and repeat on both."""
    cases: int
    """The number of cases behind them."""
    won: int
    """Pairs in which only the better one passed."""
    lost: int
    """Pairs in which only the worse one passed."""

    @property
    def told(self) -> str:
        """Return the decision as a part of a sentence."""
        return (
            f"{self.worse} was decided worse than {self.better} after {self.pairs} pairs in "
            f"{self.cases} cases (e = {self.e:.0f}, {self.needed:.0f} needed)"
        )


class Entry(NamedTuple):
    """A cell of the plan, as far as order and decision need it."""

    name: str
    """What identifies it, such as its folder."""
    case: CaseKey
    model: str
    trial: tuple[int, str]
    """Its repeat and capture mode, which the cells of a pair have in common."""
    pinned: bool = False
    """Whether the case must pass, so that its cells are run whatever is decided."""
    change: str = ""
    """The change of its page, which says something only where the oracle passes under it."""

    @classmethod
    def of(cls, cell: PlannedCell | CellSummary) -> Self:
        """Return the entry of a planned or an ended cell, which goes by its folder."""
        key = (cell.case_path, cell.case_id)
        trial = (cell.repeat, cell.capture_mode)
        return cls(cell.folder, key, cell.model, trial, cell.must_pass, page_change(cell))


def _proof(entry: Entry) -> tuple[CaseKey, str, int]:
    return entry.case, entry.change, entry.trial[0]


class _Tally(Struct):
    """What is counted of two models; differences are those of the second minus the first."""

    pairs: int = 0
    firsts: dict[CaseKey, int] = field(default_factory=dict)
    """The difference of each case's first pair."""
    sums: dict[CaseKey, int] = field(default_factory=dict)
    """The sum of all its differences."""
    tries: Counter[CaseKey] = field(default_factory=Counter)
    leads: dict[int, dict[CaseKey, int]] = field(default_factory=lambda: {k: {} for k in LEADS})
    """The same sum, until one side leads by so many for the first time; there it stays."""
    gained: int = 0
    lost: int = 0
    e: float = 1.0
    is_new: bool = False
    """Whether something was counted that `e` does not know yet."""

    def add(self, case: CaseKey, difference: int) -> None:
        self.pairs += 1
        self.firsts.setdefault(case, difference)
        self.sums[case] = self.sums.get(case, 0) + difference
        self.tries[case] += 1
        for lead, sums in self.leads.items():
            if abs(sums.get(case, 0)) < lead:
                sums[case] = sums.get(case, 0) + difference
        self.gained += difference > 0
        self.lost += difference < 0
        # Pairs without a difference leave every player's capital alone.
        self.is_new = self.is_new or difference != 0

    def e_value(self, repeats: int) -> float:
        """Return what is known against the equality of the two.

        One player bets on the first pair of each case; where cases are repeated, others bet on who
        is first to lead by some pairs. If the models are equal in a case, each such payoff has mean
        0 whatever came before and however often it is repeated, and it is at most 1, so that a
        case has one vote.

        Args:
            repeats: the most pairs of a case that are planned.
        """
        players = [Counter(map(float, self.firsts.values()))]
        if repeats > 1:
            players += [
                Counter(total / lead for total in sums.values())
                for lead, sums in self.leads.items()
                if lead <= repeats
            ]
        return e_value(players)

    def urgency(self, case: CaseKey) -> int:
        """Return how soon a case is to be repeated: 2 for soon, 4 if that can tell nothing more."""
        if abs(self.leads[LEADS[-1]].get(case, 0)) == LEADS[-1]:
            return 4
        return 2 if self.leads[LEADS[0]].get(case, 0) else 3

    def rises(self, confidence: float) -> bool | None:
        """Tell whether the second passes more, over cases; None if the usual interval has 0."""
        means = [total / self.tries[case] for case, total in self.sums.items()]
        interval = difference_interval(means, confidence)
        if interval is None or interval.low <= 0 <= interval.high:
            return None
        return interval.low > 0


class EarlyDecision:
    """The state of a comparison that is looked at after every cell.

    `begin` and `end` are called for each cell, in the order in which it happened; `lost` for one
    that will not end. Then `decide` returns what is decided from then on, and `adopt` takes over
    what another process has decided. A decision stays.

    Args:
        entries: all cells of the plan.
        alpha: the chance that any decision of the run is wrong; None decides nothing.
    """

    def __init__(self, entries: Iterable[Entry], alpha: float | None) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._alpha = alpha
        every = dict.fromkeys(entry.model for entry in self._entries.values())
        self.models = tuple(model for model in every if not is_control(model))
        trials: dict[CaseKey, dict[tuple[int, str], dict[str, str]]] = defaultdict(dict)
        for entry in self._entries.values():
            if not is_control(entry.model):
                trials[entry.case].setdefault(entry.trial, {})[entry.model] = entry.name
        self._trials = dict(trials)
        # Neighbours in a file resemble each other, so the order must not be that of the file.
        ranked = sorted(
            dict.fromkeys(entry.case for entry in self._entries.values()),
            key=lambda case: sha256("::".join(case).encode("utf-8", "replace")).digest(),
        )
        self._ranks = {case: rank for rank, case in enumerate(ranked)}
        self._repeats = max(map(len, trials.values()), default=1)
        self._places = {entry.name: self._place_of(entry) for entry in self._entries.values()}
        self._begun: list[str] = []
        self._known: set[str] = set()
        """What has begun, as a set."""
        self._started: set[tuple[CaseKey, tuple[int, str]]] = set()
        """The trials of which a cell has begun."""
        self._ended: dict[str, Outcome | None] = {}
        self._fair: set[tuple[CaseKey, str, int]] = set()
        """The cases that the oracle passed under a change, that change, and the repeat."""
        self._proofs = {
            _proof(entry) for entry in self._entries.values() if proves_change(entry.model)
        }
        self.decisions: dict[tuple[str, str], PairDecision] = {}
        self.version = 0
        """Rises whenever `in_order` may have changed."""
        self._forget()

    def _place_of(self, entry: Entry) -> tuple[int, int, int, int]:
        """Return what always orders cells: turn of the trial, case, controls first, model."""
        rank = self._ranks[entry.case]
        if is_control(entry.model):
            return 0, rank, 0, entry.trial[0]
        turn = sorted(self._trials[entry.case]).index(entry.trial)
        # Rotated, so that no model always comes last.
        position = (self.models.index(entry.model) - rank - turn) % len(self.models)
        return turn, rank, 1, position

    def _forget(self) -> None:
        self._seen = 0
        self._counted: dict[str, Outcome] = {}
        self._doubtful: set[CaseKey] = set()
        self._tallies = {pair: _Tally() for pair in combinations(self.models, 2)}

    # -- what happens --------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """Note that a cell has begun; if it had ended before, only its new outcome counts."""
        if name not in self._entries:
            return
        if name in self._known:
            self._begun.remove(name)
            self._ended.pop(name, None)
            self._recount()
        self._note(name)

    def _note(self, name: str) -> None:
        self._known.add(name)
        self._begun.append(name)
        entry = self._entries[name]
        if not is_control(entry.model):
            self._started.add((entry.case, entry.trial))

    def end(self, name: str, outcome: Outcome | None) -> None:
        """Note how a cell has ended; None if it never will."""
        if name not in self._entries:
            return
        if name not in self._known:
            self._note(name)
        self._ended[name] = outcome
        self._count()

    def has_begun(self, name: str) -> bool:
        return name in self._known

    def in_flight(self) -> list[str]:
        """Return the cells that have begun and not ended."""
        # What is before the first one that has not ended has ended.
        return [name for name in self._begun[self._seen :] if name not in self._ended]

    def outcome_of(self, name: str) -> Outcome | None:
        return self._ended.get(name)

    def _recount(self) -> None:
        doubtful = self._doubtful
        self._forget()
        self._doubtful = doubtful
        self.version += 1
        self._count()

    def _count(self) -> None:
        """Count what has ended, up to the first cell that has begun and not ended."""
        while self._seen < len(self._begun) and self._begun[self._seen] in self._ended:
            name = self._begun[self._seen]
            self._seen += 1
            outcome = self._ended[name]
            if outcome in GRADED and outcome is not None:
                self._take(self._entries[name], outcome)

    def _take(self, entry: Entry, outcome: Outcome) -> None:
        if proves_change(entry.model):
            self._prove(entry, outcome)
        if is_control(entry.model):
            self._doubt(entry, outcome)
        if is_control(entry.model) or not self._is_fair(entry):
            return
        self._counted[entry.name] = outcome
        if entry.case in self._doubtful:
            return
        for model, partner in self._trials[entry.case][entry.trial].items():
            if model == entry.model or (other := self._counted.get(partner)) is None:
                continue
            pair, sign = (model, entry.model), 1
            if pair not in self._tallies:
                pair, sign = (entry.model, model), -1
            difference = sign * ((outcome in _GOOD) - (other in _GOOD))
            tally = self._tallies[pair]
            before = tally.urgency(entry.case)
            tally.add(entry.case, difference)
            self.version += tally.urgency(entry.case) != before

    def _is_fair(self, entry: Entry) -> bool:
        if not entry.change:
            return True
        own = _proof(entry)
        # Only on attacked pages, which differ, does the oracle repeat.
        return (own if own in self._proofs else (*own[:2], 1)) in self._fair

    def _prove(self, entry: Entry, outcome: Outcome) -> None:
        """Count the cells under a change once its oracle has passed, as the report will."""
        place = _proof(entry)
        if (outcome == "passed") != (place in self._fair):
            self._fair ^= {place}
            self._recount()

    def _doubt(self, entry: Entry, outcome: Outcome) -> None:
        """Leave out a case whose control is broken, as the report will."""
        passes = outcome in ("passed", "healed")
        broken = must_fail(entry.model) if passes else entry.model == ORACLE
        if broken and entry.case not in self._doubtful:
            self._doubtful.add(entry.case)
            self._recount()

    # -- what follows from it ------------------------------------------------------------

    def decide(self) -> list[PairDecision]:
        """Return the pairs of models that are decided from now on, and keep them."""
        if self._alpha is None or not any(tally.is_new for tally in self._tallies.values()):
            return []
        for pair, tally in self._tallies.items():
            if tally.is_new and pair not in self.decisions:
                tally.e = tally.e_value(self._repeats)
            tally.is_new = False
        # 1 - 0.95 is not quite 0.05 to a computer, nor an e of 20 quite 20.
        needed = round(1 / self._alpha, 6)
        found = []
        whole = adjusted([tally.e for tally in self._tallies.values()])
        for (pair, tally), e in zip(self._tallies.items(), whole, strict=True):
            if pair in self.decisions or e < needed * (1 - 1e-9):
                continue
            rises = tally.rises(1 - self._alpha)
            if rises is None:
                continue
            worse, better = pair if rises else pair[::-1]
            found.append(
                PairDecision(
                    better=better,
                    worse=worse,
                    e=e,
                    needed=needed,
                    pairs=tally.pairs,
                    cases=len(tally.firsts),
                    won=tally.gained if rises else tally.lost,
                    lost=tally.lost if rises else tally.gained,
                )
            )
        for decision in found:
            self.adopt(decision)
        return found

    def adopt(self, decision: PairDecision) -> None:
        """Take over a decision, unless the pair is decided already."""
        pair = (decision.better, decision.worse)
        pair = pair if pair in self._tallies else pair[::-1]
        if pair in self._tallies and pair not in self.decisions:
            self.decisions[pair] = decision
            self.version += 1

    @property
    def left(self) -> tuple[str, ...]:
        """Return the models that were not decided to be worse than another."""
        worse = {decision.worse for decision in self.decisions.values()}
        return tuple(model for model in self.models if model not in worse)

    def why_not(self, name: str) -> str:
        """Return why a cell need not run; empty if it shall."""
        entry = self._entries.get(name)
        if entry is None or entry.pinned or not self.decisions:
            return ""
        for decision in self.decisions.values():
            if decision.worse == entry.model:
                return decision.told
        if len(self.left) > 1:
            return ""
        # The best one is known, so its further cells, and controls, would decide nothing.
        return "; ".join(d.told for d in self.decisions.values() if d.better in self.left)

    def in_order(self, names: Sequence[str]) -> list[str]:
        """Return cells in the order in which they teach most; those it does not know stay last."""
        known = [name for name in names if name in self._entries]
        left = set(self.left)
        undecided = [tally for pair, tally in self._tallies.items() if pair not in self.decisions]
        stages = {
            case: min((tally.urgency(case) for tally in undecided), default=_LAST)
            for case in self._ranks
        }

        def place(name: str) -> tuple[int | tuple[int, ...], ...]:
            entry, fixed = self._entries[name], self._places[name]
            is_model = fixed[2] == 1
            stage = 1 if fixed[0] == 0 else stages[entry.case]
            if is_model and entry.model not in left and not entry.pinned:
                stage = _LAST
            half_done = is_model and stage < _LAST and (entry.case, entry.trial) in self._started
            return name not in self._known, not half_done, stage, fixed

        return [*sorted(known, key=place), *(name for name in names if name not in self._entries)]
