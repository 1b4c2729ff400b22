"""A run as OpenTelemetry spans: session, cells, attempts, stages and model calls.

They are made from the record after the run, so they cost a cell nothing, contain only what is on
record, and are the same for workers and for cells in flight. Model calls follow the semantic
conventions for generative AI, and cells those for tests.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pytest_autoweb import __version__
from pytest_autoweb.base.redaction import redact_keys, redact_shapes
from pytest_autoweb.results.records import Attempt, CellResult, Exchange, RunInfo
from pytest_autoweb.results.runs.run_folder import read_run

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that makes OpenTelemetry instrumentations send prompts and replies."""
PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Providers whose name in the conventions is not the first part of the model's name."""

_BATCH = 512
_MOST_CONTENT = 20_000
_MOST_TEXT = 500
_SHOWN = ("true", "1", "span_only", "span_and_event")

Attributes = dict[str, str | int | float | bool | Sequence[str]]


class _Sent(SpanProcessor):
    """Exports ended spans in batches, and gives up after the first refused one."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter, self._waiting = exporter, list[ReadableSpan]()
        self.count = 0
        self.failed = False

    def on_end(self, span: ReadableSpan) -> None:
        self._waiting.append(span)
        if len(self._waiting) >= _BATCH:
            self.force_flush()

    def force_flush(self, timeout_millis: int = 0) -> bool:
        batch, self._waiting = self._waiting, []
        if batch and not self.failed:
            self.failed = not self._is_sent(batch)
            self.count += 0 if self.failed else len(batch)
        return not self.failed

    def _is_sent(self, batch: list[ReadableSpan]) -> bool:
        try:
            return self._exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception:
            # An invalid address, for example; the error depends on the exporter's own libraries.
            return False

    def shutdown(self) -> None:
        self.force_flush()
        self._exporter.shutdown()


class SpanWriter:
    """Writes the spans of one run.

    Args:
        info: the facts of the run.
        exporter: the destination of the spans.
        environ: may name the parent span of the run (`TRACEPARENT`), and allow the content of
            prompts and replies.
    """

    def __init__(
        self, info: RunInfo, exporter: SpanExporter, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._sent = _Sent(exporter)
        self._content = environ.get(CONTENT, "").lower() in _SHOWN
        # The variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence over these.
        resource = Resource({SERVICE_NAME: "pytest-autoweb", SERVICE_VERSION: __version__})
        named = Resource.create()
        unnamed = str(named.attributes.get(SERVICE_NAME, "")).startswith("unknown_service")
        provider = TracerProvider(
            resource=named.merge(resource) if unnamed else resource.merge(named),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._sent)
        self._provider = provider
        self._tracer = provider.get_tracer("pytest_autoweb", __version__)
        carrier = {"traceparent": environ.get("TRACEPARENT", "")}
        self._session = self._tracer.start_span(
            "autoweb session",
            context=TraceContextTextMapPropagator().extract(carrier),
            start_time=_nanoseconds(info.started),
            attributes={"autoweb.run": info.ts, "autoweb.models": list(info.models)},
        )
        self._inside = trace.set_span_in_context(self._session, Context())
        self._end = info.started + timedelta(seconds=info.duration_s)

    def cell(self, cell: CellResult) -> CellResult:
        """Write the spans of a cell, and return it without its attempts, for `read_run`."""
        end = cell.started + timedelta(milliseconds=cell.duration_ms)
        span = self._tracer.start_span(
            f"cell {cell.case_id}",
            context=self._inside,
            start_time=_nanoseconds(cell.started),
            attributes=_of_cell(cell),
        )
        if not cell.passed:
            span.set_status(Status(StatusCode.ERROR, _text(cell.reason)))
        inside = trace.set_span_in_context(span, Context())
        tried = [("", attempt) for attempt in cell.attempts]
        tried += [(arm.arm, attempt) for arm in cell.arms for attempt in arm.attempts]
        for arm, attempt in tried:
            self._attempt(cell, attempt, arm, inside)
        span.end(_nanoseconds(end))
        return cell.model_copy(update={"attempts": (), "arms": ()})

    def finish(self) -> str:
        """End the session's span, send the remaining spans, and return a sentence on the result."""
        self._session.end(_nanoseconds(self._end))
        self._provider.shutdown()
        if self._sent.failed:
            return (
                "the spans could not be sent: is a collector there? OTEL_EXPORTER_OTLP_ENDPOINT "
                f"names its address ({self._sent.count} were sent)"
            )
        return f"{self._sent.count} spans were sent to the collector"

    def _attempt(self, cell: CellResult, attempt: Attempt, arm: str, inside: Context) -> None:
        stages = list(_stages(attempt))
        calls = [exchange for exchange in attempt.exchanges if exchange.started]
        begun = [begin for _, begin, _ in stages] + [call.started for call in calls if call.started]
        if not begun:
            return
        end = max([end for _, _, end in stages] + [call.ended for call in calls if call.ended])
        attributes: Attributes = {"autoweb.attempt": attempt.attempt_index}
        if arm:
            attributes["autoweb.correction"] = arm
        span = self._tracer.start_span(
            f"attempt {attempt.attempt_index}",
            context=inside,
            start_time=_nanoseconds(min(begun)),
            attributes=attributes,
        )
        if attempt.failure:
            span.set_attribute("error.type", attempt.failure.kind)
            span.set_status(Status(StatusCode.ERROR, _text(attempt.failure.message)))
        within = trace.set_span_in_context(span, Context())
        for name, begin, stage_end in stages:
            stage = self._tracer.start_span(
                f"stage {name}", context=within, start_time=_nanoseconds(begin)
            )
            asked = [call for call in calls if call.started and begin <= call.started < stage_end]
            calls = [call for call in calls if call not in asked]
            for call in asked:
                self._call(cell, call, trace.set_span_in_context(stage, Context()))
            stage.end(_nanoseconds(stage_end))
        for call in calls:
            self._call(cell, call, within)
        span.end(_nanoseconds(end))

    def _call(self, cell: CellResult, call: Exchange, inside: Context) -> None:
        assert call.started
        provider, model = _provider_and_model(call.model or cell.model)
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": call.usage.input_tokens,
            "gen_ai.usage.output_tokens": call.usage.output_tokens,
            "autoweb.stage": call.stage,
            "autoweb.replayed": call.usage.replayed_calls > 0,
        }
        if call.model_served:
            attributes["gen_ai.response.model"] = call.model_served
        if call.usage.cached_tokens:
            attributes["gen_ai.usage.cache_read.input_tokens"] = call.usage.cached_tokens
        if call.usage.cost_usd is not None:
            attributes["autoweb.cost_usd"] = call.usage.cost_usd
        if self._content:
            attributes["gen_ai.input.messages"] = _message("user", call.prompt)
            attributes["gen_ai.output.messages"] = _message("assistant", call.reply)
        span = self._tracer.start_span(
            f"chat {model}",
            context=inside,
            kind=SpanKind.CLIENT,
            start_time=_nanoseconds(call.started),
            attributes=attributes,
        )
        if call.error is not None:
            span.set_attribute("error.type", call.cause or "_OTHER")
            span.set_status(Status(StatusCode.ERROR, _text(redact_keys(call.error))))
        span.end(_nanoseconds(call.ended or call.started))


