"""The span of an enqueue, and the trace context that its jobs carry.

Without a tracer, the caller's own context goes into the jobs as it is.
"""

from __future__ import annotations

from queuectl.core import tracecontext
from queuectl.core.batches import Commands, ids_of
from queuectl.tracing.carrying import context_of, parent_in
from queuectl.tracing.provider import Unavailable, open_tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opentelemetry.trace import Span

    from queuectl.core.batches import Batch


class Enqueuing:
    """One call of `enqueue`: as a context, its span. `bulk`: many jobs, of which each has its own trace."""

    def __init__(self, caller: Mapping[str, str], *, bulk: bool) -> None:
        self._span = _start(caller)
        self._context: dict[str, str] = {}
        if not bulk:
            self._context = context_of(self._span) if self._span else tracecontext.read(caller)
        self._count = 0
        self._queue: str | None = None
        self._first: Batch = ()
        self.new: int | None = None  # how many were stored

    def marked(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same, with the context in their environment."""
        for batch in batches:
            tracecontext.put(self._context, batch)
            if not self._count and len(batch):
                self._first = batch
                self._queue = batch.like.queue if isinstance(batch, Commands) else batch[0].queue
            self._count += len(batch)
            yield batch

    def __enter__(self) -> Enqueuing:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self._span is None:
            return
        from opentelemetry.trace import StatusCode

        span = self._span
        if self._queue is not None and self._count == 1:
            span.update_name(f"enqueue {self._queue}")
            span.set_attribute("messaging.destination.name", self._queue)
            span.set_attribute("messaging.message.id", ids_of(self._first)[0])
        else:
            span.set_attribute("messaging.batch.message_count", self._count)
        if self.new is not None:
            span.set_attribute("queuectl.new_jobs", self.new)
        if error is not None:
            # Not its text, which may quote what a job was to be.
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR)
        span.end()


def _start(caller: Mapping[str, str]) -> Span | None:
    try:
        tracer = open_tracer()
    except Unavailable:
        return None  # workers say so; here somebody only wants a job stored
    if tracer is None:
        return None
    from opentelemetry import trace

    current = trace.get_current_span()  # of the program around us, which knows better than its environment
    inside = current.get_span_context().is_valid
    return tracer.start_span(
        "enqueue",
        None if inside else parent_in(caller),
        trace.SpanKind.PRODUCER,
        {
            "messaging.system": "queuectl",
            "messaging.operation.type": "send",
            "messaging.operation.name": "enqueue",
        },
    )
