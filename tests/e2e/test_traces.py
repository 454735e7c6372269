"""What a collector is told of a turn in a real Odoo, and what becomes of Odoo without it."""

import gzip
import http.server
import threading

import pytest
from chat import Chat, calls, first, then
from counter import count
from waiting import eventually

from dev.checks import testbed
from dev.setup import extras

PAUSE = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}  # ms, s
SAID = "what-time-is-it"


class Collector:
    """Takes OTLP over HTTP.

    :ivar spans: that have arrived
    """

    def __init__(self):
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

        self.spans = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
                for of_resource in request.resource_spans:
                    for of_scope in of_resource.scope_spans:
                        collector.spans += of_scope.spans
                self.send_response(200 if self.path == "/v1/traces" else 404)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def named(self, name):
        return [span for span in list(self.spans) if span.name == name]

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector(monkeypatch):
    monkeypatch.syspath_prepend(str(extras.folder()))
    made = Collector()
    yield made
    made.stop()


def test_a_turn_is_one_trace_and_goes_on_without_a_collector(
    demo_template, demo_facts, scripted_llm, counter, collector
):
    scripted_llm.script(
        first(SAID, calls(count("traced"))),
        then(SAID, {"content": SAID}),
        first("Alone", {"content": "Still here."}),
    )
    odoo = testbed.OdooServer(
        demo_template,
        "traces",
        operator={"traces": collector.address, "traces_tenants": True},
        environment={**demo_facts, **PAUSE, "PYTHONPATH": str(extras.folder())},
    )
    try:
        odoo.start()
        counter.register(odoo)
        chat = Chat(odoo)
        assert chat.ask(SAID).wait_ended() == "done"
        (turn,) = eventually(lambda: collector.named("invoke_agent Demo Assistant"))
        (tool,) = collector.named("execute_tool count")
        chats = collector.named("chat gpt-4o")
        assert len(chats) == 2
        assert {span.parent_span_id for span in (tool, *chats)} == {turn.span_id}
        assert {span.trace_id for span in (tool, *chats)} == {turn.trace_id}
        ids = f"{tool.trace_id.hex()}-{tool.span_id.hex()}"
        assert counter.traceparent("traced") == f"00-{ids}-01"
        assert odoo.db in str(turn) and SAID not in str(collector.spans)
        assert _health(odoo) == "on"

        collector.stop()
        odoo.expect_log("The collector of traces does not take them")
        assert chat.ask("Alone").wait_ended() == "done"
        eventually(lambda: _health(odoo) == "unreachable")
    finally:
        odoo.stop()


def _health(odoo):
    return odoo.session("user").get("/api/ai/health").json()["traces"]
