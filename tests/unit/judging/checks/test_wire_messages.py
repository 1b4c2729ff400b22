"""What checks of requests and downloads say they want, and what they say they saw."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.checks.wire_checks import DownloadCheck, RequestCheck
from pytest_autoweb.judging.evidence.downloads import Download
from pytest_autoweb.judging.evidence.request_fields import fields_of
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult

PAGE = "http://shop.test"


def entry(path: str, **fields: Any) -> WireEntry:
    return WireEntry(**{"method": "GET", "url": PAGE + path, "status": 200, **fields})


def judge(check: Any, **evidence: Any) -> CheckResult:
    given = Evidence(page=cast(Any, None), answered=False, answer=None, **evidence)
    return judge_checks([check], given, timeout_s=0)[0]


def request(*wire: WireEntry, **query: Any) -> CheckResult:
    check = RequestCheck.model_validate({"request": {"url": "**", **query}})
    return judge(check, wire=wire)


def download(*files: Download, **query: Any) -> CheckResult:
    return judge(DownloadCheck.model_validate({"download": query}), downloads=files)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "ANY METHOD request to '**'"),
        (
            {"url": {"matches": "a+"}, "method": "post", "status": 201, "count": 2},
            "POST request to matching 'a+', answered 201, exactly 2",
        ),
        (
            {"json": {"a": 1}, "contains": "b", "body": "c", "reply": {"json": [1]}},
            "ANY METHOD request to '**', body with {\"a\": 1}, body with 'b', body 'c', "
            "reply with [1]",
        ),
    ],
)
def test_a_request_check_says_what_it_wants(query: dict[str, Any], expected: str) -> None:
    assert request(**query).expected == expected


def test_a_download_check_says_what_it_wants() -> None:
    digest = "ab" * 32
    whole = download(name="*.csv", contains="a", equals="b", sha256=digest, count=2)

    assert download().expected == "a download"
    assert whole.expected == (
        f"a download, named '*.csv', with 'a', equal to 'b', SHA-256 {digest}, exactly 2"
    )


def test_the_last_of_the_requests_that_hold_is_shown() -> None:
    first = entry("/a", method="POST", request_body="x=1")
    second = entry("/b", status=None, request_body="y" * 300)

    result = request(first, second)

    assert result.actual == f"2 such: GET {PAGE}/b (no answer) {'y' * 199}…"
    assert result.where == f"GET {PAGE}/b (no answer)"
    assert request(second, first).actual == f"2 such: POST {PAGE}/a 200 x=1"
    assert request(entry("/c")).actual == f"1 such: GET {PAGE}/c 200"


def test_a_request_that_must_not_be_sent_holds_while_it_is_not() -> None:
    result = request(entry("/a"), url="**/b", count=0)

    assert (result.passed, result.actual, result.where) == (True, "no such request", "")


def test_too_many_requests_are_listed_up_to_five() -> None:
    wire = [entry(f"/{number}") for number in range(7)]

    result = request(*wire, count=2)

    listed = "; ".join(f"GET {PAGE}/{number} 200" for number in range(5))
    assert (result.passed, result.actual) == (False, f"7 such instead of 2: {listed}")
    assert result.where == f"GET {PAGE}/0 200"


def test_the_nearest_is_the_latest_that_has_the_address_and_most_of_the_rest() -> None:
    wire = (
        entry("/api", method="POST", status=500, request_body="a"),
        entry("/api", method="POST", status=404, request_body="a"),
        entry("/api", method="GET", status=404),
        entry("/other", method="POST", status=201, request_body="a"),
    )

    result = request(*wire, url="**/api", method="POST", status=201, contains="a")

    assert result.actual == f"nearest: POST {PAGE}/api 404: status 201, but it is 404"
    assert result.where == f"POST {PAGE}/api 404"


def test_an_address_that_nothing_went_to_names_the_last_request() -> None:
    result = request(entry("/a"), entry("/b", status=None, failed="refused"), url="**/c")

    assert result.actual == f"none of 2 requests went there; last: GET {PAGE}/b refused"
    assert result.where == ""


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"status": None}, "it is there is no answer yet"),
        ({"status": None, "failed": "refused"}, "it is refused"),
        ({"status": 500}, "it is 500"),
    ],
)
def test_a_status_that_did_not_come_says_what_came(fields: dict[str, Any], seen: str) -> None:
    assert request(entry("/a", **fields), status=200).actual.endswith(f"status 200, but {seen}")


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ({"contains": "x"}, "body with 'x', but there is no body in text"),
        ({"body": "x"}, "body 'x', but there is no body in text"),
        ({"json": {"a": 1}}, 'body with {"a": 1}, but there is no body in text'),
    ],
)
def test_a_request_without_a_body_holds_nothing(query: dict[str, Any], seen: str) -> None:
    result = request(entry("/a", request_body=None), **query)

    assert (result.passed, result.actual) == (False, f"nearest: GET {PAGE}/a 200: {seen}")


def test_a_body_is_compared_without_the_space_around_it() -> None:
    assert request(entry("/a", request_body=" x=1\n"), body="x=1 ").passed is True
    assert request(entry("/a", request_body="x=1"), body="x=2").passed is False


def test_a_long_body_is_shown_in_part() -> None:
    result = request(entry("/a", request_body="y" * 201), body="x")

    assert result.actual.endswith(f"body 'x', but it is {'y' * 199}…")
    shorter = request(entry("/a", request_body="y" * 200), body="x")
    assert shorter.actual.endswith(f"body 'x', but it is {'y' * 200}")


def test_only_in_a_long_body_the_differing_field_is_named() -> None:
    def body(chars: int) -> str:
        return '{"a": 1, "b": "' + "y" * (chars - 17) + '"}'

    short = request(entry("/a", request_body=body(200)), json={"a": 2})
    long = request(entry("/a", request_body=body(201)), json={"a": 2})

    assert short.actual.endswith(f"but it is {body(200)}")
    assert not long.actual.endswith(f"but it is {body(201)[:199]}…")


def test_a_reply_that_never_came_is_not_there() -> None:
    result = request(entry("/a", status=None, response_body=None), reply={"contains": "x"})

    assert result.passed is False
    assert result.actual.endswith("reply with 'x', but there is no reply in text")


def test_a_reply_is_looked_at_as_a_body_is() -> None:
    reply = entry("/a", response_body='{"id": 7, "name": "J\\u00f6rg"}')

    assert request(reply, reply={"json": {"id": 7}, "contains": "Jörg"}).passed is True
    assert request(reply, reply={"json": {"id": 8}}).passed is False
    assert request(reply, reply={"contains": "Anna"}).passed is False


@pytest.mark.parametrize("side", ["request", "response"])
def test_of_a_body_cut_off_only_what_is_there_counts(side: str) -> None:
    cut = entry("/a", **{f"{side}_body": "tea and", f"{side}_truncated": True})

    def look(query: dict[str, Any]) -> CheckResult:
        return request(cut, **(query if side == "request" else {"reply": query}))

    assert look({"contains": "tea"}).passed is True
    assert look({"contains": "milk"}).passed is None
    assert look({"json": {"a": 1}}).passed is None


@pytest.mark.parametrize("mask", ["<redacted>", "<hidden>", "%3Credacted%3E", "%3Chidden%3E"])
def test_what_a_stored_run_has_masked_is_not_held_against_it(mask: str) -> None:
    address = request(entry(f"/a?token={mask}"), url="**/a?token=secret")
    body = request(entry("/a", request_body=f"token={mask}"), body="token=secret")
    other = request(entry("/a", request_body=f"token={mask}&n=1"), contains="n=1")

    assert address.passed is None
    assert f"it is {PAGE}/a?token={mask}" in address.message
    assert body.passed is None
    assert "parts of the stored body are redacted" in body.message
    assert other.passed is True


@pytest.mark.parametrize(
    ("count", "passed"),
    [(None, True), (1, None), (2, None), (3, None), (0, False)],
)
def test_what_was_not_kept_leaves_open_only_what_it_could_turn(
    count: int | None, passed: bool | None
) -> None:
    sure = entry("/a", request_body="milk")
    open_ = entry("/a", request_body="tea", request_truncated=True)
    other = entry("/b", request_body="tea", request_truncated=True)
    query: dict[str, Any] = {"url": "**/a", "contains": "milk"}

    result = request(sure, open_, other, **query, **({} if count is None else {"count": count}))

    assert result.passed is passed


def test_a_body_that_surely_differs_elsewhere_is_not_left_open() -> None:
    cut = entry("/a", request_body="tea", request_truncated=True)

    assert request(cut, contains="milk", status=404).passed is False


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("a=1&b=&a=2", {"a": ["1", "2"], "b": ""}),
        ("plain words", "plain words"),
        (r'{"a": "half \ud83d"}', {"a": "half \ufffd"}),
        ("[" * 100_000, "[" * 100_000),
        ("--b", "--b"),
        ("--b\r\n\r\n--b--", "--b\r\n\r\n--b--"),
        (
            '--b\nContent-Disposition: form-data; name="a"\n\none\n\ntwo\n--b\n'
            'content-disposition: FORM-DATA; filename="f"; name="c"\nX: y\n\n\n--b--\n',
            {"a": "one\n\ntwo", "c": ""},
        ),
    ],
)
def test_a_body_is_read_as_json_or_a_form_or_text(text: str, fields: object) -> None:
    assert fields_of(text) == fields


@pytest.mark.parametrize(
    ("body", "text", "holds"),
    [
        ('{"a": {"b": ["x", "J\\u00f6rg"]}}', "Jörg", True),
        ('["J\\u00f6rg"]', "Jörg", True),
        ("name=J%C3%B6rg+K", "Jörg K", True),
        ('{"n": 7}', "7", True),
        ('{"Jörg": 1}', "J\\u00f6rg", False),
    ],
)
def test_a_text_is_looked_for_as_people_write_it(body: str, text: str, holds: bool) -> None:
    assert request(entry("/a", request_body=body), contains=text).passed is holds


@pytest.fixture
def csv(tmp_path: Path) -> Download:
    path = tmp_path / "1-orders.csv"
    path.write_bytes(b"item,total\r\n\xff tea,4\r\n\r\n")
    return Download("orders.csv", path, 40, "ab" * 32)


def test_files_that_hold_are_listed_up_to_five(csv: Download) -> None:
    files = [replace(csv, name=f"{number}.csv") for number in range(6)]

    result = download(*files)

    assert result.actual == "; ".join(f"{number}.csv (40 bytes)" for number in range(5))
    assert result.where == "5.csv (40 bytes)"
    many = download(*files, count=1)
    assert many.actual == f"6 such instead of 1: {result.actual}"


def test_a_file_that_must_not_come_holds_while_it_does_not(csv: Download) -> None:
    result = download(csv, name="*.pdf", count=0)

    assert (result.passed, result.actual, result.where) == (True, "no such download", "")


def test_the_nearest_file_is_the_latest_that_has_most(csv: Download) -> None:
    other = Download("b.csv", csv.path, 41, "cd" * 32)
    named = Download("c.pdf", csv.path, 42, "cd" * 32)

    result = download(csv, other, named, name="*.csv", sha256="ef" * 32)

    wanted = f"SHA-256 {'ef' * 32}, but it is {'cd' * 32}"
    assert result.actual == f"nearest: b.csv (41 bytes): {wanted}"
    assert result.where == "b.csv (41 bytes)"
    unknown = Download("d.csv", csv.path, 43, "")
    assert download(unknown, sha256="ef" * 32).actual.endswith("but it is unknown")


def test_line_ends_of_a_file_do_not_count(csv: Download) -> None:
    whole = "item,total\n� tea,4"

    assert download(csv, equals=whole).passed is True
    assert download(csv, equals=whole.replace("\n", "\r\n") + "\n").passed is True
    assert download(csv, contains="total\r\n").passed is True
    wrong = download(csv, equals="item")
    assert wrong.actual == (
        "nearest: orders.csv (40 bytes): text equal to 'item', but it is "
        "'item,total\\n� tea,4\\n\\n'"
    )


def test_space_at_the_end_of_a_file_counts(csv: Download, tmp_path: Path) -> None:
    (tmp_path / "space").write_bytes(b"tea \n\n")
    spaced = replace(csv, path=tmp_path / "space")

    assert download(spaced, equals="tea ").passed is True
    assert download(spaced, equals="tea").passed is False


def test_a_name_fits_a_glob_or_an_expression(csv: Download) -> None:
    odd = replace(csv, name="a[1]{x.csv")

    assert download(odd, name={"matches": r"^a\[1"}).passed is True
    assert download(csv, name={"matches": "ORD"}).passed is False
    assert download(csv, name="orders.*").passed is True
    assert "is not a glob" in download(csv, name="{a").message


def test_a_file_that_was_not_kept_is_whole_but_its_text_is_open() -> None:
    large = Download("big.iso", None, 10**9, "cd" * 32, problem="larger than 20 MB")
    nameless = Download("big.iso", None, 1, "cd" * 32)
    never = Download("never.bin", None, 0, problem="not finished")

    assert download(large).passed is True
    assert "larger than 20 MB" in download(large, contains="x").message
    assert "the file was not kept" in download(nameless, equals="x").message
    assert download(large, sha256="CD" * 32).passed is True
    assert download(never).passed is False
