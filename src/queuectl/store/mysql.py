"""MySQL and MariaDB, through PyMySQL, which nobody else imports but `mysql_errors`."""

from __future__ import annotations

import os
import re
import socket
from functools import lru_cache

from pymysql import DataError, Error
from pymysql.connections import Connection
from pymysql.constants import CLIENT, ER

from queuectl.errors import InvalidInput, StoreError
from queuectl.store.dialect import Dialect
from queuectl.store.mysql_errors import translate
from queuectl.store.server_connection import LONGEST_PAUSE_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from ssl import SSLContext
    from typing import Any

    from queuectl.address import Address
    from queuectl.errors import QueuectlError
    from queuectl.store.connection import Row
    from queuectl.store.dialect import Insert, Sum, Update

_SHORTEST_IDLE = 30  # seconds; longer than most pauses between two heartbeats
_STATEMENT_BYTES = 1_000_000  # the smallest max_allowed_packet that anybody runs is 1 MiB

_UNFINISHED = ("pending", "scheduled", "blocked", "processing", "failed")


class MysqlDialect(Dialect):
    name = "mysql"
    take = " FOR UPDATE SKIP LOCKED"
    hold = " FOR UPDATE"
    keep = " LOCK IN SHARE MODE"  # MariaDB does not know FOR SHARE
    # With another index the server sorts, and whoever sorts locks all that it has looked at.
    claim_from = "jobs FORCE INDEX (jobs_claim)"
    due_from = "jobs FORCE INDEX (jobs_due)"
    walk_from = "jobs FORCE INDEX (PRIMARY)"
    # Of jobs that have not ended it has every queue and state in the order of their numbers.
    kind_from = "jobs FORCE INDEX (jobs_finished)"
    number = "seq"
    ordered = _UNFINISHED
    kinds = dict.fromkeys(_UNFINISHED, (" AND finished_at IS NULL",))
    order = claim_order = "urgency, run_at, seq"  # -priority: before 10.8 MariaDB has no descending indexes
    lower_priority = "urgency > 0 - ?"
    live_key, group_state = "live_key", "group_state"
    live_schedule = "live_schedule = ?"
    clock = "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

    def these(self, column: str, numbers: Sequence[object]) -> tuple[str, tuple[object, ...]]:
        return f"{column} IN ({', '.join([str(int(str(number))) for number in numbers])})", ()


