"""Checks of what the code passed to `answer(...)`: values, lists of URLs, and records.

The same comparison with globs serves addresses of requests and downloads.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote_plus

from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.base.values.interruptible import WorkFailed
from pytest_autoweb.base.values.normal_forms import normal_url
from pytest_autoweb.base.values.patterns import SlowPattern
from pytest_autoweb.base.values.schemas import problem_with, refuse_invalid
from pytest_autoweb.base.values.url_globs import url_glob
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
    found_by,
)
from pytest_autoweb.judging.checks.compared_values import (
    Answer,
    as_text,
    compare,
    holds_part,
    meets,
)
from pytest_autoweb.judging.checks.expected_values import (
    AnswerSpec,
    Condition,
    RecordsSpec,
    TypeName,
    UrlsSpec,
    ValueType,
    refuse_unclear,
)
from pytest_autoweb.judging.checks.shown_passage import shown_near

VALID = "VALID"
EMPTY_RESULT = "EMPTY_RESULT"
CONDITION_IGNORED = "CONDITION_IGNORED"
PARTIAL_MATCH = "PARTIAL_MATCH"
DATA_INCOMPLETE = "DATA_INCOMPLETE"
TOO_MANY_RECORDS = "TOO_MANY_RECORDS"

_SHOWN = 3
_MISSING = object()


NO_ANSWER = "(no answer given)"
WHERE = "answer"
_INFEASIBLE = re.compile(r"\W*infeasible\W*[:：]\W*\w", re.IGNORECASE)


def url_fits(wanted: str | Pattern, url: str) -> bool:
    """Return whether a URL matches a glob, or contains a match of a regular expression.

    Raises:
        NotEvaluated: the search takes too long.
    """
    if isinstance(wanted, Pattern):
        return found_by(wanted.matches, url) is not None
    return wanted == url or url_glob(wanted).fits(url)


NO_MATCH = "NO_MATCH"

_KEYS = ("url", "href", "link")


def urls_in(answer: Any) -> list[str]:
    """Return the URLs of an answer.

    A list of texts, or of objects with `url`, `href` or `link`; the only list inside an object;
    or a text, as JSON or with spaces or line ends between the URLs.

    Raises:
        NotEvaluated: the answer is none of these.
    """
    if isinstance(answer, str):
        try:
            answer = read_json(answer)
        except (ValueError, RecursionError):
            answer = str(answer).split()
    if isinstance(answer, Mapping):
        lists = [value for value in answer.values() if isinstance(value, list)]
        if len(lists) != 1:
            raise NotEvaluated("the answer is an object without exactly one list in it")
        answer = lists[0]
    if not isinstance(answer, list):
        raise NotEvaluated("the answer is not a list of URLs")
    return [_url_of(item, index) for index, item in enumerate(answer)]


def _url_of(item: Any, index: int) -> str:
    if isinstance(item, Mapping):
        item = next((item[key] for key in _KEYS if key in item), None)
    if not isinstance(item, str):
        raise NotEvaluated(f"item {index} of the answer is neither a URL nor an object with one")
    return item


def judge_urls(spec: UrlsSpec, answer: Any, base: str) -> Verdict:
    """Judge a list of URLs by recall, precision and repetitions, compared in normal form.

    Args:
        spec: the wanted URLs and the required share of them.
        answer: the returned data.
        base: the URL that paths starting with `/` are joined to.
    """
    given = [_compared(url, base, spec.ignore_query) for url in urls_in(answer)]
    wanted = dict.fromkeys(_compared(url, base, spec.ignore_query) for url in spec.want)
    distinct = dict.fromkeys(given)
    repeated = len(given) - len(distinct)
    hits = len(wanted.keys() & distinct.keys())
    counted = len(distinct) if spec.duplicates else len(given)
    recall, precision = hits / len(wanted), hits / counted if counted else 0.0
    missing = [url for url in wanted if url not in distinct]
    extra = [url for url in distinct if url not in wanted]
    # An empty list holds no unwanted URL, so only recall can fail it.
    holds = recall >= spec.min_recall and (precision >= spec.min_precision or not given)
    seen = [
        f"{hits} of {len(wanted)} wanted URLs (recall {recall:.3g}, precision {precision:.3g})",
        _some("missing", missing),
        _some("not wanted", extra),
        f"{repeated} repeated" if repeated else "",
    ]
    return Verdict(
        holds,
        "; ".join(filter(None, seen)),
        "answer",
        finding=VALID if holds else _finding(given, hits),
        hint="" if holds else _urls_hint(given, len(missing), len(extra), repeated, spec),
        credit=1.0 if holds else _f1(recall, precision),
    )


def _compared(url: str, base: str, ignored: bool | list[str]) -> str:
    """Return a URL's form for comparison, without the ignored part of its query."""
    if not ignored:
        # A text that is not a URL is compared as it is, so that it counts as unwanted.
        return normal_url(url, base) or url
    address, hash_, fragment = url.partition("#")
    path, mark, query = address.partition("?")
    kept = (
        []
        if isinstance(ignored, bool)
        else [p for p in query.split("&") if not _is_ignored(p, ignored)]
    )
    bare = f"{path}{mark}{'&'.join(kept)}"
    return normal_url(f"{bare}{hash_}{fragment}", base) or bare


