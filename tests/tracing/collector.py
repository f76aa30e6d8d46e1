"""A collector: takes what exporters send over OTLP/HTTP, and keeps the spans."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from queuectl.testing import wait_until

PRODUCER, CONSUMER = 4, 5
OK_OR_UNSET, ERROR = (0, 1), 2


@dataclass(frozen=True)
class Seen:
    """A span as it arrived."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    status: int
    message: str
    began: int  # nanoseconds
    seconds: float
    facts: dict[str, Any]
    service: str
    raw: bytes

    def is_named_by(self, traceparent: str) -> bool:
        """Whether this is its context, and it says that it is sampled; other flags may be set too."""
        ids, _, flags = traceparent.rpartition("-")
        return ids == f"00-{self.trace}-{self.id}" and int(flags, 16) & 1 == 1


class Collector:
    """Listens on a port of its own; `environment` sends a process's spans to it."""

    def __init__(self) -> None:
        self._spans: list[Seen] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def environment(self) -> dict[str, str]:
        port = self._server.server_address[1]
        # Sent soon: a test waits for it.
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "OTEL_BSP_SCHEDULE_DELAY": "100"}

    def take(self, path: str, body: bytes) -> None:
        assert path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            about = _facts(resource.resource.attributes)
            for scope in resource.scope_spans:
                self._spans += [_seen(span, str(about["service.name"])) for span in scope.spans]

    def spans(self, count: int) -> list[Seen]:
        """So many, as soon as they are there; in the order in which they began. Each process sends its own
        when it likes: a command may be overtaken by the worker that runs its job.
        """
        wait_until(lambda: len(self._spans) >= count, what=f"{count} spans")
        assert len(self._spans) == count, [span.name for span in self._spans]
        return sorted(self._spans, key=lambda span: span.began)

    @property
    def count(self) -> int:
        return len(self._spans)

    def clear(self) -> None:
        self._spans.clear()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _seen(span: Any, service: str) -> Seen:
    return Seen(
        name=span.name,
        kind=span.kind,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        status=span.status.code,
        message=span.status.message,
        began=span.start_time_unix_nano,
        seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        facts=_facts(span.attributes),
        service=service,
        raw=span.SerializeToString(),
    )


def _facts(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
