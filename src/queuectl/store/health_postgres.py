"""What is asked of PostgreSQL: durability, role, connections, indexes, dead tuples. Nothing is changed.

What it has in common with other servers is left to health_server.py.
"""

from __future__ import annotations

import re
from functools import partial

from queuectl.core.durations import format_age
from queuectl.store import health, health_indexes, health_server
from queuectl.store import health_postgres_settings as judge
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding
from queuectl.store.health_server import LONG_MS, ServerPatient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.paths import Location
    from queuectl.store.health_postgres_settings import Settings
    from queuectl.store.postgres import PostgresDriver
    from queuectl.store.server_connection import ServerConnection

_MANY_DEAD = 10_000
_DEAD_SHARE = 0.3


class PostgresPatient(ServerPatient):
    """A queue in PostgreSQL, only to be looked at."""

    _driver: PostgresDriver

    def __init__(self, location: Location, driver: PostgresDriver) -> None:
        super().__init__(location, driver)
        if not driver.pooled:  # PgBouncer would hand the session on to others as it is
            self.connection.all("SELECT set_config('default_transaction_read_only', 'on', false)")

    def examine(self, *, now: Callable[[], int], full: bool = False) -> list[Finding]:
        db, schema = self.connection, self._driver.schema
        values = settings(db)
        found = judge.version(values)
        checks: list[health.Check] = [
            ("role", partial(role, db, values)),
            ("isolation", partial(judge.isolation, values)),
            ("encoding", partial(judge.encoding, values)),
            ("durability", partial(judge.durability, values)),
            ("clock", partial(health_server.clock, db, self._driver.dialect.clock, now)),
            ("connections", partial(connections, db, values)),
            ("long transactions", partial(long_transactions, db)),
            ("autovacuum", partial(judge.autovacuum, values)),
            ("schema", partial(tables, db, schema)),
            ("kinds of tables", partial(kinds, db, schema)),
            ("indexes", partial(indexes, db, schema)),
            ("dead tuples", partial(dead_tuples, db, schema)),
            ("size", partial(size, db, schema)),
            ("running jobs", partial(health.stuck, db, f'"{schema}".')),
            ("counts", partial(health_server.counts, db, full=full)),
        ]
        return found + health.look("engine", checks)


def settings(db: ServerConnection) -> Settings:
    marks = ", ".join("?" * len(judge.NAMES))
    rows = db.all(f"SELECT name, setting, reset_val FROM pg_settings WHERE name IN ({marks})", judge.NAMES)
    return {str(name): (str(ours), str(server)) for name, ours, server in rows}


# --- the server -----------------------------------------------------------------------------------------


def role(db: ServerConnection, values: Settings) -> list[Finding]:
    if db.all("SELECT pg_is_in_recovery()")[0][0]:
        return [
            health_server.standing_back(
                "this server is a standby",
                "it takes no writes: nothing can be enqueued, claimed or finished here",
                "give the address of the primary, or both: ?host=first,second",
            )
        ]
    if values["default_transaction_read_only"][1] == "on":
        return [
            health_server.standing_back(
                "default_transaction_read_only = on",
                "nothing can be enqueued, claimed or finished",
                "ALTER ROLE or ALTER DATABASE … RESET default_transaction_read_only, or in postgresql.conf",
            )
        ]
    return [Finding(OK, "engine", "the server takes writes")]


def connections(db: ServerConnection, values: Settings) -> list[Finding]:
    used = db.all("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")[0][0]
    kept = sum(
        int(values[name][0])
        for name in ("superuser_reserved_connections", "reserved_connections")
        if name in values
    )
    return health_server.connections(
        int(str(used)),
        int(values["max_connections"][0]) - kept,
        "raise max_connections, or put PgBouncer before the server (?pgbouncer=true)",
    )


# --- what holds up vacuum -------------------------------------------------------------------------------

_OPEN = """
SELECT 'session ' || pid || ' (' || concat_ws(', ', usename, nullif(application_name, '')) || ')',
       (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint,
       'SELECT pg_terminate_backend(' || pid || ')'
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'
UNION ALL
SELECT 'the prepared transaction ' || gid,
       (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint,
       'ROLLBACK PREPARED ' || quote_literal(gid)
FROM pg_prepared_xacts
"""
_HIDDEN = "SELECT count(*) FROM pg_stat_activity WHERE query = '<insufficient privilege>'"


def long_transactions(db: ServerConnection, *, longer_than: int = LONG_MS) -> list[Finding]:
    found = [
        health_server.long_transaction(str(who), int(str(age)), str(mend))
        for who, age, mend in db.all(
            f"SELECT * FROM ({_OPEN}) AS o (who, age, mend) WHERE age > ?", (longer_than,)
        )
    ]
    hidden = int(str(db.all(_HIDDEN)[0][0]))
    if hidden:
        found.append(
            Finding(
                NOTE,
                "upkeep",
                f"this user may not look at {health.count(hidden, 'other session')}",
                why="a long transaction among them would hold up vacuum unseen",
                mend="GRANT pg_monitor TO the user of the address",
            )
        )
    return found or [Finding(OK, "upkeep", "no transaction has been open for long")]


