"""Processes that claim and finish through the store, as workers do, but run nothing."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

from bench.places import Place
from queuectl.config.settings import Settings
from queuectl.core.job import Job
from queuectl.core.lifecycle import Report, decide
from queuectl.core.outcome import SUCCEEDED, Outcome
from queuectl.queue import Queue
from queuectl.store.messages import Ask
from queuectl.worker.membership import Membership

BATCH = 100  # what a worker with two slots holds of short jobs; bench.store takes as many
_PATIENCE = 60.0  # seconds until all have come to the start

_meeting: dict[str, Barrier] = {}  # in a process of the pool: where all wait for each other


class Claimer:
    """A registered worker. Each exchange hands in the jobs of the one before."""

    def __init__(self, queue: Queue, batch: int) -> None:
        self.queue = queue
        self.batch = batch
        self.policy = Settings().policy
        self.me = Membership(queue.store, concurrency=batch, queues=None, supervisor=None)
        self.me.register(queue.store, 600_000, queue.clock.now())
        self.reports: list[Report] = []
        self.done = 0
        self.seconds = 0.0  # that the last exchange took

    def exchange(self) -> list[Job]:
        now = self.queue.clock.now()
        ask = Ask(self.me.id, os.urandom(10).hex(), self.batch)
        began = time.perf_counter()
        answer = self.queue.store.exchange(self.me.id, self.me.host, self.reports, ask, now)
        self.seconds = time.perf_counter() - began
        self.done += len(self.reports) - len(answer.stale)
        ended = Outcome(SUCCEEDED, started_at=now, finished_at=now)
        self.reports = [decide(job, ended, self.policy, now=now) for job in answer.jobs]
        return answer.jobs

    def work(self) -> None:
        """Until nothing is left for anybody."""
        while self.exchange() or self.queue.store.has_work(self.queue.clock.now()):
            pass

    def close(self) -> None:
        """Leave as a worker does: nothing is claimed any more, and who stops all workers does not find us."""
        store = self.queue.store
        store.finish(self.reports, self.me.id, self.me.host, self.queue.clock.now())
        store.forget(self.me.id)
        self.me.close()


def rate(place: Place, *, processes: int, count: int, batch: int = BATCH) -> float:
    """Jobs per second, from the first claim of any process to the last commit of any."""
    with place.queue() as queue:
        queue.enqueue_many(["true"] * count)
    fresh = multiprocessing.get_context("spawn")
    start = fresh.Barrier(processes)
    with ProcessPoolExecutor(processes, mp_context=fresh, initializer=_meet_at, initargs=(start,)) as pool:
        runs = [
            pool.submit(_claimer, str(place.path), place.engine, place.url, batch) for _ in range(processes)
        ]
        spans = [run.result() for run in runs]
    done = sum(span[2] for span in spans)
    assert done == count, f"{done} of {count} finished"
    return count / (max(span[1] for span in spans) - min(span[0] for span in spans))


def _meet_at(start: Barrier) -> None:
    _meeting["start"] = start


def _claimer(path: str, engine: str, url: str, batch: int) -> tuple[float, float, int]:
    """When it began and ended by the clock that all processes share, and how many it finished."""
    with Place(Path(path), engine, url).queue() as queue:
        claimer = Claimer(queue, batch)
        _meeting["start"].wait(_PATIENCE)
        began = time.monotonic()
        claimer.work()
        ended = time.monotonic()
        claimer.close()
    return began, ended, claimer.done
