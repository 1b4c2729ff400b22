"""How a model may answer: the forms agree with each other, and small models are held to them."""

import importlib
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_autoweb.agents.collect.phases import Phase, actions_of, forms_text, grammar, schema
from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.browser.marks.marking import Mark, PageBox
from pytest_autoweb.cases.loader import load_case_file

jsonschema: Any = importlib.import_module("jsonschema")
PHASES: tuple[Phase, ...] = get_args(Phase)


def mark(number: int, tag: str = "a", role: str = "link") -> Mark:
    return Mark(number, tag, role, "x", "x", PageBox(0, 0, 10, 10))


@pytest.mark.parametrize("phase", PHASES)
def test_every_example_in_the_prompt_fits_the_schema(phase: Phase) -> None:
    examples = [json.loads(line) for line in forms_text(phase).splitlines()]

    assert tuple(example["action"] for example in examples) == actions_of(phase)
    for example in examples:
        jsonschema.validate({"decision": example}, schema(phase, [5, 8]))


@pytest.mark.parametrize("phase", PHASES)
def test_what_is_near_is_asked_for_of_what_is_performed(phase: Phase) -> None:
    asked = {"click", "type", "select", "click_to_enter", "next_page"}
    examples = [json.loads(line) for line in forms_text(phase, near=True).splitlines()]

    for example in examples:
        assert ("near" in example) == (example["action"] in asked)
        jsonschema.validate({"decision": example}, schema(phase, [5, 8], near=True))
    rules = grammar(phase, [mark(5)], near=True)
    assert rules.count("near") == len(asked & set(actions_of(phase)) - {"type", "select"})
    assert "near" not in grammar(phase, [mark(5)]) + forms_text(phase)
    only = forms_text(phase, brief=True, near=True, only=actions_of(phase)[0])
    assert len(only.splitlines()) == 1


def test_the_schema_refuses_marks_that_do_not_exist() -> None:
    decision = {
        "thinking": "",
        "action": "select_detail_links",
        "mark_id_text_map": {"7": "x"},
        "confidence": 1,
    }

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"decision": decision}, schema("explore", [5, 8]))


@pytest.mark.parametrize("phase", PHASES)
def test_the_grammar_names_only_marks_that_exist_and_rules_that_are_defined(phase: Phase) -> None:
    rules = dict(line.split(" ::= ", 1) for line in grammar(phase, [mark(5), mark(8)]).splitlines())
    bare = re.sub(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]', " ", " ".join(rules.values()))

    assert '("5" | "8")' in " ".join(rules.values())
    assert set(re.findall(r"[a-z]+", bare)) <= rules.keys()
    assert "mark_id" not in grammar(phase, [])


def test_the_grammar_offers_what_the_marks_can_take() -> None:
    assert "select" not in grammar("navigate", [mark(5)])
    text = grammar("navigate", [mark(5), mark(8, tag="select", role="combobox")])

    assert r'"{\"action\": \"select\"" ", \"expected_text\": " str ", \"mark_id\": " ("8")' in text
    assert r'"{\"action\": \"click\"" ", \"expected_text\": " str ", \"mark_id\": " ("5")' in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{targt: 5}", "unknown key 'targt'; did you mean 'target'"),
        ("{target: 0}", "must be at least 1"),
        ("{rate: {delay: -1}}", "must be at least 0"),
        ("{explore: 1}", "must be at least 2"),
    ],
)
def test_a_mistake_in_the_block_is_told_with_its_place(
    tmp_path: Path, given: str, said: str
) -> None:
    file = tmp_path / "a.yaml"
    case = f"{{id: a, entry_url: 'http://x.test/', user_task: t, collect: {given}}}"
    file.write_text(f"version: 1\ncases:\n  - {case}\n")

    with pytest.raises(CaseError, match=re.escape(said)) as caught:
        load_case_file(file)

    assert caught.value.line == 3
    assert str(caught.value.field).startswith("cases[0].collect")
