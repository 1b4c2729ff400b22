"""Text without halves of surrogate pairs."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.whole_characters import read_json, whole_json, whole_text, whole_value
from pytest_autoweb.models.messages import Message, Reply
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Failure

WILD = st.text(st.sampled_from('ab\\"u☃🙂\ud83d\ude42\ud800\udfff\n')) | st.text()
DATA = st.recursive(
    WILD | st.integers() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(WILD, inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Tea \ud83d", "Tea \ufffd"),
        ("\ude42 Tea", "\ufffd Tea"),
        ("\ud83da\ud83d\ud83d", "\ufffda\ufffd\ufffd"),
        ("\ud83d\ude42", "🙂"),
        ("🙂 é \\ud83d", "🙂 é \\ud83d"),
    ],
)
def test_halves_become_a_sign_and_all_else_stays(text: str, whole: str) -> None:
    assert whole_text(text) == whole


@given(WILD)
def test_a_whole_text_can_be_written_and_stays_as_it_is(text: str) -> None:
    whole = whole_text(text)

    assert whole.encode().decode() == whole
    assert whole_text(whole) is whole


@given(DATA, st.booleans())
def test_json_is_read_as_whole_texts_however_its_halves_are_written(data: Any, spelt: bool) -> None:
    written = json.dumps(data, ensure_ascii=spelt)

    read = read_json(written)

    json.dumps(read, ensure_ascii=False).encode()
    # Two members of an object may get the same name.
    assert read == json.loads(json.dumps(whole_value(json.loads(written))))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (r'"\ud83d"', '"\ufffd"'),
        (r'"\uD83D\uDE42 \uDE42"', '"\\uD83D\\uDE42 \ufffd"'),
        (r'"\\ud83d \\\ud83d"', '"\\\\ud83d \\\\\ufffd"'),
        (rb'"\ud83d"', '"\ufffd"'),
    ],
)
def test_spelt_halves_are_replaced_and_other_escapes_kept(text: str | bytes, whole: str) -> None:
    assert whole_json(text) == whole


def test_what_models_say_and_what_is_recorded_can_be_written_down() -> None:
    half = "Tea \ud83d"
    message = Message(role="user", content=half)
    failure = Failure(kind="step", message=half)

    assert (message.content, Reply(text=half).text) == ("Tea \ufffd", "Tea \ufffd")
    assert failure.message == "Tea \ufffd"
    assert json.loads(failure.model_dump_json(indent=1))["message"] == "Tea \ufffd"


def test_the_name_of_a_model_is_whole_also_from_a_command_line_that_is_no_unicode() -> None:
    spec = ModelSpec(name="x/a\udcffb", model="a\udcff", api_base="http://a\udcff/")

    assert json.loads(spec.model_dump_json())["name"] == "x/a\ufffdb"
    assert (spec.model, spec.api_base) == ("a\ufffd", "http://a\ufffd/")
