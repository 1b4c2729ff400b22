from pathlib import Path
from typing import Any, cast

import pytest

from pytest_autoweb.judging.checks.answer_checks import url_fits
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.checks.wire_checks import DownloadCheck, RequestCheck
from pytest_autoweb.judging.evidence.downloads import Download
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult

FORM = {"content-type": "application/x-www-form-urlencoded"}
ORDER = WireEntry(
    method="POST",
    url="http://shop.test/api/orders",
    status=201,
    request_body='{"item": "tea", "n": 2, "tags": ["a", "b"]}',
    response_body='{"id": 7, "state": "open"}',
)
LOGIN = WireEntry(
    method="POST",
    url="http://shop.test/login",
    status=302,
    request_headers=FORM,
    request_body="user=ana+lee&size=s&size=l",
)
EARLY = WireEntry(method="GET", url="http://shop.test/api/orders", status=200, counted=False)
UPLOAD = WireEntry(
    method="POST",
    url="http://shop.test/upload",
    request_body='--b1\r\nContent-Disposition: form-data; name="title"\r\n\r\nMy file\r\n'
    '--b1\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
    "Content-Type: text/plain\r\n\r\nwords\r\n--b1--\r\n",
)
WIRE = (EARLY, LOGIN, UPLOAD, ORDER)


def request(*wire: WireEntry, **query: Any) -> CheckResult:
    check = RequestCheck.model_validate({"request": {"url": "**", **query}})
    evidence = Evidence(page=cast(Any, None), answered=False, answer=None, wire=wire or WIRE)
    return judge_checks([check], evidence, timeout_s=0)[0]


@pytest.mark.parametrize(
    "query",
    [
        {"url": "**/api/orders"},
        {"url": {"matches": r"/api/\w+$"}},
        {"url": "http://shop.test/{login,logout}"},
        {"method": "post", "url": "**/orders", "status": 201},
        {"json": {"item": "tea"}},
        {"json": {"n": "2", "tags": ["a", "b"]}},
        {"url": "**/login", "json": {"user": "ana lee", "size": ["s", "l"]}},
        {"url": "**/upload", "json": {"title": "My file", "file": "words"}},
        {"contains": "ana lee"},
        {"contains": '"item": "tea"'},
        {"url": "**/login", "body": "user=ana+lee&size=s&size=l"},
        {"url": "**/orders", "reply": {"json": {"id": 7}, "contains": "open"}},
        {"method": "POST", "count": 3},
        {"method": "DELETE", "count": 0},
    ],
)
def test_a_request_that_was_sent_holds(query: dict[str, Any]) -> None:
    result = request(**query)

    assert result.passed, result.actual


@pytest.mark.parametrize(
    ("query", "actual"),
    [
        ({"url": "**/cart"}, "none of 3 requests went there; last: POST http://shop.test/api/ord"),
        ({"url": "**/orders", "method": "PUT"}, "POST http://shop.test/api/orders 201: method PUT"),
        ({"url": "**/orders", "status": 200}, "status 200, but it is 201"),
        ({"url": "**/orders", "json": {"item": "tee"}}, 'body with {"item": "tee"}, but it is {"i'),
        ({"url": "**/orders", "contains": "milk"}, "body with 'milk', but it is"),
        ({"url": "**/orders", "reply": {"json": {"id": 8}}}, 'reply with {"id": 8}, but it is'),
        ({"method": "POST", "count": 1}, "3 such instead of 1: POST http://shop.test/login 302"),
        ({"method": "GET"}, "method GET, but it is POST"),
    ],
)
def test_a_request_that_was_not_sent_names_the_nearest(query: dict[str, Any], actual: str) -> None:
    result = request(**query)

    assert result.passed is False
    assert actual in result.actual


def test_where_it_was_seen_is_the_request_line() -> None:
    assert request(url="**/orders").where == "POST http://shop.test/api/orders 201"
    assert request(url="**/orders", status=200).where == "POST http://shop.test/api/orders 201"


def test_what_the_capture_asked_for_does_not_count() -> None:
    assert request(EARLY, url="**/orders").actual == "no request was sent"


