"""Addresses of browsers elsewhere: what is read and told of them, and which worker takes which."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.browser.egress.remote_browsers import (
    BrowserAddress,
    BrowserPool,
    parse_endpoints,
)


@pytest.mark.parametrize(
    ("text", "protocol", "shown"),
    [
        ("ws://10.0.0.5:3000/", "Playwright", "ws://10.0.0.5:3000"),
        ("wss://user:key@browsers.example/?token=key", "Playwright", "wss://browsers.example"),
        ("http://[::1]:9222", "CDP", "http://[::1]:9222"),
        ("ws://127.0.0.1:9222/devtools/browser/key", "CDP", "ws://127.0.0.1:9222"),
        ("cdp+wss://browsers.example/key?k=key", "CDP", "wss://browsers.example"),
    ],
)
def test_an_address_says_how_to_talk_and_hides_what_may_be_a_key(
    text: str, protocol: str, shown: str
) -> None:
    (found,) = parse_endpoints(f" {text} ,{text},")

    assert (found.protocol, str(found)) == (protocol, shown)


@given(st.text(max_size=60))
def test_whatever_is_named_is_read_or_refused_without_repeating_it(text: str) -> None:
    told, found = "", tuple[BrowserAddress, ...]()
    try:
        found = parse_endpoints(text + "geheim")
    except ValueError as error:
        told = str(error)

    assert "geheim" not in told
    assert bool(told) is not bool(found)


def test_workers_begin_with_different_browsers_and_name_each_that_fails(tmp_path: Path) -> None:
    pool = parse_endpoints("ws://a.invalid/,ws://b.invalid/,http://c.invalid")

    class Nobody:
        def connect(self, url: str, **_: object) -> None:
            raise BrowserError(url)

        connect_over_cdp = connect

    def told(worker: str) -> list[str]:
        taken = BrowserPool(pool, tmp_path, worker)
        with pytest.raises(BrowserError) as raised:
            taken.take(Nobody(), {}, with_loopback=False, alone=True)  # type: ignore[arg-type]
        return [part[0] for part in str(raised.value).partition("used: ")[2].split("//")[1:]]

    assert [told(worker) for worker in ("main", "gw0", "gw1", "gw5")] == [
        ["a", "b", "c"], ["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"],
    ]  # fmt: skip
