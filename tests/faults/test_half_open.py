"""A server that does not answer any more, though the connection stands: the lease decides, on both sides."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from queuectl.testing import wait_until
from tests.faults.records import kept
from tests.faults.ticks import TICKING, assert_no_overlap, lives
from tests.support.proxy import Proxy
from tests.support.shared_queue import SharedQueue, WorkerProcess

pytestmark = pytest.mark.long

LEASE = 6  # seconds; an answer may take a sixth of it


@pytest.fixture
def short(place: SharedQueue) -> SharedQueue:
    """Workers that look at the store all the time, so that the freeze finds them there."""
    place.configure(worker_heartbeat_interval="500ms", worker_lease=f"{LEASE}s", poll_interval="20ms")
    return place


def test_a_worker_behind_a_frozen_line_gives_up_in_time(
    short: SharedQueue, proxy: Proxy, proxied: str
) -> None:
    first = short.worker("--concurrency", "2", url=proxied).ready()
    ids = short.put({"a": TICKING, "b": TICKING})
    wait_until(lambda: len(lives(short)) == 2, what="both commands to run")
    second = short.worker("--concurrency", "2", home="other").ready()

    frozen = time.time()
    proxy.freeze()
    (old,) = first.ids()
    lease_end = next(worker.lease_until for worker in short.store.workers() if worker.id == old) / 1000
    wait_until(lambda: not first.commands(), what="the first to end its commands")
    gone = time.time()
    assert gone < lease_end
    # Half a second until the next heartbeat, two of patience, and one for the last answer to come.
    assert complained(first) < frozen + 4
    assert not second.commands()
    assert "it ends its commands" in first.log
    wait_until(lambda: short.completed() == 2, what="the second to do the work")
    assert "is gone; 2 job(s) freed" in second.log
    assert_no_overlap(short)
    for id in ids:
        one, two = lives(short)[id].values()
        assert one.last < gone < lease_end < two.first

    finished = kept(short)
    second.stop()
    short.put({"after": "true"})
    proxy.freeze(False)
    short.settle()
    assert kept(short).items() >= finished.items()
    for id in ids:
        assert finished[id].outcomes == ("lost", "succeeded")
        assert finished[id].workers[0] == old
    assert first.process.poll() is None, first.log
    assert first.ids() == [old, kept(short)["after"].workers[0]]
    first.stop()


def complained(worker_process: WorkerProcess) -> float:
    """When it said for the first time that something is wrong."""
    line = next(
        line
        for line in worker_process.log.splitlines()
        if "cannot be used" in line or "heartbeat failed" in line
    )
    return datetime.fromisoformat(line.split()[0]).timestamp()
