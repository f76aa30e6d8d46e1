"""Workers whose COMMITs get lost on the way: every job runs once, and no worker gets stuck."""

from __future__ import annotations

import signal
import threading
from itertools import count

import pytest

from queuectl.store.messages import JobFilter
from queuectl.testing import wait_until
from tests.faults.records import RECORD, assert_each_ran_once, kept, started
from tests.support.proxy import Proxy
from tests.support.shared_queue import SharedQueue


def claims(transaction: list[str]) -> bool:
    return any("SET state = 'processing'" in sql for sql in transaction)


@pytest.mark.parametrize("jobs", [60, pytest.param(300, marks=pytest.mark.long)])
def test_every_fifth_commit_is_lost(place: SharedQueue, proxy: Proxy, proxied: str, jobs: int) -> None:
    """Registration, claims, results, heartbeats, farewell: whichever it is."""
    place.configure(claim_ahead="0", worker_heartbeat_interval="200ms")
    ids = place.put({f"j{number}": RECORD for number in range(jobs)})
    number = count(1)
    proxy.swallow_commit(times=1_000_000, which=lambda _: next(number) % 5 == 0)
    worker_process = place.worker("--concurrency", "2", url=proxied).ready()
    place.settle()
    worker_process.stop()
    assert proxy.swallowed >= jobs // 10  # two jobs at most come and go in one COMMIT
    assert_each_ran_once(place, ids)
    assert len(worker_process.ids()) == 1
    assert "too late" not in worker_process.log
    assert list(place.store.workers()) == []


def test_a_transaction_cut_off_in_the_middle_does_not_keep_its_rows(
    place: SharedQueue, proxy: Proxy, proxied: str
) -> None:
    """The server does not know that its client is gone, and holds the jobs and the worker for it."""
    place.configure(worker_heartbeat_interval="500ms", worker_lease="6s", claim_ahead="0")
    worker_process = place.worker(url=proxied).ready()
    proxy.delay_commit(threading.Event(), which=claims)
    ids = place.put({f"j{number}": RECORD for number in range(6)})
    place.settle()
    assert_each_ran_once(place, ids)
    assert "it ends its commands" not in worker_process.log
    worker_process.stop()


def test_a_worker_does_not_leave_with_a_claim_of_unknown_outcome(
    place: SharedQueue, proxy: Proxy, proxied: str
) -> None:
    worker_process = place.worker(url=proxied).ready()
    place.put({"first": "true"})
    place.settle()
    wait_until(lambda: proxy.connections == 2, what="both connections to be made")
    proxy.swallow_commit(which=claims)
    proxy.refuse()
    place.put({"j": RECORD})
    wait_until(lambda: "cannot be used now" in worker_process.log, what="the worker to be cut off")
    assert place.store.count(JobFilter(states=("processing",))) == 1
    worker_process.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "is stopping" in worker_process.log, what="the worker to hear of the stop")
    proxy.refuse(False)
    assert worker_process.process.wait(timeout=20) == 0
    job = kept(place)["j"]
    assert (job.state, job.attempts, job.runs, job.claimed) == ("pending", 0, 0, False)
    assert not started(place)
    assert list(place.store.workers()) == []
