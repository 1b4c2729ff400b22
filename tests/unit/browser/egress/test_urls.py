import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.browser.egress.request_policy import OriginPolicy, parse_origin
from pytest_autoweb.browser.page.opening import normalise_url, same_page

ENTRY = "https://shop.example/login?next=/cart"

texts = st.text(max_size=30)
urls = st.builds(
    "{}://{}{}/{}?{}#{}".format,
    st.sampled_from(["http", "HTTPS", "https"]),
    st.sampled_from(["a.example", "A.Example", "127.0.0.1", "[::1]", "bücher.example", "x..y"]),
    st.sampled_from(["", ":80", ":443", ":8080", ":"]),
    texts,
    texts,
    texts,
)


@given(st.one_of(urls, texts))
def test_normalising_twice_changes_nothing_more(url: str) -> None:
    once = normalise_url(url)

    assert normalise_url(once) == once


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://a.example/x/../b/./c", "https://a.example/b/c"),
        ("https://a.example/caf%c3%a9", "https://a.example/café"),
        ("https://a.example/%7Eana", "https://a.example/~ana"),
        ("https://a.example/p#top", "https://a.example/p"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://a.example/?q=a b", "https://a.example/?q=a%20b"),
    ],
)
def test_spellings_of_one_page_are_the_same(first: str, second: str) -> None:
    assert same_page(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://a.example/?id=1", "https://a.example/?id=2"),
        ("https://a.example/", "https://a.example/login"),
        ("https://a.example/#/inbox", "https://a.example/#/sent"),
        ("http://a.example/", "https://a.example/"),
        ("https://a.example/a%2Fb", "https://a.example/a/b"),
    ],
)
def test_different_pages_stay_different(first: str, second: str) -> None:
    assert not same_page(first, second)


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/anything",
        "https://SHOP.example:443/x",
        "wss://shop.example/live",
        "https://cdn.example/a.js",
        "data:image/png;base64,AAAA",
        "blob:https://shop.example/1",
        "about:blank",
    ],
)
def test_the_entry_origin_and_listed_origins_are_allowed(url: str) -> None:
    assert OriginPolicy(ENTRY, ["https://cdn.example"]).allows(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.evil.example/",
        "https://shop.example@evil.example/",
        "https://user:pw@shop.example/",
        "http://shop.example/",
        "https://shop.example:8443/",
        "https:\\\\evil.example\\shop.example",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ftp://shop.example/",
        "https://shop.example:99999/",
        "ht\ntps://shop.example/",
        "",
    ],
)
def test_everything_else_is_refused(url: str) -> None:
    assert not OriginPolicy(ENTRY).allows(url)


@given(texts, texts)
def test_no_host_that_only_begins_alike_is_allowed(tail: str, path: str) -> None:
    url = f"https://shop.example{tail}/{path}"
    origin = parse_origin(url)

    assert OriginPolicy(ENTRY).allows(url) == (origin == parse_origin(ENTRY))


def test_a_listed_origin_that_is_none_is_a_case_error() -> None:
    with pytest.raises(CaseError, match=r"allowed_origins.*'cdn\.example' is not an origin"):
        OriginPolicy(ENTRY, ["cdn.example"])