def _is_ignored(parameter: str, names: list[str]) -> bool:
    name = unquote_plus(parameter.partition("=")[0])
    return any(
        name.startswith(known[:-1]) if known.endswith("*") else name == known for known in names
    )


def _f1(recall: float, precision: float) -> float:
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def _finding(given: list[str], hits: int) -> str:
    if not given:
        return EMPTY_RESULT
    return PARTIAL_MATCH if hits else NO_MATCH


def _urls_hint(given: list[str], missing: int, extra: int, repeated: int, spec: UrlsSpec) -> str:
    """Return counts only, because the wanted URLs themselves would reveal the solution."""
    parts = [
        f"{missing} of the wanted ones are missing" if missing else "",
        f"{extra} are not wanted" if extra else "",
        f"{repeated} are repetitions" if repeated and not spec.duplicates else "",
    ]
    return f"The answer holds {len(given)} URLs; {', '.join(filter(None, parts))}."


def _some(what: str, urls: list[str]) -> str:
    if not urls:
        return ""
    more = " …" if len(urls) > _SHOWN else ""
    return f"{len(urls)} {what}: {' '.join(urls[:_SHOWN])}{more}"


class _Miss(NamedTuple):
    """A condition that a record does not meet, or one that cannot be decided."""

    record: int
    field: str
    answer: Answer
    seen: str


def records_in(answer: Any) -> list[Any]:
    """Return the records of an answer.

    A list is one, as is the only list of objects inside an object. Any other object is a single
    record. JSON may also come as text.

    Raises:
        NotEvaluated: the answer is none of these.
    """
    if isinstance(answer, str):
        try:
            answer = read_json(answer)
        except (ValueError, RecursionError):
            raise NotEvaluated("the answer is a text, not a list of records") from None
    if isinstance(answer, list):
        return answer
    if not isinstance(answer, Mapping):
        raise NotEvaluated(f"the answer is {as_text(answer):.80}, not a list of records")
    lists = [value for value in answer.values() if isinstance(value, list)]
    inner = [value for value in lists if any(isinstance(item, Mapping) for item in value)]
    if len(inner) > 1:
        raise NotEvaluated("the answer holds several lists of records")
    if inner:
        return inner[0]
    # `{"orders": []}` is an empty list of records, not a record.
    return [] if len(answer) == 1 and lists == [[]] else [dict(answer)]


def judge_records(spec: RecordsSpec, answer: Any) -> Verdict:
    """Judge the share of records that match: none, too few, some or all of them."""
    records = records_in(answer)
    total = len(records)
    if not total:
        return _judge_no_records(spec)
    misses = [miss for index, record in enumerate(records) for miss in _misses(spec, index, record)]
    wrong = {miss.record for miss in misses if miss.answer.holds is False}
    unclear = {miss.record for miss in misses} - wrong
    matching = total - len(wrong) - len(unclear)
    seen = "; ".join([f"{matching} of {total} records match", *map(_shown, _worst(misses))])
    where = f"answer[{misses[0].record}].{misses[0].field}" if misses else "answer"
    if unclear and not wrong:
        return Verdict(None, seen, where, reason=misses[0].answer.note)
    if not wrong:
        return _judge_count(spec, total, seen)
    return Verdict(
        False,
        seen,
        where,
        finding=PARTIAL_MATCH if matching else CONDITION_IGNORED,
        hint=_records_hint(spec, misses, total),
        credit=matching / total,
    )


def _judge_no_records(spec: RecordsSpec) -> Verdict:
    if spec.least == 0:
        return Verdict(True, "no records", "answer", VALID, credit=1.0)
    hint = (
        f"The answer holds 0 records; at least {spec.least} should be there with "
        f"{conditions(spec)}."
    )
    return Verdict(False, "no records", "answer", EMPTY_RESULT, hint, 0.0)


