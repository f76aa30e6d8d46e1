"""The worker's dealings with the store, with time turned by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from queuectl import events
from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.job import Job, NewJob
from queuectl.core.outcome import Outcome
from queuectl.errors import StoreReplaced, WorkerFenced
from queuectl.paths import Location
from queuectl.queue import Queue
from queuectl.store.messages import JobFilter
from queuectl.store.open import open_store
from queuectl.testing import FakeClock
from queuectl.worker import desk as tuned
from queuectl.worker.clerk import Clerk
from queuectl.worker.desk import Desk
from queuectl.worker.membership import Membership


class Bench:
    """A desk on a real store, and a worker whose commands are only imagined."""

    def __init__(self, home: Path, slots: int) -> None:
        file = str(home / "queue.db")
        self.store = open_store(Location(file, file, str(home)), busy_ms=1)
        self.clock = FakeClock()
        self.queue = Queue(self.store, Settings(), self.clock)
        (home / "run").mkdir(mode=0o700)
        self.me = Membership(self.store, concurrency=slots, queues=None, supervisor=None)
        self.me.register(self.store, 30_000, self.clock.now())
        settings = Settings({"claim-ahead": "64"})
        self.desk = Desk(self.store, self.clock, settings, Clerk(), queues=None, only=None)
        self.running: list[Job] = []

    def enqueue(self, count: int) -> list[str]:
        return self.queue.enqueue_many(["true"] * count)

    def start(self) -> None:
        """Fill the slots from what was claimed."""
        while self.desk.ahead and len(self.running) < self.me.concurrency:
            self.running.append(self.desk.ahead.popleft())
            self.desk.last_start = self.clock.monotonic()

    def end(self, seconds: float = 0.001) -> None:
        """The oldest command ends well."""
        job = self.running.pop(0)
        self.desk.pace.learn(seconds)
        self.desk.report(job, Outcome(kinds.SUCCEEDED, started_at=0, finished_at=self.clock.now()))

    def due(self) -> bool:
        return self.desk.is_due(len(self.running), self.me)

    def exchange(self) -> None:
        self.desk.exchange(len(self.running), self.me)
        self.desk.conclude(self.me)

    def job(self, id: str) -> Job:
        return self.queue.get(id)

    def counts(self) -> dict[str, int]:
        return {state: n for state, n in self.queue.stats().counts.items() if n}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    it = Bench(tmp_path, slots=2)
    yield it
    it.me.close()
    it.store.close()


@pytest.fixture
def seen() -> Iterator[list[str]]:
    names: list[str] = []
    unsubscribe = events.subscribe(lambda name, _: names.append(name))
    yield names
    unsubscribe()


def busy_with_short_jobs(bench: Bench, jobs: int = 100) -> list[str]:
    """Two run, and as many as short ones deserve are claimed ahead."""
    ids = bench.enqueue(jobs)
    for _ in range(20):
        bench.desk.pace.learn(0.001)
    bench.exchange()
    bench.start()
    return ids


def test_at_first_only_the_free_slots_are_filled(bench: Bench) -> None:
    bench.enqueue(5)
    assert bench.due()
    bench.exchange()
    assert len(bench.desk.ahead) == 2
    bench.start()
    assert not bench.due()


def test_while_jobs_are_short_more_are_claimed(bench: Bench) -> None:
    busy_with_short_jobs(bench)
    assert len(bench.desk.ahead) == 64
    assert bench.counts() == {states.PROCESSING: 66, states.PENDING: 34}


def test_a_lone_result_is_stored_at_once(bench: Bench) -> None:
    (id,) = bench.enqueue(1)
    bench.exchange()
    bench.start()
    bench.end()
    assert bench.due()
    bench.exchange()
    assert bench.job(id).state == states.COMPLETED
    assert not bench.due()


def test_a_result_waits_for_company_while_there_is_work_in_hand(bench: Bench) -> None:
    ids = busy_with_short_jobs(bench)
    bench.end()
    bench.start()
    assert not bench.due()
    bench.clock.advance(tuned._REPORT_WITHIN + 0.01)
    bench.desk.last_start = bench.clock.monotonic()
    assert bench.due()
    bench.exchange()
    assert bench.job(ids[0]).state == states.COMPLETED


def test_many_results_do_not_wait(bench: Bench) -> None:
    bench.desk.settings = Settings({"claim-ahead": "1000"})
    bench.enqueue(300)
    for _ in range(20):
        bench.desk.pace.learn(0.0001)
    bench.exchange()
    bench.start()
    ended = 0
    while not bench.due():
        bench.end(0.0001)
        bench.start()
        ended += 1
    assert ended == tuned._REPORT_MOST
    bench.exchange()
    assert bench.counts()[states.COMPLETED] == tuned._REPORT_MOST


def test_what_was_claimed_ahead_goes_back_when_jobs_turn_out_long(bench: Bench) -> None:
    ids = busy_with_short_jobs(bench)
    bench.clock.advance(tuned._GIVE_BACK_AFTER + 0.01)  # nothing ends, nothing is started
    assert bench.due()
    bench.exchange()
    assert not bench.desk.ahead
    assert bench.counts() == {states.PROCESSING: 2, states.PENDING: 98}
    job = bench.job(ids[10])
    assert (job.attempts, job.runs, job.started_at) == (0, 0, None)
    assert not bench.due()  # and it does not take them again while its slots are full


def test_it_gives_back_in_the_order_of_the_queue(bench: Bench) -> None:
    ids = busy_with_short_jobs(bench, 20)
    bench.desk.give_back()
    bench.desk.pace.slow_down()
    bench.exchange()
    bench.running.clear()
    bench.desk.rung()
    bench.exchange()
    assert [job.id for job in bench.desk.ahead] == ids[2:4]


def test_a_job_claimed_ahead_can_be_cancelled_before_it_runs(bench: Bench) -> None:
    ids = busy_with_short_jobs(bench)
    victim = bench.job(ids[10])
    assert bench.queue.cancel(victim.id) == "cancelling"
    bench.desk.cancel_ahead(victim.seq)
    assert all(job.seq != victim.seq for job in bench.desk.ahead)
    bench.exchange()
    job = bench.job(victim.id)
    assert (job.state, job.attempts, job.runs) == (states.CANCELLED, 0, 0)
    assert job.last_error == "cancelled before it ran"
    assert bench.queue.attempts(job) == []


def test_a_cancel_that_the_worker_has_not_heard_of_wins_over_giving_back(bench: Bench) -> None:
    ids = busy_with_short_jobs(bench)
    bench.queue.cancel(ids[10])
    bench.desk.give_back()
    bench.exchange()
    job = bench.job(ids[10])
    assert (job.state, job.attempts) == (states.CANCELLED, 0)


def test_a_closed_desk_claims_nothing_and_still_reports(bench: Bench) -> None:
    ids = bench.enqueue(4)
    bench.exchange()
    bench.start()
    bench.desk.closed = True
    bench.end()
    assert bench.due()
    bench.exchange()
    assert bench.job(ids[0]).state == states.COMPLETED
    assert not bench.desk.ahead
    assert not bench.due()


def test_a_worker_that_is_cut_off_claims_nothing(bench: Bench) -> None:
    bench.enqueue(4)
    bench.desk.cut_off = True
    assert not bench.due()
    bench.desk.cut_off = False
    assert bench.due()


def locked(bench: Bench) -> apsw.Connection:
    other = apsw.Connection(bench.store.location.file)
    other.execute("BEGIN EXCLUSIVE")
    return other


def test_results_are_kept_while_the_store_is_away(bench: Bench, seen: list[str]) -> None:
    ids = bench.enqueue(2)
    bench.exchange()
    bench.start()
    bench.end()
    other = locked(bench)
    waits = []
    for _ in range(12):
        assert bench.due()
        bench.exchange()
        assert not bench.due()
        wait = bench.desk.wake_at() - bench.clock.monotonic()
        assert wait > 0, "it would spin"
        waits.append(wait)
        bench.clock.advance(bench.desk.not_before - bench.clock.monotonic() + 0.001)
    assert seen.count("store.away") == 12
    assert waits[0] < 0.2
    assert max(waits) <= 2.0
    other.close()
    bench.exchange()
    assert bench.job(ids[0]).state == states.COMPLETED
    assert not bench.desk.reports


def test_a_job_that_falls_due_does_not_make_it_spin_while_the_store_is_away(bench: Bench) -> None:
    bench.queue.enqueue("true", delay="100ms")
    assert bench.due()
    bench.exchange()
    bench.desk.rung()
    other = locked(bench)
    bench.clock.advance(0.2)
    bench.exchange()
    assert bench.desk.wake_at() > bench.clock.monotonic()
    other.close()


def test_it_wakes_when_a_job_falls_due(bench: Bench) -> None:
    bench.queue.enqueue("true", delay="100ms")
    bench.due()
    bench.exchange()
    assert not bench.due()
    assert bench.desk.wake_at() - bench.clock.monotonic() == pytest.approx(0.1)
    bench.clock.advance(0.1)
    assert bench.due()
    bench.exchange()
    assert len(bench.desk.ahead) == 1


def test_an_idle_desk_looks_once_a_poll_interval(bench: Bench) -> None:
    bench.exchange()
    assert not bench.due()
    assert bench.desk.wake_at() - bench.clock.monotonic() == pytest.approx(1.0)
    with Queue.open(bench.store.location.file) as other:
        other.store.enqueue([[job_named("from outside")]], bench.clock.now())
    assert not bench.due()
    bench.clock.advance(1.0)
    assert bench.due()


def job_named(id: str) -> NewJob:
    job = NewJob("true", 3)
    job.id = id
    return job


def test_without_room_on_the_machine_claims_are_given_back_and_pause(bench: Bench) -> None:
    (id,) = bench.enqueue(1)
    pauses = []
    for _ in range(7):
        bench.exchange()
        assert len(bench.desk.ahead) == 1
        bench.desk.no_room(0)
        assert bench.due()  # at once, so that somebody else can have it
        bench.exchange()
        job = bench.job(id)
        assert (job.state, job.attempts, job.runs) == (states.PENDING, 0, 0)
        bench.desk.rung()
        began = bench.clock.monotonic()
        while not bench.due():
            bench.clock.advance(0.05)
        pauses.append(bench.clock.monotonic() - began)
    assert pauses == pytest.approx([0.5, 1, 2, 4, 8, 10, 10], abs=0.06)


def test_what_fits_goes_on_running_while_the_machine_has_no_room_for_more(bench: Bench) -> None:
    bench.enqueue(5)
    bench.exchange()
    bench.running.append(bench.desk.ahead.popleft())
    bench.desk.no_room(1)
    bench.exchange()
    bench.desk.rung()
    assert not bench.due()
    bench.end(1.0)
    bench.exchange()
    assert len(bench.desk.ahead) == 1


def test_a_dead_worker_is_told_so(bench: Bench) -> None:
    bench.enqueue(1)
    (row,) = bench.store.workers()
    assert bench.store.bury(row)
    with pytest.raises(WorkerFenced):
        bench.exchange()
    assert bench.counts() == {states.PENDING: 1}


def test_a_result_that_comes_too_late_is_dropped_with_a_word(bench: Bench, seen: list[str]) -> None:
    (id,) = bench.enqueue(1)
    bench.exchange()
    bench.start()
    stolen = apsw.Connection(bench.store.location.file)
    stolen.execute("UPDATE jobs SET claim = 'another'")
    stolen.close()
    bench.end()
    bench.exchange()
    assert "job.stale" in seen
    assert bench.job(id).state == states.PROCESSING
    assert bench.queue.attempts(bench.job(id)) == []


def test_a_store_that_was_replaced_is_an_error(bench: Bench) -> None:
    bench.enqueue(1)
    os.unlink(bench.store.location.file)
    with pytest.raises(StoreReplaced):
        bench.exchange()
    bench.clock.advance(1)
    with pytest.raises(StoreReplaced):
        bench.due()


def test_marks_are_cleared_once_results_are_stored(bench: Bench) -> None:
    ids = bench.enqueue(2)
    bench.exchange()
    room = bench.me.ledger.room()
    for job in list(bench.desk.ahead):
        index = bench.me.ledger.mark(job.seq)
        bench.desk.report(job, Outcome(kinds.SUCCEEDED, started_at=0, finished_at=bench.clock.now()), index)
    bench.desk.ahead.clear()
    assert bench.me.ledger.room() == room - 2
    bench.exchange()
    assert bench.me.ledger.room() == room
    assert bench.store.unfinished(JobFilter(ids=tuple(ids))) == 0


class TestWhileAnExchangeIsUnderWay:
    """On a server the answer takes its time; what happens meanwhile is not lost."""

    def test_nothing_else_is_sent_and_results_wait(self, bench: Bench) -> None:
        busy_with_short_jobs(bench)
        bench.end()
        bench.desk.exchange(len(bench.running), bench.me)
        assert (bench.desk.under_way, bench.desk.unsettled, bench.due()) == (True, True, False)
        assert bench.desk.wake_at() > bench.clock.monotonic()
        bench.end()
        bench.desk.conclude(bench.me)
        assert len(bench.desk.reports) == 1  # came in later, so it goes with the next
        assert bench.counts()[states.COMPLETED] == 1
        bench.exchange()
        assert bench.counts()[states.COMPLETED] == 2

    def test_results_that_could_not_be_handed_in_stay_before_newer_ones(self, bench: Bench) -> None:
        ids = busy_with_short_jobs(bench)
        bench.end()
        holder = apsw.Connection(bench.store.location.url)
        holder.execute("BEGIN IMMEDIATE")
        bench.desk.exchange(len(bench.running), bench.me)
        bench.end()
        bench.desk.conclude(bench.me)
        holder.execute("ROLLBACK")
        holder.close()
        assert [report.seq for report, _ in bench.desk.reports] == [bench.job(id).seq for id in ids[:2]]
        bench.clock.advance(5)
        bench.exchange()
        assert bench.counts()[states.COMPLETED] == 2

    def test_who_was_told_to_stop_gives_back_what_comes_in(self, bench: Bench) -> None:
        bench.enqueue(2)
        bench.desk.exchange(0, bench.me)
        bench.desk.closed = True
        bench.desk.give_back()
        bench.desk.conclude(bench.me)
        assert not bench.desk.ahead
        bench.exchange()
        assert bench.counts() == {states.PENDING: 2}

    def test_who_was_declared_dead_forgets_the_answer(self, bench: Bench) -> None:
        bench.enqueue(2)
        bench.desk.exchange(0, bench.me)
        bench.desk.forget_all()
        bench.desk.hang_up()
        assert (len(bench.desk.ahead), bench.desk.unsettled) == (0, False)

    def test_results_and_claims_share_an_exchange(self, bench: Bench) -> None:
        busy_with_short_jobs(bench)
        held = len(bench.desk.ahead)
        for _ in range(held // 2):
            bench.end()
            bench.start()
        bench.exchange()  # for the results; there is room for more as well
        assert len(bench.desk.ahead) > held // 2
