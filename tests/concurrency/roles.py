"""What the processes of the tests do; every role runs in a process of its own."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

from tests.support.engines import Place
from tests.support.jobs import HOST, new_job, register

from queuectl.clock import SYSTEM_CLOCK
from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core.lifecycle import Report, decide
from queuectl.core.outcome import Outcome
from queuectl.errors import DuplicateId, WorkerFenced
from queuectl.queue import Queue
from queuectl.store.messages import Ask, JobFilter
from queuectl.store.migrate import migrate
from queuectl.store.sqlite_connection import SqliteConnection as Connection

if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.job import Job

EVERYTHING = JobFilter()
now = SYSTEM_CLOCK.now

# A lost job is ready again at once, however often it was lost.
READY_AT_ONCE = Settings({"crash-limit": "1000", "backoff-strategy": "fixed", "job-retry-delay": "0"}).policy


def _token() -> str:
    return os.urandom(8).hex()


def _verdict(job: Job, kind: str) -> Report:
    outcome = Outcome(kind, started_at=job.started_at, finished_at=now())
    outcome.error = None if kind == kinds.SUCCEEDED else kind
    return decide(job, outcome, READY_AT_ONCE, now=now())


def _run_something() -> None:
    """As a worker does with what it has claimed. Who only writes keeps all others from a file for seconds."""
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {}), 0)


def claimer(go: Callable[[], object], place: Place, name: str, limit: int) -> list[str]:
    """Claim and complete until nothing is left; the ids in the order they were handed out."""
    store = place.open()
    register(store, name)
    go()
    taken: list[str] = []
    reports: list[Report] = []
    while True:
        answer = store.exchange(name, HOST, reports, Ask(name, _token(), limit), now())
        assert answer.stale == []
        if not answer.jobs:
            store.close()
            return taken
        taken += [job.id for job in answer.jobs]
        reports = [_verdict(job, kinds.SUCCEEDED) for job in answer.jobs]


def mortal_claimer(go: Callable[[], object], place: Place, name: str, lives: int) -> list[str]:
    """Like a claimer, but it is buried now and then and comes back under a new name.

    Brings in jobs of its own until it has died often enough. Which jobs were completed by results
    that the store accepted.
    """
    store = place.open()
    deaths = brought = 0
    register(store, f"{name}-0")
    go()
    completed: list[str] = []
    held: list[Job] = []
    while deaths < lives or held or store.unfinished(EVERYTHING):
        if held:
            _run_something()
        elif deaths < lives:
            brought += 1
            store.enqueue([[new_job(f"{name}-{brought}", max_retries=1_000_000)]], now())
        me = f"{name}-{deaths}"
        reports = [_verdict(job, kinds.SUCCEEDED) for job in held]
        names = {report.seq: job.id for report, job in zip(reports, held, strict=True)}
        held = []
        try:
            answer = store.exchange(me, HOST, reports, Ask(me, _token(), 3), now())
        except WorkerFenced:
            deaths += 1
            register(store, f"{name}-{deaths}")
            continue
        late = {report.seq for report in answer.stale}
        completed += [names[report.seq] for report in reports if report.seq not in late]
        held = answer.jobs
    store.put_config(f"done-{name}", "yes", now())
    store.close()
    return completed


def burier(go: Callable[[], object], place: Place, claimers: int) -> int:
    """Declare workers dead and free their jobs while there are claimers; how many were buried."""
    store = place.open()
    chance = random.Random(1)
    go()
    buried = 0
    while len(store.stored_config()) < claimers:
        for worker in store.workers():
            # Refused, if the worker has renewed its lease since it was read.
            if chance.random() < 0.5 and store.bury(worker):
                buried += 1
                lost = [_verdict(job, kinds.LOST) for job in store.claimed_by(worker.id)]
                store.finish(lost, worker.id, worker.host, now())
                store.forget(worker.id)
    store.close()
    return buried


def heart(go: Callable[[], object], place: Place, claimers: int, name: str) -> int:
    """Renew the leases of one claimer's incarnations, so that burials are refused now and then.

    Each only some times: one that never rests would keep the others from a file, and from ever being buried.
    """
    store = place.open()
    beats: Counter[str] = Counter()
    go()
    while len(store.stored_config()) < claimers:
        for worker in store.workers():
            if worker.id.startswith(name) and worker.state == "alive" and beats[worker.id] < 20:
                beats[worker.id] += 1
                try:
                    store.heartbeat(worker.id, 30_000, 0, now())
                except WorkerFenced:
                    continue
    store.close()
    return beats.total()


def enqueuer_of_one(go: Callable[[], object], place: Place, name: str, skip: bool) -> int:
    """Enqueue the same id as everybody else; 1 if it was ours that went in."""
    store = place.open()
    go()
    try:
        return store.enqueue([[new_job("the-one", command=name)]], now(), skip=skip)
    except DuplicateId:
        assert not skip
        return 0
    finally:
        store.close()


def creator(go: Callable[[], object], place: Place, name: str) -> str:
    """Open a database that may not exist yet, and store a job in it."""
    go()
    store = place.open()
    store.enqueue([[new_job(name)]], now())
    store.close()
    return name


def bulk_enqueuer(go: Callable[[], object], place: Place, count: int) -> list[str]:
    """Many jobs without ids of their own, through the queue."""
    queue = Queue(place.open(), Settings())
    go()
    made = queue.enqueue_many(["true"] * count, if_exists="skip")
    queue.close()
    return made


def migrator(go: Callable[[], object], file: str, latest: int, directory: str) -> None:
    """Bring a database forward at the same moment as others."""
    connection = Connection(file, create=False, busy_ms=30_000)
    go()
    migrate(connection, latest=latest, directory=directory)
    connection.close()
