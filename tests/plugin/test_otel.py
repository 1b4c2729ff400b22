"""A run as spans: a real session and a real receiver of OTLP over HTTP, and single calls."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from session_server import session_command

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pytest_autoweb import load_run
from pytest_autoweb.report.otel_spans import CONTENT, SpanWriter, send_spans
from pytest_autoweb.results.records import Attempt, CellResult, Exchange, Failure, RunInfo, Usage

SECRET = "hunter2-of-the-shop"
KEY = "sk-" + "a1B2" * 10
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_session_with_workers_and_cells_in_flight_becomes_one_tree_without_secrets(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = datetime.now(UTC)
    printed = buy(tmp_path, collector)
    spans = collector.spans()
    assert f"{len(spans)} spans were sent" in printed

    of = {span.span_id: span for span in spans}
    (session,) = (span for span in spans if span.parent_span_id not in of)
    assert (session.name, session.parent_span_id.hex()) == ("autoweb session", PARENT)
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    for span in spans:
        assert begin.timestamp() * 1e9 <= span.start_time_unix_nano <= span.end_time_unix_nano
        if parent := of.get(span.parent_span_id):
            # Times of the record have a resolution of microseconds.
            assert parent.start_time_unix_nano - 2_000_000 <= span.start_time_unix_nano
    calls = [span for span in spans if span.name == "chat buyer"]
    assert len(calls) == 2
    for call in calls:
        path = []
        above = call
        while above := of.get(above.parent_span_id):
            path.append(above.name.partition(" order")[0])
        assert path == ["stage turns", "attempt 1", "cell", "autoweb session"]
        values = attributes(call)
        assert values["gen_ai.operation.name"] == "chat"
        assert values["gen_ai.provider.name"] == "fake"
        assert values["gen_ai.response.model"] == "scripted"
        assert values["gen_ai.usage.output_tokens"] > 0
        assert not any("messages" in name for name in values)
    cells = [attributes(span) for span in spans if span.name.startswith("cell ")]
    assert {cell["autoweb.case"] for cell in cells} == {"order-green", "order-black"}
    assert {cell["test.case.result.status"] for cell in cells} == {"pass"}
    assert SECRET.encode() not in b"".join(collector.bodies)

    send_again(tmp_path / "autoweb-report", len(spans), collector, monkeypatch)


def send_again(
    folder: Path, count: int, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same from the saved run, with prompts and replies, which need a word of their own."""
    collector.bodies.clear()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv(CONTENT, "SPAN_ONLY")
    told = send_spans(folder, load_run(folder).info)
    assert told == f"{count} spans were sent to the collector"
    call = next(span for span in collector.spans() if span.name == "chat buyer")
    (asked,) = json.loads(attributes(call)["gen_ai.input.messages"])
    assert "<secret:password>" in asked["parts"][0]["content"]
    assert SECRET.encode() not in b"".join(collector.bodies)

    # Nobody there: the run is what it is, and one sentence says so.
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    for nowhere in ("http://127.0.0.1:9", "no address"):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere)
        assert "could not be sent" in send_spans(folder, load_run(folder).info)


MOMENT = datetime(2026, 11, 23, 12, tzinfo=UTC)


def refused_cell() -> CellResult:
    """A cell whose call was refused, with one of a judge; a third has no times, as once."""
    call = Exchange(
        stage="plan",
        prompt=f"[user]\nBuy tea with {KEY}",
        reply="",
        usage=Usage(calls=1, input_tokens=9, cached_tokens=4, cost_usd=0.25),
        error="slow down",
        cause="rate_limit",
        started=MOMENT + timedelta(seconds=1),
        ended=MOMENT + timedelta(seconds=3),
    )
    judged = Exchange(
        stage="judge",
        model="openai/referee",
        prompt="",
        reply="",
        usage=Usage(calls=1),
        started=MOMENT + timedelta(seconds=4),
        ended=MOMENT + timedelta(seconds=4.5),
    )
    failure = Failure(kind="model", message="slow down")
    attempt = Attempt(
        exchanges=(call, Exchange(stage="plan", prompt="", reply="", usage=Usage()), judged),
        failure=failure,
        stage_started={"plan": MOMENT, "judge": judged.started or MOMENT},
        stage_ms={"plan": 4000.0, "judge": 900.0},
    )
    return CellResult(
        case_id="tea",
        case_path="cases/tea.yaml",
        entry_url="http://shop.test",
        user_task="Buy tea.",
        model="gemini/gemini-2.5-pro@high",
        capture_mode="ARIA",
        outcome="failed",
        reason="slow down",
        failure=failure,
        started=MOMENT,
        duration_ms=5000.0,
        attempts=(attempt,),
    )


