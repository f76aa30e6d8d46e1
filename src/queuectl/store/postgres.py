"""PostgreSQL, through psycopg, which nobody else imports but `postgres_errors`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors as pg

from queuectl.errors import StoreError
from queuectl.store.dialect import Dialect
from queuectl.store.postgres_errors import translate
from queuectl.store.server_connection import LONGEST_PAUSE_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuectl.address import Address
    from queuectl.errors import QueuectlError
    from queuectl.store.connection import Row
    from queuectl.store.dialect import Insert, Sum, Update

OLDEST = 130000  # pg_current_snapshot
_COPY_FROM = 9  # rows; below that one INSERT is faster
_ROWS_A_STATEMENT = 1_000


class PostgresDialect(Dialect):
    name = "postgres"
    walk_from = "jobs"
    number = "seq + 0"
    take = " FOR UPDATE SKIP LOCKED"
    # Of two conditions on one column it expects next to no rows: until its statistics have heard of a flood
    # of jobs, it reads and sorts all of them to find the first.
    timed = ""
    hold = " FOR UPDATE"
    keep = " FOR SHARE"
    # It does not see, as the others do, that rows without needs are one place of the index, and would sort.
    claim_order = "needs, queue, priority DESC, run_at, seq"
    queue_order = ("needs", "queue")
    contains = "strpos({0}, {1}) > 0"
    clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    def these(self, column: str, numbers: Sequence[object]) -> tuple[str, tuple[object, ...]]:
        # Differs because this is the same statement for any count of them: it is planned once.
        return f"{column} = ANY(?::bigint[])", (_array(numbers),)


class _Connection(psycopg.Connection[Any]):
    """Waits for an answer only so long: a server that is cut off must not stop a worker for minutes."""

    longest: float | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        if timeout is not None or self.longest is None:
            return super().wait(gen, interval=interval, timeout=timeout)
        try:
            return super().wait(gen, interval=interval, timeout=self.longest)
        except pg._WaitTimeout:
            self.close()
            raise psycopg.OperationalError(f"no answer within {self.longest:g} s") from None


class PostgresDriver:
    """A psycopg connection, in the words of `server_connection.Driver`."""

    errors = (psycopg.Error, UnicodeEncodeError)

    def __init__(self, address: Address) -> None:
        self.dialect = PostgresDialect()
        self.answer_ms: int | None = None
        self.lock_ms = 10_000
        self.relaxed = False
        self.listening = False
        self._connections = 0
        options = dict(address.options)
        self.schema = options.pop("schema", "queuectl")
        # Behind PgBouncer a session belongs to us for one transaction only: nothing may be kept in it.
        self.pooled = options.pop("pgbouncer", "").lower() in ("1", "true", "yes", "on")
        given = {
            "host": address.host,
            "port": address.port,
            "user": address.user,
            "password": address.password,
            "dbname": address.database or None,
            **options,
        }
        self._options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        named = "" if "hostaddr" in self._options else str(self._options.get("host", ""))
        self.hosts = [host for host in named.split(",") if host and not host.startswith("/")]
        self._db: Any = None

    @property
    def connected(self) -> bool:
        return self._db is not None and not self._db.closed

    def connect(self) -> None:
        self.close()
        silence = self.answer_ms or 15_000
        seconds = max(silence // 4000, 1)
        defaults: dict[str, Any] = {
            "application_name": "queuectl",
            "connect_timeout": max(min(silence // 1000, 10), 2),
            "keepalives_idle": seconds,
            "keepalives_interval": seconds,
            "keepalives_count": 3,
            "tcp_user_timeout": silence,
        }
        if not self.pooled:
            defaults["target_session_attrs"] = "read-write"  # of several hosts, the one that takes writes
        db: Any = _Connection.connect(**{**defaults, **self._options}, autocommit=True)
        db.prepare_threshold = None if self.pooled else 5
        self._db = db
        self._connections += 1
        if db.info.server_version < OLDEST:
            raise StoreError(
                f"PostgreSQL {db.info.server_version // 10000} is too old", "queuectl needs 13 or newer"
            )
        self.adapt()
        if self.listening and not self.pooled:
            db.execute(f'LISTEN "{self.channel}"', prepare=False)

    def adapt(self) -> None:
        self._db.longest = None if self.answer_ms is None else self.answer_ms / 1000
        if not self.pooled:
            self._db.execute(self._session("SET"), prepare=False)

    def _session(self, verb: str) -> str:
        commit = "off" if self.relaxed else "on"
        return (
            # A plan made while the table was small would read all of it, for as long as we are connected.
            f"{verb} enable_seqscan TO off; "
            # A forbidden scan counts as so dear that it was compiled first: 107 ms, at every heartbeat.
            f"{verb} jit TO off; "
            f'{verb} search_path TO "{self.schema}"; {verb} lock_timeout TO {self.lock_ms}; '
            f"{verb} idle_in_transaction_session_timeout TO {self.answer_ms or LONGEST_PAUSE_MS}; "
            # Who sets more than `on` (a replica must confirm) keeps that; less would break our promise.
            "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') "
            f"IN ('off', 'on') THEN '{commit}' ELSE current_setting('synchronous_commit') END, "
            f"{'true' if verb == 'SET LOCAL' else 'false'})"
        )

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def begin(self) -> None:
        # Said each time, whatever the server's default is: in another level SKIP LOCKED gives errors.
        sql = "BEGIN ISOLATION LEVEL READ COMMITTED"
        if self.pooled:
            sql += "; " + self._session("SET LOCAL")
        self._db.execute(sql, prepare=False)

    def freeze(self) -> None:
        sql = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        if self.pooled:
            sql += "; " + self._session("SET LOCAL")
        self._db.execute(sql, prepare=False)

    def commit(self, what: Sum | None = None, rows: Sequence[Sequence[object]] = ()) -> None:
        # Differs because in one message with the commit they cost less than a statement of their own.
        sql = f"{self._adding(what, rows)}; COMMIT" if what and rows else "COMMIT"
        cursor = self._db.execute(sql, prepare=False)
        while cursor.nextset():
            pass
        done = cursor.statusmessage
        if done != "COMMIT":  # PostgreSQL answers a COMMIT of a failed transaction with ROLLBACK
            raise psycopg.InternalError(f"the server answered COMMIT with {done}")

    def rollback(self) -> None:
        if self.connected:
            self._db.execute("ROLLBACK", prepare=False)

    def fetch(self, sql: str, values: Sequence[object]) -> list[Row]:
        if self.pooled and self._db.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.begin()
            try:
                rows = self._db.execute(_percent(sql), values).fetchall()
            except psycopg.Error:
                self.rollback()  # or all that follows would fail with it
                raise
            self.commit()
            return list(rows)
        return list(self._db.execute(_percent(sql), values).fetchall())

    def execute(self, sql: str, values: Sequence[object]) -> int:
        return int(self._db.execute(_percent(sql), values).rowcount)

    def script(self, sql: str) -> None:
        self._db.execute(sql, prepare=False)

    def insert(self, what: Insert, rows: Iterable[Sequence[object]], *, skip: bool) -> int:
        rows = list(rows)
        if not skip and len(rows) >= _COPY_FROM:
            return self._copy(what, rows)
        rule = f" ON CONFLICT ({what.key}) DO NOTHING" if skip else ""
        new = 0
        for start in range(0, len(rows), _ROWS_A_STATEMENT):
            part = rows[start : start + _ROWS_A_STATEMENT]
            marks = ", ".join([what.marks("%s")] * len(part))
            values = [value for row in part for value in row]
            sql = f"INSERT INTO {what.table} ({what.names}) VALUES {marks}{rule}"
            new += self._db.execute(sql, values).rowcount
        return new

    def _copy(self, what: Insert, rows: Sequence[Sequence[object]]) -> int:
        # Differs because 128 rows took 6 ms by COPY and 28 as VALUES. The zeros are the columns' defaults.
        sql = f"COPY {what.table} ({', '.join(what.columns)}) FROM STDIN"
        with self._db.cursor() as cursor, cursor.copy(sql) as copy:
            for row in rows:
                copy.write_row(row)
        return len(rows)

    def update(self, what: Update, rows: Sequence[Sequence[object]]) -> int:
        # Differs because one statement for all rows is planned and sent once (128 rows: 15 ms, else 16).
        lists = ", ".join(f"%s::{type}[]" for _, type in what.values)
        names = ", ".join(f"v_{name}" for name, _ in what.values)
        sets, where = what.render("new.v_{}".format)
        source = f"unnest({lists}) AS new ({names})"
        sql = f"UPDATE {what.table} SET {sets} FROM {source} WHERE {' AND '.join(where)}"
        return int(self._db.execute(sql, [_array(column) for column in zip(*rows, strict=True)]).rowcount)

    def sum(self, what: Sum, rows: Sequence[Sequence[object]]) -> None:
        self._db.execute(self._adding(what, rows), prepare=False)

    def _adding(self, what: Sum, rows: Sequence[Sequence[object]]) -> str:
        quote = psycopg.pq.Escaping(self._db.pgconn).escape_literal
        new = ", ".join(
            "(" + ", ".join([quote(v.encode()).decode() if isinstance(v, str) else str(v) for v in row]) + ")"
            for row in rows
        )
        amount = what.amount
        latest = f", {what.latest} = excluded.{what.latest}" if what.latest else ""
        return (
            f"INSERT INTO {what.table} AS old ({what.names}) VALUES {new} "
            f"ON CONFLICT ({what.key}) DO UPDATE SET {amount} = old.{amount} + excluded.{amount}{latest}"
        )

    # --- hints --------------------------------------------------------------------------------------

    @property
    def channel(self) -> str:
        return f"queuectl_{self.schema}"

    def notify(self, what: bytes) -> None:
        """Outside of any transaction: within, it makes all commits of the server wait for each other."""
        if self.connected and not self.pooled:
            self._db.execute("SELECT pg_notify(%s, %s)", (self.channel, what.decode()))

    def listen(self) -> tuple[int, int] | None:
        """A descriptor that is readable when hints have come in, and which connection it belongs to."""
        if self.pooled or not self.connected:
            return None
        if not self.listening:
            self.listening = True
            self._db.execute(f'LISTEN "{self.channel}"', prepare=False)
        return int(self._db.pgconn.socket), self._connections

    def heard(self) -> bytes:
        if not self.connected:
            return b""  # it was lost since we began to wait for hints
        return "".join(note.payload for note in self._db.notifies(timeout=0)).encode()

    def translate(self, error: Exception, shown: str) -> QueuectlError:
        return translate(error, shown, connected=self.connected)


def _array(values: Sequence[object]) -> str:
    """Numbers and text as a literal of PostgreSQL; psycopg takes four times as long for a list."""
    return "{" + ",".join([_element(value) for value in values]) + "}"


def _element(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    assert type(value) is int
    return str(value)


@lru_cache(maxsize=512)
def _percent(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")
