"""How an engine carries out the statements of an exchange: whether it sorts, or reads a whole table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.claimers import Claimer
from bench.places import MARIADB, SQLITE

_TABLES = ("jobs", "j")  # as our statements call it
_MOST_READS = 20  # of rows, for each job that is claimed: it is read, and written twice
_Statement = tuple[str, Sequence[object]]


class _Listener:
    """A store's connection that keeps what was asked through it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.heard: list[_Statement] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def all(self, sql: str, values: Sequence[object] = ()) -> Any:
        self.heard.append((sql, values))
        return self._connection.all(sql, values)

    def run(self, sql: str, values: Sequence[object] = ()) -> Any:
        self.heard.append((sql, values))
        return self._connection.run(sql, values)


def surprises(claimer: Claimer, engine: str) -> list[str]:
    """One line for each sort and each full scan that the claim needs."""
    store: Any = claimer.queue.store
    connection = store.connection
    before = _rows_read(connection, engine)
    listener = store.connection = _Listener(connection)
    try:
        jobs = claimer.exchange()
    finally:
        store.connection = connection
    read = _rows_read(connection, engine) - before
    found = [
        f"{engine}: {step} in: {sql[:100]}"
        for sql, values in listener.heard
        for step in _bad_steps(connection, engine, sql, values)
    ]
    if read > _MOST_READS * len(jobs):
        found.append(f"{engine}: {read:,} rows read for {len(jobs)} jobs")
    return found


def _rows_read(connection: Any, engine: str) -> int:
    """MariaDB counts them for each connection; its plans do not tell a seek from a walk along an index."""
    if engine != MARIADB:
        return 0
    counted = dict(connection.all("SHOW SESSION STATUS LIKE 'Handler_read%'"))
    return sum(int(counted[f"Handler_read_{kind}"]) for kind in ("next", "prev", "rnd_next"))


def _bad_steps(connection: Any, engine: str, sql: str, values: Sequence[object]) -> list[str]:
    if engine == SQLITE:
        steps = [str(row[3]) for row in connection.all(f"EXPLAIN QUERY PLAN {sql}", values)]
        return [step for step in steps if _scans_in_sqlite(step) or "TEMP B-TREE" in step]
    if engine == MARIADB:
        # id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra
        rows = connection.all(f"EXPLAIN {sql}", values)
        return [f"{row[2]} {row[3]} {row[-1]}" for row in rows if _is_bad_in_mariadb(row)]
    steps = [str(row[0]).strip() for row in connection.all(f"EXPLAIN {sql}", values)]
    return [step for step in steps if "Seq Scan on jobs" in step or step.startswith(("->  Sort", "Sort "))]


def _scans_in_sqlite(step: str) -> bool:
    words = step.split()
    return words[0] == "SCAN" and words[1] in _TABLES and "INDEX" not in words


def _is_bad_in_mariadb(row: Sequence[object]) -> bool:
    return (row[2] in _TABLES and row[3] in ("ALL", "index")) or "filesort" in str(row[-1])
