"""Behind PgBouncer, where a session is ours for one transaction only (PostgreSQL alone has it)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from queuectl.errors import StoreBusy
from queuectl.store.messages import JobFilter
from queuectl.testing import wait_until
from tests.faults.bouncer import Bouncer
from tests.faults.records import RECORD, assert_each_ran_once, started
from tests.support import sessions
from tests.support.servers import drop, fresh_url
from tests.support.shared_queue import SharedQueue

POOL = 2


@pytest.fixture
def url() -> Iterator[str]:
    """A place that is not made yet: that shall go through PgBouncer too."""
    url = fresh_url("postgres")
    yield url
    drop(url)


@pytest.fixture
def place(url: str, tmp_path: Path) -> Iterator[SharedQueue]:
    with Bouncer(url, pool=POOL) as bouncer:
        place = SharedQueue(tmp_path, bouncer.url)
        yield place
        place.close()


@pytest.mark.parametrize(("enqueues", "jobs"), [(3, 40), pytest.param(12, 200, marks=pytest.mark.long)])
def test_four_clients_work_over_two_connections(place: SharedQueue, enqueues: int, jobs: int) -> None:
    """Two workers with two connections each, and people who look, ask and cancel meanwhile."""
    place.configure(claim_ahead="0", worker_heartbeat_interval="500ms")
    place.put({"long": "echo up >> up.log; sleep 100"})
    worker_processes = [place.worker("--concurrency", "2", home=f"home-{name}").ready() for name in "ab"]
    wait_until((place.work / "up.log").exists, what="the long job to run")
    with ThreadPoolExecutor(2) as threads:
        said = threads.map(lambda words: place.ok("enqueue", "--quiet", *words), [[RECORD]] * enqueues)
    ids = [line.strip() for line in said]
    ids += place.put({f"j{number}": RECORD for number in range(jobs)})
    assert "processing" in place.ok("status").lower()
    assert "long" in place.ok("cancel", "long")
    place.settle()
    assert place.queue.get("long").state == "cancelled"
    assert place.store.count(JobFilter(states=("completed",))) == len(ids)
    assert_each_ran_once(place, ids)
    for worker_process in worker_processes:
        worker_process.stop()
        assert "cannot be used" not in worker_process.log
        assert "failed" not in worker_process.log
        assert len(worker_process.ids()) == 1
    assert not started(place)["long", 1]


def test_an_error_does_not_stay_in_the_session(place: SharedQueue, url: str) -> None:
    """A read that fails leaves no broken transaction behind, in which all that follows would fail."""
    place.store.be_patient(200)
    with sessions.transaction(url) as cursor:
        cursor.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreBusy):
            place.store.get("j")
    assert place.store.get("j") is None