def send_spans(folder: Path, info: RunInfo) -> str:
    """Send the spans of a run folder by OTLP, and return one sentence on the result.

    The variables `OTEL_EXPORTER_OTLP_…` give the destination and the headers.
    """
    writer = SpanWriter(info, OTLPSpanExporter())
    # Cell by cell, because those of a large run do not fit into memory.
    read_run(folder, writer.cell)
    return writer.finish()


def _of_cell(cell: CellResult) -> Attributes:
    usage = cell.total_usage
    attributes: Attributes = {
        "test.case.name": cell.test_name,
        "test.case.result.status": "pass" if cell.passed else "fail",
        "test.suite.name": cell.case_path,
        "autoweb.case": cell.case_id,
        "autoweb.model": cell.model,
        "autoweb.capture": cell.capture_mode,
        "autoweb.repeat": cell.repeat,
        "autoweb.strategy": cell.strategy,
        "autoweb.outcome": cell.outcome,
        "autoweb.worker": cell.worker,
        "autoweb.calls": usage.calls,
    }
    if usage.cost_usd is not None:
        attributes["autoweb.cost_usd"] = usage.cost_usd
    if cell.failure:
        attributes["error.type"] = cell.failure.kind
    return attributes


def _stages(attempt: Attempt) -> Iterator[tuple[str, datetime, datetime]]:
    for name, begin in attempt.stage_started.items():
        yield name, begin, begin + timedelta(milliseconds=attempt.stage_ms.get(name, 0.0))


def _provider_and_model(name: str) -> tuple[str, str]:
    """Return the conventions' provider and model, without the effort after `@`."""
    provider, slash, model = name.partition("@")[0].partition("/")
    if not slash:
        return "_OTHER", provider
    return PROVIDERS.get(provider, provider.removesuffix("_chat")), model


def _message(role: str, text: str) -> str:
    text = redact_shapes(text)
    if len(text) > _MOST_CONTENT:
        text = f"{text[:_MOST_CONTENT]} … ({len(text)} characters)"
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1_000


def _text(text: str) -> str:
    return redact_shapes(text)[:_MOST_TEXT]
