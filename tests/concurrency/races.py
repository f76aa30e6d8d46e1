"""A process that does anything to any job at any time, and keeps account of what the store said to it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.concurrency.roles import READY_AT_ONCE, now
from tests.support.engines import Place
from tests.support.jobs import HOST, new_job, register

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.job import Job
from queuectl.core.lifecycle import Report, decide
from queuectl.core.outcome import Outcome
from queuectl.errors import WorkerFenced
from queuectl.store.messages import Ask, JobFilter

JOBS = 100
_ENDS = (kinds.SUCCEEDED, kinds.SUCCEEDED, kinds.FAILED, kinds.TIMEOUT, kinds.RELEASED, kinds.UNSTARTED)


@dataclass
class Account:
    """What one process was told."""

    claims: list[tuple[int, str, str]] = field(default_factory=list)  # job's number, token, worker
    accepted: list[tuple[int, str, str]] = field(default_factory=list)  # job's number, token, outcome
    late: list[tuple[int, str, str]] = field(default_factory=list)  # job's number, token, worker
    buried: set[str] = field(default_factory=set)
    brought: int = 0
    removed: int = 0
    done: dict[str, int] = field(default_factory=dict)  # how often each kind of thing had an effect


class Actor:
    """A worker, a rescuer, a housekeeper and an impatient person in one."""

    def __init__(self, place: Place, name: str, seed: int) -> None:
        self.store = place.open()
        self.account = Account()
        self._name, self._lives = name, 0
        self._chance = random.Random(seed)
        self._held: list[tuple[Job, str]] = []  # and the worker under whose name it was claimed
        self._actions = (
            *[self.work] * 6,
            *[self.hand_in] * 2,
            *(self.cancel, self.cancel, self.retry, self.remove, self.purge, self.bring, self.bring),
            *(self.hold, self.release, self.bury, self.beat),
        )

    @property
    def me(self) -> str:
        return f"{self._name}-{self._lives}"

    def begin(self) -> None:
        register(self.store, self.me)

    def act(self) -> None:
        self._chance.choice(self._actions)()

    def some(self) -> JobFilter:
        """One job or a few, whatever they are doing."""
        count = self._chance.choice((1, 1, 5))
        return JobFilter(ids=tuple(f"j{self._chance.randrange(JOBS)}" for _ in range(count)))

    def had_effect(self, what: str, count: int) -> int:
        self.account.done[what] = self.account.done.get(what, 0) + count
        return count

    # --- as a worker ----------------------------------------------------------------------------------

    def work(self) -> None:
        """Results and the next claim together, as a worker does it."""
        reports = self._verdicts()
        token = f"{self._chance.getrandbits(64):016x}"
        ask = Ask(self.me, token, self._chance.randint(1, 4))
        try:
            answer = self.store.exchange(self.me, HOST, [verdict for verdict, _ in reports], ask, now())
        except WorkerFenced:
            # Somebody has buried us. What we hold is not ours any more, but we do not know it yet.
            self._lives += 1
            self.begin()
            self._note(reports, self.store.finish([verdict for verdict, _ in reports], self.me, HOST, now()))
            return
        self._note(reports, answer.stale)
        for job in answer.jobs:
            self.account.claims.append((job.seq, token, self.me))
            self._held.append((job, self.me))
        self.had_effect("claimed", len(answer.jobs))

    def hand_in(self) -> None:
        reports = self._verdicts()
        self._note(reports, self.store.finish([verdict for verdict, _ in reports], self.me, HOST, now()))

    def beat(self) -> None:
        try:
            self.store.heartbeat(self.me, 30_000, len(self._held), now())
        except WorkerFenced:
            self._lives += 1
            self.begin()

    def _verdicts(self) -> list[tuple[Report, str]]:
        """On some of what is held; the rest runs on."""
        self._chance.shuffle(self._held)
        count = self._chance.randint(0, len(self._held))
        ended, self._held = self._held[:count], self._held[count:]
        return [(self._verdict(job), worker) for job, worker in ended]

    def _verdict(self, job: Job) -> Report:
        stored = self.store.get(job.id) if self._chance.random() < 0.3 else None
        wanted_stopped = stored is not None and stored.claim == job.claim and stored.cancel_requested
        return verdict_on(job, kinds.CANCELLED if wanted_stopped else self._chance.choice(_ENDS))

    def _note(self, reports: list[tuple[Report, str]], stale: list[Report]) -> None:
        late = {(report.seq, report.claim) for report in stale}
        for report, worker in reports:
            if (report.seq, report.claim) in late:
                self.account.late.append((report.seq, report.claim, worker))
            else:
                self.account.accepted.append((report.seq, report.claim, report.outcome.kind))

    # --- as a rescuer ---------------------------------------------------------------------------------

    def bury(self) -> None:
        worker = self._chance.choice([*self.store.workers(), None])
        if worker is None or not self.store.bury(worker):
            return
        self.account.buried.add(worker.id)
        lost = [verdict_on(job, kinds.LOST) for job in self.store.claimed_by(worker.id)]
        late = {(report.seq, report.claim) for report in self.store.finish(lost, worker.id, HOST, now())}
        for report in lost:
            if (report.seq, report.claim) not in late:  # else another rescuer, or its own result, was first
                self.account.accepted.append((report.seq, report.claim, kinds.LOST))
        self.had_effect("rescued", len(lost) - len(late))
        self.store.forget(worker.id)

    # --- as a person ----------------------------------------------------------------------------------

    def cancel(self) -> None:
        at_once, asked = self.store.cancel(self.some(), now())
        self.had_effect("cancelled", at_once)
        self.had_effect("asked to end", asked)

    def retry(self) -> None:
        self.had_effect("retried", self.store.retry(self.some(), now(), sources=states.RETRYABLE))

    def remove(self) -> None:
        self._gone("removed", self.store.remove(self.some(), sources=states.REMOVABLE, limit=5))

    def purge(self) -> None:
        state = self._chance.choice(sorted(states.TERMINAL))
        self._gone("purged", self.store.purge(state, now() + 1, limit=self._chance.randint(1, 10)))

    def _gone(self, what: str, answer: tuple[int, list[str]]) -> None:
        self.account.removed += self.had_effect(what, answer[0])

    def bring(self) -> None:
        ids = {f"j{self._chance.randrange(JOBS)}" for _ in range(self._chance.choice((1, 10)))}
        jobs = [new_job(id, max_retries=self._chance.randint(0, 3)) for id in sorted(ids)]
        self.account.brought += self.had_effect("brought", self.store.enqueue([jobs], now(), skip=True))

    def hold(self) -> None:
        self.had_effect("held", self.store.editing().hold(self.some(), now()))

    def release(self) -> None:
        self.had_effect("released", self.store.editing().release(self.some(), now()))


def verdict_on(job: Job, kind: str) -> Report:
    outcome = Outcome(kind, started_at=job.started_at, finished_at=now())
    outcome.error = None if kind in (kinds.SUCCEEDED, kinds.UNSTARTED) else kind
    return decide(job, outcome, READY_AT_ONCE, now=now())


def actor(go: Callable[[], object], place: Place, name: str, seed: int, actions: int) -> Account:
    """Act so often; then hand in nothing more: what is held is left to the rescue."""
    one = Actor(place, name, seed)
    one.begin()
    go()
    for _ in range(actions):
        one.act()
    one.store.close()
    return one.account


def rescue_all(store: Any) -> Account:
    """Afterwards, alone: everybody is dead."""
    account = Account()
    for worker in store.workers():
        assert store.bury(worker)
        account.buried.add(worker.id)
        lost = [verdict_on(job, kinds.LOST) for job in store.claimed_by(worker.id)]
        assert store.finish(lost, worker.id, HOST, now()) == []
        account.accepted += [(report.seq, report.claim, kinds.LOST) for report in lost]
        store.forget(worker.id)
    return account
