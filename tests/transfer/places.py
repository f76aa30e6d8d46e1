"""Places of queues for these tests, on any engine, and what is in them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.jobs import snapshot
from tests.support.servers import drop, fresh_url

from queuectl.paths import locate
from queuectl.store.dialect import Insert
from queuectl.store.open import open_store

ENGINES = ("sqlite", "postgres", "mysql")

# Written out, so that a column which the code forgets is missed here.
OTHERS = {
    "config": "key, value, updated_at",
    "dependencies": "parent_seq, child_seq, kind, settled",
    "unsettled": "seq",
    "queues": "name, concurrency, rate, burst, rate_spent, timeout, max_retries, backoff_strategy, "
    "backoff_base, backoff_max, retry_delay, paused_at, paused_until, pause_reason, draining, updated_at",
    "job_groups": "name, concurrency, updated_at",
    "schedules": "name, recurrence, zone, catch_up, overlap, job, next_at, paused_at, last_at, last_job, "
    "fired, skipped, created_at, updated_at",
}


class Places:
    """Gives out fresh places; drops them at the end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._urls: list[str] = []

    def __call__(self, engine: str) -> str:
        self._urls.append(str(self._directory / f"q{len(self._urls)}.db"))
        if engine != "sqlite":
            self._urls[-1] = fresh_url(engine)
        return self._urls[-1]

    def close(self) -> None:
        for url in self._urls:
            if "://" in url:
                drop(url)


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """The bare store, whatever mark it bears."""
    store = open_store(locate(url))
    try:
        yield store
    finally:
        store.close()


def insert(url: str, table: str, *rows: dict[str, object]) -> None:
    """Rows as they are, past all checks; all with the same columns."""
    what = Insert(table, tuple(rows[0]))
    with opened(url) as store:
        values = [tuple(row.values()) for row in rows]
        store.connection.write("test", lambda _: store.connection.insert(what, values))


def change(url: str, sql: str) -> None:
    with opened(url) as store:
        store.connection.write("test", lambda _: store.connection.run(sql))


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with opened(url) as store:
        rows: list[tuple[object, ...]] = store.connection.all(sql)
        return rows


def everything(url: str) -> list[object]:
    """All that it holds with all its columns: jobs and attempts by the ordinary reads of a store."""
    with opened(url) as store:
        others = [
            sorted(store.connection.all(f"SELECT {columns} FROM {table}"), key=repr)
            for table, columns in OTHERS.items()
        ]
        return [*snapshot(store), *others]


def rows(url: str) -> dict[str, int]:
    return {
        table: int(str(ask(url, f"SELECT count(*) FROM {table}")[0][0]))
        for table in ("jobs", "attempts", "config")
    }


def queuectl(
    *words: str, env: dict[str, str] | None = None, input: bytes | None = None
) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "queuectl", *words],
        env={**os.environ, **(env or {})},
        input=input or b"",
        capture_output=True,
        timeout=100,
        check=False,
    )
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def killed_at(point: str, *words: str) -> None:
    """The same, but it dies at this point."""
    armed = {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": f"{point}=kill9"}
    done = queuectl(*words, env=armed)
    assert done.returncode == -9, f"it did not come to {point}: {done.stdout}{done.stderr}"
