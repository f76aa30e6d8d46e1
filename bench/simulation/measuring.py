"""Measures the costs that drive the simulation, one engine after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench.claimers import Claimer
from bench.places import MARIADB, POSTGRES, SQLITE, Place, fresh_place
from bench.processes import cpu_seconds
from bench.simulation.costs import Costs, Line, Work, fit
from bench.simulation.meter import Meter, Spent, mean, work
from bench.table import median
from queuectl import system
from queuectl.config.sources import load
from queuectl.queue import Queue
from queuectl.store.messages import Ask, Worker
from queuectl.upkeep.rescuer import rescue
from queuectl.upkeep.scheduler import Scheduler

POOLED = "PostgreSQL, pooled"
BATCHES = (1, 8, 32, 128)
FLEETS = (1, 100, 1000)  # registered workers
BULKS = (1, 100, 1000)  # jobs that come in together
COMMAND = "sleep 0.01"
_HEAD = 1000  # rows at the head of the queue that others hold, or that have gone
_LEASE_MS = 600_000
_CATCHING_UP = 2.0  # seconds
# A transaction that goes on seeing what was there when it began.
_OLD_VIEW = {
    POSTGRES: ("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1"),
    MARIADB: (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ),
}


def measure(engine: str, servers: Mapping[str, str], *, quick: bool = False) -> Costs:
    """`POOLED` is PostgreSQL as it is used through PgBouncer, but without one between."""
    kind = POSTGRES if engine == POOLED else engine
    rounds = 2 if quick else 5
    with fresh_place(kind, servers) as direct:
        pooled = Place(direct.path, kind, f"{direct.url}&pgbouncer=1")
        place = pooled if engine == POOLED else direct
        with place.queue() as queue:
            meter = Meter(queue, kind)
            enqueue = _enqueue(queue, meter, rounds)
            exchange, between, flush = _exchange(place, queue, meter, rounds)
            background = _background(queue, meter)
            look = _simple(queue.store.next_due, meter, rounds)
            trip = _trip(queue.store.next_due, meter)
            poll = _simple(queue.store.changed, meter, rounds)
            skip = 0.0 if kind == SQLITE else _Head(place, queue, meter).locked(rounds)
            remains = 0.0 if kind == SQLITE else _Head(place, queue, meter).gone(rounds)
            memory = _own_mb(meter.serving) if kind == POSTGRES else 0.0
            beat, upkeep = _heart(queue, meter, rounds)
    start, command = _command(kind, servers, exchange, jobs=300 if quick else 1000)
    return Costs(
        engine=engine,
        exchange=exchange,
        background=background,
        between=between,
        beat=beat,
        upkeep=upkeep,
        poll=poll,
        look=look,
        enqueue=enqueue,
        skip=skip,
        remains=remains,
        flush=flush,
        trip=trip,
        start=start,
        command=command,
        memory=memory,
    )


def _enqueue(queue: Queue, meter: Meter, rounds: int) -> Work:
    spent: dict[int, list[Spent]] = {count: [] for count in BULKS}
    for _ in range(rounds):
        for count, many in spent.items():
            jobs = [COMMAND] * count
            many.append(meter.of(lambda jobs=jobs: queue.enqueue_many(jobs), 3))  # type: ignore[misc]
    return work(spent)


def _exchange(place: Place, queue: Queue, meter: Meter, rounds: int) -> tuple[Work, Line, Line]:
    """Beside it, what a claimer does between two of them, and how long a commit waits for the disk.

    Somebody else takes every other turn: what a connection remembers of a file is void then.
    """
    spent: dict[int, list[Spent]] = {count: [] for count in BATCHES}
    between: dict[int, list[float]] = {count: [] for count in BATCHES}
    flushes: dict[int, list[float]] = {count: [] for count in BATCHES}
    with place.queue() as elsewhere:
        for batch in BATCHES * rounds:
            times = max(512 // batch, 8)
            queue.enqueue_many([COMMAND] * batch * 2 * (times + 2))
            one, other = Claimer(queue, batch), Claimer(elsewhere, batch)
            one.exchange()  # the first has no results to hand in
            with (
                meter.watching(queue.store, "exchange") as exchanges,
                meter.watching(meter.committing, "commit") as commits,
            ):
                whole = [_after(other, one, meter) for _ in range(times)]
            spent[batch].append(mean(exchanges))
            between[batch].append(mean(whole).client - mean(exchanges).client)
            flushes[batch].append(mean(commits).waited)
            one.close()
            other.close()
    return work(spent), fit(between), fit(flushes)


def _after(other: Claimer, one: Claimer, meter: Meter) -> Spent:
    other.exchange()
    return meter.of(one.exchange)


def _background(queue: Queue, meter: Meter) -> Line:
    """What a server does for exchanges beside them: purge, writing pages. If nobody else uses it."""
    spent: dict[int, list[float]] = {}
    for batch in (BATCHES[0], BATCHES[-1]):
        times = max(1024 // batch, 16)
        queue.enqueue_many([COMMAND] * batch * (times + 1))
        claimer = Claimer(queue, batch)
        before = meter.whole_server()
        for _ in range(times):
            claimer.exchange()
        time.sleep(_CATCHING_UP)
        spent[batch] = [(meter.whole_server() - before) / times]
        claimer.close()
    return fit(spent)


def _simple(action: Callable[[], object], meter: Meter, rounds: int) -> Work:
    action()
    return work({0: [meter.of(action, 100) for _ in range(rounds)]})


def _trip(action: Callable[[], object], meter: Meter) -> float:
    """Seconds of a trip in which neither side works: they are woken, or the wire has it."""
    spent = [meter.of(action) for _ in range(200)]
    return median([one.waited / one.trips if one.trips else 0.0 for one in spent])


class _Head:
    """Rows that a claim finds at the head of the queue and may not have: the server's time for each."""

    def __init__(self, place: Place, queue: Queue, meter: Meter) -> None:
        self._place = place
        self._queue = queue
        self._meter = meter

    def locked(self, rounds: int) -> float:
        """Others have claimed them, and not committed yet."""

        def claim(store: Any) -> None:
            store.connection.driver.begin()
            claimed = store._take(Ask("", "", _HEAD), (), [], self._queue.clock.now(), again=False)
            assert len(claimed.jobs) == _HEAD

        return self._difference(rounds, claim)

    def gone(self, rounds: int) -> float:
        """They have been claimed, but somebody's old transaction could still see them."""

        def claim_behind(store: Any) -> None:
            for statement in _OLD_VIEW[self._place.engine]:
                store.connection.driver.script(statement)
            claimer = Claimer(self._queue, 100)
            for _ in range(_HEAD // 100):
                claimer.exchange()
            claimer.close()

        return self._difference(rounds, claim_behind)

    def _difference(self, rounds: int, hinder: Callable[[Any], None]) -> float:
        differences = []
        claimer = Claimer(self._queue, 1)
        with self._place.queue() as other:
            store: Any = other.store  # more of it than the protocol says
            for _ in range(rounds):
                self._queue.enqueue_many([COMMAND] * (_HEAD + 100))
                free = self._meter.of(claimer.exchange, 20)
                hinder(store)
                hindered = self._meter.of(claimer.exchange, 20)
                store.connection.driver.rollback()
                differences.append((hindered.server - free.server) / _HEAD)
        claimer.close()
        return max(median(differences), 0.0)


def _heart(queue: Queue, meter: Meter, rounds: int) -> tuple[Work, Work]:
    """A beat, and what a heart does after each, with so many workers registered."""
    store, now = queue.store, queue.clock.now
    beats: list[Spent] = []
    upkeep: dict[int, list[Spent]] = {}
    scheduler = Scheduler()

    def keep_up() -> None:
        load(store.stored_config())
        rescue(store, queue.settings, now())
        scheduler(store, queue.settings, now())

    registered = 0
    for fleet in FLEETS:
        while registered < fleet:
            store.register(_somebody(registered, here=not store.location.shared), _LEASE_MS)
            registered += 1
        beats += [
            meter.of(lambda: store.heartbeat("somebody-0", _LEASE_MS, 1, now()), 20) for _ in range(rounds)
        ]
        upkeep[fleet] = [meter.of(keep_up, 5) for _ in range(rounds)]
    return work({0: beats}), work(upkeep)


def _somebody(number: int, *, here: bool) -> Worker:
    """A worker of this machine, whose process can be looked at, or one of another."""
    me = system.identify()
    assert me is not None
    elsewhere = system.Identity(pid=me.pid, start=me.start, boot="other", namespace=me.namespace)
    worker = Worker()
    worker.id, worker.host, worker.pid = f"somebody-{number}", "host", me.pid
    worker.identity = (me if here else elsewhere).encode()
    worker.session, worker.state, worker.started_at, worker.seen_at = 1, "alive", 0, 0
    worker.concurrency, worker.running = 1, 0
    worker.queues = worker.supervisor = worker.control = worker.provides = None
    return worker


def _command(engine: str, servers: Mapping[str, str], exchange: Work, *, jobs: int) -> tuple[float, float]:
    """Processor time for one command: the worker's own, beyond its exchanges, and the command's."""
    with (
        fresh_place(engine, servers) as place,
        place.workers(concurrency=2) as (pid,),
        place.queue() as queue,
    ):
        own, children = cpu_seconds(pid), _of_children(pid)
        queue.enqueue_many([COMMAND] * jobs)
        queue.wait(filter=None)
        own, children = cpu_seconds(pid) - own, _of_children(pid) - children
        db: Any = queue.store.connection
        exchanges = int(db.one("SELECT count(DISTINCT claim) FROM attempts")[0])
    own -= exchanges * exchange.client.fixed + jobs * exchange.client.each
    return max(own, 0.0) / jobs, children / jobs


def _of_children(pid: int) -> float:
    """Processor time of those that have ended."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _own_mb(pid: int) -> float:
    """Memory of a process without files and without what the server's processes share."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:")) / 1024
