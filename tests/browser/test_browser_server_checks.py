import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from local_site import Site
from playwright.sync_api import Page

from pytest_autoweb.checks.check_type import Evidence
from pytest_autoweb.checks.server_checks import FileCheck, HttpCheck, SqlCheck
from pytest_autoweb.judge.judging import judge_checks
from pytest_autoweb.results import CheckResult


def judge(blank: Page, check: Any, timeout_s: float = 0.3) -> CheckResult:
    evidence = Evidence(page=blank, answered=False, answer=None)
    (result,) = judge_checks([check], evidence, timeout_s=timeout_s)
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
def test_the_server_is_asked_over_http(
    blank: Page, site: Site, query: dict[str, Any], passed: bool
) -> None:
    url = site.put("/api", '{"id": 1, "kind": "books", "lines": [{"qty": 2, "price": 5}]}')

    result = judge(blank, http(url, **query))

    assert result.passed is passed
    assert result.actual.startswith('200: {"id": 1')


def test_a_status_of_an_error_can_be_wanted(blank: Page, site: Site) -> None:
    assert judge(blank, http(site.url + "gone", status=404)).passed is True


def test_a_late_confirmation_is_waited_for(blank: Page, site: Site) -> None:
    site.put("/api", '{"paid": false}')
    wait = later(lambda: site.put("/api", '{"paid": true}'))
    next(wait)

    assert judge(blank, http(site.url + "api", json={"paid": True}), timeout_s=5).passed is True
    next(wait, None)


def test_a_request_that_may_change_the_server_is_sent_once(blank: Page, site: Site) -> None:
    judge(blank, http(site.put("/api", "no"), method="POST", contains="yes"), timeout_s=0.5)

    assert site.hits == ["/api"]


def test_a_server_that_does_not_answer_leaves_the_check_open(blank: Page, site: Site) -> None:
    url = site.url
    site.close()

    result = judge(blank, http(url))

    assert result.passed is None
    assert "could not be evaluated" in result.message


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
def test_rows_are_compared_in_order(
    blank: Page, database: Path, rows: list[list[Any]], passed: bool
) -> None:
    result = judge(blank, sql(database, "select * from orders order by total desc", rows))

    assert result.passed is passed
    assert result.actual == 'rows [["book", 85.0], ["pen", 1.5]]'


def test_the_database_cannot_be_changed(blank: Page, database: Path) -> None:
    result = judge(blank, sql(database, "delete from orders", []))

    assert result.passed is None
    assert "readonly" in result.message
    assert judge(blank, sql(database, "select count(*) from orders", [[2]])).passed is True


def test_a_missing_database_fails(blank: Page, tmp_path: Path) -> None:
    result = judge(blank, sql(tmp_path / "no.db", "select 1", [[1]]))

    assert (result.passed, result.actual) == (False, "(there is no file no.db)")
    assert not (tmp_path / "no.db").exists()


def test_an_endless_query_ends(blank: Page, database: Path) -> None:
    endless = "with recursive n(x) as (select 1 union all select x+1 from n) select count(*) from n"
    started = time.monotonic()

    result = judge(blank, sql(database, endless, [[1]]))

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
def test_files_are_read(blank: Page, tmp_path: Path, fields: dict[str, Any], passed: bool) -> None:
    (tmp_path / "out.csv").write_bytes(b"total\r\n85\r\n")

    check = FileCheck.model_validate({"file": {"path": str(tmp_path / "out.csv"), **fields}})

    assert judge(blank, check).passed is passed


def test_a_file_that_comes_late_is_waited_for_and_one_that_stays_away_fails(
    blank: Page, tmp_path: Path
) -> None:
    late, never = tmp_path / "late.txt", tmp_path / "never.txt"
    wait = later(lambda: late.write_text("here", encoding="utf-8"))
    next(wait)

    check = FileCheck.model_validate({"file": {"path": str(late), "contains": "here"}})
    assert judge(blank, check, timeout_s=5).passed is True
    missing = judge(blank, FileCheck.model_validate({"file": {"path": str(never)}}))
    assert (missing.passed, missing.actual) == (False, "(no such file)")
    next(wait, None)
