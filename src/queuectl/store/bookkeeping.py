"""The kept counts are put in order: mended where somebody else has changed jobs, and cleared of what is over.
So are waits that a clock has made longer.

Keeping and reading them is left to `tallies`, minutes that have passed to `history`. All of this may be done
while others go on.
"""

from __future__ import annotations

from queuectl.store.tallies import NOW, TALLIES, wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.store.connection import Connection, Row

_CHUNK = 500


class Bookkeeping:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def recount(self) -> int:
        """Add what is missing to the counts that are wrong; how many there were."""

        def body(_: int | None) -> int:
            # A row that means nothing, held until the commit: two at once would both add what is missing.
            self._db.sum(TALLIES, [(NOW, 0, "", "", 0)])
            rows = wrong(self._db)
            for queue, state, jobs in rows:
                self._db.tally.add(queue, state, int(str(jobs)))
            return len(rows)

        return self._db.write("recount", body)

    def shorten_waits(self, now: int, slack_ms: int) -> int:
        """Failed jobs that failed later than now, by a clock that was set back since, wait no longer from now
        on than they had to wait at all. How many there were."""
        late = "state IN ('scheduled', 'failed') AND state = 'failed' AND run_at > ? AND updated_at > ?"
        values = now + slack_ms, now + slack_ms
        total = 0
        while rows := self._db.all(f"SELECT seq FROM jobs WHERE {late} LIMIT {_CHUNK}", values):
            these, seqs = self._db.dialect.these("seq", [row[0] for row in rows])
            total += self._shorten(f"{these} AND {late}", (*seqs, *values), now)
        return total

    def _shorten(self, condition: str, values: Sequence[object], now: int) -> int:
        def body(earlier: int | None) -> int:
            # The run time comes first, as it needs the old time of the change: MySQL assigns in this order.
            changed = self._db.run(
                "UPDATE jobs SET run_at = ? + CASE WHEN run_at > updated_at THEN run_at - updated_at "
                f"ELSE 0 END, updated_at = ? WHERE {condition}",
                (now, now, *values),
            )
            return changed or earlier or 0

        return self._db.write("shorten", body)

    def tidy(self) -> None:
        """Have no rows for queues without jobs."""
        for (queue,) in self._db.all(
            "SELECT queue FROM tallies WHERE minute = 0 GROUP BY queue HAVING sum(jobs) = 0"
        ):
            self._replace(queue)

    def _replace(self, queue: object) -> None:
        """Others for the rows of a queue, with the same sums, none of which is zero."""
        db = self._db

        def look(lock: str) -> list[Row]:
            return db.all(
                f"SELECT {TALLIES.names} FROM tallies WHERE minute = 0 AND queue = ? "
                f"ORDER BY {TALLIES.key} LIMIT ?{lock}",
                (queue, _CHUNK),
            )

        def body(_: int | None) -> int:
            rows = look(db.dialect.hold)
            for row in rows:
                # One by one: what comes in under the same condition meanwhile is not ours to delete.
                db.run(
                    "DELETE FROM tallies WHERE minute = ? AND shard = ? AND queue = ? AND state = ?", row[:4]
                )
            if merged := _in_one_row(rows):
                db.sum(TALLIES, merged)
            return len(rows)

        if look(""):
            db.write("tidy", body)


def _in_one_row(rows: Sequence[Row]) -> list[Row]:
    """For each state; those with jobs."""
    sums: dict[tuple[object, ...], int] = {}
    for minute, _, queue, state, jobs in rows:
        key = minute, 0, queue, state
        sums[key] = sums.get(key, 0) + int(str(jobs))
    return [(*key, jobs) for key, jobs in sums.items() if jobs]