class _Connection(Connection):
    """PyMySQL takes TLS where the server offers it, and for that reads all certificates of the system.

    This one reads none where none is to be verified: that took 15 ms of every connection.
    """

    def _create_ssl_ctx(self, sslp: dict[str, object]) -> SSLContext:
        import ssl

        if sslp:
            context: SSLContext = super()._create_ssl_ctx(sslp)  # type: ignore[misc]  # not in the stubs
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class MysqlDriver:
    """A PyMySQL connection, in the words of `server_connection.Driver`."""

    # The last two: PyMySQL lets a few of the socket's own errors through.
    errors = (Error, UnicodeEncodeError, OSError, EOFError)

    def __init__(self, address: Address) -> None:
        self.dialect = MysqlDialect()
        self.answer_ms: int | None = None
        self.lock_ms = 10_000
        options = dict(address.options)
        self._arguments: dict[str, Any] = {
            "host": address.host or "localhost",
            "port": address.port or 3306,
            "user": address.user,
            "password": address.password or os.environ.get("MYSQL_PWD", ""),
            "database": address.database,
            **_options(options),
        }
        self.hosts = [] if "unix_socket" in self._arguments else [self._arguments["host"]]
        self.database = address.database
        self._db: Any = None

    @property
    def connected(self) -> bool:
        return self._db is not None and bool(self._db.open)

    def connect(self) -> None:
        self.close()
        db: Any = _Connection(
            **self._arguments,
            defer_connect=True,
            charset="utf8mb4",
            collation="utf8mb4_bin",
            autocommit=True,
            client_flag=CLIENT.FOUND_ROWS,  # else a fenced write of equal values looks like a lost claim
            connect_timeout=min((self.answer_ms or 10_000) / 1000, 10.0),
            read_timeout=self._silence,
            write_timeout=self._silence,
            program_name="queuectl",
        )
        _open(db, self._arguments.get("unix_socket"))
        self._db = db
        _keep_alive(db)
        _check_version(str(db.server_version))
        self.script(
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO', "
            "time_zone = '+00:00'"
        )
        self.script("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        self.adapt()

    @property
    def _silence(self) -> float | None:
        return self.answer_ms / 1000 if self.answer_ms else None

    def adapt(self) -> None:
        # PyMySQL has no public names for them.
        self._db._read_timeout = self._db._write_timeout = self._silence
        seconds = max(self.lock_ms // 1000, 1)
        self.script(
            # The first is for rows, the second for tables: without it we could wait for a day.
            f"SET SESSION innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}, "
            + _ending_when_silent(str(self._db.server_version), self.answer_ms or LONGEST_PAUSE_MS)
        )

    def close(self) -> None:
        if self._db is not None:
            try:
                self._db._force_close()  # a polite farewell could wait for a server that is not there
            finally:
                self._db = None

    def begin(self) -> None:
        self._db.begin()

    def freeze(self) -> None:
        self.script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")  # of the next one only
        self.script("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

    def commit(self, what: Sum, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            self.sum(what, rows)
        self._db.commit()

    def rollback(self) -> None:
        if self.connected:
            self._db.rollback()

    def fetch(self, sql: str, values: Sequence[object]) -> list[Row]:
        with self._db.cursor() as cursor:
            cursor.execute(_percent(sql), values or None)
            return list(cursor.fetchall())

    def execute(self, sql: str, values: Sequence[object]) -> int:
        with self._db.cursor() as cursor:
            return int(cursor.execute(_percent(sql), values or None))

    def script(self, sql: str) -> None:
        self._db.query(sql)

    def insert(self, what: Insert, rows: Iterable[Sequence[object]], *, skip: bool) -> int:
        verb = "INSERT IGNORE" if skip else "INSERT"
        head = _quoted(f"{verb} INTO {what.table} ({what.names}) VALUES ")
        zeros = ", 0" * len(what.zeros)
        new = 0
        with self._db.cursor() as cursor:
            for part in _pieces(f"({self._literals(row)}{zeros})" for row in rows):
                new += cursor.execute(head + ",".join(part))
                if skip and cursor.warning_count:
                    self._only_duplicates(cursor)
        return new

    def _only_duplicates(self, cursor: Any) -> None:
        """IGNORE forgives too much: a text that was cut must not pass for one that was stored."""
        cursor.execute("SHOW WARNINGS")
        for _, code, message in cursor.fetchall():
            if code != ER.DUP_ENTRY:
                raise DataError(code, message)

    def _literals(self, row: Sequence[object]) -> str:
        """A row as SQL. The commonest kinds by ourselves: PyMySQL takes three times as long for them."""
        quote = self._db.escape
        return ", ".join(["NULL" if v is None else str(v) if type(v) is int else quote(v) for v in row])

    def update(self, what: Update, rows: Sequence[Sequence[object]]) -> int:
        # Differs because PyMySQL sends a statement for each row otherwise: 128 took 55 ms, as one 9.
        key = what.keys[0][0]
        keys = [str(row[len(what.sets)]) for row in rows]
        values = {
            f"v_{name}": self._by_row(key, keys, column)
            for (name, _), column in zip(what.values, zip(*rows, strict=True), strict=True)
        }
        sets, where = what.render("{{v_{}}}".format)
        # By the key, also where the server takes the table for a small one: else it looks at all rows, and
        # waits for those that others hold.
        where[0] = f"{key} IN ({', '.join(keys)})"
        sql = _quoted(f"UPDATE {what.table} FORCE INDEX (PRIMARY) SET {sets} WHERE ") + " AND ".join(where)
        with self._db.cursor() as cursor:
            return int(cursor.execute(sql.format_map(values)))

    def _by_row(self, key: str, keys: Sequence[str], column: Sequence[object]) -> str:
        """A column's values as SQL: said once where it is the same for all rows."""
        if all(value == column[0] for value in column):
            return self._literals(column[:1])
        cases = [f"WHEN {k} THEN {self._literals((v,))}" for k, v in zip(keys, column, strict=True)]
        return f"CASE {key} {' '.join(cases)} END"

    def sum(self, what: Sum, rows: Sequence[Sequence[object]]) -> None:
        amount = what.amount
        latest = f", {what.latest} = VALUES({what.latest})" if what.latest else ""
        new = ", ".join(f"({self._literals(row)})" for row in rows)
        self.script(
            f"INSERT INTO {what.table} ({what.names}) VALUES {new} "
            f"ON DUPLICATE KEY UPDATE {amount} = {amount} + VALUES({amount}){latest}"
        )

    def translate(self, error: Exception, shown: str) -> QueuectlError:
        return translate(error, shown, connected=self.connected)


def _pieces(rows: Iterable[str]) -> Iterable[list[str]]:
    """Rows in pieces that each fit into a statement."""
    part: list[str] = []
    size = 0
    for row in rows:
        if part and size + len(row) > _STATEMENT_BYTES // 4:  # four bytes a character at most
            yield part
            part, size = [], 0
        part.append(row)
        size += len(row)
    if part:
        yield part


def _options(options: dict[str, str]) -> dict[str, Any]:
    """What PyMySQL understands of an address: its socket, and TLS."""
    known: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key"):
            known[name] = value
        elif name in ("ssl_verify_cert", "ssl_verify_identity", "ssl_disabled"):
            known[name] = value.lower() in ("1", "true", "yes", "on")
        elif name == "ssl" and value.lower() in ("1", "true", "yes", "on"):
            known["ssl"] = {"check_hostname": False}
        else:
            raise InvalidInput(
                f"unknown option {name[:40]!r} in the database address",
                "known: unix_socket, ssl, ssl_ca, ssl_cert, ssl_key, ssl_verify_cert, ssl_verify_identity",
            )
    return known


def _open(db: Any, path: str | None) -> None:
    """PyMySQL forgets to close its end of a unix socket where nobody listens, so that one is ours."""
    if path is None:
        db.connect()
        return
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(db.connect_timeout)
        line.connect(path)
        db._secure = True  # as PyMySQL itself says of such a socket
        db.connect(line)
    except BaseException:
        line.close()
        raise


def _keep_alive(db: Any) -> None:
    """A peer that has vanished without a word is noticed within seconds, not hours."""
    sock = db._sock
    if sock.family == socket.AF_UNIX:
        return
    for name, value in (
        ("TCP_KEEPIDLE", 5),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 15_000),
    ):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _ending_when_silent(version: str, pause_ms: int) -> str:
    """The setting by which the server gives up a client that is silent in the middle of a transaction."""
    if "mariadb" in version.lower():
        return f"idle_transaction_timeout = {max(pause_ms // 1000, 1)}"
    # MySQL knows no difference between this and an idle connection, which costs us little to make anew.
    return f"wait_timeout = {max(pause_ms // 1000, _SHORTEST_IDLE)}"


def _check_version(version: str) -> None:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version.removeprefix("5.5.5-"))[:3])
    maria = "mariadb" in version.lower()
    if numbers < ((10, 6) if maria else (8, 0, 1)):
        error = StoreError(f"{version} is too old", "queuectl needs MySQL 8.0.1 or MariaDB 10.6, or newer")
        error.lasting = True
        raise error


@lru_cache(maxsize=512)
def _percent(sql: str) -> str:
    return _quoted(sql).replace("%", "%%").replace("?", "%s")


@lru_cache(maxsize=512)
def _quoted(sql: str) -> str:
    """Two of our columns have names that are words of this engine's SQL."""
    return re.sub(r"\b(signal|key)\b", r"`\1`", sql)
