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
from queuectl.worker.clerk import Clerk
from queuectl.worker.desk import GIVE_BACK_AFTER, REPORT_MOST, REPORT_WITHIN, Desk
from queuectl.worker.membership import Membership


class WorkerWithFakeCommands:
    """A desk on a real store and a clock turned by hand; commands end when the test says so."""

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
def worker(tmp_path: Path) -> Iterator[WorkerWithFakeCommands]:
    it = WorkerWithFakeCommands(tmp_path, slots=2)
    yield it
    it.me.close()
    it.store.close()


@pytest.fixture
def seen() -> Iterator[list[str]]:
    names: list[str] = []
    unsubscribe = events.subscribe(lambda name, _: names.append(name))
    yield names
    unsubscribe()


def busy_with_short_jobs(worker: WorkerWithFakeCommands, jobs: int = 100) -> list[str]:
    """Two run, and as many as short ones deserve are claimed ahead."""
    ids = worker.enqueue(jobs)
    for _ in range(20):
        worker.desk.pace.learn(0.001)
    worker.exchange()
    worker.start()
    return ids


def test_at_first_only_the_free_slots_are_filled(worker: WorkerWithFakeCommands) -> None:
    worker.enqueue(5)
    assert worker.due()
    worker.exchange()
    assert len(worker.desk.ahead) == 2
    worker.start()
    assert not worker.due()


def test_while_jobs_are_short_more_are_claimed(worker: WorkerWithFakeCommands) -> None:
    busy_with_short_jobs(worker)
    assert len(worker.desk.ahead) == 64
    assert worker.counts() == {states.PROCESSING: 66, states.PENDING: 34}


def test_a_lone_result_is_stored_at_once(worker: WorkerWithFakeCommands) -> None:
    (id,) = worker.enqueue(1)
    worker.exchange()
    worker.start()
    worker.end()
    assert worker.due()
    worker.exchange()
    assert worker.job(id).state == states.COMPLETED
    assert not worker.due()


def test_a_result_waits_for_company_while_there_is_work_in_hand(worker: WorkerWithFakeCommands) -> None:
    ids = busy_with_short_jobs(worker)
    worker.end()
    worker.start()
    assert not worker.due()
    worker.clock.advance(REPORT_WITHIN + 0.01)
    worker.desk.last_start = worker.clock.monotonic()
    assert worker.due()
    worker.exchange()
    assert worker.job(ids[0]).state == states.COMPLETED


def test_many_results_do_not_wait(worker: WorkerWithFakeCommands) -> None:
    worker.desk.settings = Settings({"claim-ahead": "1000"})
    worker.enqueue(300)
    for _ in range(20):
        worker.desk.pace.learn(0.0001)
    worker.exchange()
    worker.start()
    ended = 0
    while not worker.due():
        worker.end(0.0001)
        worker.start()
        ended += 1
    assert ended == REPORT_MOST
    worker.exchange()
    assert worker.counts()[states.COMPLETED] == REPORT_MOST


def test_what_was_claimed_ahead_goes_back_when_jobs_turn_out_long(worker: WorkerWithFakeCommands) -> None:
    ids = busy_with_short_jobs(worker)
    worker.clock.advance(GIVE_BACK_AFTER + 0.01)  # nothing ends, nothing is started
    assert worker.due()
    worker.exchange()
    assert not worker.desk.ahead
    assert worker.counts() == {states.PROCESSING: 2, states.PENDING: 98}
    job = worker.job(ids[10])
    assert (job.attempts, job.runs, job.started_at) == (0, 0, None)
    assert not worker.due()  # and it does not take them again while its slots are full


def test_it_gives_back_in_the_order_of_the_queue(worker: WorkerWithFakeCommands) -> None:
    ids = busy_with_short_jobs(worker, 20)
    worker.desk.give_back()
    worker.desk.pace.slow_down()
    worker.exchange()
    worker.running.clear()
    worker.desk.rung()
    worker.exchange()
    assert [job.id for job in worker.desk.ahead] == ids[2:4]


def test_a_job_claimed_ahead_can_be_cancelled_before_it_runs(worker: WorkerWithFakeCommands) -> None:
    ids = busy_with_short_jobs(worker)
    victim = worker.job(ids[10])
    assert worker.queue.cancel(victim.id) == "cancelling"
    worker.desk.cancel_ahead(victim.seq)
    assert all(job.seq != victim.seq for job in worker.desk.ahead)
    worker.exchange()
    job = worker.job(victim.id)
    assert (job.state, job.attempts, job.runs) == (states.CANCELLED, 0, 0)
    assert job.last_error == "cancelled before it ran"
    assert worker.queue.attempts(job) == []


