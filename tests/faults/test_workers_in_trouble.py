"""Workers whose COMMITs get lost on the way: every job runs once, and no worker gets stuck."""

from __future__ import annotations

import signal
import threading
from itertools import count

from queuectl.store.messages import JobFilter
from queuectl.testing import wait_until
from tests.faults.records import RECORD, assert_each_ran_once, kept, started
from tests.support.proxy import Proxy
from tests.support.shared_queue import Place


def claims(transaction: list[str]) -> bool:
    return any("SET state = 'processing'" in sql for sql in transaction)


def test_every_fifth_commit_is_lost(place: Place, proxy: Proxy, proxied: str) -> None:
    """Registration, claims, results, heartbeats, farewell: whichever it is."""
    place.configure(claim_ahead="0", worker_heartbeat_interval="200ms")
    ids = place.put({f"j{number}": RECORD for number in range(300)})
    number = count(1)
    proxy.swallow_commit(times=1_000_000, which=lambda _: next(number) % 5 == 0)
    crew = place.worker("--concurrency", "2", url=proxied).ready()
    place.settle()
    crew.stop()
    assert proxy.swallowed >= 30
    assert_each_ran_once(place, ids)
    assert len(crew.ids()) == 1
    assert "too late" not in crew.log
    assert list(place.store.workers()) == []


def test_a_transaction_cut_off_in_the_middle_does_not_keep_its_rows(
    place: Place, proxy: Proxy, proxied: str
) -> None:
    """The server does not know that its client is gone, and holds the jobs and the worker for it."""
    place.configure(worker_heartbeat_interval="500ms", worker_lease="6s", claim_ahead="0")
    crew = place.worker(url=proxied).ready()
    proxy.delay_commit(threading.Event(), which=claims)
    ids = place.put({f"j{number}": RECORD for number in range(6)})
    place.settle(timeout=15)
    assert_each_ran_once(place, ids)
    assert "it ends its commands" not in crew.log
    crew.stop()


def test_a_worker_does_not_leave_with_a_claim_of_unknown_outcome(
    place: Place, proxy: Proxy, proxied: str
) -> None:
    crew = place.worker(url=proxied).ready()
    place.put({"first": "true"})
    place.settle()
    wait_until(lambda: proxy.connections == 2, what="both connections to be made")
    proxy.swallow_commit(which=claims)
    proxy.refuse()
    place.put({"j": RECORD})
    wait_until(lambda: "cannot be used now" in crew.log, what="the worker to be cut off")
    assert place.store.count(JobFilter(states=("processing",))) == 1
    crew.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "is stopping" in crew.log, what="the worker to hear of the stop")
    proxy.refuse(False)
    assert crew.process.wait(timeout=20) == 0
    job = kept(place)["j"]
    assert (job.state, job.attempts, job.runs, job.claimed) == ("pending", 0, 0, False)
    assert not started(place)
    assert list(place.store.workers()) == []
