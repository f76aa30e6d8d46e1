"""The server dies twice in the middle of the work and comes back: nobody notices but the clock."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from itertools import count

import pytest

from queuectl.testing import wait_until
from tests.faults.records import RECORD, assert_each_ran_once, kept, started
from tests.support.servers.private import PrivateServer
from tests.support.shared_queue import SharedQueue, WorkerProcess

JOBS = 5_000
SPANS_IT_ALL = RECORD + "; while ! test -e enough; do sleep 0.1; done"
WORKERS, SLOTS = 2, 2
MOST_HELD = WORKERS * (SLOTS + 128)  # claimed, or claimed ahead
OUTAGE = 4.5  # seconds: a new process gives a server 3 seconds to come up before it says that it is away


class Enqueuers:
    """Processes that enqueue one job each, one after the other, whatever happens to the server."""

    def __init__(self, place: SharedQueue, threads: int = 2) -> None:
        self.acknowledged: list[str] = []
        self.failed: list[str] = []
        self.unknown: list[str] = []
        self.unexpected: list[object] = []
        self._place = place
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(name,)) for name in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self, name: int) -> None:
        for number in count():
            if self._over.is_set():
                return
            self._enqueue(f"e{name}-{number}")
            self._over.wait(0.6)  # the workers need the processors too

    def _enqueue(self, id: str) -> None:
        done = self._place.q("--json", "enqueue", "--quiet", "--id", id, "-c", RECORD)
        if done.returncode == 0 or id in done.stdout:
            self.acknowledged.append(id)
        elif done.returncode == 3:
            code = json.loads(done.stderr.splitlines()[-1])["error"]["code"]
            (self.unknown if code == "outcome_unknown" else self.failed).append(id)
        else:
            self.unexpected.append(done)

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def enqueuers(private: SharedQueue) -> Iterator[Enqueuers]:
    it = Enqueuers(private)
    yield it
    it.stop()


@pytest.mark.long
def test_nothing_is_lost_when_the_server_dies_twice(
    server: PrivateServer, private: SharedQueue, enqueuers: Enqueuers
) -> None:
    ids = private.put({"long": SPANS_IT_ALL})
    worker_process = private.worker("--concurrency", str(SLOTS), count=WORKERS).ready()
    wait_until(lambda: started(private)["long", 1], what="the long command to run")
    processes = sorted(worker_process.pids())
    ids += private.put({f"j{number}": RECORD for number in range(JOBS)})

    for death, seconds in ((server.stop_immediate, OUTAGE), (server.kill, 1.0)):
        reached = private.completed() + JOBS // 5
        wait_until(lambda done=reached: private.completed() >= done, timeout=40, what="progress")  # type: ignore[misc]
        assert private.completed() < JOBS, "too quick: the server dies after the work"
        death()
        only_what_was_claimed_runs(private, worker_process, seconds=seconds)
        server.start()

    wait_until(
        lambda: len(enqueuers.acknowledged) > 10, timeout=40, what="enqueues on all sides of the outages"
    )
    enqueuers.stop()
    private.settle(but=1)
    (private.work / "enough").touch()
    private.settle()
    assert enqueuers.unexpected == []
    assert len(enqueuers.acknowledged) > 10
    assert_each_ran_once(private, [*ids, *enqueuers.acknowledged])
    assert not kept(private).keys() & set(enqueuers.failed)
    assert sorted(worker_process.pids()) == processes
    worker_process.stop()


def only_what_was_claimed_runs(place: SharedQueue, worker_process: WorkerProcess, *, seconds: float) -> None:
    """While the server is away: the long command, and what the workers held before."""
    before = started(place)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > seconds, what="the outage to last")
    assert (started(place) - before).total() <= MOST_HELD
    assert worker_process.commands(), "the long command was stopped"