def _judge_count(spec: RecordsSpec, total: int, seen: str) -> Verdict:
    """Judge the number of records when all of them match."""
    meant = f"records with {conditions(spec)}"
    if total < spec.least:
        hint = f"The answer holds {total} {meant}; at least {spec.least} should be there."
        return Verdict(False, seen, "answer", DATA_INCOMPLETE, hint, total / spec.least)
    if spec.max is not None and total > spec.max:
        hint = f"The answer holds {total} {meant}; at most {spec.max} should be there."
        return Verdict(False, seen, "answer", TOO_MANY_RECORDS, hint, spec.max / total)
    return Verdict(True, seen, "answer", VALID, credit=1.0)


def _misses(spec: RecordsSpec, index: int, record: Any) -> list[_Miss]:
    found = []
    for name, wanted in spec.where.items():
        value = _field(record, name)
        if value is _MISSING:
            answer = Answer(False, f"there is no {name!r}")
        elif isinstance(wanted, Condition):
            answer = meets(wanted, value, spec, name)
        else:
            answer = compare(wanted, value, spec, name)
        if answer.holds is not True:
            seen = "" if value is _MISSING else as_text(value)
            found.append(_Miss(index, name, answer, seen))
    return found


def _field(record: Any, name: str) -> Any:
    """Return a record's field: by its exact name, by a similar one, or by a dotted path."""
    if not isinstance(record, Mapping):
        return _MISSING
    if name in record:
        return record[name]
    alike = [value for key, value in record.items() if _folded(str(key)) == _folded(name)]
    if len(alike) == 1:
        return alike[0]
    first, dot, rest = name.partition(".")
    return _field(record.get(first), rest) if dot else _MISSING


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


def _worst(misses: list[_Miss]) -> list[_Miss]:
    """Return the misses to show: definite ones before undecided ones."""
    return sorted(misses, key=lambda miss: miss.answer.holds is None)[:_SHOWN]


def _shown(miss: _Miss) -> str:
    what = f"{miss.field} is {miss.seen!r:.60}" if miss.seen else ""
    return f"record {miss.record}: " + ", ".join(filter(None, (what, miss.answer.note)))


def _records_hint(spec: RecordsSpec, misses: list[_Miss], total: int) -> str:
    """Return a hint for a repair: the number of records, and the conditions that were ignored.

    It contains nothing from the answer itself, which may quote the page.
    """
    failing = Counter(miss.field for miss in misses if miss.answer.holds is False)
    parts = [
        f"{count} of {total} do not meet the condition {condition_text(name, spec.where[name])}"
        for name, count in failing.items()
    ]
    return f"The answer holds {total} records; {'; '.join(parts)}. Apply every condition."


def conditions(spec: RecordsSpec) -> str:
    """Describe all conditions for people."""
    return " and ".join(condition_text(name, wanted) for name, wanted in spec.where.items())


def condition_text(name: str, wanted: Any) -> str:
    """Describe one condition, e.g. `batch = MB-001`."""
    if not isinstance(wanted, Condition):
        return f"{name} = {as_text(wanted)}"
    words = {
        "equals": f"{name} = {as_text(wanted.equals)}",
        "contains": f"{name} containing {as_text(wanted.contains)}",
        "matches": f"{name} matching {wanted.matches}",
        "one_of": f"{name} in {as_text(wanted.one_of)}",
        "min": f"{name} ≥ {as_text(wanted.min)}",
        "max": f"{name} ≤ {as_text(wanted.max)}",
    }
    return " and ".join(text for key, text in words.items() if key in wanted.model_fields_set)


class _AnswerTest(NamedTuple):
    """One way to look at an answer."""

    expected: str
    judge: Callable[[Any], Verdict]


@CHECKS.add
class AnswerCheck(Check):
    """What the code passed to `answer(...)`."""

    name = "answer"
    rests_on = "answer"
    data_fields = (
        ("answer", "equals"),
        ("answer", "contains"),
        ("answer", "schema"),
        ("answer", "records"),
    )

    answer: AnswerSpec

    def refuse_unusable(self, case_path: Path | None) -> None:
        """Reject values that cannot be read as their type, or that are ambiguous."""
        refuse_unclear(self.answer, ("answer",))

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Compare the returned data; an attempt that gave none fails."""
        expected, judge = _TESTS[self.answer.kind](self.answer, evidence)

        def look(seconds: float) -> Verdict:
            if not evidence.answered:
                return Verdict(False, NO_ANSWER, WHERE)
            return judge(evidence.answer)

        return CheckProbe(expected, look, retry=False)


@CHECKS.add
class InfeasibleCheck(Check):
    """The answer says that the task cannot be done, and why."""

    name = "infeasible"
    rests_on = "answer"

    infeasible: Literal[True]

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Look for `infeasible:` and a reason; an attempt that gave no answer fails."""

        def look(seconds: float) -> Verdict:
            if not evidence.answered:
                return Verdict(False, NO_ANSWER, WHERE)
            said = evidence.answer
            return Verdict(
                isinstance(said, str) and _INFEASIBLE.match(said) is not None, as_text(said), WHERE
            )

        return CheckProbe(
            "an answer that begins with “infeasible:” and says why", look, retry=False
        )


