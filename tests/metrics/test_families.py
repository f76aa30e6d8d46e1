"""Every family, as the official parser reads it, on every engine."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.metrics.scrapes import Pool, Scrape, assert_never_fell
from tests.support.jobs import NOW, add, claim_one, finish_with, job_in, put, register

from queuectl import __version__, queues
from queuectl.config.settings import Settings
from queuectl.core import states
from queuectl.core.measures import RUN, WAIT, class_of, kind_of_class, lower_bound, sum_kind
from queuectl.core.outcome import FAILED
from queuectl.metrics import naming
from queuectl.metrics.catalogue import BOUNDS, FAMILIES
from queuectl.queue import Queue
from queuectl.store.messages import JobFilter
from queuectl.testing import FakeClock
from queuectl.worker import measures

MINUTE = 60_000


def measure(store: Any, queue: str, *, waits: tuple[int, ...], runs: tuple[int, ...], now: int = NOW) -> None:
    """As a worker says it."""
    amounts: list[tuple[object, object, int]] = []
    for what, durations in ((WAIT, waits), (RUN, runs)):
        amounts += [(queue, kind_of_class(what, class_of(ms)), 1) for ms in durations]
        amounts.append((queue, sum_kind(what), sum(durations)))
    store.history().measured(amounts, now)


def say(store: Any, kind: str, amount: int, now: int = NOW) -> None:
    store.history().measured([(measures.OF_ALL, kind, amount)], now)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def queue(store: Any, clock: FakeClock) -> Queue:
    return Queue(store, Settings(), clock)


@pytest.fixture
def furnished(store: Any) -> None:
    """One job in each state in `default`, one that waits in `mail`."""
    register(store, memory_kb=2048)
    for state in (*states.TERMINAL, states.SCHEDULED, states.FAILED, states.PROCESSING):
        job_in(store, state, state)
    put(store, "held", hold=True)
    add(store, "pending", now=NOW - 90_000)
    add(store, "letter", queue="mail", now=NOW - 5_000)
    measure(store, "default", waits=(3, 700), runs=(50, 20_000))
    for kind, amount in ((measures.RESCUED, 2), (measures.STALE, 3), (measures.STORE_ERRORS, 4)):
        say(store, kind, amount)


def test_there_is_every_family_with_its_type_and_its_help(queue: Queue, store: Any, furnished: None) -> None:
    scrape = Scrape(queue, Pool())
    found = {name: (f.type, f.documentation) for name, f in scrape.families.items()}
    expected = {f.name.removesuffix("_total"): (f.kind, f.help) for f in FAMILIES}
    if store.location.shared:
        del expected["queuectl_store_wal_bytes"]
    assert found == expected
    for family in FAMILIES:
        for (name, labels), _ in scrape.samples.items():
            if name.startswith(family.name) and name.removeprefix(family.name) in ("", "_count", "_sum"):
                assert {label for label, _ in labels} == set(family.labels), name


def test_jobs_by_state_and_queue(queue: Queue, furnished: None) -> None:
    scrape = Scrape(queue)
    for state in states.ALL:
        assert scrape.value("queuectl_jobs", queue="default", state=state) == 1, state
        assert scrape.value("queuectl_jobs", queue="mail", state=state) == (state == states.PENDING)
    assert scrape.value("queuectl_oldest_waiting_seconds", queue="default") == 90
    assert scrape.value("queuectl_oldest_waiting_seconds", queue="mail") == 5


def test_what_came_started_and_ended(queue: Queue, furnished: None) -> None:
    scrape = Scrape(queue)
    assert scrape.value("queuectl_jobs_enqueued_total", queue="default") == 8
    assert scrape.value("queuectl_jobs_enqueued_total", queue="mail") == 1
    assert scrape.value("queuectl_jobs_started_total", queue="default") == 4
    assert scrape.value("queuectl_retries_total", queue="default") == 1
    for state in states.TERMINAL:
        assert scrape.value("queuectl_jobs_finished_total", queue="default", state=state) == 1


def test_workers_and_the_store(queue: Queue, store: Any, furnished: None) -> None:
    queues.pause(queue, "mail")
    scrape = Scrape(queue, Pool())
    expected = {
        "queuectl_jobs_rescued_total": 2,
        "queuectl_reports_stale_total": 3,
        "queuectl_worker_store_errors_total": 4,
        "queuectl_queues_paused": 1,
        "queuectl_store_call_seconds_count": 3,
        "queuectl_store_call_seconds_sum": 0.5,
        "queuectl_store_call_errors_total": 1,
        "queuectl_store_schema_version": 5,
    }
    assert {name: scrape.value(name) for name in expected} == expected
    assert 0 < (scrape.value("queuectl_store_latency_seconds") or 0) < 60
    assert (scrape.value("queuectl_store_size_bytes") or 0) >= 4096
    engine = store.location.engine
    assert scrape.value("queuectl_build_info", version=__version__, engine=engine) == 1


def test_a_dead_worker_has_no_slots(queue: Queue, store: Any) -> None:
    register(store, "w1", memory_kb=2048, concurrency=3, host="elsewhere")
    add(store, "runs")
    claim_one(store)
    register(store, "w2", lease_ms=-1, host="elsewhere")
    scrape = Scrape(queue)
    alive = 1 if store.location.shared else 0  # all workers of a file are on its machine: this one is not
    assert scrape.value("queuectl_workers") == alive
    assert scrape.value("queuectl_worker_slots") == 3 * alive
    assert scrape.value("queuectl_worker_running") == alive
    assert scrape.value("queuectl_worker_memory_bytes") == 2048 * 1024 * alive


def test_what_is_the_workers_own_business_has_the_same_names_here() -> None:
    assert (naming.RESCUED, naming.STALE, naming.STORE_ERRORS) == (
        measures.RESCUED,
        measures.STALE,
        measures.STORE_ERRORS,
    )


def test_histograms_count_exactly(queue: Queue, store: Any) -> None:
    waits = (0, 7, 8, 31, 32, 127, 128, 1_023, 1_024, 60_000, 3_600_000, 90_000_000)
    runs = tuple(lower_bound(edge) - 1 for edge, _ in BOUNDS)
    add(store, "x")
    measure(store, "default", waits=waits, runs=runs)
    scrape = Scrape(queue)
    for name, durations in (("queuectl_job_wait_seconds", waits), ("queuectl_job_run_seconds", runs)):
        before = 0.0
        for _, bound in BOUNDS:
            count = scrape.value(f"{name}_bucket", queue="default", le=bound)
            assert count == sum(ms < float(bound) * 1000 for ms in durations), (name, bound)
            assert count >= before
            before = count
        assert scrape.value(f"{name}_bucket", queue="default", le="+Inf") == len(durations)
        assert scrape.value(f"{name}_count", queue="default") == len(durations)
        assert math.isclose(scrape.value(f"{name}_sum", queue="default") or 0, sum(durations) / 1000)


def test_bounds_fall_on_those_of_the_classes() -> None:
    assert [float(bound) * 1000 for _, bound in BOUNDS] == [lower_bound(edge) for edge, _ in BOUNDS]
    assert 12 <= len(BOUNDS) <= 15


def test_a_name_that_could_forge_a_line_is_escaped(queue: Queue, store: Any) -> None:
    """Not by us: check_queue refuses it. But others can write into a store."""
    name = 'a"} 1\nqueuectl_jobs{queue="b\\'
    add(store, "x", queue=name)
    scrape = Scrape(queue)
    assert scrape.value("queuectl_jobs", queue=name, state="pending") == 1
    assert scrape.queues("queuectl_jobs") == {name}


def test_nothing_of_a_job_is_told_but_its_queue(queue: Queue, store: Any, furnished: None) -> None:
    add(store, "secret-id", command="echo secret-command", tags=",secret-tag,")
    assert "secret" not in Scrape(queue, Pool()).text
    assert "host1" not in Scrape(queue, Pool()).text


def test_of_one_queue_only(queue: Queue, furnished: None) -> None:
    scrape = Scrape(queue, only="mail")
    assert scrape.queues("queuectl_jobs") == {"mail"}
    assert scrape.queues("queuectl_jobs_enqueued_total") == {"mail"}
    assert scrape.value("queuectl_jobs_rescued_total") == 2


def test_an_empty_store_has_its_own_numbers(queue: Queue) -> None:
    scrape = Scrape(queue)
    assert scrape.value("queuectl_workers") == 0
    assert scrape.queues("queuectl_jobs") == set()


def test_counters_never_fall(queue: Queue, store: Any, clock: FakeClock) -> None:
    """Not when minutes are moved to the past, when jobs are deleted, or when others ask anew."""
    register(store, lease_ms=86_400_000)
    scrapes = [Scrape(queue)]
    for turn in range(4):
        now = clock.now()
        add(store, *(f"{turn}-{n}" for n in range(3)), now=now, queue=f"q{turn % 2}")
        finish_with(store, claim_one(store, now=now), FAILED, now=now)
        job_in(store, states.COMPLETED, f"done-{turn}", now=now)
        measure(store, "q0", waits=(turn,), runs=(100 * turn,), now=now)
        scrapes.append(Scrape(queue))
        clock.advance(600)
        store.history().fold(clock.now())
        store.remove(JobFilter(), sources=states.TERMINAL, limit=100)
        store.bookkeeping().tidy()
        scrapes.append(Scrape(queue))
        before, after = (scrape.counters() for scrape in scrapes[-2:])
        assert before == after, "moving what was counted has changed it"
    assert_never_fell(scrapes)
    assert scrapes[-1].value("queuectl_jobs_enqueued_total", queue="q0") == 6
    assert scrapes[-1].value("queuectl_jobs_finished_total", queue="default", state="completed") == 4


def test_counters_go_on_after_a_restart(engine: Any, queue: Queue, furnished: None, clock: FakeClock) -> None:

    before = Scrape(queue, Pool())
    another = Scrape(Queue(engine.open(), Settings(), clock), Pool())
    assert another.counters() == before.counters()
