"""No secret gets into a recording, whatever a server calls the body that holds it."""

import gzip
import io
import json
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pytest_autoweb.base.errors import TrafficError
from pytest_autoweb.browser.egress.traffic_reader import HttpAnswer, HttpRequest
from pytest_autoweb.browser.traffic import traffic_file
from pytest_autoweb.browser.traffic.traffic_file import (
    RecordedExchange,
    Take,
    add_take,
    read_traffic,
)
from pytest_autoweb.browser.traffic.traffic_masks import HOLDS, UNREAD, TrafficMasks

DECLARED, TYPED, COOKIE = 'hunt&r "22"é', "correct-h0rse-battery", "q1w2e3r4t5y6u7"
SHOP = "https://shop.example"


def masks() -> TrafficMasks:
    """Return masks that have seen a login."""
    known = TrafficMasks({"pw": DECLARED})
    known.learn_request(
        HttpRequest(
            *("POST", f"{SHOP}/login"),
            (("Content-Type", "application/json"), ("Cookie", f"sid={COOKIE}")),
            json.dumps({"user": "ana", "passwordConfirmation": TYPED}).encode(),
        )
    )
    return known


def zipped(text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet.xml", text)
    return file.getvalue()


BINARY: dict[str, Callable[[str], bytes]] = {
    "as it is": lambda text: b"\x00\xff\xfe\x01" + text.encode(),
    "in an address": lambda text: b"\x00\xff\x01" + quote(text, safe="").encode(),
    "in base64": lambda text: b"\x00\xff\x01" + b64encode(text.encode()),
    "in JSON": lambda text: b"\x00\xff\x01" + json.dumps(text).encode(),
    "in gzip": lambda text: gzip.compress(f"row;{text}".encode()),
    "in zlib": lambda text: zlib.compress(f"row;{text}".encode()),
    "in an archive": zipped,
    "in gzip in an archive": lambda text: zipped(b64encode(text.encode()).decode()),
    "in wide characters": lambda text: b"\xff\xd0\x00\x01" + text.encode("utf-16-le"),
    "in wide characters, the other way": lambda text: b"\xff\xd0\x00" + text.encode("utf-16-be"),
}


@pytest.mark.parametrize("form", BINARY)
@pytest.mark.parametrize("secret", [DECLARED, TYPED, COOKIE])
def test_a_body_that_is_no_text_is_not_kept_if_it_holds_a_secret(form: str, secret: str) -> None:
    known = masks()

    def kept(text: str) -> Any:
        answer = HttpAnswer(200, "", (("Content-Type", "application/x-any"),), BINARY[form](text))
        return known.answer_body(answer)

    assert kept(f"a {secret} z").not_kept == HOLDS
    assert kept("something else").body == BINARY[form]("something else")


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"\x0b\x02\x80abc\x03"), ("zstd", b"(\xb5/\xfd"), ("gzip", b"x")]
)
def test_a_body_in_an_unread_encoding_is_not_kept(encoding: str, body: bytes) -> None:
    headers = (("Content-Type", "text/html"), ("Content-Encoding", encoding))

    assert masks().answer_body(HttpAnswer(200, "", headers, body)).not_kept == UNREAD


def test_a_damaged_archive_is_not_kept() -> None:
    for data in (b"\x1f\x8b\x08\x00" + b"\xff" * 40, zipped("a")[:-30]):
        answer = HttpAnswer(200, "", (("Content-Type", "application/x-any"),), data)
        assert masks().answer_body(answer).not_kept == UNREAD


TREES = [
    {"credentials": {"password": {"value": "s3cret"}}},
    {"passwords": ["s3cret"]},
    {"accessToken": {"value": "s3cret", "n": [{"deep": "s3cret"}]}},
    {"tokens": ["s3cret", ["s3cret"]]},
    {"a": [{"passwordConfirmation": "s3cret"}]},
    {"payload": json.dumps({"password": "s3cret"})},
    {"next": "/done?x=1#access_token=s3cret"},
    {"X-Auth": "s3cret", "clientSecret": "s3cret", "api_key": "s3cret"},
]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", ["application/json", "", "application/octet-stream", "text/plain"])
def test_whole_trees_below_sensitive_names_are_hidden(tree: Any, kind: str) -> None:
    text = json.dumps({"kept": "words", **tree})
    lines = f'{text}\n{{"kept": "more"}}\ndata: {text}\n'
    headers = (("Content-Type", kind),) if kind else ()
    for body in (text, lines, f")]}}',\n{text}", f"call({text});"):
        request = masks().request_body(HttpRequest("POST", SHOP, headers, body.encode()))
        answer = masks().answer_body(HttpAnswer(200, "", headers, body.encode()))
        for kept in (request, answer.body.decode()):
            assert "s3cret" not in kept
            assert "words" in kept
            assert kept.count("{") == body.count("{") or "payload" in tree


