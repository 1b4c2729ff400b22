"""The code that a mail brings, as sites write it."""

import time
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.mails import code_in, hidden_parts, keep_mail, link_in, mails_to

THIS_YEAR = time.gmtime().tm_year


def mail(plain: str = "", *, page: str = "", subject: str = "Hello") -> bytes:
    message = EmailMessage()
    message["Subject"] = subject
    if plain:
        message.set_content(plain)
    if page and plain:
        message.add_alternative(page, subtype="html")
    elif page:
        message.set_content(page, subtype="html")
    return message.as_bytes()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (mail("Your code is 042137."), "042137"),
        (mail("Your code: 042 137"), "042137"),
        (mail("042-137 is your code"), "042137"),
        (mail(f"Order #77120034, valid until 20:15, © {THIS_YEAR}. Code 5512"), "5512"),
        (mail("Thanks!", subject="Ihr Anmeldecode für Käse: 5512"), "5512"),
        (
            mail(
                page="<style>p{color:#123456;top:1234px}</style><p>Code <b>9 </b>77&#49;234</p>"
                '<a href="https://shop.example/in?t=55512345">or this link</a>'
            ),
            "771234",
        ),
        (mail("Bonjour", page="<p>Code&nbsp;<b>771234</b></p>"), "771234"),
        (mail(f"Good day in {THIS_YEAR}! Call +4930123456 or 030/1234567."), None),
        (b"", None),
        (b"Content-Type: text/plain; charset=nonsense\n\nCode 771234", "771234"),
    ],
)
def test_the_code_is_the_number_that_stands_alone(content: bytes, code: str | None) -> None:
    assert code_in(content) == code


def test_a_pattern_finds_codes_of_other_forms() -> None:
    assert code_in(mail("Code: tea-AB12 for 123456"), r"tea-\w+") == "tea-AB12"
    assert code_in(mail("Code: 123456"), r"tea-\w+") is None


@given(st.binary(max_size=400))
def test_no_mail_breaks_the_reader(content: bytes) -> None:
    code = code_in(b"Subject: =?utf-8?b?" + content + b"\nContent-Type: " + content)
    assert code is None or code.isdecimal()


def test_only_mails_to_the_address_since_the_moment_are_found(tmp_path: Path) -> None:
    before = time.time()
    keep_mail(tmp_path, ["Ana@Shop.example", "ben@shop.example"], b"first")
    keep_mail(tmp_path, ["<ana@shop.example>"], b"second")
    keep_mail(tmp_path, ["cleo@shop.example"], b"third")

    found = mails_to([tmp_path], "ana@shop.example", before - 1)

    assert [one.content for one in found] == [b"second", b"first"]
    assert mails_to([tmp_path], "ana@shop.example", time.time() + 1) == []


SITE = "http://shop.test"


@pytest.mark.parametrize(
    ("content", "pattern", "link"),
    [
        (mail(f"Open {SITE}/in?t=abc123."), "", f"{SITE}/in?t=abc123"),
        (mail("Nothing but http://evil.test/in?t=abc123"), "", None),
        (mail("Hi", page=f'<a href={SITE}/>Shop</a> <A HREF="{SITE}/in?a=1&amp;b=2">In</A>'), "",
         f"{SITE}/in?a=1&b=2"),
        (mail(f"{SITE}/in/77 or {SITE}/unsubscribe/7777777"), "", f"{SITE}/in/77"),
        (mail(f"{SITE}/in/77 or {SITE}/help/7777777"), "/in/", f"{SITE}/in/77"),
        (b"", "", None),
    ],
)  # fmt: skip
def test_the_link_is_the_longest_to_the_site(
    content: bytes, pattern: str, link: str | None
) -> None:
    assert link_in(content, lambda url: url.startswith(SITE), pattern) == link


@pytest.mark.parametrize(
    ("below", "tokens"),
    [
        ("in?who=ana@shop.test&t=Zq8wJ2rT55&next=/orders/2026", {"Zq8wJ2rT55"}),
        ("verify-email/0f6c2a51-9f1e#k=123456", {"0f6c2a51-9f1e", "123456"}),
        ("in/teatime", {"in/teatime"}),
        ("verify-email", set()),
    ],
)
def test_what_is_hidden_of_a_link_are_its_tokens_and_no_words(below: str, tokens: set[str]) -> None:
    assert {*hidden_parts(f"{SITE}/{below}")} == ({below} | tokens if tokens else set())