@pytest.mark.parametrize(
    ("entry", "query", "reason"),
    [
        ({"response_body": None}, {"reply": {"contains": "x"}}, "reply's body was not kept"),
        ({"request_truncated": True}, {"json": {"n": 3}}, "only the beginning of the body"),
        ({"request_truncated": True}, {"contains": "milk"}, "only the beginning of the body"),
        ({"request_body": '{"token": "<redacted>"}'}, {"json": {"token": "x"}}, "are redacted"),
    ],
)
def test_what_was_not_kept_leaves_the_check_open(
    entry: dict[str, Any], query: dict[str, Any], reason: str
) -> None:
    fields = {"status": 200, "request_body": "{}", "response_body": "", **entry}
    result = request(WireEntry(method="POST", url="http://x.test/", **fields), **query)

    assert result.passed is None
    assert reason in result.message


def test_a_broken_glob_is_the_checks_own_fault() -> None:
    assert "is not a glob" in request(url="**/{a").message


@pytest.mark.parametrize(
    ("glob", "url", "fits"),
    [
        ("**/api/*", "http://x.test/api/a", True),
        ("**/api/*", "http://x.test/api/a/b", False),
        ("http://x.test/**/b", "http://x.test/b", True),
        ("http://x.test/**/b", "http://x.test/a/c/b", True),
        ("**/find?q=*", "http://x.test/find?q=a", True),
        ("**/find?q=*", "http://x.test/finds", False),
        (r"**/\*", "http://x.test/*", True),
        ("**/{a,b}", "http://x.test/b", True),
        ("**/a.b", "http://x.test/aXb", False),
    ],
)
def test_globs_mean_what_they_mean_to_playwright(glob: str, url: str, fits: bool) -> None:
    assert url_fits(glob, url) is fits


def download(files: tuple[Download, ...], **query: Any) -> CheckResult:
    check = DownloadCheck.model_validate({"download": query})
    evidence = Evidence(
        page=cast(Any, None),
        answered=False,
        answer=None,
        downloads=files,
        redact=lambda text: text.replace("hunter2", "<secret:pw>"),
    )
    return judge_checks([check], evidence, timeout_s=0)[0]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Download, ...]:
    path = tmp_path / "1-orders.csv"
    path.write_bytes(b"item,total\r\ntea,4\r\nfor <secret:pw>\r\n")
    return (
        Download("orders.csv", path, 40, "ab" * 32),
        Download("big.iso", None, 10**9, "cd" * 32, problem="larger than 20 MB"),
        Download("never.bin", None, 0, problem="not finished"),
    )


@pytest.mark.parametrize(
    "query",
    [
        {"name": "*.csv"},
        {"name": {"matches": "^orders"}},
        {"contains": "tea,4\n"},
        {"contains": "for hunter2"},
        {"name": "orders.csv", "equals": "item,total\ntea,4\nfor hunter2"},
        {"sha256": "AB" * 32},
        {"name": "*.pdf", "count": 0},
    ],
)
def test_a_file_that_was_handed_out_holds(files: tuple[Download, ...], query: Any) -> None:
    result = download(files, **query)

    assert result.passed, result.actual


@pytest.mark.parametrize(
    ("query", "actual"),
    [
        ({"name": "*.pdf"}, "name '*.pdf', but it is"),
        ({"name": "*.csv", "contains": "milk"}, "orders.csv (40 bytes): text 'milk', but it is"),
        ({"name": "never.*"}, "never.bin (0 bytes): a whole file, but not finished"),
        ({"name": "*.csv", "count": 2}, "1 such instead of 2: orders.csv (40 bytes)"),
    ],
)
def test_a_file_that_was_not_names_the_nearest(
    files: tuple[Download, ...], query: Any, actual: str
) -> None:
    result = download(files, **query)

    assert result.passed is False
    assert actual in result.actual


def test_the_text_of_a_file_too_large_to_keep_leaves_the_check_open(
    files: tuple[Download, ...],
) -> None:
    assert download(files, name="big.iso", contains="x").passed is None


def test_without_any_download_or_request_the_check_fails() -> None:
    missing, unsent = download((), name="*.csv"), request(EARLY)

    assert (missing.passed, missing.actual) == (False, "nothing was downloaded")
    assert (unsent.passed, unsent.actual) == (False, "no request was sent")
    assert download((), count=0).passed is True
