"""The way to a collector: whether one is configured, the tracer, and an end that keeps nobody waiting.

What the standard variables mean beyond that (sampling, headers, sizes of batches) is left to the SDK.
"""

from __future__ import annotations

import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
EXPORTER = "OTEL_TRACES_EXPORTER"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_LONGEST_FLUSH = 1.0  # seconds at the end of a process

_lock = threading.Lock()
_opened: Tracer | Unavailable | None = None


class Unavailable(Exception):
    """Tracing is configured and cannot be done; says why."""


def is_configured(variables: Mapping[str, str]) -> bool:
    """By the standard variables: somebody has named an exporter or a collector, and nobody has said no."""
    if variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = variables.get(EXPORTER, "").strip().lower()
    return exporter != "none" if exporter else any(variables.get(name) for name in ENDPOINTS)


def open_tracer() -> Tracer | None:
    """The tracer of this process, made at the first call; None if nobody has configured one."""
    global _opened  # noqa: PLW0603  # one for a process, as its exporter has a thread
    if not is_configured(os.environ):
        return None
    with _lock:
        if _opened is None:
            try:
                _opened = _make_tracer()
            except Unavailable as error:
                _opened = error
            except ImportError as error:
                missing = error.name or "opentelemetry"
                _opened = Unavailable(f"{missing} is missing; pip install 'queuectl[otel]'")
            except Exception as error:  # whatever the SDK makes of the variables: jobs matter more
                _opened = Unavailable(f"{type(error).__name__}: {error}")
    if isinstance(_opened, Unavailable):
        raise _opened
    return _opened


def _make_tracer() -> Tracer:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    from queuectl import __version__

    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):  # else the program around us traces already: we join in
        provider = _make_provider()
    return provider.get_tracer("queuectl", __version__)


def _make_provider() -> TracerProvider:
    import atexit

    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from queuectl.tracing.complaints import listen

    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "queuectl"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for name in (os.environ.get(EXPORTER) or "otlp").split(","):
        provider.add_span_processor(BatchSpanProcessor(_make_exporter(name.strip().lower())))
    gave_up = listen()
    atexit.register(_flush, provider, gave_up)
    return provider


def _make_exporter(name: str) -> SpanExporter:
    import sys

    if name == "otlp":
        protocol = next((os.environ[key] for key in _PROTOCOLS if os.environ.get(key)), "http/protobuf")
        name = "otlp_proto_grpc" if protocol.strip() == "grpc" else "otlp_proto_http"
    if name == "otlp_proto_http":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)  # stdout is for ids and JSON
    return _installed_exporter(name)


def _installed_exporter(name: str) -> SpanExporter:
    """One that another package brings along."""
    from importlib.metadata import entry_points

    found = entry_points(group="opentelemetry_traces_exporter", name=name)
    if not found:
        raise Unavailable(f"no package for the exporter {name[:40]!r} is installed")
    made: SpanExporter = next(iter(found)).load()()
    return made


def _flush(provider: TracerProvider, gave_up: threading.Event) -> None:
    """Send what is left, but never for long: the SDK's own flush may wait for a dead collector.

    `gave_up` is set at the exporter's first complaint, after which waiting is in vain.
    """
    gave_up.clear()

    def send() -> None:
        provider.shutdown()
        gave_up.set()

    try:
        threading.Thread(target=send, name="traces", daemon=True).start()
    except RuntimeError:
        return  # Python 3.12.0 and 3.12.1 start no thread so late
    gave_up.wait(_LONGEST_FLUSH)
