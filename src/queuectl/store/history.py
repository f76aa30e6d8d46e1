"""The past, in rows that stand for a minute or ten, an hour or four, a day, or for ever; by queue and of all.

What transactions count minute by minute (`tallies`) is moved here when the minute has passed, and added to
every span at once. So a row that comes late is not lost, and nothing is counted twice.
"""

from __future__ import annotations

from queuectl.store.dialect import Insert, Sum
from queuectl.store.tallies import MINUTE_MS, TALLIES, totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from queuectl.store.connection import Connection, Row

MINUTE, TEN, HOUR, FOUR, DAY, EVER = 1, 10, 60, 240, 1440, 0
SPANS = (MINUTE, TEN, HOUR, FOUR, DAY, EVER)
ALL = ""  # instead of a queue
# For how many minutes rows are kept. Days are kept for ever.
KEPT = {MINUTE: 180, TEN: 1_600, HOUR: 8 * DAY, FOUR: 32 * DAY}
PASSED = 5  # minutes: clocks of machines differ, but hardly anybody adds to these any more

SAMPLES = "samples"  # how many samples of the depth a row holds the sum of
HISTORY = Sum("history", key="span, queue, start, kind", amount="amount")
_MARK = Insert("history", ("span", "queue", "start", "kind", "amount"), key="span, queue, start, kind")


def depth_of(state: str) -> str:
    return f"depth {state}"


