"""What is asked of MySQL and MariaDB: settings, connections, tables, indexes. Nothing is changed.

What they have in common with other servers is left to health_server.py.
"""

from __future__ import annotations

from functools import partial

from queuectl.store import health, health_indexes, health_server
from queuectl.store import health_mysql_settings as judge
from queuectl.store.health import OK, PROBLEM, WARNING, Finding
from queuectl.store.health_server import LONG_MS, ServerPatient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.paths import Location
    from queuectl.store.health_mysql_settings import Variables
    from queuectl.store.mysql import MysqlDriver
    from queuectl.store.server_connection import ServerConnection

_LONG_HISTORY = 1_000_000


class MysqlPatient(ServerPatient):
    """A queue in MySQL or MariaDB, only to be looked at."""

    _driver: MysqlDriver

    def __init__(self, location: Location, driver: MysqlDriver) -> None:
        super().__init__(location, driver)
        self.connection.all("SET SESSION TRANSACTION READ ONLY")

    def examine(self, *, now: Callable[[], int], full: bool = False) -> list[Finding]:
        db = self.connection
        values = variables(db)
        found = judge.version(values)
        checks: list[health.Check] = [
            ("role", partial(judge.role, values)),
            ("replication", partial(replication, db)),
            ("isolation", partial(isolation, db, values)),
            ("sql_mode", partial(judge.strictness, values)),
            ("max_allowed_packet", partial(judge.packet, values)),
            ("durability", partial(judge.durability, values)),
            ("binary log", partial(judge.binary_log, values)),
            ("clock", partial(health_server.clock, db, self._driver.dialect.clock, now)),
            ("connections", partial(connections, db, values)),
            ("long transactions", partial(long_transactions, db)),
            ("history", partial(history, db)),
            ("schema", partial(tables, db)),
            ("storage engines", partial(storage_engines, db)),
            ("character sets", partial(character_sets, db)),
            ("indexes", partial(indexes, db)),
            ("size", partial(size, db)),
            ("running jobs", partial(health.stuck, db)),
            ("counts", partial(health_server.counts, db, full=full)),
        ]
        return found + health.look("engine", checks)


def variables(db: ServerConnection, scope: str = "GLOBAL") -> Variables:
    marks = ", ".join("?" * len(judge.NAMES))
    rows = db.all(f"SHOW {scope} VARIABLES WHERE Variable_name IN ({marks})", judge.NAMES)
    return {str(name).lower(): str(value) for name, value in rows}


# --- the server -----------------------------------------------------------------------------------------


def replication(db: ServerConnection) -> list[Finding]:
    if not db.all("SHOW REPLICA STATUS"):
        return []
    return [
        Finding(
            WARNING,
            "engine",
            "this server is a replica of another",
            why="jobs that are written here are unknown to its source, and a failover loses them",
            mend="give the address of the primary",
        )
    ]


def isolation(db: ServerConnection, values: Variables) -> list[Finding]:
    ours = variables(db, "SESSION")
    name = "transaction_isolation" if "transaction_isolation" in values else "tx_isolation"
    shown = f"isolation: {ours[name]} in every session of queuectl (the server's default: {values[name]})"
    if ours[name] == "READ-COMMITTED":
        return [Finding(OK, "engine", shown)]
    why = "workers lock more than they take, and wait for each other"
    mend = "something between us and the server changes it; connect directly"
    return [Finding(WARNING, "engine", shown, why=why, mend=mend)]


def connections(db: ServerConnection, values: Variables) -> list[Finding]:
    used = status(db, "Threads_connected")
    return health_server.connections(
        used, int(values["max_connections"]), "raise max_connections: SET GLOBAL, and in the server's file"
    )


def status(db: ServerConnection, name: str) -> int:
    rows = db.all("SHOW GLOBAL STATUS LIKE ?", (name,))
    return int(str(rows[0][1])) if rows else 0


# --- what holds up purge --------------------------------------------------------------------------------

_OPEN = """
SELECT t.trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, t.trx_started, NOW())
FROM information_schema.innodb_trx AS t
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() AND TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) > ?
ORDER BY t.trx_started
"""


