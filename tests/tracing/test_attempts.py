"""Attempts whose result nobody wants, or whose command never ran: what becomes of their spans."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core.job import Job
from queuectl.core.lifecycle import Report, decide
from queuectl.core.outcome import Outcome
from queuectl.core.rows import CLAIM_COLUMNS, claimed_from_row
from queuectl.tracing.attempts import Attempts

POLICY = Settings().policy


@pytest.fixture
def sent() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def attempts(sent: InMemorySpanExporter) -> Attempts:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(sent))
    return Attempts(provider.get_tracer("test"))


def claimed(seq: int) -> Job:
    known = {"seq": seq, "id": f"job{seq}", "command": "true", "queue": "mail"}
    numbers = dict.fromkeys(
        ("priority", "attempts", "max_retries", "lost", "runs", "run_at", "created_at"), 0
    )
    row = [{**numbers, **known}.get(name) for name in CLAIM_COLUMNS]
    return claimed_from_row(row, "claim", "worker1", 0)


def verdict(job: Job, kind: str) -> Report:
    return decide(job, Outcome(kind, finished_at=1, started_at=0), POLICY, now=1)


def test_what_was_never_started_has_no_span(attempts: Attempts, sent: InMemorySpanExporter) -> None:
    job, other = claimed(1), claimed(2)
    attempts.begin(job)
    attempts.begin(other)
    reports = [(verdict(job, kinds.UNSTARTED), None), (verdict(other, kinds.SUCCEEDED), None)]
    attempts("jobs.stored", {"reports": reports, "stale": []})
    assert [(span.attributes or {})["messaging.message.id"] for span in sent.get_finished_spans()] == ["job2"]


def test_a_result_that_came_too_late_is_an_error(attempts: Attempts, sent: InMemorySpanExporter) -> None:
    job = claimed(1)
    attempts.begin(job)
    report = verdict(job, kinds.SUCCEEDED)
    attempts("jobs.stored", {"reports": [(report, 0)], "stale": [report]})
    (span,) = sent.get_finished_spans()
    assert span.status.status_code == StatusCode.ERROR
    assert (span.attributes or {})["queuectl.stale"] is True


def test_a_worker_that_was_declared_dead_has_lost_what_ran(
    attempts: Attempts, sent: InMemorySpanExporter
) -> None:
    job = claimed(1)
    attempts.begin(job)
    attempts("worker.fenced", {"worker": "worker1"})
    (span,) = sent.get_finished_spans()
    assert span.status.status_code == StatusCode.ERROR
    assert (span.attributes or {})["queuectl.outcome"] == kinds.LOST
    # Nor is it told again, should its result be heard of after all.
    attempts("jobs.stored", {"reports": [(verdict(job, kinds.SUCCEEDED), 0)], "stale": []})
    assert len(sent.get_finished_spans()) == 1


@pytest.mark.parametrize("kind", [kinds.CANCELLED, kinds.RELEASED])
def test_being_stopped_is_no_failure(attempts: Attempts, sent: InMemorySpanExporter, kind: str) -> None:
    job = claimed(1)
    attempts.begin(job)
    attempts("jobs.stored", {"reports": [(verdict(job, kind), 0)], "stale": []})
    (span,) = sent.get_finished_spans()
    assert span.status.status_code == StatusCode.UNSET
    assert (span.attributes or {})["queuectl.outcome"] == kind


def test_a_job_that_runs_again_has_a_span_for_each(attempts: Attempts, sent: InMemorySpanExporter) -> None:
    told = {attempts.begin(claimed(seq))["TRACEPARENT"] for seq in (1, 2, 3)}
    assert len(told) == 3