def test_what_else_holds_fields_is_hidden_by_its_content() -> None:
    known = masks()
    part = '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\ns3cret\r\n--b--\r\n'
    repeated = '{"a": {"password": "s3cret"}, "a": 1}'
    for body in (
        "access_token=s3cret&scope=all",
        "<xml><user>ana</user><password>s3cret</password></xml>",
        '<!doctype html><input type=password name=p value="s3cret"><p>words',
        '<html><script type="application/json">{"token": "s3cret"}</script>',
        part,
        repeated,
    ):
        kept = known.answer_body(HttpAnswer(200, "", (), body.encode())).body.decode()
        assert "s3cret" not in kept
        sent = known.request_body(HttpRequest("POST", SHOP, (), body.encode()))
        assert "s3cret" not in sent


def test_addresses_and_headers_are_cleared_of_fields() -> None:
    known = masks()
    query = quote(json.dumps({"password": "s3cret"}))
    headers = (
        ("Location", "/done#access_token=s3cret&state=1"),
        ("Location", f"/next?data={query}"),
        ("Location", "https://ana:s3cret@shop.example/#/in?token=s3cret"),
        ("X-Auth", "s3cret"),
        ("X-Access", "s3cret"),
        ("Authentication", "s3cret"),
        ("Set-Cookie", "a=s3cret; Path=/"),
        ("Link", f"</x?token=s3cret&q={COOKIE}>; rel=next"),
        ("Access-Control-Allow-Credentials", "true"),
        ("WWW-Authenticate", 'Basic realm="shop"'),
    )
    kept = json.dumps(known.headers(headers))

    assert "s3cret" not in kept
    assert COOKIE not in kept
    assert "state=1" in kept
    assert '"true"' in kept
    assert "realm" in kept
    assert "s3cret" not in known.url(f"{SHOP}/?data={query}&x=%2Fa%3Ftoken%3Ds3cret#sid=s3cret")


def test_learned_values_are_hidden_in_any_text() -> None:
    known = masks()
    for kind in ("application/x-ndjson", "application/octet-stream", ""):
        text = f'{{"echo": "{TYPED}"}}\n{{"c": "{COOKIE}"}}\n{b64encode(TYPED.encode()).decode()}'
        headers = (("Content-Type", kind),) if kind else ()
        kept = known.answer_body(HttpAnswer(200, "", headers, text.encode())).body.decode()
        assert TYPED not in kept
        assert COOKIE not in kept
        assert b64encode(TYPED.encode()).decode().rstrip("=")[:-2] not in kept


SECRET_VALUE = "tok3nABCDEFGH12345"
HIDING = [
    ("text/html", json.dumps({"tokens": [[SECRET_VALUE]]})),
    ("image/png", json.dumps({"access_key": [SECRET_VALUE]})),
    ("application/json", json.dumps({"cookies": {"sid": SECRET_VALUE}})),
    ("application/json", json.dumps({"signingKey": {"value": SECRET_VALUE}})),
    ("text/javascript", f'window.x = {{"session": {{"accessToken": {{"v": "{SECRET_VALUE}"}}}}}};'),
    ("text/html", f'<!doctype html><script>x={{"passwords": ["{SECRET_VALUE}"]}}</script>words'),
    ("text/html", f"<!doctype html><a href='/x#access_token={SECRET_VALUE}'>words</a>"),
    ("text/html", f"<!doctype html><a href='/x?a=1&amp;token={SECRET_VALUE}'>words</a>"),
    ("text/xml", f"<a><password><v n='1'>{SECRET_VALUE}</v></password><b>words</b></a>"),
    ("", f"<a><token><![CDATA[{SECRET_VALUE}]]></token><token/><b>words</b></a>"),
]


@pytest.mark.parametrize(("kind", "body"), HIDING)
def test_what_a_body_holds_is_hidden_whatever_holds_it(kind: str, body: str) -> None:
    known = masks()
    answer = HttpAnswer(200, "", (("Content-Type", kind),) if kind else (), body.encode())
    known.learn_answer(answer)
    stored = known.answer_body(answer).body.decode()

    assert SECRET_VALUE not in stored
    assert ("words" in stored) == ("words" in body)


@pytest.mark.parametrize("name", ["X-Otp", "X-Bearer", "X-Sid", "X-Access-Key"])
def test_a_header_is_hidden_by_the_words_of_its_name(name: str) -> None:
    assert SECRET_VALUE not in str(masks().headers(((name, SECRET_VALUE),)))


def test_words_of_pages_stay() -> None:
    known = masks()
    page = "<html><label>Password</label><p>Cookie: chocolate chip. Basic membership. token = 12"
    labels = '{"labels": {"a": "Password", "b": "Your security token"}, "max_tokens": 7}'
    for text in (page, labels, "a{color:red}", "let session = start('Password')"):
        assert known.answer_body(HttpAnswer(200, "", (), text.encode())).body.decode() == text


@pytest.mark.parametrize(
    "text", ["<secret:pw>", "<secret::pw>", "a <secret:other> <secret:pw", "x"]
)
def test_what_looks_like_a_placeholder_comes_back_as_it_was(text: str) -> None:
    known = masks()
    stored = known.answer_text(f"{text} {DECLARED}", "text/plain")

    assert DECLARED not in stored
    assert known.restored(stored, {"pw": DECLARED}) == f"{text} {DECLARED}"


