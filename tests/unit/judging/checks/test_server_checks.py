"""What a server holds is asked of the server itself: over HTTP, in its database, in its files."""

import gzip
import json
import socket
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from local_site import Site

from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.checks.server_checks import FileCheck, HttpCheck, SqlCheck
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult


class WaitingPage:
    """All that these checks want of a page: that it waits between two looks."""

    def wait_for_timeout(self, milliseconds: float) -> None:
        time.sleep(milliseconds / 1000)


NOTHING = Evidence(page=cast(Any, WaitingPage()), answered=False, answer=None)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def judge(check: Any, timeout_s: float = 0.3) -> CheckResult:
    (result,) = judge_checks([check], NOTHING, timeout_s=timeout_s)
    return result


def later(action: Any) -> Iterator[None]:
    timer = threading.Timer(0.6, action)
    timer.start()
    yield
    timer.join()


def http(url: str, **query: Any) -> HttpCheck:
    return HttpCheck.model_validate({"http": {"url": url, **query}})


@pytest.mark.parametrize(
    ("query", "passed"),
    [
        ({}, True),
        ({"status": 404}, False),
        ({"json": {"id": 1, "lines": [{"qty": 2}]}}, True),
        ({"json": {"lines": []}}, False),
        ({"contains": "books"}, True),
        ({"contains": "cars"}, False),
    ],
)
def test_the_server_is_asked_over_http(site: Site, query: dict[str, Any], passed: bool) -> None:
    url = site.put("/api", '{"id": 1, "kind": "books", "lines": [{"qty": 2, "price": 5}]}')

    result = judge(http(url, **query))

    assert result.passed is passed
    assert result.actual.startswith('200: {"id": 1')


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress),
        ("x-gzip, identity", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:]) + b"\0\0"),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
    ],
)
def test_what_a_server_packs_unasked_is_unpacked(
    site: Site, encoding: str, packed: Callable[[bytes], bytes]
) -> None:
    body = packed('{"kind": "Bücher"}'.encode())
    site.replies["/api"] = (200, {"content-encoding": encoding}, body)

    assert judge(http(site.url + "api", json={"kind": "Bücher"})).passed is True


@pytest.mark.parametrize(("encoding", "why"), [("br", "compressed with br"), ("gzip", "damaged")])
def test_what_cannot_be_unpacked_leaves_the_check_open(site: Site, encoding: str, why: str) -> None:
    site.replies["/api"] = (200, {"content-encoding": encoding}, b"{}")

    result = judge(http(site.url + "api"))

    assert result.passed is None
    assert why in result.message


def test_a_status_of_an_error_can_be_wanted(site: Site) -> None:
    assert judge(http(site.url + "gone", status=404)).passed is True


def test_a_late_confirmation_is_waited_for(site: Site) -> None:
    site.put("/api", '{"paid": false}')
    wait = later(lambda: site.put("/api", '{"paid": true}'))
    next(wait)

    assert judge(http(site.url + "api", json={"paid": True}), timeout_s=5).passed is True
    next(wait, None)


def test_a_request_that_may_change_the_server_is_sent_once(site: Site) -> None:
    judge(http(site.put("/api", "no"), method="POST", contains="yes"), timeout_s=0.5)

    assert site.hits == ["/api"]


def test_a_server_that_does_not_answer_leaves_the_check_open(site: Site) -> None:
    url = site.url
    site.close()

    result = judge(http(url))

    assert result.passed is None
    assert (
        result.message == f"could not be evaluated: {url} could not be reached: Connection refused"
    )


@pytest.mark.parametrize(
    ("query", "actual"),
    [
        ({"contains": "here"}, "200: you are here"),
        ({"redirects": "no", "status": 302}, "302 to /end: moved"),
        ({"redirects": "no"}, "302 to /end: moved"),
    ],
)
def test_a_redirect_is_followed_or_is_itself_the_answer(
    site: Site, query: dict[str, Any], actual: str
) -> None:
    end = site.put("/end", "you are here")
    url = site.put("/old", "moved", status=302, headers={"location": "/end"})

    result = judge(http(url, **query))

    assert result.passed is (query != {"redirects": "no"})
    assert result.actual == actual
    assert result.where == f"GET {url}" + ("" if "redirects" in query else f", which led to {end}")


