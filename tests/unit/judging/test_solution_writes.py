"""What is learned from an oracle's runs, and which writes of an attempt are beyond it."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules
from pytest_autoweb.judging.evidence.database_rows import Incomparable, read_tables, rows_written
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.judging.evidence.write_record import WriteRecord
from pytest_autoweb.judging.evidence.written import Write, requests_written
from pytest_autoweb.judging.solution_writes import (
    CHANGED,
    UNKNOWN,
    AllowedWrite,
    CaseWrites,
    beyond,
    keep_writes,
    known_writes,
    learn,
    read_writes,
    writes_file,
    writes_text,
)

ENTRY = "http://127.0.0.1:8123/shop"
WRITES = st.builds(
    Write,
    st.sampled_from(["POST", "DELETE", "insert"]),
    st.lists(st.sampled_from(["", "cart", "order", "7", "8"]), min_size=1, max_size=3).map(tuple),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["1", "2", None])),
)
RUNS = st.lists(st.lists(WRITES, max_size=6), min_size=1, max_size=3)


def post(path: str, **fields: str | None) -> Write:
    return Write("POST", tuple(path.split("/")), fields)


@given(RUNS)
def test_no_run_of_the_oracle_is_beyond_itself_in_whatever_order(runs: list[list[Write]]) -> None:
    allowed = learn(runs)

    for run in runs:
        assert beyond(allowed, run) == ()
        assert beyond(allowed, run[::-1]) == ()


@given(RUNS, WRITES)
def test_what_no_run_does_at_all_is_always_beyond(runs: list[list[Write]], write: Write) -> None:
    other = Write("PATCH", write.place, write.fields)

    (told,) = beyond(learn(runs), [*runs[0], other])

    assert told == other.told


@given(st.lists(WRITES, min_size=1, max_size=6))
def test_the_solution_twice_is_once_too_often(run: list[Write]) -> None:
    allowed = learn([run, run])

    assert len(beyond(allowed, [*run, *run])) == len(run)


def test_what_differs_between_runs_is_open_and_what_is_the_same_is_not() -> None:
    allowed = learn(
        [
            [
                post("/users/20/change", email="a@b.c", csrf="x"),
                post(f"/carts/{cart}/add", item="1"),
            ]
            for cart in ("9f3c", "77aa")
        ]
    )

    assert [one.place[2] for one in allowed] == ["20", None]
    assert beyond(allowed, [post("/carts/1234/add", item="1")]) == ()
    assert beyond(allowed, [post("/users/21/change", email="a@b.c")]) == (
        "POST /users/21/change (email)",
    )
    assert beyond(allowed, [post("/users/20/change", email="z@b.c")]) == (
        "POST /users/20/change (email): email is 'z@b.c', not 'a@b.c'",
    )
    assert beyond(allowed, [post("/users/20/change", email="a@b.c", admin="on")]) == (
        "POST /users/20/change (email, admin): with admin",
    )
    twice = [post("/carts/1/add", item="1")] * 2
    assert beyond(allowed, twice) == ("POST /carts/1/add (item): more often than the solution",)


def test_the_day_of_the_runs_may_be_another_one() -> None:
    allowed = learn([[post("/visits", on="2026-04-03", to="ana")]] * 3, {"2026-04-03"})

    assert beyond(allowed, [post("/visits", on="2026-04-04", to="ana")]) == ()
    assert len(beyond(allowed, [post("/visits", on="2026-04-04", to="bob")])) == 1


def test_what_the_oracle_does_now_and_then_may_be_done_any_number_of_times() -> None:
    ping = post("/ping")
    allowed = learn([[ping], [], [ping, ping]])

    assert beyond(allowed, [ping] * 7) == ()


JSON = '{"list": [{"id": 1}, {"id": 2}], "on": true}'
SHARED = "http://127.0.0.1:8123/a/7?next=%2Fb"
LISTED = {"list[].id": "1\n2", "on": "true"}
PRIVATE = {"password": None, "to": "ana"}
MAIL = "https://mail.example"


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        (WireEntry("GET", ENTRY), None),
        (
            WireEntry("POST", SHARED, 302, request_body="n=1&n=2"),
            post("/a/7", **{"?next": "/b", "n[]": "1\n2"}),
        ),
        (
            WireEntry("PUT", "http://127.0.0.1:9999/api", 200, request_body=JSON),
            Write("PUT", ("127.0.0.1", "api"), LISTED),
        ),
        (
            WireEntry("POST", f"{MAIL}/send", 200, request_body="password=hunter2&to=ana"),
            Write("POST", (MAIL, "send"), PRIVATE),
        ),
        (WireEntry("POST", ENTRY, 200, request_body="plain"), post("/shop", body="plain")),
        (WireEntry("POST", ENTRY, None, failed="aborted"), None),
        (WireEntry("POST", ENTRY, 200, counted=False), None),
        (WireEntry("POST", f"{ENTRY}/search", 200), None),
        (WireEntry("POST", f"{ENTRY}/beacon", 200), None),
        (WireEntry("POST", f"{ENTRY}/x", 200, request_body="at=17&a=1"), post("/shop/x", a="1")),
        (WireEntry("POST", f"{ENTRY}/x", 502, response_headers={"x-autoweb-proxy": "1"}), None),
    ],
)
def test_a_request_is_a_write_by_its_method_and_the_rules_of_its_case(
    entry: WireEntry, written: Write | None
) -> None:
    rules = TrafficRules(reads=("**/search",), ignore=("**/beacon",), ignore_body=("at",))

    found = list(requests_written([entry], rules, ENTRY, lambda text: text))

    assert found == ([written] if written else [])


def test_a_body_of_any_depth_is_told() -> None:
    deep = WireEntry("POST", ENTRY, 200, request_body='{"a":' * 200 + "1" + "}" * 200)

    (write,) = requests_written([deep], TrafficRules(), ENTRY, lambda text: text)

    assert list(write.fields.values()) == ["…"]


def test_rows_are_compared_by_table_key_and_column(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.executescript(
            "create table users (id integer primary key, email text, seen text);"
            "create table notes (text blob); create table tags (a, b, primary key (a, b));"
            "insert into users values (1, 'a', 'x'), (2, 'b', 'x');"
            "insert into notes values ('one'); insert into tags values ('p', 'q')"
        )
    before = read_tables(path)
    with sqlite3.connect(path) as database:
        database.executescript(
            "update users set email = 'c' where id = 2; delete from users where id = 1;"
            "insert into notes values (x'ff00'); insert into users values (9, null, 'y');"
            "create table late (n); insert into late values (1); delete from tags"
        )

    written = set(map(str, rows_written("shop.db", before, read_tables(path))))

    expected = (
        Write("delete", ("shop.db", "tags", "p/q"), {}),
        Write("insert", ("shop.db", "late"), {"n": "1"}),
        Write("insert", ("shop.db", "notes"), {"text": "ff00"}),
        Write("insert", ("shop.db", "users"), {"email": "", "seen": "y"}),
        Write("update", ("shop.db", "users", "2"), {"email": "c"}),
        Write("delete", ("shop.db", "users", "1"), {}),
    )
    assert written == set(map(str, expected))


def test_rows_of_a_database_that_is_made_during_the_attempt_are_written(tmp_path: Path) -> None:
    path, said = tmp_path / "late.db", list[str]()
    record = WriteRecord(True, TrafficRules(), ENTRY, [path], lambda text: text, said.append)
    record.begin()
    with sqlite3.connect(path) as database:
        database.executescript(
            "create table orders (id integer primary key, item text, token text);"
            "insert into orders values (1, 'tea', 'x'), (2, 'tin', 'y')"
        )

    rows = record.taken([])
    assert [(row.kind, row.place, row.fields) for row in rows] == [
        ("insert", ("late.db", "orders"), {"item": item, "token": None}) for item in ("tea", "tin")
    ]
    assert len(beyond(learn([rows[:1]]), rows)) == 1
    assert said == []


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_text("no database at all, but long enough to be taken for one" * 20)

    with pytest.raises(Incomparable, match=r"no\.db cannot be compared: file is not a database"):
        read_tables(tmp_path / "no.db")
    with pytest.raises(Incomparable, match=r"there is no database none\.db"):
        read_tables(tmp_path / "none.db")


def test_the_file_keeps_other_cases_and_fits_one_version_of_a_case(tmp_path: Path) -> None:
    case = tmp_path / "shop.yaml"
    assert known_writes(case, "a", "sum").why_not == UNKNOWN
    solution = CaseWrites(checksum="sum", runs=3, writes=learn([[post("/x", a="1")]] * 3))

    keep_writes(case, {"a": solution})
    keep_writes(case, {"b": CaseWrites(checksum="other", runs=3)})

    assert known_writes(case, "a", "sum").writes == solution
    assert known_writes(case, "b", "sum") == (None, CHANGED)
    assert known_writes(case, "c", "sum").why_not == UNKNOWN
    assert known_writes(None, "a", "sum").writes is None
    writes_file(case).write_text("{")
    assert known_writes(case, "a", "sum").why_not.startswith("shop.writes.json cannot be read: ")


def test_writes_are_read_as_they_were_written() -> None:
    writes = (post("/x", a="1", b=None), Write("delete", ("d", "t", "1"), {}))

    assert read_writes(writes_text(writes)) == writes
    with pytest.raises(ValueError, match="not a list of writes"):
        read_writes('{"a": 1}')
    assert AllowedWrite(kind="POST", place=("", None)).fits(post("/x"))
