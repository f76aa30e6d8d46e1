"""The spans of a worker: one for each attempt, from the start of its command until its result is stored.

The launcher asks for the variables of each command; the rest is heard from events.
"""

from __future__ import annotations

import os
import time

from queuectl import events
from queuectl.core import outcome as kinds
from queuectl.core.tracecontext import PARENT, STATE
from queuectl.tracing.provider import Unavailable, is_configured, open_tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report

_NO_FAILURES = (kinds.SUCCEEDED, kinds.RELEASED, kinds.CANCELLED)
_attempts: Attempts | None = None


def trace_attempts() -> Attempts | None:
    """What listens to this process's workers from now on; None, and a line on the log, if it cannot be."""
    global _attempts  # noqa: PLW0603  # it hears the events of the whole process: there must not be two
    if _attempts is None and is_configured(os.environ):
        try:
            tracer = open_tracer()
        except Unavailable as error:
            events.emit("tracing.unavailable", reason=str(error))
            return None
        if tracer is not None:
            _attempts = Attempts(tracer)
            events.subscribe(_attempts)
    return _attempts


class Attempts:
    """Spans of attempts that are under way, by the claim of their job."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._spans: dict[tuple[str | None, int], Span] = {}

    def begin(self, job: Job) -> dict[str, str]:
        """A command is about to be started; the variables that let it go on with the trace."""
        try:
            return self._begin(job)
        except Exception as error:  # a sampler or processor that is not ours: the job runs all the same
            events.emit("tracing.failed", error=f"{type(error).__name__}: {error}")
            return {}

    def _begin(self, job: Job) -> dict[str, str]:
        from opentelemetry.trace import SpanKind

        from queuectl.tracing.carrying import context_of, parent_in

        own = job.environment() if job.env and PARENT in job.env else {}
        now = time.time_ns()
        span = self._tracer.start_span(
            f"run {job.queue}",
            parent_in(own),
            SpanKind.CONSUMER,
            {
                "messaging.system": "queuectl",
                "messaging.operation.type": "process",
                "messaging.operation.name": "run",
                "messaging.destination.name": job.queue,
                "messaging.message.id": job.id,
                "queuectl.worker": job.worker_id or "",
                "queuectl.attempt": job.attempts,
                "queuectl.wait_seconds": max(now // 1_000_000 - job.run_at, 0) / 1000,
            },
            start_time=now,
        )
        self._spans[job.claim, job.seq] = span
        told = context_of(span)
        if STATE in own:
            told.setdefault(STATE, "")  # what belongs to another trace must not go along with this one
        return told

    def __call__(self, name: str, fields: dict[str, object]) -> None:
        try:
            if name == "jobs.stored":
                self._stored(fields["reports"], fields["stale"])  # type: ignore[arg-type]
            elif name == "worker.fenced":
                self._lose_all()
        except Exception as error:  # as above
            events.emit("tracing.failed", error=f"{type(error).__name__}: {error}")

    def _stored(self, reports: list[tuple[Report, int | None]], stale: list[Report]) -> None:
        late = {(report.claim, report.seq) for report in stale}
        for report, _ in reports:
            key = report.claim, report.seq
            span = self._spans.pop(key, None)
            # What was claimed and not started has never happened: its span is dropped.
            if span is not None and report.outcome.kind != kinds.UNSTARTED:
                _end(span, report, late=key in late)

    def _lose_all(self) -> None:
        """Our claims are gone, and what becomes of these jobs is decided by others."""
        from opentelemetry.trace import StatusCode

        while self._spans:
            _, span = self._spans.popitem()
            span.set_attribute("queuectl.outcome", kinds.LOST)
            span.set_attribute("error.type", kinds.LOST)
            span.set_status(StatusCode.ERROR, "its worker was declared dead")
            span.end()


def _end(span: Span, report: Report, *, late: bool) -> None:
    from opentelemetry.trace import StatusCode

    outcome = report.outcome
    facts = {
        "queuectl.outcome": outcome.kind,
        "queuectl.state": report.state,
        "process.exit.code": outcome.exit_code,
        "queuectl.signal": outcome.signal,
        "queuectl.stale": late or None,
    }
    span.set_attributes({name: value for name, value in facts.items() if value is not None})
    ended = max(outcome.finished_at * 1_000_000, getattr(span, "start_time", None) or 0)
    span.add_event("command ended", timestamp=ended)
    if late or outcome.kind not in _NO_FAILURES:
        span.set_attribute("error.type", "stale" if late else outcome.kind)
        span.set_status(StatusCode.ERROR, "its result came too late" if late else _how(report))
    span.end()


def _how(report: Report) -> str:
    """Not the stored error, which may name a program or a directory."""
    outcome = report.outcome
    if outcome.kind != kinds.FAILED:
        return outcome.kind.replace("_", " ")
    return f"exit code {outcome.exit_code}" if outcome.signal is None else f"signal {outcome.signal}"