class History:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    # --- write ------------------------------------------------------------------------------------

    def fold(self, now: int, *, chunk: int = 500, chunks: int = 20) -> bool:
        """Move what was counted in minutes that have passed, and forget what is too old.

        False if that was too much for once: there is more to move. At most so many `chunks` of rows: who does
        this has a lease to renew as well.
        """
        minute = now // MINUTE_MS
        for _ in range(chunks):
            if self._fold_some(minute - PASSED, chunk) < chunk:
                self._forget(minute)
                return True
        return False

    def _fold_some(self, before: int, chunk: int) -> int:
        db = self._db

        def look(lock: str) -> list[Row]:
            return list(
                db.all(
                    "SELECT minute, shard, queue, state, jobs FROM tallies WHERE minute > 0 AND minute < ? "
                    f"ORDER BY minute, shard, queue, state LIMIT ?{lock}",
                    (before, chunk),
                )
            )

        def body(_: int | None) -> int:
            rows = look(db.dialect.hold)
            if not rows:  # somebody else was faster
                return 0
            # Out of one table and into the other: no sum changes, whatever others do meanwhile. A row that
            # says zero may go at any time.
            db.sum(TALLIES, [(*row[:4], -int(str(row[4]))) for row in rows])
            first, last = rows[0][0], rows[-1][0]
            db.run("DELETE FROM tallies WHERE minute >= ? AND minute <= ? AND jobs = 0", (first, last))
            if moved := spread((int(str(m)), q, k, int(str(n))) for m, _, q, k, n in rows):
                db.sum(HISTORY, moved)
            return len(rows)

        return db.write("fold", body) if look("") else 0

    def _forget(self, minute: int) -> None:
        for span, kept in KEPT.items():
            self._delete(span, minute - kept)

    def _delete(self, span: int, before: int) -> None:
        db, values = self._db, (span, before)
        if db.all("SELECT 1 FROM history WHERE span = ? AND start < ? LIMIT 1", values):
            db.write("fade", lambda _: db.run("DELETE FROM history WHERE span = ? AND start < ?", values))

    def sample(self, now: int) -> bool:
        """Note how many jobs there are, once a minute; False if somebody has done it."""
        db, minute = self._db, now // MINUTE_MS
        key = (MINUTE, ALL, minute, SAMPLES)
        done = "SELECT 1 FROM history WHERE span = ? AND queue = ? AND start = ? AND kind = ?"
        if db.all(done, key):
            return False

        def body(_: bool | None) -> bool:
            if not db.insert(_MARK, [(*key, 0)], skip=True):
                return False
            found = totals(db)
            rows: list[tuple[int, object, object, int]] = [
                (minute, queue, depth_of(state), jobs)
                for queue, counts in found.items()
                for state, jobs in counts.items()
            ]
            rows.append((minute, ALL, SAMPLES, 1))  # a queue that is not in it had no jobs
            db.sum(HISTORY, [row for row in spread(rows) if row[0] != EVER])
            return True

        return bool(db.write("sample", body))

    def measured(
        self,
        amounts: Sequence[tuple[object, object, int]],
        now: int,
        runs: Mapping[tuple[str, int], int] | None = None,
    ) -> None:
        """What a worker has measured since it last said so: queue, kind, amount.

        `runs`: how many commands took how long, by their digest and the class of their duration.
        """
        from queuectl.store.runtimes import learn

        def body(_: None) -> None:
            if runs:
                learn(self._db, runs, now)
            for queue, kind, amount in amounts:
                self._db.tally.add(queue, kind, amount, now // MINUTE_MS)

        if amounts:
            self._db.write("measure", body)

    # --- read -------------------------------------------------------------------------------------

    def series(self, span: int, since: int, queue: str | None = None) -> list[tuple[int, str, int]]:
        """From that minute on: the first minute of each span, the kind, the amount."""
        folded = "SELECT start, kind, amount FROM history WHERE span = ? AND queue = ? AND start >= ?"
        fresh = "SELECT minute AS start, state AS kind, jobs AS amount FROM tallies WHERE minute >= ?"
        parts, values = [folded, fresh], [span, queue or ALL, since, max(since, 1)]
        if queue is not None:
            # How often somebody has looked is known of all together.
            parts = [folded, f"{fresh} AND queue = ?", f"{folded} AND kind = '{SAMPLES}'"]
            values += [queue, span, ALL, since]
        rows = self._db.all(
            f"SELECT start, kind, sum(amount) FROM ({' UNION ALL '.join(parts)}) AS all_parts "
            "GROUP BY start, kind",
            values,
        )
        sums: dict[tuple[int, str], int] = {}
        for start, kind, amount in rows:
            key = int(str(start)) // span * span, str(kind)
            sums[key] = sums.get(key, 0) + int(str(amount))
        return [(start, kind, amount) for (start, kind), amount in sorted(sums.items())]

    def ever(self) -> list[tuple[str, str, int]]:
        """Queue, kind and amount since the store has kept count."""
        rows = self._db.all(
            "SELECT queue, kind, sum(amount) FROM ("
            "SELECT queue, kind, amount FROM history WHERE span = 0 AND queue <> '' "
            "UNION ALL SELECT queue, state AS kind, jobs AS amount FROM tallies WHERE minute > 0"
            ") AS both_parts GROUP BY queue, kind ORDER BY queue, kind"
        )
        return [(str(queue), str(kind), int(str(amount))) for queue, kind, amount in rows]


def spread(rows: Iterable[tuple[int, object, object, int]]) -> list[tuple[object, ...]]:
    """Minute, queue, kind and amount, for every span and for all queues together. In one order everywhere."""
    sums: dict[tuple[int, str, int, str], int] = {}
    for minute, queue, kind, amount in rows:
        for span in SPANS:
            start = minute // span * span if span else 0
            for name in {str(queue), ALL}:
                key = span, name, start, str(kind)
                sums[key] = sums.get(key, 0) + amount
    return [(*key, amount) for key, amount in sorted(sums.items()) if amount]


def ended_since(db: Connection, minute: int, queue: str | None) -> dict[str, int]:
    """By kind, from the beginning of that minute on: what has passed, and what has not been moved yet."""
    restricted, values = ("", ()) if queue is None else (" AND queue = ?", (queue,))
    rows = db.all(
        "SELECT kind, sum(amount) FROM ("
        "SELECT kind, amount FROM history WHERE span = 1 AND queue = ? AND start >= ? "
        f"UNION ALL SELECT state AS kind, jobs AS amount FROM tallies WHERE minute >= ?{restricted}"
        ") AS both_parts GROUP BY kind",
        (queue or ALL, minute, minute, *values),
    )
    return {str(kind): int(str(amount)) for kind, amount in rows}
