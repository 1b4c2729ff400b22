"""How long the pages of the dashboard take on a store of a million cells, and its slowest query.

    python benchmarks/store_scale.py
    python benchmarks/store_scale.py --cells 100000 --looks 3

Fills a new Postgres on this machine with made-up rows, by SQL: runs of 1,000 cells of four models,
some of 10,000, over a year; each cell with its attempts, two checks an attempt, and four calls, of
which half have a target of their own. The roll-ups are computed by the code that computes them when
a run is written. Then each page and answer is asked for several times, without a cache; the table
has the medians of wall time and the most. Last comes Postgres's own plan of the query that took
longest.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, event, text
from starlette.testclient import TestClient

from pytest_autoweb.store.dashboard.app import create_app
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.roll_ups import roll_up_all

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from real_servers import postgres

TOKEN = "t" * 24
LARGE = 10_000
"""Cells of the largest runs."""
USUAL = 1_000
CALLS = 4

FILL = {
    "runs": """
insert into runs (id, ts, started_at, duration_s, exit_status, interrupted, commit, models,
  environment, workers, folder)
select md5('run' || n), 'T' || n, now() - n * interval '525 minutes', 1200, 0,
  false, md5(n::text), '["a","b","c","d"]', '{}', 4, '/runs/' || n
from generate_series(1, :runs) n""",
    # Every hundredth run is large.
    "cells": """
insert into cells (id, run_id, case_id, case_path, model, capture_mode, repeat, strategy,
  correction, control, outcome, slow, reason, failure_type, web_kind, calls, input_tokens,
  output_tokens, cached_tokens, reasoning_tokens, cost_usd, cost_complete, duration_ms, started_at,
  folder)
select md5('cell' || n || '.' || c), md5('run' || n), 'case-' || c / 4, 'cases/shop.yaml',
  (array['a','b','c','d'])[1 + c % 4], 'ARIA', 1, 'codegen', 'off', false,
  case when h < 60 then 'passed' when h < 66 then 'healed' when h < 97 then 'failed'
    else 'broken' end,
  false, '', case when h >= 66 then (array['TIMEOUT','DATA_NOT_FOUND','SERVICE_UNAVAILABLE',
    'INVALID_PARAMS'])[1 + h % 4] end, case when h >= 66 then '' end, 3, 12000, 400, 8000, 0, 0.01,
  true, 9000, now() - n * interval '525 minutes' + c * interval '1 second', 'cells/' || c
from (select n, c, abs(hashtext(n || '/' || c)) % 100 h from generate_series(1, :runs) n,
  lateral generate_series(1, case when n % 100 = 1 then :large else :usual end) c) made""",
    # Healed cells have a second attempt.
    "attempts": """
insert into attempts (id, cell_id, attempt_index, arm, beside, repair_attempt, executed,
  checks_passed, false_success, score, failure_kind, failure_type, web_kind, error, calls, cost_usd,
  duration_ms, started_at)
select md5(id || k), id, k, case when k > 0 then 'off' else '' end, false, k > 0, true,
  outcome = 'passed' or k > 0, false, 1, null, failure_type, web_kind, '', 2, 0.005, 4000,
  started_at + k * interval '4 seconds'
from cells, lateral generate_series(0, (outcome = 'healed')::int) k""",
    "checks": """
insert into checks (id, attempt_id, check_index, type, passed, expected, actual, message, finding,
  match_score, weight, advisory)
select md5(id || 'check' || k), id, k, 'text', checks_passed, 'Saved', 'Saved', '', '', null, 1,
  false
from attempts, generate_series(0, 1) k""",
    "tool_call_records": """
insert into tool_call_records (id, session_id, tool_name, parameters, result, execution_time_ms,
  is_duplicate, is_corrected, validation_result, created_at)
select md5(id || 'call' || k), id,
  (array['locator.click','locator.fill','page.goto','expect.to_have_text'])[1 + k % 4],
  json_build_object('target', 'get_by_role("button", name="Save ' ||
    case when h < 50 then h::text else substr(id, 1, 8) end || '")', 'arguments', ''),
  json_build_object('ok', bad is null, 'value', null, 'error', coalesce('Error: ' || bad, ''),
    'failure_type', bad, 'web_kind', case when bad is null then null else '' end),
  40 + h, h % 20 = 0, false, case when bad is null then 'UNVERIFIED' else 'INVALID' end,
  started_at + k * interval '100 milliseconds'
from (select id, k, started_at, h, case when h >= 90 then failure_type end bad
  from (select *, abs(hashtext(id || k)) % 100 h from attempts, generate_series(1, :calls) k) drawn
) made""",
    "correction_records": """
insert into correction_records (id, tool_call_id, original_error, failure_type, recovery_prompt,
  corrected_params, correction_result, is_successful, retry_count, created_at)
select a.id, md5(md5(a.cell_id || 0) || 'call4'), 'TimeoutError', 'TIMEOUT', 'Look again.', '{}',
  'passed', true, 1, a.started_at
