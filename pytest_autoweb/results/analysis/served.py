"""Which models answered under a name, and whether they changed; pure.

A name such as `gpt-5` is an alias: what answers to it is the provider's to choose. OpenAI gives the
dated name in the reply's `model`, and a `system_fingerprint` of the configuration behind it
(https://platform.openai.com/docs/api-reference/chat/object). Several fingerprints may be in use
side by side, so two runs count as served by different ones only if they have none in common.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows, by_model
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.records import CellResult, ServedModel, served_models

CHANGED = "the provider changed the model under the same name"
"""How each of the sentences about a change begins."""
_LISTED = 4


def served_of(cells: Iterable[CellSummary | CellResult]) -> tuple[ServedModel, ...]:
    """Return which models answered in some cells of one model, with the number of their calls."""
    return served_models(each for cell in cells for each in cell.served)


def changes_within(served: Sequence[ServedModel]) -> Iterator[str]:
    """Yield a sentence if not the same model answered everywhere in a run.

    Args:
        served: what answered to one name.
    """
    for what, told in _told(served).items():
        if len(told) > 1:
            yield f"{CHANGED}: within one run it answered {what} {_listed(told)}"
            return


def changes_between(before: Sequence[ServedModel], after: Sequence[ServedModel]) -> Iterator[str]:
    """Yield a sentence if other models answered to a name in a later run than in an earlier one.

    What a provider did not tell in one of them is no change.
    """
    earlier, later = _told(before), _told(after)
    for what, told in later.items():
        if told and earlier[what] and not told.keys() & earlier[what].keys():
            yield f"{CHANGED}: it answered {what} {_listed(earlier[what])}, and now {_listed(told)}"
            return


def changes_of_run(rows: RunRows, baseline: RunRows | None = None) -> dict[str, tuple[str, ...]]:
    """Return the sentences about each model of a run: about itself, then since an earlier run.

    Args:
        rows: the run.
        baseline: the earlier run.
    """
    then = _by_model(baseline) if baseline else {}
    return {
        model: (*changes_within(served), *changes_between(then.get(model, ()), served))
        for model, served in _by_model(rows).items()
    }


def served_text(served: Sequence[ServedModel]) -> str:
    """Return in words which models answered; empty if that is unknown."""
    words = [
        f"{each.served or 'a model'} ({each.fingerprint})" if each.fingerprint else each.served
        for each in served[:_LISTED]
    ]
    return ", ".join(words) + (f" and {len(served) - _LISTED} more" * (len(served) > _LISTED))


def _by_model(rows: RunRows) -> dict[str, tuple[ServedModel, ...]]:
    own = by_model([row for row in rows.rows if not is_control(row.model)])
    return {model: served_of(cells) for model, cells in own.items()}


def _told(served: Sequence[ServedModel]) -> dict[str, Counter[str]]:
    """Return the calls by name and by fingerprint; another name says more than another one."""
    names: Counter[str] = Counter()
    fingerprints: Counter[str] = Counter()
    for each in served:
        if each.served:
            names[each.served] += each.calls
        if each.fingerprint:
            fingerprints[each.fingerprint] += each.calls
    return {"as": names, "with the fingerprint": fingerprints}


def _listed(told: Mapping[str, int]) -> str:
    parts = [f"{name} ({count} call{'s' * (count != 1)})" for name, count in told.items()]
    more = f" and {len(parts) - _LISTED} more" if len(parts) > _LISTED else ""
    return " and ".join(parts[:_LISTED]) + more