def _verdict(answer: Answer, seen: Any, wanted: Any, evidence: Evidence) -> Verdict:
    shown = as_text(seen)
    if answer.holds is False and isinstance(wanted, str):
        shown = shown_near(wanted, shown, evidence.redact)
    if answer.holds is None:
        return Verdict(None, shown, WHERE, reason=answer.note)
    return Verdict(answer.holds, f"{shown} ({answer.note})" if answer.note else shown, WHERE)


def _equals(spec: AnswerSpec, evidence: Evidence) -> _AnswerTest:
    def judge(answer: Any) -> Verdict:
        return _verdict(compare(spec.equals, answer, spec), answer, spec.equals, evidence)

    return _AnswerTest(f"answer equal to {as_text(spec.equals)}{_typed(spec)}", judge)


def _contains(spec: AnswerSpec, evidence: Evidence) -> _AnswerTest:
    def judge(answer: Any) -> Verdict:
        return _verdict(holds_part(spec.contains, answer, spec), answer, spec.contains, evidence)

    return _AnswerTest(f"answer that contains {as_text(spec.contains)}{_typed(spec)}", judge)


def _typed(spec: AnswerSpec) -> str:
    kinds: list[str] = [spec.type] if isinstance(spec.type, str) else []
    named = spec.type.items() if isinstance(spec.type, dict) else ()
    kinds += [f"{name} as {_type_text(kind)}" for name, kind in named]
    how = [part for part in (*kinds, spec.locale, spec.currency) if part]
    return f" ({', '.join(how)})" if how else ""


def _type_text(kind: TypeName | ValueType) -> str:
    if isinstance(kind, str):
        return kind
    more = " ".join(part for part in (kind.locale, kind.currency) if part)
    return f"{kind.type} in {more}" if more else kind.type


def _matches(spec: AnswerSpec, evidence: Evidence) -> _AnswerTest:
    def judge(answer: Any) -> Verdict:
        seen = as_text(answer)
        return Verdict(found_by(spec.matches or "", seen) is not None, seen, WHERE)

    return _AnswerTest(f"answer that matches {spec.matches!r}", judge)


def _schema(spec: AnswerSpec, evidence: Evidence) -> _AnswerTest:
    schema = spec.json_schema or {}
    try:
        refuse_invalid(schema)
    except ValueError as error:
        raise NotEvaluated(f"the schema is not valid: {error}") from error

    def judge(answer: Any) -> Verdict:
        try:
            problem = problem_with(schema, answer)
        except (SlowPattern, WorkFailed) as error:
            raise NotEvaluated(str(error)) from None
        seen = as_text(answer)
        if problem is None:
            return Verdict(True, seen, WHERE)
        place = "".join(f"[{part!r}]" for part in problem.path)
        return Verdict(False, f"{seen} ({problem.message})", f"{WHERE}{place}")

    return _AnswerTest(f"answer that fits the schema {as_text(schema)}", judge)


def _records(spec: AnswerSpec, evidence: Evidence) -> _AnswerTest:
    wanted = spec.records
    assert isinstance(wanted, RecordsSpec)
    most = "" if wanted.max is None else f", at most {wanted.max}"
    expected = f"records with {conditions(wanted)}, at least {wanted.least}{most}"
    return _AnswerTest(expected, lambda answer: judge_records(wanted, answer))


def _urls(spec: AnswerSpec, evidence: Evidence) -> _AnswerTest:
    wanted = spec.urls if isinstance(spec.urls, UrlsSpec) else UrlsSpec(want=spec.urls or [])
    limits = f"recall ≥ {wanted.min_recall:g}, precision ≥ {wanted.min_precision:g}"
    expected = f"{len(wanted.want)} URLs ({limits}): {' '.join(wanted.want)}"
    return _AnswerTest(expected, lambda answer: judge_urls(wanted, answer, evidence.entry_url))


_TESTS: dict[str, Callable[[AnswerSpec, Evidence], _AnswerTest]] = {
    "equals": _equals,
    "contains": _contains,
    "matches": _matches,
    "json_schema": _schema,
    "records": _records,
    "urls": _urls,
}