def test_a_redirect_to_another_origin_takes_no_secrets_along(site: Site) -> None:
    other = Site()
    asked = other.put("/api", "x")
    url = site.put("/old", "", status=302, headers={"location": asked})

    headers = {"Authorization": "Bearer hunter22", "Accept-Language": "de"}
    result = judge(http(url, headers=headers))
    other.close()

    assert result.passed is True
    assert site.authorizations == ["Bearer hunter22"]
    assert other.hits == ["/api"]
    assert other.authorizations == []
    assert (site.languages, other.languages) == (["de"], ["de"])


def test_a_long_reply_shows_what_comes_nearest_and_what_differs(site: Site) -> None:
    rows = [{"name": f"Tea {number}", "price": number} for number in range(200)]
    url = site.put("/api", json.dumps({"rows": rows, "note": "Total: 41.00 EUR"}))

    text = judge(http(url, contains="Total: 42.00 EUR"))
    fields = judge(http(url, json={"rows": [*rows[:150], {"name": "Tea"}, *rows[151:]]}))

    assert text.actual.startswith("200: nearest: '")
    assert "Total: 41.00 EUR" in text.actual
    assert fields.actual.endswith('(rows[150].name is "Tea 150")')


def test_a_query_that_fails_says_why(database: Path) -> None:
    result = judge(sql(database, "select * from ordres", []))

    assert result.message.endswith("the query of a shop#1.db failed: no such table: ordres")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a shop#1.db"
    with closing(sqlite3.connect(path)) as shop:
        shop.execute("create table orders (item text, total real)")
        shop.execute("insert into orders values ('book', 85), ('pen', 1.5)")
        shop.commit()
    return path


def sql(path: Path, query: str, rows: list[list[Any]]) -> SqlCheck:
    fields = {"url": f"sqlite:///{path}", "query": query, "rows": rows}
    return SqlCheck.model_validate({"sql": fields})


@pytest.mark.parametrize(
    ("rows", "passed"),
    [
        ([["book", 85], ["pen", 1.5]], True),
        ([["pen", 1.5], ["book", 85]], False),
        ([["book", 85]], False),
        ([["book", 85.01], ["pen", 1.5]], False),
    ],
)
def test_rows_are_compared_in_order(database: Path, rows: list[list[Any]], passed: bool) -> None:
    result = judge(sql(database, "select * from orders order by total desc", rows))

    assert result.passed is passed
    assert result.actual == 'rows [["book", 85.0], ["pen", 1.5]]'


def test_the_database_cannot_be_changed(database: Path) -> None:
    result = judge(sql(database, "delete from orders", []))

    assert result.passed is None
    assert "readonly" in result.message
    assert judge(sql(database, "select count(*) from orders", [[2]])).passed is True


def test_a_missing_database_leaves_the_check_undecided(
    tmp_path: Path,
) -> None:
    result = judge(sql(tmp_path / "no.db", "select 1", [[1]]))

    assert result.passed is None
    assert "there is no database no.db" in result.message
    assert not (tmp_path / "no.db").exists()


def test_an_endless_query_ends(database: Path) -> None:
    endless = "with recursive n(x) as (select 1 union all select x+1 from n) select count(*) from n"
    started = time.monotonic()

    result = judge(sql(database, endless, [[1]]))

    assert result.passed is None
    assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    ("fields", "passed"),
    [
        ({}, True),
        ({"contains": "total\n85"}, True),
        ({"contains": "86"}, False),
        ({"equals": "total\n85"}, True),
        ({"equals": "total"}, False),
        ({"exists": False}, False),
    ],
)
def test_files_are_read(tmp_path: Path, fields: dict[str, Any], passed: bool) -> None:
    (tmp_path / "out.csv").write_bytes(b"total\r\n85\r\n")

    check = FileCheck.model_validate({"file": {"path": str(tmp_path / "out.csv"), **fields}})

    assert judge(check).passed is passed


