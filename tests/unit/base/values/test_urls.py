import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.values.normal_forms import normal_url

URL = "https://shop.test/a%20b/c?x=1&y=2"


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [
        ("HTTPS://Shop.TEST:443/a%20b/c?x=1&y=2", URL),
        ("https://shop.test./a b/c?x=1&y=2".replace("a b", "a%20b"), URL),
        ("https://shop.test/a%20b/c/?y=2&x=1#top", URL),
        ("https://shop.test/z/../a%20b/./c?x=1&y=2&", URL),
        ("https://shop.test/%61%20b/c?x=1&y=%32", URL),
        ("http://shop.test", "http://shop.test/"),
        ("http://shop.test/?", "http://shop.test/"),
        ("http://shop.test:8080/", "http://shop.test:8080/"),
        ("http://shop.test/?b=2&a=2&a=1", "http://shop.test/?a=2&a=1&b=2"),
        ("http://shop.test/?q=a+b", "http://shop.test/?q=a%20b"),
        ("http://shop.test/?q=a%2Bb", "http://shop.test/?q=a%2Bb"),
        ("http://shop.test/a%2Fb", "http://shop.test/a%2Fb"),
        ("http://shop.test/é", "http://shop.test/%C3%A9"),
        ("http://shop.test/%e9", "http://shop.test/%E9"),
        ("http://shop.test/100%", "http://shop.test/100%25"),
        ("http://müller.test/", "http://xn--mller-kva.test/"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("http://shop.test/app#/orders/1", "http://shop.test/app#/orders/1"),
        ("http://shop.test/app#!cart", "http://shop.test/app#!cart"),
        ("/orders/1", "http://base.test/orders/1"),
        ("//shop.test/a", "http://shop.test/a"),
    ],
)
def test_all_spellings_of_a_url_have_one_form(spelling: str, normal: str) -> None:
    assert normal_url(spelling, "http://base.test/x") == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shop.test",
        "ftp://shop.test/",
        "http://",
        "http://a b/",
        "http://a:x/",
        "http://[1/",
        "a/b",
    ],
)
def test_what_is_no_web_address_has_no_form(text: str) -> None:
    assert normal_url(text, "http://base.test/") is None


@given(
    st.text(alphabet="abz/.%2F4+~é ?&=#!:@[", max_size=24).map("http://h".__add__)
    | st.text(max_size=20)
)
def test_a_normal_url_is_its_own_normal_form(text: str) -> None:
    normal = normal_url(text)

    assert normal is None or normal_url(normal) == normal