from attempts a where a.repair_attempt""",
}


class Asked(NamedTuple):
    """An address, and how long its answers took, in milliseconds."""

    address: str
    times: list[float]
    bytes: int


def main() -> None:
    """Fill a store, ask for each page, and print the table and the plan of the slowest query."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--looks", type=int, default=5)
    parsed = parser.parse_args()
    with postgres() as server, Store(read_address(f"{server}/postgres")) as store:
        with store.write() as connection:
            fill(connection, runs=round(parsed.cells / (USUAL + LARGE / 100 - USUAL / 100)))
        with store.write() as connection:
            told("roll-ups", lambda: roll_up_all(connection))
        with store.read() as connection:
            where = addresses(connection)
            engine = connection.engine
        with every_query(engine) as queries, opened(store) as client:
            rows = [ask(client, address, parsed.looks) for address in where]
        print("| page or answer | median, ms | most, ms | kB |\n|---|--:|--:|--:|")
        for row in rows:
            print(f"| `{row.address}` | {statistics.median(row.times):.0f} "
                  f"| {max(row.times):.0f} | {row.bytes / 1000:.0f} |")  # fmt: skip
        explain(store, *max(queries, key=lambda query: query[2]))


def fill(connection: Connection, runs: int) -> None:
    """Insert the rows of all tables but the roll-ups."""
    # Rows that refer to others need no look at each of these: all are made here.
    connection.execute(text("set local session_replication_role = replica"))
    sizes = {"runs": runs, "large": LARGE, "usual": USUAL, "calls": CALLS}
    for table, statement in FILL.items():
        given = {name: size for name, size in sizes.items() if f":{name}" in statement}
        told(table, lambda: connection.execute(text(statement), given))  # noqa: B023
        count = connection.execute(text(f"select count(*) from {table}")).scalar_one()
        print(f"  {count:,} rows", flush=True)
    connection.execute(text("analyze"))


def told(what: str, call: Any) -> None:
    """Make a call, and print how long it took."""
    began = time.perf_counter()
    call()
    print(f"{what}: {time.perf_counter() - began:.1f} s", flush=True)


def addresses(connection: Connection) -> list[str]:
    """Return each page and answer that reads the store; of runs, a usual and a large one."""
    usual, large = (
        connection.execute(
            text("select run_id from cells group by 1 having count(*) = :size limit 1"),
            {"size": size},
        ).scalar_one()
        for size in (USUAL, LARGE)
    )
    cell = connection.execute(text("select id from cells limit 1")).scalar_one()
    return [
        *("/", "/?days=365", "/runs", "/runs?offset=500", f"/runs/{usual}", f"/runs/{large}"),
        *("/trends?model=a&days=365", f"/cells/{cell}", "/tools/locator.click"),
        *("/api/runs", "/api/runs?model=a", f"/api/runs/{usual}", f"/api/runs/{large}"),
        *(f"/api/cells/{cell}", "/api/trends", "/api/trends?days=365"),
        *("/api/calibration/dashboard?days=30", "/api/calibration/dashboard?days=365"),
        *("/api/calibration/tool/locator.click/stats", VERIFY),
    ]


VERIFY = "/api/calibration/verify"
FAILED_CALL = {
    "toolName": "locator.click",
    "params": {"target": 'get_by_role("button", name="Save 7")', "arguments": ""},
    "error": "TimeoutError",
}


@contextmanager
def opened(store: Store) -> Iterator[TestClient]:
    """Yield a client that is let in."""
    client = TestClient(create_app(store, token=TOKEN), base_url="http://127.0.0.1:8017")
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    with client:
        yield client


def ask(client: TestClient, address: str, looks: int) -> Asked:
    """Ask for an address several times."""
    times, size = [], 0
    for _ in range(looks):
        began = time.perf_counter()
        if address == VERIFY:
            answer = client.post(address, json=FAILED_CALL)
        else:
            answer = client.get(address)
        times.append(1000 * (time.perf_counter() - began))
        answer.raise_for_status()
        size = len(answer.content)
    return Asked(address.replace("%20", " "), times, size)


@contextmanager
def every_query(engine: Engine) -> Iterator[list[tuple[str, Any, float]]]:
    """Yield a list that gets each query, its parameters and how long it took, in seconds."""
    found: list[tuple[str, Any, float]] = []

    def before(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        connection.info["began"] = time.perf_counter()

    def after(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        found.append((statement, parameters, time.perf_counter() - connection.info["began"]))

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", before)
        event.remove(engine, "after_cursor_execute", after)


def explain(store: Store, statement: str, parameters: Any, seconds: float) -> None:
    """Print a query with the plan that Postgres made and followed."""
    print(f"\nThe slowest query took {1000 * seconds:.0f} ms:\n\n{statement}\n")
    with store.read() as connection:
        plan = connection.exec_driver_sql(f"explain (analyze, buffers) {statement}", parameters)
        print("\n".join(row[0] for row in plan))


if __name__ == "__main__":
    main()
