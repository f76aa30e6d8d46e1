"""Fills a store with very many jobs of all kinds, by the server itself: nothing of it passes through us.

The SQL is the same for all engines. The oldest jobs have ended, the newest wait.
"""

from __future__ import annotations

from typing import Any

from bench.places import MARIADB, POSTGRES
from queuectl.queue import Queue

CHUNK = 100_000
DAY = 86_400_000

_DIGIT = " UNION ALL ".join(["SELECT 0 AS digit", *(f"SELECT {digit}" for digit in range(1, 10))])
_NUMBERS = ", ".join(f"({_DIGIT}) {name}" for name in "abcde")
_NUMBER = "a.digit * 10000 + b.digit * 1000 + c.digit * 100 + d.digit * 10 + e.digit"

_COLUMNS = (
    "id, command, queue, state, priority, max_retries, attempts, runs, lost, cancel_requested, "
    "cwd, run_at, created_at, updated_at, started_at, finished_at, exit_code"
)
_WAITING = (
    "concat('bench', 100000000 + {first} + n), 'true', 'default', '{state}', 0, 3, 0, 0, 0, 0, "
    "'/', {at} + n, {now}, {now}, NULL, NULL, NULL"
)
_ENDED = (
    "concat('bench', 100000000 + {first} + n), 'true', 'default', '{state}', 0, 3, 1, 1, 0, 0, "
    "'/', {at} + n, {at} + n, {at} + n, {at} + n, {at} + n, 0"
)
_RECORDS = (
    "INSERT INTO attempts (job_seq, run, attempt, claim, worker_id, host, started_at, finished_at, outcome, "
    "exit_code, output_bytes, output_dropped) "
    "SELECT seq, 1, 1, 'a claim of 20 letters', 'worker-1', 'host', started_at, finished_at, 'succeeded', 0, "
    "0, 0 FROM jobs WHERE seq > ? AND state = 'completed'"
)


def pending(queue: Queue, count: int) -> None:
    _fill(queue, count, "pending", queue.clock.now() - DAY)


def everything(queue: Queue, rows: int) -> None:
    """Of seven parts five have ended, one is to run in the future, one waits for workers."""
    now = queue.clock.now()
    _fill(queue, rows * 5 // 7, "completed", now - 30 * DAY)
    _fill(queue, rows // 7, "scheduled", now + 30 * DAY)
    _fill(queue, rows // 7, "pending", now - DAY)


def let_age(queue: Queue, engine: str) -> None:
    """What the server knows of the table stays as it is, until `settle`; else it depends on the moment."""
    db: Any = queue.store.connection
    if engine == POSTGRES:
        db.driver.script("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    elif engine == MARIADB:
        db.driver.script("ALTER TABLE jobs STATS_AUTO_RECALC = 0")


def settle(queue: Queue, engine: str) -> None:
    """What a server does by itself within minutes. SQLite does nothing of the kind."""
    db: Any = queue.store.connection
    if engine == POSTGRES:
        db.driver.script("VACUUM ANALYZE jobs")
        db.driver.script("VACUUM ANALYZE attempts")
        db.driver.script("CHECKPOINT")
    elif engine == MARIADB:
        db.all("ANALYZE TABLE jobs, attempts")


def _fill(queue: Queue, count: int, state: str, at: int) -> None:
    db: Any = queue.store.connection
    ended = state == "completed"
    for start in range(0, count, CHUNK):
        first = int(db.one("SELECT coalesce(max(seq), 0) FROM jobs")[0])
        values = (_ENDED if ended else _WAITING).format(
            first=first, state=state, at=at + start, now=queue.clock.now()
        )
        numbers = f"SELECT {_NUMBER} AS n FROM {_NUMBERS}"
        most = min(CHUNK, count - start)
        jobs = f"SELECT {values} FROM ({numbers}) numbers WHERE n < {most} ORDER BY n"

        def insert(_: int | None, first: int = first, jobs: str = jobs) -> int:
            inserted = int(db.run(f"INSERT INTO jobs ({_COLUMNS}) {jobs}"))
            db.tally.add("default", state, inserted)
            if ended:
                db.run(_RECORDS, (first,))
            return inserted

        assert db.write("enqueue", insert) == most
