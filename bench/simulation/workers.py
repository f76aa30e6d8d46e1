"""Simulated worker processes. When to claim and when to hand in results is decided by the real desk.

What is left out: the wait for a reader of long output, retries, timeouts, deaths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from bench.simulation.resources import Cores, Simulation, Thread
from bench.simulation.store import Store
from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core.job import Job
from queuectl.core.outcome import Outcome
from queuectl.errors import StoreBusy
from queuectl.store.messages import Ask, Exchange
from queuectl.worker.clerk import Clerk
from queuectl.worker.desk import Desk

# Seconds; queuectl.app and queuectl.worker.heart have the same.
LOOP_PATIENCE, HEART_PATIENCE, HEART_RETRY = 0.1, 2.0, 0.5
_MOMENT = 1e-6  # behind a time that has come, whatever the rounding
_ENOUGH = 10_000  # marks that a ledger has room for


class Load(NamedTuple):
    """What workers are given to do: commands that wait for so many seconds, more or less."""

    seconds: float
    spread: float = 0.0  # up to this share of it

    def draw(self, sim: Simulation) -> float:
        return self.seconds * (1 + self.spread * sim.random.uniform(-1, 1)) if self.spread else self.seconds


class _Errand(Clerk):
    """Carries an exchange of a simulated worker."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker

    def _go(self, call: Callable[[], Exchange]) -> None:
        def deal() -> tuple[int, int]:
            super(_Errand, self)._go(call)
            jobs = self._answer.jobs if isinstance(self._answer, Exchange) else []
            return self._worker.handing_in, len(jobs)

        def refuse() -> None:
            self._answer = StoreBusy("locked")
            self._worker.answered()

        store = self._worker.store
        store.transact(self._worker, deal, patience=LOOP_PATIENCE, then=self._worker.answered, failed=refuse)


class Worker:
    """One process with so many slots, as the loop of a real one."""

    def __init__(
        self, sim: Simulation, store: Store, cores: Cores, *, slots: int, load: Load, settings: Settings
    ) -> None:
        self.store = store
        self.number = store.registered
        self.thread = Thread(sim, cores)
        self.handing_in = 0
        self.waits: list[float] = []  # seconds from the end of a command to the start of the next
        self._sim = sim
        self._cores = cores
        self._load = load
        self._settings = settings
        self._slots = slots
        self._running = 0
        self._free_since: deque[float] = deque([0.0] * slots)
        self._ended: list[tuple[Job, float]] = []  # not looked at yet: the loop is at the store
        self._wakes_at = float("inf")
        ledger = SimpleNamespace(room=lambda: _ENOUGH)
        self._me: Any = SimpleNamespace(
            id=f"worker-{self.number}", host="host", concurrency=slots, ledger=ledger
        )
        simulated: Any = store  # of the protocol it has what a desk uses
        self.desk = Desk(simulated, sim, settings, _Errand(self), queues=None, only=None)
        store.registered += 1
        store.bells.append(self.ring)

    # --- the loop ----------------------------------------------------------------------------------

    def begin(self, left: Sequence[float] = ()) -> None:
        """`left`: what part of their jobs its slots have still to do, as if it had been at it for long."""
        for part in left:
            self.desk.pace.learn(self._load.seconds)
            job = self.store.running_job(self._me.id)
            self._running += 1
            self._free_since.popleft()
            self._sim.after(self._load.seconds * part, self._end_of(job))
        interval = self._settings.worker_heartbeat_interval / 1000
        self._sim.after(interval * self._sim.random.random(), self._beat)
        self._sim.after(self._settings.poll_interval / 1000 * self._sim.random.random(), self.turn)

    def ring(self) -> None:
        self.desk.rung()
        self.turn()

    def turn(self) -> None:
        if self._is_at_the_store:
            return
        self._fill_slots()
        if self.desk.is_due(self._running, self._me):
            self.handing_in = len(self.desk.reports)
            self.desk.exchange(self._running, self._me)
        self._sleep()

    @property
    def _is_at_the_store(self) -> bool:
        """To a file the loop goes itself, and does nothing else meanwhile."""
        return self.store.costs.is_file and self.desk.under_way

    def answered(self) -> None:
        self.desk.conclude(self._me)
        for job, seconds in self._ended:
            self._conclude(job, seconds)
        self._ended.clear()
        self.turn()

    def _sleep(self) -> None:
        wake = max(self.desk.wake_at(), self._sim.time) + _MOMENT
        if wake < self._wakes_at:
            self._wakes_at = wake
            self._sim.at(wake, self._wake)

    def _wake(self) -> None:
        if self._sim.time >= self._wakes_at:
            self._wakes_at = float("inf")
            self.turn()

    # --- commands ----------------------------------------------------------------------------------

    def _fill_slots(self) -> None:
        desk = self.desk
        while desk.ahead and self._running < self._slots:
            job = desk.ahead.popleft()
            self._running += 1
            self.waits.append(self._sim.time - self._free_since.popleft())
            desk.last_start = self._sim.time
            self.thread.run(self.store.costs.start, self._start_of(job))

    def _start_of(self, job: Job) -> Callable[[], None]:
        began = self._sim.time

        def start() -> None:
            self._cores.run(self.store.costs.command, wait)

        def wait() -> None:
            self._sim.after(self._load.draw(self._sim), self._end_of(job, began))

        return start

    def _end_of(self, job: Job, began: float | None = None) -> Callable[[], None]:
        def end() -> None:
            seconds = self._load.seconds if began is None else self._sim.time - began
            if self._is_at_the_store:
                self._ended.append((job, seconds))
            else:
                self._conclude(job, seconds)
                self.turn()

        return end

    def _conclude(self, job: Job, seconds: float) -> None:
        self._running -= 1
        self._free_since.append(self._sim.time)
        self.desk.pace.learn(seconds)
        self.desk.report(job, Outcome(kinds.SUCCEEDED, finished_at=self._sim.now()))

    # --- the heart ---------------------------------------------------------------------------------

    def _beat(self) -> None:
        def renewed() -> None:
            self._sim.after(self._settings.worker_heartbeat_interval / 1000, self._beat)

        def failed() -> None:
            self._sim.after(HEART_RETRY, self._beat)

        self.store.beat(self, patience=HEART_PATIENCE, then=renewed, failed=failed)


class Claimer:
    """As `bench.claimers`: claims and finishes, and runs nothing."""

    def __init__(self, sim: Simulation, store: Store, cores: Cores, *, batch: int, patience: float) -> None:
        self.store = store
        self.number = store.registered
        self.thread = Thread(sim, cores)
        self._sim = sim
        self._batch = batch
        self._patience = patience
        self._claimed: list[Job] = []
        self.over = False  # it has found nothing, and has nothing to hand in
        store.registered += 1

    def turn(self) -> None:
        self.store.transact(self, self._deal, patience=self._patience, then=self._again, failed=self.turn)

    def _deal(self) -> tuple[int, int]:
        handed_in = len(self._claimed)
        for job in self._claimed:
            self.store.done.add(job.seq)
        ask = Ask("", "", self._batch)
        self._claimed = self.store.exchange("", "", (), ask, self._sim.now()).jobs
        return handed_in, len(self._claimed)

    def _again(self) -> None:
        if self._claimed or self.store.pending:
            self.thread.run(self.store.costs.between.at(len(self._claimed)), self.turn)
        else:
            self.over = True
