"""Example, schema and grammar of a reply agree, and recorded ones are spelled as before."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from gbnf_regex import regex_of
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.agents.act.actions import FORMS, decision_schema, validate_action
from pytest_autoweb.agents.act.actions import brief_forms_text as act_examples
from pytest_autoweb.agents.act.decide import STRINGS, OtherActions, fits
from pytest_autoweb.agents.act.decide import grammar as act_grammar
from pytest_autoweb.agents.choice.decision_json import read_choices, read_object
from pytest_autoweb.agents.collect.phases import Phase, actions_of
from pytest_autoweb.agents.collect.phases import forms_text as collect_examples
from pytest_autoweb.agents.collect.phases import grammar as collect_grammar
from pytest_autoweb.agents.collect.phases import schema as collect_schema
from pytest_autoweb.agents.correction import naming_model, reflection
from pytest_autoweb.browser.marks.marking import Mark, PageBox
from pytest_autoweb.judging import opinion
from pytest_autoweb.models.reply_forms import examples_of, grammar_of

CASSETTES = Path(__file__).parents[3] / "cases/cassettes"
PHASES: tuple[Phase, ...] = ("navigate", "explore", "paginate", "collect")
TAGS = {"select": ("select", "combobox"), "type": ("input", "textbox"), "click": ("a", "link")}


def mark(number: int, action: str = "click") -> Mark:
    tag, role = TAGS[action]
    return Mark(number, tag, role, "x", "x", PageBox(0, 0, 10, 10))


def replies(grammar: str) -> st.SearchStrategy[str]:
    # Long texts take long to draw, and are admitted for the same reason as short ones.
    short = re.sub(r"\{([01]),\d{3}\}", r"{\1,8}", grammar)
    return st.from_regex(regex_of(short), fullmatch=True)


def read(reply: str) -> dict[str, Any]:
    # Texts may hold tabs and the like, which only strict JSON refuses.
    fields: dict[str, Any] = json.loads(reply, strict=False)
    return fields


def decided(fields: dict[str, Any], answers: bool) -> dict[str, Any]:
    """A decision as a capable model replies with it."""
    last = {} if answers else {"last": False}
    return {"thinking": "", "decision": fields, **last, "confidence": 1}


MARKS = [mark(3), mark(5), mark(8, "type"), mark(11, "select")]
NUMBERS = [one.number for one in MARKS]


@settings(max_examples=25)
@given(data=st.data(), answers=st.booleans(), again=st.booleans())
def test_what_the_grammar_of_act_admits_is_valid_and_read(
    data: st.DataObject, answers: bool, again: bool
) -> None:
    others = OtherActions(answers=answers)
    reply = data.draw(replies(act_grammar(MARKS, others, alike={3, 8}, again=again)))

    fields = read(reply)
    rest: dict[str, Any] = {"near": ""} if "mark_id" in fields else {}
    jsonschema.validate(decided({**rest, **fields}, answers), decision_schema(answers=answers))
    assert validate_action(read_object(reply), small=True).action == fields["action"]


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=10)
@given(data=st.data(), answers=st.booleans())
@pytest.mark.long
def test_every_form_of_act_has_a_grammar_that_fits_its_schema_and_its_reader(
    name: str, data: st.DataObject, answers: bool
) -> None:
    form = FORMS[name] if answers else FORMS[name].without("answer")
    reply = data.draw(replies(grammar_of([form.among(NUMBERS)], STRINGS)))

    jsonschema.validate(decided(read(reply), answers), decision_schema(answers=answers))
    assert validate_action(read_object(reply)).action == name


@pytest.mark.parametrize("phase", PHASES)
@settings(max_examples=25)
@given(data=st.data(), near=st.booleans())
def test_what_the_grammar_of_collect_admits_is_valid_and_read(
    data: st.DataObject, phase: Phase, near: bool
) -> None:
    reply = data.draw(replies(collect_grammar(phase, MARKS, near=near)))

    fields = read(reply)
    decision = {"thinking": "", **fields, "confidence": 1}
    jsonschema.validate({"decision": decision}, collect_schema(phase, NUMBERS, near=near))
    assert fields["action"] in actions_of(phase)
    chosen = {choice.number for choice in read_choices(read_object(reply))}
    assert chosen == set(map(int, fields.get("mark_id_text_map", [fields.get("mark_id", 0)]))) - {0}


@settings(max_examples=25)
@given(replies(opinion.GRAMMAR))
def test_what_the_grammar_of_the_judge_admits_is_valid_and_read(reply: str) -> None:
    jsonschema.validate(read(reply), opinion.SCHEMA)
    said = opinion.read_opinion(reply)
    assert said is not None
    assert said.verdict == read(reply)["verdict"]


@settings(max_examples=25)
@given(replies(naming_model.GRAMMAR))
def test_what_the_grammar_of_failure_types_admits_is_valid_and_read(reply: str) -> None:
    jsonschema.validate(read(reply), naming_model.SCHEMA)
    assert naming_model.read_type(reply) == read(reply)["type"]


@settings(max_examples=25)
@given(replies(grammar_of([reflection.FORM])))
def test_a_reflection_in_the_form_that_is_asked_for_is_read(reply: str) -> None:
    jsonschema.validate(read(reply), reflection.SCHEMA)
    said = reflection.read_reflection(reply)
    assert said.strategy == read(reply)["correctionStrategy"]
    assert said.confidence == float(read(reply)["confidence"])


def test_every_example_is_admitted_by_the_grammar_of_its_form() -> None:
    for form in FORMS.values():
        pattern = regex_of(grammar_of([form.among([4, 5])], STRINGS))
        assert re.fullmatch(pattern, examples_of([form])), pattern


@cache
def recordings(*stages: str) -> tuple[tuple[str, dict[str, Any], str], ...]:
    """Return stage, request and reply of each recorded call of these stages."""
    entries: Iterator[dict[str, Any]] = (
        entry
        for file in sorted(CASSETTES.glob("*/*.json"))
        for entry in json.loads(file.read_text())["entries"]
    )
    return tuple(
        (entry["stage"], entry["request"], entry["reply"])
        for entry in entries
        if entry["stage"] in stages
    )


def offered(grammar: str) -> list[tuple[str, tuple[int, ...], str]]:
    """Return the action, the marks and the text of each way that a recorded grammar offers."""
    root = grammar.splitlines()[0].removeprefix("root ::= ")
    ways = re.split(r' \| (?="\{)', root)
    picks = re.search(r"^pick ::= .*", grammar, re.MULTILINE)
    found = []
    for way in ways:
        spelled = f"{way} {picks[0]}" if picks and "picks" in way else way
        numbers = tuple(map(int, re.findall(r'[(|] ?"(\d+)"', spelled)))
        action = re.match(r'"\{\\"action\\": \\"(\w+)', way)
        assert action
        found.append((action[1], numbers, way))
    return found


def test_recorded_grammars_of_act_are_spelled_as_before() -> None:
    recorded = {request["grammar"] for _, request, _ in recordings("decide")}
    assert len(recorded) > 40

    for grammar in recorded:
        ways = offered(grammar)
        kinds = {
            n: a for a in ("click", "type", "select") for b, ns, _ in ways if a == b for n in ns
        }
        marks = [mark(number, kinds[number]) for number in sorted(kinds)]
        given = {(action, number) for action, numbers, _ in ways for number in numbers}
        near = [way for _, _, way in ways if "near" in way]
        others = OtherActions(
            scroll=tuple(re.findall(r'direction\\": \\"(\w+)', grammar)),
            enter="Enter" in grammar,
            done="done" in grammar,
            answers="answer" in grammar,
        )
        banned = {
            (action, one.number)
            for action in ("click", "type", "select")
            for one in marks
            if fits(action, one) and (action, one.number) not in given
        }
        alike = {number for _, numbers, way in ways if way in near for number in numbers}
        again = bool(near) and all("near" in way for _, numbers, way in ways if numbers)
        assert act_grammar(marks, others, banned=banned, alike=alike, again=again) == grammar


def test_recorded_grammars_of_collect_are_spelled_as_before() -> None:
    recorded = {
        (phase, request["grammar"]) for phase in PHASES for _, request, _ in recordings(phase)
    }
    assert len(recorded) > 10

    for phase, grammar in recorded:
        ways = offered(grammar)
        kinds = {n: a if a in TAGS else "click" for a, ns, _ in ways for n in ns}
        marks = [mark(number, kinds[number]) for number in sorted(kinds)]
        assert collect_grammar(phase, marks, near="near" in grammar) == grammar


def test_recorded_prompts_show_the_examples_as_before() -> None:
    for _, request, _ in recordings("decide"):
        told = "\n".join(message["content"] for message in request["messages"])
        shown = (
            act_examples(answers=answers, near=near)
            for answers in (True, False)
            for near in (True, False)
        )
        assert any(examples in told for examples in shown)
    for phase, (_, request, _) in ((p, call) for p in PHASES for call in recordings(p)):
        told = "\n".join(message["content"] for message in request["messages"])
        assert any(
            collect_examples(phase, brief=True, near=near, only=only) in told
            for near in (True, False)
            for only in ("", *actions_of(phase))
        )


def test_recorded_replies_are_what_their_grammars_admit() -> None:
    for _, request, reply in recordings("decide", *PHASES):
        assert re.fullmatch(regex_of(request["grammar"]), reply.strip()), reply
