"""Spans from enqueue to finish, as they arrive at a collector; and what the command is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from queuectl.core.chunks import unpack
from queuectl.store.messages import JobFilter
from tests.support.home import Home, fresh_home
from tests.tracing.collector import CONSUMER, ERROR, OK_OR_UNSET, PRODUCER, Collector

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def shared_collector() -> Iterator[Collector]:
    with closing(Collector()) as collector:
        yield collector


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory, shared_collector: Collector) -> Iterator[Home]:
    """Everything that is started here sends its spans to the collector; its worker runs all the time."""
    with fresh_home(tmp_path_factory.mktemp("traced") / "home") as home:
        home.env |= shared_collector.environment
        home.configure(**{"backoff-base": "0.001"})
        home.start()
        yield home


@pytest.fixture
def collector(shared_collector: Collector) -> Collector:
    """Of what the tests before have sent, nothing is seen."""
    shared_collector.clear()
    return shared_collector


@pytest.fixture
def traced(shared_home: Home) -> Iterator[Home]:
    yield shared_home
    with shared_home.queue() as queue:
        queue.remove_matching(JobFilter())


@pytest.fixture
def without_worker(home: Home, collector: Collector) -> Home:
    home.env |= collector.environment
    return home


def test_a_job_is_one_trace_from_its_caller_to_the_end_of_its_last_attempt(
    traced: Home, collector: Collector
) -> None:
    line = 'echo "$TRACEPARENT $TRACESTATE"; test "$QUEUECTL_ATTEMPT" = 2 || exit 7'
    words = ("enqueue", "--id", "job1", "--queue", "mail", "--command", line)
    traced.ok(*words, env={"TRACEPARENT": CALLER, "TRACESTATE": "vendor=1"})
    traced.wait_for("job1", "completed")

    enqueued, first, second = collector.spans(3)
    assert (enqueued.name, enqueued.kind, enqueued.parent) == ("enqueue mail", PRODUCER, CALLER[36:52])
    assert {span.trace for span in (enqueued, first, second)} == {CALLER[3:35]}
    assert [span.parent for span in (first, second)] == [enqueued.id, enqueued.id]
    assert (first.name, first.kind) == (second.name, second.kind) == ("run mail", CONSUMER)
    assert (first.status, first.message) == (ERROR, "exit code 7")
    assert second.status in OK_OR_UNSET
    assert enqueued.service == first.service == "queuectl"
    with traced.queue() as queue:
        outputs = [attempt.output or b"" for attempt in queue.attempts(queue.get("job1"))]
    for output, span in zip(outputs, (first, second), strict=True):
        (printed,) = unpack(output)
        parent, state = printed.data.decode().split()
        assert span.is_named_by(parent)
        assert state == "vendor=1"


def test_a_span_says_what_happened_and_not_what_was_run(traced: Home, collector: Collector) -> None:
    traced.ok("enqueue", "--id", "job1", "-r", "0", "--env", "TOKEN=geheim", "-c", "echo heimlich; exit 3")
    traced.wait_for("job1", "dead")

    enqueued, run = collector.spans(2)
    assert enqueued.facts["messaging.message.id"] == run.facts["messaging.message.id"] == "job1"
    assert run.facts["messaging.destination.name"] == "default"
    assert run.facts["queuectl.attempt"] == 1
    assert run.facts["queuectl.outcome"] == run.facts["error.type"] == "failed"
    assert run.facts["queuectl.state"] == "dead"
    assert run.facts["process.exit.code"] == 3
    assert 0 <= run.facts["queuectl.wait_seconds"] < 60
    assert run.facts["queuectl.worker"]
    for span in (enqueued, run):
        assert b"heimlich" not in span.raw
        assert b"geheim" not in span.raw


def test_a_command_that_cannot_be_started_is_an_attempt_too(traced: Home, collector: Collector) -> None:
    traced.ok("enqueue", "--id", "job1", "-r", "0", "--", "/no/such/heimlich", "x")
    traced.wait_for("job1", "dead")

    _, run = collector.spans(2)
    assert (run.status, run.message, run.facts["queuectl.outcome"]) == (ERROR, "spawn error", "spawn_error")
    assert b"heimlich" not in run.raw


def test_a_span_lasts_as_long_as_its_command(traced: Home, collector: Collector) -> None:
    traced.ok("enqueue", "--id", "job1", "sleep 0.3")
    traced.wait_for("job1", "completed")

    _, run = collector.spans(2)
    assert 0.3 <= run.seconds < 20


def test_what_a_command_enqueues_belongs_to_its_attempt(traced: Home, collector: Collector) -> None:
    inner = f"{sys.executable} -m queuectl enqueue --id inner true"
    traced.ok("enqueue", "--id", "outer", "--command", inner)
    traced.wait_for("outer", "completed")
    traced.wait_for("inner", "completed")

    spans = {(span.kind, span.facts["messaging.message.id"]): span for span in collector.spans(4)}
    assert len({span.trace for span in spans.values()}) == 1
    assert spans[PRODUCER, "inner"].parent == spans[CONSUMER, "outer"].id
    assert spans[CONSUMER, "inner"].parent == spans[PRODUCER, "inner"].id


def test_a_context_that_the_job_sets_itself_is_left_alone(traced: Home, collector: Collector) -> None:
    traced.ok("enqueue", "--id", "job1", "--env", f"TRACEPARENT={CALLER}", "true")
    traced.wait_for("job1", "completed")

    enqueued, run = collector.spans(2)
    assert (run.trace, run.parent) == (CALLER[3:35], CALLER[36:52])
    assert enqueued.trace != run.trace


def test_many_jobs_of_one_call_have_one_producer(traced: Home, collector: Collector, tmp_path: Path) -> None:
    program = (
        "from queuectl import Queue\n"
        "with Queue.open() as queue:\n"
        "    queue.enqueue_many(['true', 'true', {'command': 'true', 'env': {'A': 'b'}}])\n"
    )
    script = tmp_path / "many.py"
    script.write_text(program)
    traced.ok("enqueue", "--id", "job1", f"{sys.executable} {script}")
    traced.wait_for("job1", "completed")

    spans = collector.spans(2 + 1 + 3)
    (many,) = [span for span in spans if "messaging.batch.message_count" in span.facts]
    assert many.facts["messaging.batch.message_count"] == many.facts["queuectl.new_jobs"] == 3
    assert len([span for span in spans if span.parent == many.id]) == 3


def test_a_file_of_jobs_is_one_span_and_each_job_a_trace_of_its_own(
    traced: Home, collector: Collector
) -> None:
    traced.ok("enqueue", "--lines", "--file", "-", env={"TRACEPARENT": CALLER}, input="true\ntrue\n")

    enqueued, *runs = collector.spans(3)
    assert (enqueued.kind, enqueued.trace) == (PRODUCER, CALLER[3:35])
    assert enqueued.facts["messaging.batch.message_count"] == 2
    assert [run.parent for run in runs] == ["", ""]
    assert len({enqueued.trace, *(run.trace for run in runs)}) == 3


def test_an_enqueue_that_is_refused_is_an_error(without_worker: Home, collector: Collector) -> None:
    without_worker.ok("enqueue", "--id", "job1", "true")
    assert without_worker.q("enqueue", "--id", "job1", "true").returncode != 0

    stored, refused = collector.spans(2)
    assert stored.status in OK_OR_UNSET
    assert (refused.status, refused.facts["error.type"]) == (ERROR, "DuplicateId")


def test_a_trace_that_is_not_sampled_goes_on_unsampled(traced: Home, collector: Collector) -> None:
    traced.ok("enqueue", "--id", "job1", "echo $TRACEPARENT", env={"TRACEPARENT": CALLER[:-1] + "0"})
    traced.wait_for("job1", "completed")
    traced.ok("enqueue", "--id", "next", "true")
    traced.wait_for("next", "completed")

    with traced.queue() as queue:
        (attempt,) = queue.attempts(queue.get("job1"))
    (printed,) = unpack(attempt.output or b"")
    told = printed.data.decode().strip()
    assert told.startswith(CALLER[:36])
    assert told.endswith("-00")
    # Spans are sent in the order in which they ended: one of the first job would have come before these.
    assert {span.facts["messaging.message.id"] for span in collector.spans(2)} == {"next"}


def test_run_traces_with_a_worker_of_its_own(without_worker: Home, collector: Collector) -> None:
    told = without_worker.ok("run", "--", "sh", "-c", "echo $TRACEPARENT").strip()

    enqueued, run = collector.spans(2)
    assert run.parent == enqueued.id
    assert run.is_named_by(told)


def test_what_is_not_sent_yet_is_sent_when_the_worker_stops(
    without_worker: Home, collector: Collector
) -> None:
    home = without_worker
    with home.queue() as queue:
        queue.enqueue("true", id="job1")
    worker = home.foreground(env={"OTEL_BSP_SCHEDULE_DELAY": "600000"})
    home.wait_for("job1", "completed")
    assert collector.count == 0

    worker.terminate()

    (run,) = collector.spans(1)
    assert (run.name, run.parent) == ("run default", "")
    assert worker.wait(60) == 0