def test_calls_have_the_names_of_the_conventions_and_errors_their_kind() -> None:
    cell = refused_cell()
    info = RunInfo(ts="1", started=MOMENT, duration_s=6, models=(cell.model,), capture_modes=())
    memory = InMemorySpanExporter()
    writer = SpanWriter(info, memory, {CONTENT: "true"})

    assert writer.cell(cell).attempts == ()
    assert writer.finish() == "7 spans were sent to the collector"
    spans = {span.name: span for span in memory.get_finished_spans()}
    assert list(spans) == [
        *("chat gemini-2.5-pro", "stage plan", "chat referee", "stage judge", "attempt 1"),
        *("cell tea", "autoweb session"),
    ]
    of_judge = dict(spans["chat referee"].attributes or {})
    assert (of_judge["gen_ai.provider.name"], of_judge["autoweb.stage"]) == ("openai", "judge")
    call = spans["chat gemini-2.5-pro"]
    assert call.kind.name == "CLIENT"
    assert call.status.status_code.name == "ERROR"
    assert call.end_time is not None
    assert call.start_time is not None
    assert call.end_time - call.start_time == 2_000_000_000
    values = dict(call.attributes or {})
    assert KEY not in str(values.pop("gen_ai.input.messages"))
    values.pop("gen_ai.output.messages")
    assert values == {
        "autoweb.cost_usd": 0.25,
        "autoweb.replayed": False,
        "autoweb.stage": "plan",
        "error.type": "rate_limit",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-2.5-pro",
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 0,
    }
    assert dict(spans["cell tea"].attributes or {})["error.type"] == "model"


CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: order
    matrix: {tea: [green, black]}
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Order {{ matrix.tea }} with the password {{ secrets.password }}."
    secrets: {password: {env: SHOP_PASSWORD}}
    expect: [{text: "Ordered"}]
"""
CONFTEST = """
from pytest_autoweb.testing import ScriptedClient

CODE = '```python\\n# Step 1\\npage.get_by_label("Password").fill("<secret:password>")\\n'
CODE += 'page.get_by_role("button").click()\\n```\\nDONE'


def pytest_autoweb_client(spec):
    if spec.name == "fake/buyer":
        return ScriptedClient({"generate": CODE})
"""
PAGE = """
<label>Password <input id="word"></label>
<button onclick="document.body.append('Ordered with ' + word.value)">Order</button>
"""


class Collector:
    """Receives what OTLP sends, and decodes it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                collector.bodies.append(self.rfile.read(length))
                assert self.path == "/v1/traces"
                self.send_response(200)
                self.end_headers()

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def spans(self) -> list[Any]:
        found = []
        for body in self.bodies:
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                values = {a.key: a.value.string_value for a in resource.resource.attributes}
                assert values["service.name"] == "pytest-autoweb"
                found += [span for scope in resource.scope_spans for span in scope.spans]
        return found

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def buy(folder: Path, collector: Collector) -> str:
    """Run two cells in two workers with spans on, and return what was printed."""
    (folder / "cases").mkdir()
    (folder / "cases" / "tea.yaml").write_text(CASES, encoding="utf-8")
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    flags = ("-n2", "--autoweb-concurrency=2", "--autoweb-models=fake/buyer", "--autoweb-otel")
    done = subprocess.run(
        [*session_command(), "cases", *flags],
        cwd=folder,
        env={
            **{n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "OTEL_"))},
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "PYTEST_ADDOPTS": "-p no:anyio -p no:hypothesispytest -p no:schemathesis",
            "SHOP_PASSWORD": SECRET,
            "TRACEPARENT": f"00-{TRACE}-{PARENT}-01",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
