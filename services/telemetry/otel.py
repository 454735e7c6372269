"""OpenTelemetry: a tracer over its SDK, which keeps spans for a moment and sends them in a thread of its own.

The SDK is optional, and imported when a tracer is made. Nothing of it is made global: what else uses it in this
process, and this tracer, know nothing of each other. The variables OTEL_* count as the SDK reads them.
"""

# pyright: reportMissingImports=false
# The SDK is an extra, which is not there where types are checked.

import contextlib
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import const
from ..traces import FIRST, Facts

PATH = "/v1/traces"  # OTLP/HTTP, https://opentelemetry.io/docs/specs/otlp/#otlphttp-request
SERVICE = "odoo-ai"
CLOSE_TIMEOUT = 2.0  # s, for what was not sent yet
# They repeat what `Exporter` says once.
NOISY = (
    "opentelemetry.exporter.otlp.common",
    "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.trace.export",
)

OnSent = Callable[[bool], None]
"""Called in the thread that sends, with whether the collector took the spans; must not raise."""


def to_collector(address: str, on_sent: OnSent, **options: Any) -> "OtelTracer":
    """A tracer that sends to a collector over OTLP/HTTP.

    :param address: ``http://collector:4318``, with a path where it is not the usual one
    :param options: for `OtelTracer`
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    for name in NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    exporter = _watched(OTLPSpanExporter(endpoint=endpoint(address)), on_sent)
    return OtelTracer(BatchSpanProcessor(exporter), **options)


def endpoint(address: str) -> str:
    """
    >>> endpoint("http://collector:4318"), endpoint("https://c/otlp/"), endpoint("https://c/v1/traces")
    ('http://collector:4318/v1/traces', 'https://c/otlp/v1/traces', 'https://c/v1/traces')
    """
    address = address.rstrip("/")
    return address if address.endswith(PATH) else address + PATH


def _watched(exporter: Any, on_sent: OnSent) -> Any:
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult  # noqa: PLC0415

    class Exporter(SpanExporter):
        """Tells whether the collector answers, and never raises."""

        def export(self, spans: Any) -> Any:
            result = SpanExportResult.FAILURE
            with contextlib.suppress(Exception):  # an address that is none, for one
                result = exporter.export(spans)
            on_sent(result is SpanExportResult.SUCCESS)
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    return Exporter()


class OtelTracer:
    """Implements `traces.Tracer`.

    :param processor: of the SDK; it may drop spans, and never holds up who ends one
    :param tells_databases: whether databases are named
    """

    def __init__(self, processor: Any, *, tells_databases: bool = False):
        from opentelemetry import context, trace  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415

        self.tells_databases = tells_databases
        self._trace = trace
        self._no_parent = context.Context()
        self._propagator = tracecontext.TraceContextTextMapPropagator()
        self._ids = _ids()
        self._provider = TracerProvider(
            resource=_resource(), id_generator=self._ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer(const.CLIENT_NAME, const.CLIENT_VERSION)

    def begin(self, name: str, facts: Facts, parent: "_Told | None", is_request: bool) -> "_Told":
        kind = self._trace.SpanKind.CLIENT if is_request else self._trace.SpanKind.INTERNAL
        context = self._below(parent.span) if parent else self._no_parent
        return self._told(self._tracer.start_span(name, context, kind, attributes=dict(facts)))

    def begin_turn(
        self, name: str, facts: Facts, key: str, attempt: int, seconds: float
    ) -> "_Told":
        """The first attempt has the ids that the others find by computing them, so they hang on it, whoever makes
        them."""
        if not key:
            return self.begin(name, facts, None, is_request=False)
        ids = identity(key)
        options = {"attributes": dict(facts), "start_time": time.time_ns() - int(seconds * 1e9)}
        if attempt == FIRST:
            with self._ids.given(*ids):
                return self._told(self._tracer.start_span(name, self._no_parent, **options))
        first = self._below(self._as_decided(name, facts, *ids))
        return self._told(self._tracer.start_span(name, first, **options))

    def carrier(self, told: "_Told") -> dict[str, str]:
        found: dict[str, str] = {}
        self._propagator.inject(found, self._below(told.span))
        return found

    def close(self) -> None:
        """Send what is left, for a moment, whatever the collector does."""
        closing = threading.Thread(
            target=self._provider.shutdown, name="woow-ai-traces-end", daemon=True
        )
        closing.start()
        closing.join(CLOSE_TIMEOUT)

    def _told(self, span: Any) -> "_Told":
        return _Told(span, self._trace.Status(self._trace.StatusCode.ERROR))

    def _below(self, span: Any) -> Any:
        return self._trace.set_span_in_context(span, self._no_parent)

    def _as_decided(self, name: str, facts: Facts, trace_id: int, span_id: int) -> Any:
        """The first attempt, which may have been elsewhere, sampled or not: its trace's id decides that alone."""
        decision = self._provider.sampler.should_sample(
            self._no_parent, trace_id, name, self._trace.SpanKind.INTERNAL, dict(facts)
        ).decision
        flags = self._trace.TraceFlags(int(decision.is_sampled()))
        known = self._trace.SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
        return self._trace.NonRecordingSpan(known)


class _Told:
    """Implements `traces.Told`."""

    __slots__ = ("_error", "span")

    def __init__(self, span: Any, error: Any):
        self.span = span
        self._error = error

    def note(self, facts: Facts) -> None:
        self.span.set_attributes(facts)

    def fail(self, kind: str) -> None:
        self.span.set_attribute("error.type", kind)
        self.span.set_status(self._error)

    def end(self) -> None:
        self.span.end()


def identity(key: str) -> tuple[int, int]:
    """The ids of a trace and its first span, the same wherever they are computed; what `key` is cannot be found out."""
    digest = hashlib.sha256(key.encode()).digest()
    return int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])


def _ids() -> Any:
    from opentelemetry.sdk.trace import RandomIdGenerator  # noqa: PLC0415

    class Ids(RandomIdGenerator):
        """Random ones, but for a span whose ids are given."""

        def __init__(self) -> None:
            self._given = threading.local()

        @contextlib.contextmanager
        def given(self, trace_id: int, span_id: int) -> Iterator[None]:
            self._given.ids = trace_id, span_id
            try:
                yield
            finally:
                del self._given.ids

        def is_trace_id_random(self) -> bool:
            return False  # a flag of `traceparent`; those of turns are computed

        def generate_trace_id(self) -> int:
            ids = getattr(self._given, "ids", None)
            return ids[0] if ids else super().generate_trace_id()

        def generate_span_id(self) -> int:
            ids = getattr(self._given, "ids", None)
            return ids[1] if ids else super().generate_span_id()

    return Ids()


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415

    found = Resource.create()
    if str(found.attributes.get("service.name", "")).startswith("unknown_service"):
        found = found.merge(Resource({"service.name": SERVICE}))
    return found.merge(
        Resource({"service.version": const.CLIENT_VERSION, "process.pid": os.getpid()})
    )
