"""How much a store had to look at, counted: rows or steps, which a busy machine does not make more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apsw
from tests.concurrency.roles import now
from tests.support.engines import Place
from tests.support.jobs import new_job

from queuectl.errors import DuplicateId

_POSTGRES = (
    "SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0) "
    "FROM pg_stat_user_tables WHERE schemaname = current_schema()"
)


def looked_at(store: Any, action: Callable[[], object]) -> int:
    """By `action`, which uses this store: steps of SQLite's machine, or rows that a server has read."""
    if store.location.engine == "sqlite":
        return _steps(store, action)
    read = _rows_of_postgres if store.location.engine == "postgres" else _rows_of_mysql
    before = read(store)
    action()
    return read(store) - before


def _steps(store: Any, action: Callable[[], object]) -> int:
    steps = 0

    def executed(event: dict[str, Any]) -> None:
        nonlocal steps
        steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    connection = store.connection._db
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, executed)
    try:
        action()
    finally:
        connection.trace_v2(0)
    return steps


def _rows_of_postgres(store: Any) -> int:
    # A session tells of its reads when it likes; asked so, it does at the end of this very statement.
    store.connection.all("SELECT pg_stat_force_next_flush()")
    return int(store.connection.all(_POSTGRES)[0][0])


def _rows_of_mysql(store: Any) -> int:
    rows = store.connection.all("SHOW SESSION STATUS LIKE 'Handler_read%'")
    return sum(int(value) for _, value in rows)


def enqueuers_of_one(go: Callable[[], object], place: Place, name: str, count: int, skip: bool) -> int:
    """Several connections of one process enqueue the same id at once; how many went in."""
    stores = [place.open() for _ in range(count)]
    ready = threading.Barrier(count)

    def enqueue(number: int) -> int:
        ready.wait(60)
        try:
            job = new_job("the-one", command=f"{name}-{number}")
            return stores[number].enqueue([[job]], now(), skip=skip)
        except DuplicateId:
            assert not skip
            return 0

    go()
    with ThreadPoolExecutor(count) as threads:
        new = sum(threads.map(enqueue, range(count)))
    for store in stores:
        store.close()
    return new
