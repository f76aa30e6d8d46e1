"""Trace contexts between environments and the SDK."""

from __future__ import annotations

from queuectl.core import tracecontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span


def parent_in(variables: Mapping[str, str]) -> Context:
    """The context that these variables name; one without a span if they name none that is valid."""
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    found = tracecontext.read(variables)
    carrier = {name.lower(): value for name, value in found.items()}
    return TraceContextTextMapPropagator().extract(carrier, Context())


def context_of(span: Span) -> dict[str, str]:
    """The variables that make somebody else's spans children of this one."""
    from opentelemetry.context import Context
    from opentelemetry.trace import set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span, Context()))
    return {name.upper(): value for name, value in carrier.items()}
