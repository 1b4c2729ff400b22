import base64
import html
import json
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_autoweb.base.redaction import REDACTED, Redactor, redact_keys

PATIENT = settings(deadline=None)  # the machine may be busy
PASSWORD = 'p&ss "w/rd" 7'
LEAKS = ("abc123", "abcdefghijk", "dXNlcj", "12345", "abc.def")
VALUES = st.text(st.characters(codec="utf-8"), min_size=4, max_size=24).filter(
    lambda value: bool(value.strip()) and not set("<>") & set(value)
)


@pytest.mark.parametrize(
    "form",
    [
        PASSWORD,
        quote(PASSWORD),
        quote(PASSWORD, safe=""),
        quote(PASSWORD, safe="").lower().replace("p%26ss", "p%26ss"),
        quote_plus(PASSWORD),
        html.escape(PASSWORD),
        html.escape(PASSWORD, quote=False),
        json.dumps(PASSWORD)[1:-1],
        base64.b64encode(PASSWORD.encode()).decode(),
        base64.urlsafe_b64encode(PASSWORD.encode()).decode().rstrip("="),
    ],
)
def test_a_secret_is_found_in_every_written_form(form: str) -> None:
    text = Redactor({"password": PASSWORD})(f"before {form} after")

    assert text == "before <secret:password> after"


@pytest.mark.parametrize("user", ["a", "an", "ana", "anna"])
def test_a_secret_inside_a_longer_base64_text_is_found(user: str) -> None:
    header = base64.b64encode(f"{user}:hunter2hunter2".encode()).decode()

    clean = Redactor({"pw": "hunter2hunter2"})(f"Basic {header}")

    assert "<secret:pw>" in clean
    assert base64.b64encode(b"hunter2hunter2").decode()[4:-4] not in clean


def test_the_longer_of_two_overlapping_secrets_wins() -> None:
    redact = Redactor({"short": "abcd", "long": "abcdefgh"})

    assert redact("abcdefgh abcd") == "<secret:long> <secret:short>"


def test_a_very_short_secret_is_replaced_only_as_a_whole_value() -> None:
    redact = Redactor({"pin": "12"})

    assert (redact("12"), redact("room 12")) == ("<secret:pin>", "room 12")


def test_an_empty_secret_replaces_nothing() -> None:
    assert Redactor({"none": "", "blank": "  "})("a  b") == "a  b"


@PATIENT
@given(value=VALUES, before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_text_keeps_a_secret(value: str, before: str, after: str) -> None:
    assume(value not in "<secret:key>")

    clean = Redactor({"key": value})(before + value + after)

    assert value not in clean.replace("<secret:key>", "\0")


@PATIENT
@given(value=VALUES)
def test_no_url_or_json_keeps_a_secret(value: str) -> None:
    assume(value not in '<secret:key>{"q": "x"}q=x')
    redact = Redactor({"key": value})

    assert redact(urlencode({"q": f"x {value}"})).startswith("q=x+<secret:key>")
    assert redact(json.dumps({"q": f"x {value}"})) == '{"q": "x <secret:key>"}'


@PATIENT
@given(st.text(max_size=200))
def test_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert Redactor({"key": "\x00never\x00"})(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("key sk-proj-abcdefghijklmnopqrstuv used", "key"),
        ("Authorization: Bearer abc.def-ghi123", "Authorization"),
        ('{"Authorization": "Basic dXNlcjpwYXNz"}', '"Authorization"'),
        ("Cookie: session=12345; theme=dark", "Cookie"),
        ('"set-cookie": "sid=s%3Aabcdefghijk; Path=/"', "set-cookie"),
        ("GET https://x.test/a?q=1&access_token=abc123def&page=2", "page=2"),
        ('{"api_key": "abc123456", "n": 1}', '"n": 1'),
        ("OPENAI_API_KEY=abc123456 set", "set"),
        ("api_key='abc123456'", "api_key"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", ""),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF123 end", "end"),
        ('escaped {\\"token\\": \\"abc123456\\"}', "escaped"),
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str, kept: str) -> None:
    clean = redact_keys(text)

    assert REDACTED in clean
    assert kept in clean
    assert not any(
        part in clean for part in ("abc123", "abcdefghijk", "dXNlcj", "12345", "abc.def")
    )


@pytest.mark.parametrize(
    "text",
    [
        "Fill in the password and press Sign in.",
        "The token of appreciation: a book.",
        "task=open the account page",
        "page.get_by_label('Password').fill('<secret:password>')",
        "basic steps are listed below",
        "risk-assessment-of-the-whole-thing",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_keys(text) == text


@PATIENT
@given(st.text(max_size=200))
def test_taking_keys_out_twice_changes_nothing_more(text: str) -> None:
    once = redact_keys(text)

    assert redact_keys(once) == once


def test_secrets_that_touch_have_a_mark_each() -> None:
    redact = Redactor({"a": "alpha-one", "b": "beta-two"})

    assert redact("(alpha-onebeta-two)") == "(<secret:a><secret:b>)"


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("value", ["plain-secret", "clé-secrète", "Ā-secret"])
def test_a_secret_within_base64_is_found_wherever_it_begins(value: str, before: str) -> None:
    written = base64.b64encode(f"{before}{value}:rest".encode()).decode()

    assert "<secret:key>" in Redactor({"key": value})(f"Basic {written}")
