"""Servers under odd conditions: idle crowds, foreign transactions, odd defaults (B56, B59, B61)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.clock import SYSTEM_CLOCK
from queuectl.store.messages import JobFilter
from queuectl.testing import wait_until
from tests.faults.records import RECORD, assert_each_ran_once
from tests.support import sessions
from tests.support.jobs import EVERYTHING, claim, finish, new_job, register, report
from tests.support.proxy import Proxy
from tests.support.servers.private import SERVERS
from tests.support.shared_queue import SharedQueue

SNAPSHOT = {
    "postgres": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "mysql": "START TRANSACTION WITH CONSISTENT SNAPSHOT",
}
# What an administrator may have chosen for all sessions. None of it is ours, and none of it may matter to us.
ODD = {
    "postgres": {
        "timezone": "America/St_Johns",
        "default_transaction_isolation": "serializable",
        "datestyle": "German, DMY",
        "default_transaction_deferrable": "on",
        "standard_conforming_strings": "off",
    },
    "mysql": {
        "default-time-zone": "-03:30",
        "transaction-isolation": "SERIALIZABLE",
        "sql-mode": "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT",
        "character-set-server": "latin1",
        "autocommit": 0,
    },
}


def test_a_foreign_transaction_that_never_ends_keeps_nobody_from_working(
    place: SharedQueue, engine: str
) -> None:
    """A backup, or a forgotten session: it pins what vacuum would take away, and holds no lock of ours."""
    store = place.store
    register(store)
    jobs = [new_job(f"j{number}") for number in range(300)]
    store.enqueue([jobs], SYSTEM_CLOCK.now())
    with sessions.transaction(place.url) as cursor:
        cursor.execute(SNAPSHOT[engine])
        cursor.execute("SELECT count(*) FROM jobs")
        assert cursor.fetchone()[0] == 300
        while taken := claim(store, 20, now=SYSTEM_CLOCK.now()):
            assert finish(store, *map(report, taken)) == []
        assert store.count(JobFilter(states=("completed",))) == 300
        cursor.execute("SELECT count(*) FROM jobs WHERE state = 'completed'")
        assert cursor.fetchone()[0] == 0, "the other session still sees how it was"


@pytest.mark.proof
def test_idle_workers_ask_little(place: SharedQueue, proxy: Proxy, proxied: str) -> None:
    """Each looks about once a second, by a few statements, and beats once in five."""
    workers, seconds = 4, 6
    worker_process = place.worker(url=proxied, count=workers).ready(timeout=60)
    place.put({"first": "true"})
    place.settle()
    began = time.monotonic()
    before = proxy.statements_seen
    wait_until(lambda: time.monotonic() - began > seconds, timeout=60, what="some time to pass")
    asked = (proxy.statements_seen - before) / (time.monotonic() - began) / workers
    assert asked < 10, f"{asked:.1f} statements a second for each idle worker"
    place.put({"second": "true"})
    place.settle()
    worker_process.stop()


@pytest.fixture
def odd(engine: str, tmp_path: Path) -> Iterator[SharedQueue]:
    with SERVERS[engine](settings=ODD[engine]) as server:
        place = SharedQueue(tmp_path, server.fresh_url())
        yield place
        place.close()


@pytest.mark.proof
def test_the_defaults_of_a_server_do_not_matter(odd: SharedQueue) -> None:
    """Its time zone, isolation, quoting, character set: leases, times and text are as anywhere."""
    odd.configure(worker_heartbeat_interval="500ms", worker_lease="6s")
    text = "echo 'ü😀\\n' \"x\" %s ||"
    ids = odd.put({f"j{number}": RECORD for number in range(50)})
    odd.put({"text": f"true # {text}"})
    worker_process = odd.worker("--concurrency", "2").ready(timeout=60)
    now = SYSTEM_CLOCK.now()
    odd.ok("enqueue", "--id", "later", "--delay", "2s", "--cwd", str(odd.work), "-c", RECORD)
    odd.settle(timeout=60)
    assert_each_ran_once(odd, [*ids, "later"])
    assert odd.queue.get("text").command == f"true # {text}"
    later = odd.queue.get("later")
    assert later.started_at is not None
    assert now + 2_000 <= later.run_at <= later.started_at < now + 60_000
    (worker,) = odd.store.workers()
    assert 0 < worker.lease_until - worker.read_at <= 6_000
    assert abs(worker.read_at - SYSTEM_CLOCK.now()) < 60_000
    assert odd.store.count(EVERYTHING) == 52
    worker_process.stop()