def test_a_cancel_that_the_worker_has_not_heard_of_wins_over_giving_back(
    worker: WorkerWithFakeCommands,
) -> None:
    ids = busy_with_short_jobs(worker)
    worker.queue.cancel(ids[10])
    worker.desk.give_back()
    worker.exchange()
    job = worker.job(ids[10])
    assert (job.state, job.attempts) == (states.CANCELLED, 0)


def test_a_closed_desk_claims_nothing_and_still_reports(worker: WorkerWithFakeCommands) -> None:
    ids = worker.enqueue(4)
    worker.exchange()
    worker.start()
    worker.desk.closed = True
    worker.end()
    assert worker.due()
    worker.exchange()
    assert worker.job(ids[0]).state == states.COMPLETED
    assert not worker.desk.ahead
    assert not worker.due()


def test_a_worker_that_is_cut_off_claims_nothing(worker: WorkerWithFakeCommands) -> None:
    worker.enqueue(4)
    worker.desk.cut_off = True
    assert not worker.due()
    worker.desk.cut_off = False
    assert worker.due()


def locked(worker: WorkerWithFakeCommands) -> apsw.Connection:
    other = apsw.Connection(worker.store.location.file)
    other.execute("BEGIN EXCLUSIVE")
    return other


def test_results_are_kept_while_the_store_is_away(worker: WorkerWithFakeCommands, seen: list[str]) -> None:
    ids = worker.enqueue(2)
    worker.exchange()
    worker.start()
    worker.end()
    other = locked(worker)
    waits = []
    for _ in range(12):
        assert worker.due()
        worker.exchange()
        assert not worker.due()
        wait = worker.desk.wake_at() - worker.clock.monotonic()
        assert wait > 0, "it would spin"
        waits.append(wait)
        worker.clock.advance(worker.desk.not_before - worker.clock.monotonic() + 0.001)
    assert seen.count("store.away") == 12
    assert waits[0] < 0.2
    assert max(waits) <= 2.0
    other.close()
    worker.exchange()
    assert worker.job(ids[0]).state == states.COMPLETED
    assert not worker.desk.reports


def test_a_job_that_falls_due_does_not_make_it_spin_while_the_store_is_away(
    worker: WorkerWithFakeCommands,
) -> None:
    worker.queue.enqueue("true", delay="100ms")
    assert worker.due()
    worker.exchange()
    worker.desk.rung()
    other = locked(worker)
    worker.clock.advance(0.2)
    worker.exchange()
    assert worker.desk.wake_at() > worker.clock.monotonic()
    other.close()


def test_it_wakes_when_a_job_falls_due(worker: WorkerWithFakeCommands) -> None:
    worker.queue.enqueue("true", delay="100ms")
    worker.due()
    worker.exchange()
    assert not worker.due()
    assert worker.desk.wake_at() - worker.clock.monotonic() == pytest.approx(0.1)
    worker.clock.advance(0.1)
    assert worker.due()
    worker.exchange()
    assert len(worker.desk.ahead) == 1


def test_an_idle_desk_looks_once_a_poll_interval(worker: WorkerWithFakeCommands) -> None:
    worker.exchange()
    assert not worker.due()
    assert worker.desk.wake_at() - worker.clock.monotonic() == pytest.approx(1.0)
    with Queue.open(worker.store.location.file) as other:
        other.store.enqueue([[job_named("from outside")]], worker.clock.now())
    assert not worker.due()
    worker.clock.advance(1.0)
    assert worker.due()


def job_named(id: str) -> NewJob:
    job = NewJob("true", 3)
    job.id = id
    return job


def test_without_room_on_the_machine_claims_are_given_back_and_pause(worker: WorkerWithFakeCommands) -> None:
    (id,) = worker.enqueue(1)
    pauses = []
    for _ in range(7):
        worker.exchange()
        assert len(worker.desk.ahead) == 1
        worker.desk.no_room(0)
        assert worker.due()  # at once, so that somebody else can have it
        worker.exchange()
        job = worker.job(id)
        assert (job.state, job.attempts, job.runs) == (states.PENDING, 0, 0)
        worker.desk.rung()
        began = worker.clock.monotonic()
        while not worker.due():
            worker.clock.advance(0.05)
        pauses.append(worker.clock.monotonic() - began)
    assert pauses == pytest.approx([0.5, 1, 2, 4, 8, 10, 10], abs=0.06)


def test_what_fits_goes_on_running_while_the_machine_has_no_room_for_more(
    worker: WorkerWithFakeCommands,
) -> None:
    worker.enqueue(5)
    worker.exchange()
    worker.running.append(worker.desk.ahead.popleft())
    worker.desk.no_room(1)
    worker.exchange()
    worker.desk.rung()
    assert not worker.due()
    worker.end(1.0)
    worker.exchange()
    assert len(worker.desk.ahead) == 1