@pytest.mark.parametrize(
    "body",
    [
        r'{"a": "\u003csecret:pw\u003e", "token": "abcdefgh1234"}',
        r'{"a": "<\u0073ecret:pw>", "token": "abcdefgh1234"}',
        r'{"\u003csecret:pw\u003e": 1, "token": "abcdefgh1234"}',
        r'{"a": "{\"b\": \"\\u003csecret:pw\\u003e\", \"token\": \"abcdefgh1234\"}"}',
        r'{"a": "\u003csecret:pw\u003e", "b": 1, "b": 2}',
        '{"a": "\\u003csecret:pw\\u003e", "token": "abcdefgh1234"}\n{"b": 1}',
        "a=%3Csecret%3Apw%3E&token=abcdefgh1234",
    ],
)
def test_a_placeholder_that_only_decoding_brings_about_is_not_filled_in(body: str) -> None:
    known = masks()
    answer = HttpAnswer(200, "", (("Location", f"/x?{body}" if "=" in body else "/"),), b"")
    (location,) = known.headers(answer.headers)
    told = [known.answer_text(body, ""), location["value"]]
    told.append(known.request_body(HttpRequest("POST", SHOP, (), body.encode())))

    for stored in told:
        assert DECLARED not in known.restored(stored, {"pw": DECLARED})
    assert known.restored(told[0], {"pw": DECLARED}).count("<secret:pw>") == ('b": 2' in body) or 1


def har(**changes: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "pageref": "take_1",
        "request": {"method": "GET", "url": f"{SHOP}/a", "headers": []},
        "response": {
            "status": 200,
            "statusText": "OK",
            "headers": [{"name": "a", "value": "b"}],
            "content": {"text": "hello", "mimeType": "text/html"},
        },
        "_autoweb": {},
    }
    log: dict[str, Any] = {"pages": [{"id": "take_1", "title": "t"}], "entries": [entry]}
    for path, value in changes.items():
        place: Any = {"log": log, "entry": entry, **entry}[path.split("__")[0]]
        *within, last = path.split("__")[1:]
        for name in within:
            place = place[name]
        place[last] = value
    return {"log": log}


DAMAGED: list[tuple[str, Any]] = [
    ("log___autoweb", {"version": "1\r\nof another"}),
    ("entry___autoweb", {"charset": "no-such"}),
    ("entry___autoweb", {"charset": "zlib"}),
    ("entry___autoweb", 5),
    ("entry___autoweb", {"destination": []}),
    ("response__status", 1e999),
    ("response__status", "200"),
    ("response__status", 0),
    ("response__status", None),
    ("response__statusText", "OK\r\nSet-Cookie: a=b"),
    ("response__headers", {"a": "b"}),
    ("response__headers", [{"name": "a", "value": "b\r\nc: d"}]),
    ("response__headers", [{"name": "a\n", "value": "b"}]),
    ("response__headers", ["a"]),
    ("response__content", None),
    ("response__content", {"text": "%%", "encoding": "base64"}),
    ("response__content", {"text": "é", "encoding": "base64"}),
    ("response__content", {"text": 7}),
    ("request__url", "http://[::1"),
    ("request__url", "http://a:99999999/"),
    ("request__url", "javascript:alert(1)"),
    ("request__url", None),
    ("request__method", "GET /x HTTP/1.1\r\nA: b"),
    ("request__postData", "a"),
    ("request__postData", {"text": []}),
    ("log__pages", [{"title": "no id"}]),
    ("log__pages", 7),
    ("log__entries", [None]),
    ("log__entries", "x"),
    ("log___autoweb", {"passwordFields": 5}),
    ("log___autoweb", {"passwordFields": [5]}),
    ("log___autoweb", {"version": 99}),
    ("log___autoweb", []),
]


@pytest.mark.parametrize(("path", "value"), DAMAGED)
def test_a_damaged_recording_is_one_sentence(tmp_path: Path, path: str, value: Any) -> None:
    file = tmp_path / "a.har"
    file.write_text(json.dumps(har(**{path: value})), encoding="utf-8")

    with pytest.raises(TrafficError, match=r"a\.har is (damaged|of version)") as told:
        read_traffic(file)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"log": 1}', b"\xff", b"[" * 100_000, b'{"log": {"entries": {}}}']
)
def test_what_is_no_recording_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.har"
    file.write_bytes(content)

    with pytest.raises(TrafficError, match=r"a\.har is damaged or no HAR file"):
        read_traffic(file)


def test_files_of_other_tools_and_those_without_own_fields_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a.har"
    file.write_text(json.dumps(har(entry___autoweb=None, log___autoweb=None)), encoding="utf-8")

    assert read_traffic(file).takes[0].exchanges[0].body == b"hello"


def test_a_recording_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.har"
    one = RecordedExchange("GET", SHOP, 200, body=b"hello", is_text=True)
    add_take(file, "a", "run", Take("t", (one,)), [])
    monkeypatch.setattr(traffic_file, "FILE_BYTES", 100)

    with pytest.raises(TrafficError, match=r"has more than 100 bytes"):
        read_traffic(file)
