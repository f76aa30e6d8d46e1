"""What finished jobs take on the disk, table by table, and how large the write-ahead log grows meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.home import Home, fresh_home
from bench.table import Result
from bench.targets import at_most, stated
from queuectl.queue import Queue

COMMAND = "echo hello"
BYTES_A_JOB = 700
WAL_MB = 64.0  # journal_size_limit: what is longer is cut when the log begins anew
_LOOK_EVERY = 0.01  # seconds
_ASK_EVERY = 20  # looks: asking how many jobs are left takes the workers' time


def measure(*, quick: bool = False) -> list[Result]:
    return [*_finished_jobs(5_000 if quick else 50_000), *_with_a_reader(4_000 if quick else 20_000)]


def _finished_jobs(count: int) -> list[Result]:
    """Really run, so that the rows are as they are: ids, directory, worker, output."""
    with fresh_home() as home, home.queue() as queue:
        queue.enqueue_many([COMMAND] * count)
        with home.workers(concurrency=2):
            longest = _longest_log(home, lambda: queue.stats().counts["completed"] == count)
        size = _checkpointed(home, queue)
        parts = _parts(queue)
    return [
        at_most(f"disk for a finished job, {COMMAND!r}, of {count:,}", [size / count], "bytes", BYTES_A_JOB),
        *(stated(f"… in {name}", [taken / count], "bytes") for name, taken in parts[:4]),
        at_most(f"write-ahead log at its longest, {count:,} jobs", [longest], "MB", WAL_MB),
    ]


def _with_a_reader(count: int) -> list[Result]:
    """As long as somebody reads an old state of the file, nothing of the log may be overwritten."""
    with fresh_home() as home, home.queue() as queue:
        queue.enqueue_many([COMMAND] * count)
        with home.workers(concurrency=2):
            with _snapshot(home):
                held = _longest_log(home, lambda: queue.stats().counts["completed"] >= count // 2)
            _longest_log(home, lambda: queue.stats().counts["completed"] == count)
        left = _log_mb(home)
    return [
        stated(f"… while a reader holds an old state for {count // 2:,} jobs", [held], "MB"),
        at_most(f"… {count // 2:,} jobs after it has left", [left], "MB", WAL_MB),
    ]


@contextmanager
def _snapshot(home: Home) -> Iterator[None]:
    with home.queue() as reader:
        db = _connection(reader)
        db.script("BEGIN")
        db.all("SELECT count(*) FROM config")
        yield
        db.script("ROLLBACK")


def _longest_log(home: Home, ended: Callable[[], bool]) -> float:
    longest, looks = 0.0, 0
    while looks % _ASK_EVERY or not ended():
        longest = max(longest, _log_mb(home))
        looks += 1
        time.sleep(_LOOK_EVERY)
    return longest


def _log_mb(home: Home) -> float:
    return os.path.getsize(home.path / "queue.db-wal") / 1e6


def _checkpointed(home: Home, queue: Queue) -> int:
    """The size of the file, with all in it that was still in its log."""
    busy = _connection(queue).all("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
    assert not busy, "somebody still uses the file"
    return os.path.getsize(home.path / "queue.db")


def _parts(queue: Queue) -> list[tuple[str, int]]:
    """Tables and indexes with the bytes of their pages, the largest first."""
    rows = _connection(queue).all("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC")
    return [(str(name), int(taken)) for name, taken in rows]


def _connection(queue: Queue) -> Any:
    return queue.store.connection