def test_a_dead_worker_is_told_so(worker: WorkerWithFakeCommands) -> None:
    worker.enqueue(1)
    (row,) = worker.store.workers()
    assert worker.store.bury(row)
    with pytest.raises(WorkerFenced):
        worker.exchange()
    assert worker.counts() == {states.PENDING: 1}


def test_a_result_that_comes_too_late_is_dropped_with_a_word(
    worker: WorkerWithFakeCommands, seen: list[str]
) -> None:
    (id,) = worker.enqueue(1)
    worker.exchange()
    worker.start()
    stolen = apsw.Connection(worker.store.location.file)
    stolen.execute("UPDATE jobs SET claim = 'another'")
    stolen.close()
    worker.end()
    worker.exchange()
    assert "job.stale" in seen
    assert worker.job(id).state == states.PROCESSING
    assert worker.queue.attempts(worker.job(id)) == []


def test_a_store_that_was_replaced_is_an_error(worker: WorkerWithFakeCommands) -> None:
    worker.enqueue(1)
    os.unlink(worker.store.location.file)
    with pytest.raises(StoreReplaced):
        worker.exchange()
    worker.clock.advance(1)
    with pytest.raises(StoreReplaced):
        worker.due()


def test_marks_are_cleared_once_results_are_stored(worker: WorkerWithFakeCommands) -> None:
    ids = worker.enqueue(2)
    worker.exchange()
    room = worker.me.ledger.room()
    for job in list(worker.desk.ahead):
        index = worker.me.ledger.mark(job.seq)
        worker.desk.report(job, Outcome(kinds.SUCCEEDED, started_at=0, finished_at=worker.clock.now()), index)
    worker.desk.ahead.clear()
    assert worker.me.ledger.room() == room - 2
    worker.exchange()
    assert worker.me.ledger.room() == room
    assert worker.store.unfinished(JobFilter(ids=tuple(ids))) == 0


class TestWhileAnExchangeIsUnderWay:
    """On a server the answer takes its time; what happens meanwhile is not lost."""

    def test_nothing_else_is_sent_and_results_wait(self, worker: WorkerWithFakeCommands) -> None:
        busy_with_short_jobs(worker)
        worker.end()
        worker.desk.exchange(len(worker.running), worker.me)
        assert (worker.desk.under_way, worker.desk.unsettled, worker.due()) == (True, True, False)
        assert worker.desk.wake_at() > worker.clock.monotonic()
        worker.end()
        worker.desk.conclude(worker.me)
        assert len(worker.desk.reports) == 1  # came in later, so it goes with the next
        assert worker.counts()[states.COMPLETED] == 1
        worker.exchange()
        assert worker.counts()[states.COMPLETED] == 2

    def test_results_that_could_not_be_handed_in_stay_before_newer_ones(
        self, worker: WorkerWithFakeCommands
    ) -> None:
        ids = busy_with_short_jobs(worker)
        worker.end()
        holder = apsw.Connection(worker.store.location.url)
        holder.execute("BEGIN IMMEDIATE")
        worker.desk.exchange(len(worker.running), worker.me)
        worker.end()
        worker.desk.conclude(worker.me)
        holder.execute("ROLLBACK")
        holder.close()
        assert [report.seq for report, _ in worker.desk.reports] == [worker.job(id).seq for id in ids[:2]]
        worker.clock.advance(5)
        worker.exchange()
        assert worker.counts()[states.COMPLETED] == 2

    def test_who_was_told_to_stop_gives_back_what_comes_in(self, worker: WorkerWithFakeCommands) -> None:
        worker.enqueue(2)
        worker.desk.exchange(0, worker.me)
        worker.desk.closed = True
        worker.desk.give_back()
        worker.desk.conclude(worker.me)
        assert not worker.desk.ahead
        worker.exchange()
        assert worker.counts() == {states.PENDING: 2}

    def test_who_was_declared_dead_forgets_the_answer(self, worker: WorkerWithFakeCommands) -> None:
        worker.enqueue(2)
        worker.desk.exchange(0, worker.me)
        worker.desk.forget_all()
        worker.desk.hang_up()
        assert (len(worker.desk.ahead), worker.desk.unsettled) == (0, False)

    def test_results_and_claims_share_an_exchange(self, worker: WorkerWithFakeCommands) -> None:
        busy_with_short_jobs(worker)
        held = len(worker.desk.ahead)
        for _ in range(held // 2):
            worker.end()
            worker.start()
        worker.exchange()  # for the results; there is room for more as well
        assert len(worker.desk.ahead) > held // 2
