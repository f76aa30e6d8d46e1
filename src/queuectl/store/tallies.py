"""How many jobs of each queue are in which state, and how many ended in each minute: kept, not counted.

Whoever changes jobs notes it in the tally of its transaction, which is written as the last thing before the
commit. So a count is true whenever anybody can see it, and costs a few rows, however many jobs there are.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.store.dialect import Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuectl.store.connection import Connection, Row

MINUTE_MS = 60_000
KEPT_MS = 175 * MINUTE_MS  # for how long it is known what ended in which minute
FEW = 10_000  # jobs: so many are looked at in no time
NOW = 0  # instead of a minute: jobs that are there at this moment
# On a server each connection adds to rows of its own shard, so that workers seldom wait for each other. What
# a shard says by itself may be below zero: only the sum over all of them counts.
SHARDS = 16

# What is counted minute by minute besides: jobs that came in.
ENQUEUED, STARTED = "enqueued", "started"
# By the state that a job comes into: jobs that ended, attempts that failed and are tried again, starts.
_COUNTED = {state: state for state in (*states.TERMINAL, states.FAILED)} | {states.PROCESSING: STARTED}

TALLIES = Sum("tallies", key="minute, shard, queue, state", amount="jobs")

# Where the kept counts are not those of the rows. In one statement, and so of one moment: what others change
# meanwhile is in both or in neither.
_WRONG = (
    "SELECT queue, state, sum(jobs) FROM ("
    "SELECT queue, state, count(*) AS jobs FROM jobs GROUP BY queue, state "
    "UNION ALL SELECT queue, state, -sum(jobs) AS jobs FROM tallies WHERE minute = 0 GROUP BY queue, state"
    ") AS both_counts GROUP BY queue, state HAVING sum(jobs) <> 0 ORDER BY queue, state"
)


class Tally:
    """What one transaction has changed so far."""

    __slots__ = ("_changes", "_shard")

    def __init__(self, shard: int = 0) -> None:
        self._shard = shard
        self._changes: dict[tuple[int, object, object], int] = {}

    def clear(self) -> None:
        self._changes.clear()

    def move(self) -> None:
        """To the next shard: somebody keeps the rows of this one."""
        self._shard = (self._shard + 1) % SHARDS

    def add(self, queue: object, state: object, jobs: int, minute: int = NOW) -> None:
        key = minute, queue, state
        self._changes[key] = self._changes.get(key, 0) + jobs

    def enqueued(self, queue: object, state: object, jobs: int, now: int) -> None:
        """New jobs, in this state."""
        self.add(queue, state, jobs)
        self.add(queue, ENQUEUED, jobs, now // MINUTE_MS)

    def came(self, kinds: Iterable[tuple[object, object]]) -> None:
        """A new job for each of these queues and states."""
        for queue, state in kinds:
            self.add(queue, state, 1)

    def went(self, kinds: Iterable[tuple[object, object]]) -> None:
        for queue, state in kinds:
            self.add(queue, state, -1)

    def moved(self, queue: object, before: object, after: object, now: int, jobs: int = 1) -> None:
        """Jobs of a queue went from one state to another."""
        self.add(queue, before, -jobs)
        self.add(queue, after, jobs)
        if after in _COUNTED:
            self.add(queue, _COUNTED[after], jobs, now // MINUTE_MS)

    def take(self) -> list[tuple[object, ...]]:
        """What is to be added to the store. In one order everywhere, so that two who do this never wait for
        each other.
        """
        rows: list[tuple[object, ...]] = [
            (minute, self._shard, queue, state, jobs)
            for (minute, queue, state), jobs in sorted(self._changes.items())
            if jobs
        ]
        self._changes.clear()
        return rows


def totals(connection: Connection, queue: str | None = None) -> dict[str, dict[str, int]]:
    """By queue and state; without what is zero."""
    condition, values = ("", ()) if queue is None else (" AND queue = ?", (queue,))
    found: dict[str, dict[str, int]] = {}
    for name, state, jobs in connection.all(
        "SELECT queue, state, sum(jobs) FROM tallies WHERE minute = 0"
        f"{condition} GROUP BY queue, state HAVING sum(jobs) <> 0 ORDER BY queue, state",
        values,
    ):
        found.setdefault(str(name), {})[str(state)] = int(str(jobs))
    return found


def wrong(connection: Connection) -> Sequence[Row]:
    """The queues and states whose count is not kept rightly, and what has to be added to it."""
    return connection.all(_WRONG)
