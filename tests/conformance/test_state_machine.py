"""Any sequence of calls: the store says what a small model says, and no promise is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.conformance.model import Model
from tests.support.engines import engines
from tests.support.jobs import (
    EVERYTHING,
    HOST,
    finish,
    fresh_claim,
    get,
    new_job,
    register,
    report,
    stored_worker,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.errors import DuplicateId, WorkerFenced
from queuectl.store.messages import Ask, JobFilter
from queuectl.testing import FakeClock

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report

MOST_JOBS = 5
ENDS = [
    kinds.SUCCEEDED,
    kinds.FAILED,
    kinds.TIMEOUT,
    kinds.SPAWN_ERROR,
    kinds.CANCELLED,
    kinds.RELEASED,
    kinds.UNSTARTED,
]
any_index = st.integers(0, 1_000)


class QueueMachine(RuleBasedStateMachine):
    """A store, its model, two workers that die and come back, and a clock turned by hand."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine = engine.another()
        self.store = self.engine.open()
        self.store.relax_durability()
        self.model = Model()
        self.clock = FakeClock()
        self.held: list[Job] = []  # claims that a worker believes to have, also lost ones
        self.reported: list[Report] = []
        self.made = 0
        self.workers = 0
        self.alive = [self.hire(), self.hire()]

    def teardown(self) -> None:
        self.engine.close()

    def hire(self) -> str:
        self.workers += 1
        register(self.store, f"w{self.workers}")
        return f"w{self.workers}"

    @property
    def now(self) -> int:
        return self.clock.now()

    def pick(self, which: int) -> str:
        return list(self.model.jobs)[which % len(self.model.jobs)]

    # --- coming in

    @precondition(lambda self: len(self.model.jobs) < MOST_JOBS)
    @rule(
        delays=st.lists(st.sampled_from([-1_000, 0, 0, 2_000, 3_000]), min_size=1, max_size=3),
        priority=st.integers(-1, 1),
        max_retries=st.integers(0, 2),
    )
    def enqueue(self, delays: list[int], priority: int, max_retries: int) -> None:
        batch = []
        for delay in delays:
            self.made += 1
            fields = {"priority": priority, "max_retries": max_retries, "run_at": self.now + delay}
            batch.append(new_job(f"j{self.made}", **fields))
            self.model.enqueue(f"j{self.made}", now=self.now, **fields)
        assert self.store.enqueue([batch], self.now) == len(batch)

    @precondition(lambda self: self.model.jobs)
    @rule(which=any_index, skip=st.booleans())
    def enqueue_again(self, which: int, skip: bool) -> None:
        try:
            assert self.store.enqueue([[new_job(self.pick(which))]], self.now, skip=skip) == 0
        except DuplicateId:
            assert not skip

    # --- going out and coming back

    @rule(which=any_index, limit=st.integers(0, 3), hand_in=st.booleans(), kind=st.sampled_from(ENDS))
    def exchange(self, which: int, limit: int, hand_in: bool, kind: str) -> None:
        worker = self.alive[which % 2]
        reports = []
        if hand_in and self.held:
            reports = [report(self.held.pop(which % len(self.held)), kind, now=self.now)]
        late = self.expect(reports)
        self.model.promote(self.now)
        token = fresh_claim()
        expected = self.model.claim(limit, token)
        answer = self.store.exchange(worker, HOST, reports, Ask(worker, token, limit), self.now)
        assert [job.id for job in answer.jobs] == expected
        assert answer.stale == late
        self.held += answer.jobs

    @precondition(lambda self: self.held)
    @rule(which=any_index, kind=st.sampled_from(ENDS), heard=st.booleans())
    def finish_one(self, which: int, kind: str, heard: bool) -> None:
        job = self.held.pop(which % len(self.held))
        stored = self.store.get(job.id)
        if heard and stored is not None and stored.claim == job.claim:
            job.cancel_requested = stored.cancel_requested
        verdict = report(job, kind, now=self.now)
        late = self.expect([verdict])
        assert finish(self.store, verdict, now=self.now) == late

    @precondition(lambda self: len(self.held) > 1)
    @rule(kind=st.sampled_from(ENDS))
    def finish_all(self, kind: str) -> None:
        verdicts = [report(job, kind, now=self.now) for job in self.held]
        self.held.clear()
        late = self.expect(verdicts)
        assert finish(self.store, *verdicts, now=self.now) == late

    def expect(self, verdicts: list[Report]) -> list[Report]:
        """Tell the model; which of the reports must come back as too late."""
        late = []
        names = {job.seq: id for id, job in self.model.jobs.items()}
        for verdict in verdicts:
            id = names.get(verdict.seq, "")
            if self.model.holds(id, verdict.claim):
                self.model.finish(id, verdict.outcome.kind, self.now)
                self.reported.append(verdict)
            else:
                late.append(verdict)
        return late

    @precondition(lambda self: self.reported)
    @rule(which=any_index)
    def repeat_a_report(self, which: int) -> None:
        """As after a commit of unknown outcome: whatever the answer, nothing may change."""
        finish(self.store, self.reported[which % len(self.reported)], now=self.now)

    # --- death

    @rule(which=any_index)
    def a_worker_dies_and_is_rescued(self, which: int) -> None:
        dead = self.alive.pop(which % 2)
        assert self.store.bury(stored_worker(self.store, dead))
        lost = [report(job, kinds.LOST, now=self.now) for job in self.store.claimed_by(dead)]
        assert self.expect(lost) == []
        assert finish(self.store, *lost, worker_id=dead, now=self.now) == []
        self.store.forget(dead)
        try:
            self.store.heartbeat(dead, 1_000, 0, self.now)
            raise AssertionError("dead is final")
        except WorkerFenced:
            self.alive.append(self.hire())

    @rule(which=any_index)
    def a_heart_beats(self, which: int) -> None:
        worker = self.alive[which % 2]
        orders = self.store.heartbeat(worker, 60_000, 0, self.now)
        wanted = {j.seq for j in self.model.jobs.values() if j.cancel_requested}
        mine = {job.seq for job in self.store.claimed_by(worker)}
        assert set(orders.cancel) == wanted & mine

    # --- what people ask for

    @precondition(lambda self: self.model.jobs)
    @rule(which=any_index)
    def cancel(self, which: int) -> None:
        id = self.pick(which)
        assert self.store.cancel(JobFilter(ids=(id,)), self.now) == self.model.cancel(id)

    @precondition(lambda self: self.held)
    @rule(which=any_index)
    def cancel_what_somebody_runs(self, which: int) -> None:
        id = self.held[which % len(self.held)].id
        if id in self.model.jobs:
            assert self.store.cancel(JobFilter(ids=(id,)), self.now) == self.model.cancel(id)

    @precondition(lambda self: self.model.jobs)
    @rule(which=any_index)
    def retry(self, which: int) -> None:
        id = self.pick(which)
        changed = self.store.retry(JobFilter(ids=(id,)), self.now, sources=states.RETRYABLE)
        assert changed == self.model.retry(id, self.now)

    @precondition(lambda self: len(self.model.jobs) >= MOST_JOBS)
    @rule(which=any_index)
    def remove(self, which: int) -> None:
        id = self.pick(which)
        gone, _ = self.store.remove(JobFilter(ids=(id,)), sources=states.REMOVABLE, limit=5)
        assert gone == self.model.remove(id)

    @rule(seconds=st.sampled_from([0.5, 2, 10]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: self.store.next_due() is not None)
    @rule()
    def time_passes_until_the_next_job_is_due(self) -> None:
        due = self.store.next_due()
        assert due is not None
        self.clock.advance(max(0, due - self.now) / 1_000)

    # --- what must hold after every step

    @invariant()
    def every_job_is_there_as_the_model_says(self) -> None:
        assert self.store.count(EVERYTHING) == len(self.model.jobs)
        for id, expected in self.model.jobs.items():
            job = get(self.store, id)
            expected.seq = job.seq
            facts = expected.facts()
            assert {name: getattr(job, name) for name in facts} == facts, id
            assert (job.finished_at is not None) == (job.state in states.TERMINAL)
            assert (job.worker_id is not None) == (job.state == states.PROCESSING)

    @invariant()
    def budgets_hold_and_every_attempt_is_recorded_once(self) -> None:
        for id, expected in self.model.jobs.items():
            job = get(self.store, id)
            assert 0 <= job.attempts <= job.max_retries + 1
            recorded = self.store.attempts(job.seq)
            assert [attempt.outcome for attempt in recorded] == expected.recorded
            assert len({attempt.claim for attempt in recorded}) == len(recorded)
            done = [attempt for attempt in recorded if attempt.outcome == kinds.SUCCEEDED]
            assert len(done) == (job.state == states.COMPLETED)

    @invariant()
    def every_job_that_can_run_will_be_offered(self) -> None:
        counts = self.store.stats(self.now, window_ms=0).counts
        assert sum(counts.values()) == len(self.model.jobs)
        due = [
            job
            for job in self.model.jobs.values()
            if job.state == states.PENDING or (job.state in states.TIMED and job.run_at <= self.now)
        ]
        assert self.store.has_work(self.now) == bool(due)


@pytest.mark.parametrize("engine", engines("sqlite"), indirect=True)
@pytest.mark.timeout(900)  # only a failure takes long: it is made small before it is shown
def test_any_sequence_of_calls_agrees_with_the_model(engine: Engine) -> None:
    try_sequences(engine, 20)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_any_of_many_sequences_of_calls_agrees_with_the_model(engine: Engine) -> None:
    try_sequences(engine, 100)


def try_sequences(engine: Engine, count: int) -> None:
    run_state_machine_as_test(
        lambda: QueueMachine(engine),
        settings=settings(
            max_examples=count,
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
