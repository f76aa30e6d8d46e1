"""More workers than the server takes connections: some wait and say so, the others do the work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.testing import wait_until
from tests.faults.records import RECORD, assert_each_ran_once
from tests.support.servers.private import SERVERS
from tests.support.shared_queue import SharedQueue

WORKERS = 8  # with two connections each
CONNECTIONS = 10
NAMES = {"postgres": "max_connections", "mysql": "max-connections"}


@pytest.fixture
def place(engine: str, tmp_path: Path) -> Iterator[SharedQueue]:
    with SERVERS[engine](settings={NAMES[engine]: CONNECTIONS}) as server:
        place = SharedQueue(tmp_path, server.fresh_url())
        yield place
        place.close()


@pytest.mark.long
def test_workers_that_find_no_connection_wait(place: SharedQueue) -> None:
    """What runs is not touched by those who come and go, and none of them takes a job it cannot keep."""
    place.configure(claim_ahead="0", worker_heartbeat_interval="1s", worker_lease="12s")
    ids = place.put({f"long{number}": RECORD + "; sleep 8" for number in range(4)})
    ids += place.put({f"j{number}": RECORD + "; sleep 0.05" for number in range(200)})
    worker_process = place.worker(count=WORKERS)
    wait_until(lambda: len(worker_process.ids()) >= 4, what="some of the workers to start")
    wait_until(lambda: "too many" in worker_process.log.lower(), what="somebody to say why")
    place.settle()
    assert_each_ran_once(place, ids)
    assert worker_process.process.poll() is None
    assert worker_process.log.count("starting another") < 30
    assert "internal error" not in worker_process.log
    assert "Traceback" not in worker_process.log