def test_a_file_that_comes_late_is_waited_for_and_one_that_stays_away_fails(tmp_path: Path) -> None:
    late, never = tmp_path / "late.txt", tmp_path / "never.txt"
    wait = later(lambda: late.write_text("here", encoding="utf-8"))
    next(wait)

    check = FileCheck.model_validate({"file": {"path": str(late), "contains": "here"}})
    assert judge(check, timeout_s=5).passed is True
    missing = judge(FileCheck.model_validate({"file": {"path": str(never)}}))
    assert (missing.passed, missing.actual) == (False, "(no such file)")
    next(wait, None)


def test_a_result_of_http_says_what_was_asked_and_what_came(site: Site) -> None:
    url = site.put("/api", '  {"id": 1}\n', status=201)

    result = judge(http(url, status=201, json={"id": 1}, contains='"id"'))

    assert result.passed is True
    assert result.expected == f'GET {url} answers 201, JSON with {{"id": 1}}, text \'"id"\''
    assert (result.actual, result.where) == ('201: {"id": 1}', f"GET {url}")


def test_a_server_that_takes_its_time_leaves_the_check_open() -> None:
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        result = judge(http(f"http://127.0.0.1:{silent.getsockname()[1]}/"), timeout_s=0)

    assert result.passed is None
    assert "did not answer within 3 s" in result.message
    assert time.monotonic() - began < 8


def test_a_reply_without_a_body_is_its_status(site: Site) -> None:
    assert judge(http(site.put("/empty", " "))).actual == "200"


@pytest.mark.parametrize(
    ("status", "query", "passed"),
    [
        (404, {"status": 404, "contains": "gone"}, True),
        (404, {"status": 404, "contains": "here"}, False),
        (500, {"status": 500, "json": {"why": "gone"}}, True),
        (200, {"status": 200, "contains": "gone", "json": {"why": "lost"}}, False),
    ],
)
def test_a_refusal_of_the_server_has_a_body_too(
    site: Site, status: int, query: dict[str, Any], passed: bool
) -> None:
    url = site.put("/api", '{"why": "gone"}', status=status)

    assert judge(http(url, **query)).passed is passed


def test_a_reply_that_is_not_json_does_not_hold(site: Site) -> None:
    result = judge(http(site.put("/api", "soon"), json={}))

    assert (result.passed, result.actual) == (False, "200: soon (not JSON)")

    nested = judge(http(site.put("/deep", "[" * 100_000), json={}))

    assert nested.passed is False


def test_a_reply_that_is_not_text_is_read_all_the_same(site: Site) -> None:
    site.replies["/raw"] = (200, {}, b"\xff gold")

    assert judge(http(site.url + "raw", contains="gold")).passed is True


def test_method_headers_and_body_of_the_request_are_those_of_the_check(echo: str) -> None:
    headers = {"x-token": "abc", "content-type": "text/plain"}

    sent = judge(http(echo, method="put", headers=headers, body="tü", contains="PUT abc tü"))
    bare = judge(http(echo, contains="GET None None"))

    assert sent.passed, sent.actual
    assert bare.passed, bare.actual
    assert sent.where == f"put {echo}"


