"""The numbers that a monitor asks for again and again: of some queues by name, and of all others in sum.

Each answer is one statement, and so of one moment: what is moved from `tallies` to `history` meanwhile is
counted once. None of them looks at jobs.
"""

from __future__ import annotations

import os
import time

from queuectl.core import states
from queuectl.store.filters import marks
from queuectl.store.history import ALL
from queuectl.store.oldest import oldest_pending
from queuectl.store.tallies import ENQUEUED, STARTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.paths import Location
    from queuectl.store.connection import Connection

    Amounts = dict[str, dict[str, int]]  # by queue, then by state or kind

REST = ALL  # instead of a queue: all that were not named

_UNFINISHED = tuple(state for state in states.ALL if state not in states.TERMINAL)

_SIZE = {
    "postgres": "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class AS c "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')",
    "mysql": "SELECT sum(data_length + index_length) FROM information_schema.tables "
    "WHERE table_schema = DATABASE()",
}


class Figures:
    """The numbers of one scrape. `exists` False: there is no store at the location yet."""

    def __init__(self, connection: Connection, location: Location, *, exists: bool = True) -> None:
        self._db = connection
        self._location = location
        self._exists = exists

    def busiest(self, most: int) -> list[str]:
        """The queues with most to do or done in the last minutes, then those with most jobs, then those that
        ever had most.
        """
        # `minute > 0` is what was not moved to the history yet: some ten minutes.
        rows = self._db.all(
            "SELECT queue, sum(CASE WHEN minute > 0 OR state IN "
            f"({marks(_UNFINISHED)}) THEN jobs ELSE 0 END) AS busy, sum(jobs) AS known "
            "FROM tallies WHERE minute = 0 OR state IN (?, ?) "
            "GROUP BY queue HAVING sum(jobs) > 0 ORDER BY busy DESC, known DESC, queue LIMIT ?",
            (*_UNFINISHED, ENQUEUED, STARTED, most),
        )
        found = [str(row[0]) for row in rows]
        if len(found) < most:
            older = self._db.all(
                "SELECT queue FROM history WHERE span = 0 AND queue <> '' AND kind = ? "
                "ORDER BY amount DESC, queue LIMIT ?",
                (ENQUEUED, most),
            )
            known = set(found)
            found += [str(name) for (name,) in older if name not in known]
        return found[:most]

    def depths(self, queues: Sequence[str]) -> Amounts:
        """Jobs by state: of each of these queues, and of the others as REST."""
        found: Amounts = {}
        for queue, state, jobs in self._db.all(
            f"SELECT label, state, sum(jobs) FROM (SELECT {_label(queues)} AS label, state, jobs "
            "FROM tallies WHERE minute = 0) AS labelled GROUP BY label, state HAVING sum(jobs) <> 0",
            queues,
        ):
            found.setdefault(str(queue), {})[str(state)] = int(str(jobs))
        return found

    def ever(self, queues: Sequence[str]) -> Amounts:
        """The same for what was counted since the store has kept count, by kind."""
        rows = self._db.all(
            "SELECT label, kind, moved, sum(amount) FROM ("
            f"SELECT queue AS label, kind, 1 AS moved, amount FROM history "
            f"WHERE span = 0 AND queue IN ({marks([REST, *queues])}) "
            f"UNION ALL SELECT {_label(queues)} AS label, state AS kind, 0 AS moved, jobs AS amount "
            "FROM tallies WHERE minute > 0) AS both_parts GROUP BY label, kind, moved",
            (REST, *queues, *queues),
        )
        found: Amounts = {}
        rest = found.setdefault(REST, {})
        for label, kind, moved, amount in rows:
            queue, what, count = str(label), str(kind), int(str(amount))
            of_queue = found.setdefault(queue, {})
            of_queue[what] = of_queue.get(what, 0) + count
            if queue != REST and moved:  # what has been moved is kept for all queues together
                rest[what] = rest.get(what, 0) - count
        return found

    def since(self, span: int, start: int) -> Amounts:
        """By queue and kind, from that minute on, out of the rows of this span; all together as REST."""
        rows = self._db.all(
            "SELECT queue, kind, sum(amount) FROM ("
            "SELECT queue, kind, amount FROM history WHERE span = ? AND start >= ? "
            "UNION ALL SELECT queue, state AS kind, jobs AS amount FROM tallies WHERE minute >= ? "
            "UNION ALL SELECT '' AS queue, state AS kind, jobs AS amount FROM tallies WHERE minute >= ?"
            ") AS all_parts GROUP BY queue, kind",
            (span, start, max(start, 1), max(start, 1)),
        )
        found: Amounts = {REST: {}}
        for queue, kind, amount in rows:
            found.setdefault(str(queue), {})[str(kind)] = int(str(amount))
        return found

    def oldest(self, depths: Amounts) -> dict[str, int]:
        """Of each queue of these where jobs are pending, the earliest time for which one of them was due.

        Not of the rest: to find that would mean to look into every queue.
        """
        pending = {name: counts.get(states.PENDING, 0) for name, counts in depths.items()}
        queues = [name for name, jobs in pending.items() if jobs and name != REST]
        return oldest_pending(self._db, queues, sum(pending.values())) if queues else {}

    def sizes(self) -> tuple[int, int | None]:
        """Bytes of the database (of the queue's tables on a server), and of the write-ahead log of a file."""
        if not self._exists:
            return 0, None if self._location.shared else 0
        if self._location.shared:
            return int(str(self._db.all(_SIZE[self._db.dialect.name])[0][0] or 0)), None
        return _size_of(self._location.file), _size_of(self._location.file + "-wal")

    def schema(self) -> int:
        """The version that the tables have; 0 where there are none."""
        if not self._exists:
            return 0
        asked = "SELECT version FROM queuectl_schema" if self._location.shared else "PRAGMA user_version"
        return int(str(self._db.all(asked)[0][0]))

    def latency(self) -> float:
        """Seconds that the smallest read takes."""
        began = time.perf_counter()
        self._db.all("SELECT 1 FROM tallies LIMIT 1")
        return time.perf_counter() - began


def _label(queues: Sequence[str]) -> str:
    return f"CASE WHEN queue IN ({marks(queues)}) THEN queue ELSE '' END" if queues else "''"


def _size_of(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return 0
