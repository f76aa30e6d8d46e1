"""A simulated store: what is in it, and how long dealing with it takes, by the costs that were measured.

Desks of workers take it for a store. Who deals with it is left to `workers`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Protocol

from bench.simulation.costs import Costs
from bench.simulation.resources import Action, Cores, FileLock, Log, Places, Simulation, Thread
from queuectl.core import outcome as kinds
from queuectl.core.job import Job
from queuectl.core.lifecycle import Report
from queuectl.core.rows import CLAIM_COLUMNS, claimed_from_row
from queuectl.store.messages import Ask, Exchange
from queuectl.store.tallies import SHARDS

_PLAIN = {
    "queue": "default",
    "priority": 0,
    "attempts": 0,
    "max_retries": 3,
    "lost": 0,
    "runs": 0,
    "run_at": 0,
}
_ROW = tuple(_PLAIN.get(name) for name in CLAIM_COLUMNS[1:])
_LAST_TRIPS = 2  # the counts and the COMMIT

Call = Callable[[], tuple[int, int]]


class Client(Protocol):
    """Who deals with a store."""

    number: int
    thread: Thread


class Store:
    """One SQLite file, or one database on a server of so many cores.

    `connections`: how many a pool lets through at once; none: as many as come. `wire`: seconds that a trip
    takes beyond those on one machine.
    """

    location = SimpleNamespace(run_dir="")  # where no bells hang: `notify` reaches everybody

    def __init__(
        self,
        sim: Simulation,
        costs: Costs,
        cores: Cores,
        *,
        connections: int | None = None,
        wire: float = 0.0,
    ) -> None:
        self.costs = costs
        self.cores = cores
        self.lock = FileLock(sim)
        self.log = Log(sim, costs.flush)
        self.registered = 0
        self.bells: list[Action] = []
        self.done: set[int] = set()
        self.exchanges = 0
        self.under_way = 0  # of them
        self._sim = sim
        self._trip = costs.trip + wire
        self._pool = None if connections is None else Places(sim, connections)
        self._shards = [Places(sim, 1) for _ in range(SHARDS)]
        self._fresh = 0  # jobs that nobody has claimed yet
        self._given_back: deque[int] = deque()
        self._next_seq = 1
        self._being_claimed = 0  # by transactions that are under way

    # --- what is in it -----------------------------------------------------------------------------

    def finished(self, jobs: int) -> bool:
        """Whether so many are done, and safely so."""
        return len(self.done) == jobs and not self.under_way

    @property
    def pending(self) -> int:
        return self._fresh + len(self._given_back)

    def fill(self, jobs: int) -> None:
        self._fresh += jobs

    def running_job(self, worker_id: str) -> Job:
        """One that was claimed before the simulation began."""
        self._fresh += 1
        return self._claimed("", worker_id, 0)

    def exchange(
        self, worker_id: str, _host: str, reports: Sequence[Report], ask: Ask | None, now: int
    ) -> Exchange:
        for report in reports:
            if report.outcome.kind == kinds.UNSTARTED:
                self._given_back.append(report.seq)
            else:
                assert report.seq not in self.done, "a job was done twice"
                self.done.add(report.seq)
        if ask is None:
            return Exchange([], [], None)
        count = min(ask.limit, self.pending)
        return Exchange([self._claimed(ask.claim, worker_id, now) for _ in range(count)], [], None)

    def _claimed(self, claim: str, worker_id: str, now: int) -> Job:
        if self._given_back:
            seq = self._given_back.popleft()
        else:
            self._fresh -= 1
            seq, self._next_seq = self._next_seq, self._next_seq + 1
        return claimed_from_row((seq, *_ROW), claim, worker_id, now)

    # --- short reads: they load the server, but nobody waits for them long ----------------------------

    def check_identity(self) -> None:
        """Nobody replaces it."""

    def changed(self) -> int:
        self.cores.charge(self.costs.poll.server.fixed)
        return self._sim.now()  # where many work, something has

    def next_due(self) -> None:
        self.cores.charge(self.costs.look.server.fixed)

    def has_work(self, _now: int) -> bool:
        self.cores.charge(self.costs.look.server.fixed)
        return self.pending > 0

    def notify(self, _what: bytes) -> None:
        for bell in self.bells:
            self._sim.after(self._trip, bell)

    # --- transactions ------------------------------------------------------------------------------

    def transact(self, who: Client, call: Call, *, patience: float, then: Action, failed: Action) -> None:
        """An exchange. `call` is made when it may write, and says how many jobs it hands in and takes."""

        def made() -> tuple[int, int]:
            self.exchanges += 1
            self.under_way += 1
            return call()

        def over() -> None:
            self.under_way -= 1
            then()

        if self.costs.is_file:
            self.lock.enter(patience, lambda: self._in_file(who, made, over), failed)
        else:
            self._connected(lambda leave: self._on_server(who, made, leave), over)

    def _connected(self, use: Callable[[Action], None], then: Action) -> None:
        pool = self._pool
        if pool is None:
            use(then)
            return

        def leave() -> None:
            pool.leave()
            then()

        pool.enter(lambda: use(leave))

    def _in_file(self, who: Client, call: Call, then: Action) -> None:
        jobs = sum(call()) / 2

        def unlock() -> None:
            self.lock.leave()
            then()

        seconds = self.costs.exchange.client.at(jobs)
        who.thread.run(seconds, lambda: self._sim.after(self.costs.flush.at(jobs), unlock))

    def _on_server(self, who: Client, call: Call, then: Action) -> None:
        """In the first half of the server's work results are handed in, in the second jobs are claimed."""
        work, shard = self.costs.exchange, self._shards[who.number % SHARDS]
        handed_in, taken = call()
        jobs = (handed_in + taken) / 2
        half = work.server.at(jobs) / 2

        def claim() -> None:
            skipping = self.costs.skip * self._being_claimed
            self._being_claimed += taken
            self.cores.run(half + skipping, commit)

        def commit() -> None:
            # The counts are written last, and theirs is the one row that others wait for.
            shard.enter(lambda: self._travel(_LAST_TRIPS, lambda: self.log.flush(jobs, committed)))

        def committed() -> None:
            self.cores.charge(self.costs.background.at(jobs))
            self._being_claimed -= taken
            shard.leave()
            then()

        def serve() -> None:
            self.cores.run(half, claim)

        who.thread.run(work.client.at(jobs), lambda: self._travel(work.trips - _LAST_TRIPS, serve))

    def _travel(self, trips: float, then: Action) -> None:
        self._sim.after(max(trips, 0.0) * self._trip, then)

    def beat(self, who: Client, *, patience: float, then: Action, failed: Action) -> None:
        """A lease is renewed, and the upkeep done that follows."""
        if self.costs.is_file:
            self.lock.enter(patience, lambda: self._beat_in_file(who, then), failed)
        else:
            self._connected(lambda leave: self._beat_on_server(who, leave), then)

    def _beat_in_file(self, who: Client, then: Action) -> None:
        def unlock() -> None:
            self.lock.leave()
            who.thread.run(self.costs.upkeep.client.at(self.registered), then)

        renewal = self.costs.beat.client.fixed
        who.thread.run(renewal, lambda: self._sim.after(self.costs.flush.fixed, unlock))

    def _beat_on_server(self, who: Client, then: Action) -> None:
        beat, upkeep = self.costs.beat, self.costs.upkeep

        def keep_up() -> None:
            self.cores.run(upkeep.server.at(self.registered), read)

        def read() -> None:
            who.thread.run(upkeep.client.at(self.registered), then)

        def renew() -> None:
            self.cores.run(beat.server.fixed, lambda: self.log.flush(0, keep_up))

        who.thread.run(beat.client.fixed, lambda: self._travel(beat.trips + upkeep.trips, renew))

    def enqueue(self, jobs: int) -> None:
        """By somebody elsewhere, in one transaction; they can be claimed at once, what it costs is paid."""
        self.fill(jobs)
        work = self.costs.enqueue
        if not self.costs.is_file:
            self.cores.run(work.server.at(jobs), lambda: self.log.flush(jobs, _nothing))
            return

        def insert() -> None:
            self.cores.run(work.client.at(jobs), sync)

        def sync() -> None:
            self._sim.after(self.costs.flush.at(jobs), self.lock.leave)

        self.lock.enter(float("inf"), insert, _nothing)


def _nothing() -> None:
    """Nobody waits for it."""
