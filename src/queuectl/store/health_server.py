"""What the database servers have in common for a look at them: how they are opened, clock, schema, limits.

What only one of them knows is left to health_postgres.py and health_mysql.py.
"""

from __future__ import annotations

from queuectl.core.durations import format_duration
from queuectl.errors import StoreAway, StoreError
from queuectl.store import health
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding
from queuectl.store.health_indexes import tables
from queuectl.store.server import ServerStore
from queuectl.store.server_connection import ServerConnection
from queuectl.store.server_schema import LATEST, is_compatible, schema_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from queuectl.paths import Location

_BUSY_MS = 1_000
_ANSWER_MS = 15_000  # a server that accepts us and then says nothing must not keep the doctor for ever
_READINGS = 5
_CLOCK_WARNING_MS, _CLOCK_PROBLEM_MS = 1_000, 30_000
_NEARLY_FULL = 0.8
LONG_MS = 5 * 60_000  # a transaction that is open for longer holds up the server's cleaning


class _Impatient(ServerConnection):
    def be_patient(self, busy_ms: int, answer_ms: int | None = None) -> None:
        super().be_patient(busy_ms, answer_ms or _ANSWER_MS)


class ServerPatient(ServerStore):
    """The store, only to be looked at. `ServerStore` itself would make tables and migrate."""

    def __init__(self, location: Location, driver: Any) -> None:
        self.location = location
        self._driver = driver
        self._asked = 0
        self.connection = _Impatient(driver, location.shown, busy_ms=_BUSY_MS)

    def waiting(self) -> list[health.Waiting]:
        return health.waiting(self.connection)

    def trapped(self) -> health.Trapped:
        return health.trapped(self.connection)


def clock(db: ServerConnection, sql: str, now: Callable[[], int]) -> list[Finding]:
    """Of several readings the one with the shortest way to the server and back; half of that is the way."""
    readings = []
    for _ in range(_READINGS):
        before = now()
        there = int(str(db.all(sql)[0][0]))
        after = now()
        readings.append((after - before, there - (before + after) // 2))
    way, difference = min(readings, key=lambda reading: reading[0])
    sure = abs(difference) - way // 2
    if sure <= _CLOCK_WARNING_MS:
        most = max(abs(difference) + way // 2, 1)
        return [Finding(OK, "clock", f"this machine and the server agree within {most} ms")]
    direction = "behind" if difference > 0 else "ahead of"
    return [
        Finding(
            PROBLEM if sure > _CLOCK_PROBLEM_MS else WARNING,
            "clock",
            f"this machine's clock is {format_duration(abs(difference))} {direction} the server's",
            why="jobs with a start time and retries begin too early or too late",
            mend="let both follow a time server: timedatectl set-ntp true",
        )
    ]


def schema(db: ServerConnection, there: set[str], engine: str) -> list[Finding]:
    """`there`: the tables that exist."""
    ours = tables(engine)
    try:
        version = schema_version(db)
    except StoreAway:
        raise
    except StoreError as error:  # it is there, and not for us
        why = "queuectl cannot work without its tables"
        return [
            Finding(PROBLEM, "tables", error.message, why=why, mend=error.hint or "queuectl init", fatal=True)
        ]
    if version == 0 and "queuectl_schema" not in there and ours & there:
        other = "another database, or ?schema=NAME" if engine == "postgres" else "another database"
        return [health.foreign(db.shown, f"give queuectl a place of its own: {other}")]
    if version == 0:
        return [health.no_queue(db.shown)]
    compatible = version > LATEST and is_compatible(db, version)
    found = health.schema_version(version, LATEST, db.shown, compatible=compatible)
    missing = sorted(ours - there)
    if version == LATEST and missing:
        found.append(
            Finding(
                PROBLEM,
                "tables",
                f"tables are missing: {', '.join(missing)}",
                why="queuectl cannot work without them",
                mend="restore a backup, or drop queuectl_schema and begin anew with queuectl init",
                fatal=True,
            )
        )
    return found


def counts(db: ServerConnection, *, full: bool) -> list[Finding]:
    return health.counts(db, full=full) if schema_version(db) == LATEST else []


def connections(used: int, allowed: int, mend: str) -> list[Finding]:
    shown = f"{used} of {allowed} connections in use"
    if used < _NEARLY_FULL * allowed:
        return [Finding(OK, "connections", shown)]
    why = "when none is left, workers cannot renew their leases and lose their jobs"
    return [Finding(WARNING, "connections", shown, why=why, mend=mend)]


def long_transaction(who: str, age_ms: int, mend: str) -> Finding:
    return Finding(
        WARNING,
        "upkeep",
        f"{who} has had a transaction open for {format_duration(age_ms // 1000 * 1000)}",
        why="while it is open the server cannot clear away old versions of rows: claims get slower",
        mend=mend,
    )


def version(name: str, tested: str, *, is_tested: bool, oldest: str) -> list[Finding]:
    if is_tested:
        return [Finding(OK, "engine", name)]
    why = f"queuectl needs {oldest} or newer; its tests run on {tested}"
    mend = f"move the queue to {tested}: queuectl copy --to ADDRESS"
    return [
        Finding(NOTE, "engine", f"{name} is not a version that queuectl is tested with", why=why, mend=mend)
    ]


def standing_back(what: str, why: str, mend: str) -> Finding:
    """A server that takes no writes."""
    return Finding(PROBLEM, "engine", what, why=why, mend=mend)