def long_transactions(db: ServerConnection, *, longer_than: int = LONG_MS) -> list[Finding]:
    # InnoDB notes the beginning by the server's own wall clock; our sessions speak UTC.
    db.all("SET SESSION time_zone = 'SYSTEM'")
    try:
        rows = db.all(_OPEN, (longer_than // 1000,))
    finally:
        db.all("SET SESSION time_zone = '+00:00'")
    found = [
        health_server.long_transaction(f"session {thread}", int(str(age)) * 1000, f"KILL {thread}")
        for thread, age in rows
    ]
    return found or [Finding(OK, "upkeep", "no transaction has been open for long")]


def history(db: ServerConnection) -> list[Finding]:
    """Old versions of rows that purge has not cleared away; MySQL's own name for it is another one."""
    rows = db.all("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'") or db.all(
        "SELECT name, count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
    )
    length = int(str(rows[0][1])) if rows else 0
    shown = f"{length:,} old versions of rows wait to be cleared away"
    if length < _LONG_HISTORY:
        return [Finding(OK, "upkeep", shown)]
    why = "every claim has to step over them"
    mend = "end long transactions; raise innodb_purge_threads"
    return [Finding(WARNING, "upkeep", shown, why=why, mend=mend)]


# --- the tables -----------------------------------------------------------------------------------------


def tables(db: ServerConnection) -> list[Finding]:
    return health_server.schema(db, {str(row[0]) for row in db.all("SHOW TABLES")}, "mysql")


def storage_engines(db: ServerConnection) -> list[Finding]:
    ours = health_indexes.tables("mysql") | {"queuectl_schema"}
    rows = db.all(
        "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
    )
    return [
        Finding(
            PROBLEM,
            "durability",
            f"table {name} is kept by {engine}, not InnoDB",
            why="it has no transactions: jobs can be lost, or run twice",
            mend=f"ALTER TABLE {name} ENGINE = InnoDB",
        )
        for name, engine in rows
        if name in ours and str(engine).lower() != "innodb"
    ]


def character_sets(db: ServerConnection) -> list[Finding]:
    ours = health_indexes.tables("mysql")
    rows = db.all(
        "SELECT table_name, column_name, collation_name FROM information_schema.columns "
        "WHERE table_schema = DATABASE() AND collation_name <> 'utf8mb4_bin' ORDER BY 1, ordinal_position"
    )
    wrong: dict[str, list[str]] = {}
    for table, column, collation in rows:
        if table in ours:
            wrong.setdefault(str(table), []).append(f"{column} ({collation})")
    found = [
        Finding(
            PROBLEM,
            "tables",
            f"columns of {table} are not utf8mb4_bin: {', '.join(columns[:5])}",
            why="some text cannot be stored, or ids that differ count as the same",
            mend=f"ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        )
        for table, columns in wrong.items()
    ]
    return found or [Finding(OK, "tables", "all text is utf8mb4, compared by its bytes")]


def indexes(db: ServerConnection) -> list[Finding]:
    rows = db.all(
        "SELECT table_name, index_name, column_name, non_unique FROM information_schema.statistics "
        "WHERE table_schema = DATABASE() ORDER BY table_name, index_name, seq_in_index"
    )
    columns: dict[tuple[str, str], list[str]] = {}
    unique = {}
    for table, name, column, repeated in rows:
        columns.setdefault((str(table), str(name)), []).append(str(column))
        unique[str(table), str(name)] = not int(str(repeated))
    there = {key: (", ".join(names), unique[key]) for key, names in columns.items()}
    return health_indexes.compare("mysql", there, "CREATE {unique}INDEX {name} ON {table}")


def size(db: ServerConnection) -> list[Finding]:
    row = db.all(
        "SELECT sum(data_length + index_length) FROM information_schema.tables "
        "WHERE table_schema = DATABASE()"
    )[0]
    return [Finding(OK, "tables", f"{health.shown_size(int(str(row[0] or 0)))} in the database")]
