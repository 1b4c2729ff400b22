"""Checks of what the code passed to `answer(...)`."""

import re
from collections.abc import Callable
from typing import Any

from pytest_autoweb.cases.answer_spec import AnswerSpec
from pytest_autoweb.cases.check_specs import AnswerCheck
from pytest_autoweb.judge.evidence import Evidence, NotEvaluated, Probe, Verdict
from pytest_autoweb.judge.matching import as_text, contains, equal

NO_ANSWER = "(no answer given)"

_Test = Callable[[Any], Verdict]


def answer_probe(check: AnswerCheck, evidence: Evidence) -> Probe:
    """The returned data; an attempt that gave none fails."""
    expected, test = _KINDS[check.answer.kind](check.answer)

    def look(seconds: float) -> Verdict:
        return test(evidence.answer) if evidence.answered else Verdict(False, NO_ANSWER)

    return Probe(expected, look, retry=False)


def _equals(spec: AnswerSpec) -> tuple[str, _Test]:
    return f"answer equal to {as_text(spec.equals)}", lambda answer: Verdict(
        equal(spec.equals, answer), as_text(answer)
    )


def _contains(spec: AnswerSpec) -> tuple[str, _Test]:
    return f"answer that contains {as_text(spec.contains)}", lambda answer: Verdict(
        contains(spec.contains, answer), as_text(answer)
    )


def _matches(spec: AnswerSpec) -> tuple[str, _Test]:
    pattern = re.compile(spec.matches or "")
    return f"answer that matches {spec.matches!r}", lambda answer: Verdict(
        pattern.search(as_text(answer)) is not None, as_text(answer)
    )


def _schema(spec: AnswerSpec) -> tuple[str, _Test]:
    import jsonschema
    from referencing import Registry

    schema = spec.json_schema or {}
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise NotEvaluated(f"the schema is not valid: {error.message}") from error
    # An empty registry: a `$ref` to the network is an error, not a request.
    validator = kind(schema, registry=Registry())

    def test(answer: Any) -> Verdict:
        problem = next(iter(validator.iter_errors(answer)), None)
        seen = as_text(answer)
        return Verdict(problem is None, f"{seen} ({problem.message})" if problem else seen)

    return f"answer that fits the schema {as_text(schema)}", test


_KINDS: dict[str, Callable[[AnswerSpec], tuple[str, _Test]]] = {
    "equals": _equals,
    "contains": _contains,
    "matches": _matches,
    "json_schema": _schema,
}