# --- the tables -----------------------------------------------------------------------------------------


def tables(db: ServerConnection, schema: str) -> list[Finding]:
    # Who may not enter a schema is told that there are no tables, which is not true.
    entry = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = ?"
    if db.all(entry, (schema,)) == [(False,)]:
        what, why = f"this user may not use schema {schema}", "queuectl cannot work without its tables"
        mend = f'GRANT USAGE ON SCHEMA "{schema}" TO the user of the address, and the rights on its tables'
        return [Finding(PROBLEM, "tables", what, why=why, mend=mend, fatal=True)]
    there = {str(row[0]) for row in db.all("SELECT tablename FROM pg_tables WHERE schemaname = ?", (schema,))}
    return health_server.schema(db, there, "postgres")


_KINDS = """
SELECT c.relname, c.relpersistence, coalesce(array_to_string(c.reloptions, ' '), ''),
       has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
       AND has_table_privilege(c.oid, 'DELETE')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ? AND c.relkind IN ('r', 'p') ORDER BY c.relname
"""
_NO_VACUUM = re.compile(r"\bautovacuum_enabled=(off|false|no|0)\b")


def kinds(db: ServerConnection, schema: str) -> list[Finding]:
    """How each table is kept, and whether we may write to it."""
    found = []
    for name, persistence, options, writable in db.all(_KINDS, (schema,)):
        table = f'"{schema}".{name}'
        if persistence != "p":
            what, why = f"table {name} is unlogged", "the server empties it after every crash"
            mend = f"ALTER TABLE {table} SET LOGGED"
            found.append(Finding(PROBLEM, "durability", what, why=why, mend=mend))
        if _NO_VACUUM.search(str(options)):
            what, why = f"autovacuum is off for table {name}", "it grows, and claims get slower"
            mend = f"ALTER TABLE {table} RESET (autovacuum_enabled)"
            found.append(Finding(WARNING, "upkeep", what, why=why, mend=mend))
        if not writable:
            what, why = f"this user may not write to table {name}", "nothing can be enqueued or finished"
            mend = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO the user of the address"
            found.append(Finding(PROBLEM, "tables", what, why=why, mend=mend))
    return found


_INDEXES = """
SELECT t.relname, c.relname, i.indisunique, i.indisvalid AND i.indisready, pg_get_indexdef(i.indexrelid)
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_class AS t ON t.oid = i.indrelid
JOIN pg_namespace AS n ON n.oid = t.relnamespace
WHERE n.nspname = ?
"""
_COLUMNS = re.compile(r"USING \w+ \((.*?)\)(?: |$)")


def indexes(db: ServerConnection, schema: str) -> list[Finding]:
    there = {}
    found = []
    for table, name, unique, valid, definition in db.all(_INDEXES, (schema,)):
        columns = _COLUMNS.search(str(definition))
        there[str(table), str(name)] = (columns[1] if columns else "", bool(unique))
        if not valid:
            found.append(
                Finding(
                    PROBLEM,
                    "indexes",
                    f"index {name} of {table} is not valid: making it was broken off",
                    why="the server keeps it up to date but does not use it",
                    mend=f'REINDEX INDEX CONCURRENTLY "{schema}".{name}',
                )
            )
    make = "CREATE {unique}INDEX CONCURRENTLY {name} ON {table}"
    compared = health_indexes.compare("postgres", there, make, f'"{schema}".')
    return found + [finding for finding in compared if not found or finding.level != OK]


_TUPLES = """
SELECT relname, n_live_tup, n_dead_tup,
       (extract(epoch FROM clock_timestamp() - greatest(last_vacuum, last_autovacuum)) * 1000)::bigint
FROM pg_stat_user_tables WHERE schemaname = ? AND relname IN ('jobs', 'attempts') ORDER BY relname DESC
"""


def dead_tuples(db: ServerConnection, schema: str) -> list[Finding]:
    found = []
    for name, live, dead, age in db.all(_TUPLES, (schema,)):
        rows, old = int(str(live)), int(str(dead))
        vacuumed = "never vacuumed" if age is None else f"vacuumed {format_age(int(str(age)))} ago"
        shown = f"{name}: {health.count(rows, 'row')}, {old:,} dead, {vacuumed}"
        if old < _MANY_DEAD or old < _DEAD_SHARE * (rows + old):
            found.append(Finding(OK, "upkeep", shown))
            continue
        found.append(
            Finding(
                WARNING,
                "upkeep",
                shown,
                why="every claim has to step over the dead ones",
                mend=f'VACUUM (ANALYZE) "{schema}".{name}; if they come back, something holds autovacuum up',
            )
        )
    return found


_SIZES = """
SELECT pg_database_size(current_database()), sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ? AND c.relkind IN ('r', 'p')
"""


def size(db: ServerConnection, schema: str) -> list[Finding]:
    whole, ours = db.all(_SIZES, (schema,))[0]
    shown = health.shown_size(int(str(ours))), health.shown_size(int(str(whole)))
    return [Finding(OK, "tables", f"{shown[0]} in the queue's tables, {shown[1]} in the whole database")]