@pytest.fixture
def echo() -> Iterator[str]:
    """A server that answers with what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = self.headers["content-length"]
            body = self.rfile.read(int(length)).decode() if length else None
            reply = f"{self.command} {self.headers['x-token']} {body}".encode()
            self.send_response(200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_PUT = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_of_this_machine_is_asked_without_a_proxy(
    site: Site, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    url = site.put("/api", "fine").replace("127.0.0.1", host)

    assert judge(http(url, contains="fine")).passed is True


def test_another_server_is_asked_by_the_proxy_of_the_environment(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", site.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    site.replies["http://shop.invalid/api"] = (200, {}, b"by proxy")

    assert judge(http("http://shop.invalid/api", contains="by proxy")).passed is True


@pytest.mark.parametrize("method", ["get", "HEAD", "options"])
def test_a_request_that_changes_nothing_is_sent_again(method: str) -> None:
    probe = http("http://127.0.0.1:9/", method=method).probe(NOTHING)

    assert probe.retry


@pytest.mark.parametrize("method", ["POST", "put", "PATCH", "DELETE"])
def test_a_request_that_may_change_something_is_not(method: str) -> None:
    probe = http("http://127.0.0.1:9/", method=method).probe(NOTHING)

    assert not probe.retry


def test_a_result_of_sql_says_what_was_asked(database: Path) -> None:
    check = sql(database, "  select count(*) from orders\n", [[3]])

    result = judge(check)

    assert (result.passed, result.actual) == (False, "rows [[2]]")
    assert result.expected == "rows [[3]] of select count(*) from orders"
    assert result.where == check.sql.url


def test_bytes_in_a_database_are_read_as_text(database: Path) -> None:
    assert judge(sql(database, "select cast('tea' as blob)", [["tea"]])).passed is True


def test_the_name_of_a_database_may_be_escaped(database: Path) -> None:
    escaped = str(database).replace(" ", "%20").replace("#", "%23")

    assert judge(sql(Path(escaped), "select 1", [[1]])).passed is True


def test_a_result_of_a_file_says_what_was_wanted_and_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(b"total\r\n85\r\n")
    fields = {"path": str(path), "contains": "total", "equals": "total\n86"}

    result = judge(FileCheck.model_validate({"file": fields}))

    assert (result.passed, result.where, result.actual) == (False, str(path), "total\n85\n")
    assert result.expected == f"{path} exists, contains 'total', equals 'total\\n86'"


@pytest.mark.parametrize(
    ("fields", "passed", "actual"),
    [
        ({"contains": "85", "equals": "total\n85\n\n"}, True, "total\n85\n"),
        ({"contains": "86", "equals": "total\n85"}, False, "total\n85\n"),
        ({"contains": "total\r\n85"}, True, "total\n85\n"),
        ({"equals": "total\r\n85"}, True, "total\n85\n"),
        ({"exists": False}, False, "it exists"),
        ({}, True, "it exists"),
    ],
)
def test_what_is_in_a_file_counts_and_its_line_endings_do_not(
    tmp_path: Path, fields: dict[str, Any], passed: bool, actual: str
) -> None:
    (tmp_path / "out.csv").write_bytes(b"total\r\n85\r\n")

    result = judge(
        FileCheck.model_validate({"file": {"path": str(tmp_path / "out.csv"), **fields}})
    )

    assert (result.passed, result.actual) == (passed, actual)


def test_a_file_that_must_not_be_there_holds_while_it_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "gone.csv")

    result = judge(FileCheck.model_validate({"file": {"path": path, "exists": False}}))

    assert (result.passed, result.actual) == (True, "(no such file)")
    assert result.expected == f"{path} does not exist"


def test_a_folder_exists_but_holds_no_text(tmp_path: Path) -> None:
    there = judge(FileCheck.model_validate({"file": {"path": str(tmp_path)}}))
    read = judge(FileCheck.model_validate({"file": {"path": str(tmp_path), "contains": ""}}))

    assert (there.passed, there.actual) == (True, "it exists")
    assert (read.passed, read.actual) == (False, "(not a file)")


def test_a_column_that_is_no_text_is_shown_as_far_as_it_is_one(database: Path) -> None:
    result = judge(sql(database, "select cast(x'546561ff' as text)", [["Tea\ufffd"]]))

    assert result.passed is True


def test_of_a_long_file_the_part_like_the_wanted_text_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text(f"{'tea;1 ' * 60}the total is 9 EUR{' tea;2' * 60}", encoding="utf-8")

    for how in ("equals", "contains"):
        check = FileCheck.model_validate({"file": {"path": str(path), how: "the total is 8 EUR"}})
        result = judge(check)
        assert result.passed is False
        assert "the total is 9 EUR" in result.actual
