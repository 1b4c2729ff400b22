"""A secret is found however a page, a server or a tool writes it down."""

import base64
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_forms import FORMS

from pytest_autoweb.redaction import Redactor

PATIENT = settings(deadline=None, max_examples=40)
MARK = "<secret:key>"
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=8)
SECRETS = WORDS.map(lambda text: text[:24]).filter(
    lambda text: text.strip() == text and len(set(text)) > 5 and text not in MARK
)


@pytest.mark.parametrize("form", FORMS)
@PATIENT
@given(value=SECRETS)
def test_it_is_found_in_every_form(form: str, value: str) -> None:
    written = FORMS[form](value)

    clean = Redactor({"key": value})(f"before {written} after")

    assert MARK in clean
    assert written.strip("\"'") not in clean
    assert clean.startswith("before ")


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@PATIENT
@given(value=SECRETS, after=st.binary(max_size=5))
def test_it_is_found_within_the_base64_of_more(
    encode: Callable[[bytes], bytes], before: str, value: str, after: bytes
) -> None:
    text = encode(before.encode() + value.encode() + after).decode()

    assert MARK in Redactor({"key": value})(f"Basic {text}")


def test_a_placeholder_stays_whole_when_a_secret_is_one_of_its_words() -> None:
    redact = Redactor({"password": "secret", "user": "pass"})

    assert (
        redact("fill('<secret:password>') secret") == "fill('<secret:password>') <secret:password>"
    )


def test_a_page_cannot_hide_a_secret_in_the_shape_of_a_placeholder() -> None:
    assert "hunter22" not in Redactor({"password": "hunter22"})("<secret:hunter22>")
