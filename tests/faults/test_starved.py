"""Workers that get next to no processor time, and stores with very much to throw away (B67, B69)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.config.settings import Settings
from queuectl.core import states
from queuectl.logfiles import log_name
from queuectl.queue import JobFilter
from queuectl.store.api import Store
from queuectl.testing import wait_until
from queuectl.upkeep.purger import Purger
from tests.crash.checker import check_whole
from tests.support.engines import Place, fresh_store
from tests.support.home import Home
from tests.support.jobs import EVERYTHING, NOW, claim, finish, new_job, register, report

LOAD = 16  # processes that do nothing but turn
HUNGRY = 14  # seconds: longer than a lease
KEPT = Settings({"keep-completed": "1h"})
ENDED, A_TURN = 10_600, 10_000


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    with fresh_store(request.param) as url:
        yield url


@pytest.fixture
def load() -> Iterator[None]:
    turning = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(LOAD)]
    try:
        yield
    finally:
        for process in turning:
            process.kill()
            process.wait()


@pytest.mark.proof
def test_a_heart_beats_however_busy_the_machine_is(home: Home, load: None) -> None:
    """One long job and hundreds of short ones: no lease is lost. Six heartbeats long it is, as by default."""
    home.configure(**{"worker-heartbeat-interval": "2s", "worker-lease": "12s", "kill-grace": "1s"})
    with home.queue() as queue:
        queue.enqueue(f"sleep {HUNGRY}", id="long", cwd=str(home.work))
        queue.enqueue_many([{"id": f"s{n}", "command": "true", "cwd": str(home.work)} for n in range(300)])
    process = home.foreground("--concurrency", "4")
    home.wait_for("long", states.COMPLETED, timeout=90)
    with home.queue() as queue:
        wait_until(lambda: queue.store.unfinished(JobFilter()) == 0, timeout=60, what="all jobs to end")
        check_whole(queue)
        assert [attempt.outcome for attempt in queue.attempts(queue.get("long"))] == ["succeeded"]
        assert queue.store.count(JobFilter(states=(states.COMPLETED,))) == 301
        assert len(queue.store.workers()) == 1, "the worker had to come back under another name"
    assert process.poll() is None


def some_that_ended(store: Store, count: int) -> None:
    """Each with an attempt, a hundred at a time."""
    register(store)
    for start in range(0, count, 200):
        jobs = [new_job(f"j{n}") for n in range(start, min(start + 200, count))]
        store.enqueue([jobs], NOW)
        taken = claim(store, 200)
        finish(store, *(report(job, log=log_name(job.seq, job.runs)) for job in taken))


@pytest.mark.proof
def test_retention_takes_little_at_a_time_and_leaves_room_for_others(tmp_path: Path) -> None:
    """Ten thousand in a turn, and the rest in the next: a heartbeat that purges does not come too late."""
    store = Place(str(tmp_path / "home"), None).open()
    store.relax_durability()
    some_that_ended(store, ENDED)
    store.enqueue([[new_job("waits"), new_job("runs", priority=1)]], NOW)
    claim(store)
    log = Path(store.location.logs_dir, log_name(1, 1))
    log.parent.mkdir(parents=True)
    log.write_bytes(b"x")
    purge, later = Purger(), NOW + 2 * 3_600_000
    largest = watch_transactions(store)
    purge(store, KEPT, later)
    assert store.count(JobFilter(states=(states.COMPLETED,))) == ENDED - A_TURN
    purge(store, KEPT, later + 1)
    assert store.count(JobFilter(states=(states.COMPLETED,))) == ENDED - A_TURN, "it rests in between"
    purge(store, KEPT, later + 60_000)
    assert sorted(job.id for job in store.page(EVERYTHING, limit=10)) == ["runs", "waits"]
    assert 0 < max(largest) <= 1_500, "jobs, their attempts and a few counts"
    assert not log.exists()
    store.close()


def watch_transactions(store: Store) -> list[int]:
    """How many rows each transaction to come changes."""
    sizes = [0]
    connection = store.connection._db  # type: ignore[attr-defined]

    def changed(*_: object) -> None:
        sizes[-1] += 1

    def committed() -> bool:
        sizes.append(0)
        return False

    connection.set_update_hook(changed)
    connection.set_commit_hook(committed)
    return sizes


def test_what_is_to_be_kept_for_ever_is_kept(tmp_path: Path) -> None:
    store = Place(str(tmp_path / "home"), None).open()
    some_that_ended(store, 3)
    Purger()(store, Settings({"keep-completed": "off"}), NOW + 10**12)
    assert store.count(EVERYTHING) == 3
    store.close()
