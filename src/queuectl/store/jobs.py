"""What changes jobs: exchange (finish + claim), and what a person asks for.

Portable SQL beside the method that uses it. Storing results is left to `results`.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.job import CLAIM_COLUMNS, JOB_COLUMNS, claimed_from_row, job_from_row
from queuectl.errors import WorkerFenced
from queuectl.store.filters import marks, where
from queuectl.store.intake import Intake
from queuectl.store.messages import Exchange
from queuectl.store.results import Results, carefully

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report
    from queuectl.store.connection import Connection
    from queuectl.store.messages import Ask, JobFilter

_COLUMNS = ", ".join(JOB_COLUMNS)
_CLAIM_COLUMNS = ", ".join(CLAIM_COLUMNS)
_PROMOTE = 1_000  # at a time: whoever holds many rows for long is in everybody's way

_LOOK = ", ".join(
    [
        # Both conditions: only with the index's own one does SQLite use it.
        *(
            f"(SELECT min(run_at) FROM jobs WHERE state IN ('scheduled', 'failed') AND state = '{state}')"
            for state in states.TIMED
        ),
        "(SELECT min(queue) FROM jobs WHERE state = 'pending')",
        "(SELECT max(queue) FROM jobs WHERE state = 'pending')",
    ]
)


class Waiting:
    """What waits in the store: for each state that has a time its first, and the queues with pending jobs."""

    __slots__ = ("due", "first_queue", "last_queue")

    def __init__(self, row: Sequence[object]) -> None:
        *times, self.first_queue, self.last_queue = row
        self.due = {
            state: int(str(time)) for state, time in zip(states.TIMED, times, strict=True) if time is not None
        }

    @property
    def next_due(self) -> int | None:
        return min(self.due.values(), default=None)


class JobWrites(Intake, Results):
    """Mixed into a store; needs `self.connection`."""

    connection: Connection

    # --- a worker's exchange ----------------------------------------------------------------------

    def exchange(
        self, worker_id: str, host: str, reports: Sequence[Report], ask: Ask | None, now: int
    ) -> Exchange:
        """Hand in results and take new work in one transaction: one fsync for many jobs."""
        unsure = ask is not None and ask.again  # whether an earlier run may have taken effect

        def deal(careful: bool) -> Exchange:
            def body(earlier: Exchange | None) -> Exchange:
                nonlocal unsure
                unsure = unsure or earlier is not None
                self._check_alive(worker_id, alone=unsure)
                stale = self._finish(reports, worker_id, host, now, careful=careful or unsure)
                return self._take(ask, stale, now, again=unsure)

            return self.connection.write("complete" if reports else "claim", body)

        return carefully(deal)

    def _check_alive(self, worker_id: str, *, alone: bool) -> None:
        """In the transaction of the claim, so that none can slip in while this worker is being buried.

        `alone` waits for a transaction of our own that was cut off and may still be on its way.
        """
        dialect = self.connection.dialect
        lock = dialect.hold if alone else dialect.keep
        if not self.connection.all(
            f"SELECT 1 FROM workers WHERE id = ? AND state = 'alive'{lock}", (worker_id,)
        ):
            raise WorkerFenced(f"worker {worker_id} was declared dead")

    def _take(self, ask: Ask | None, stale: list[Report], now: int, *, again: bool) -> Exchange:
        waiting = self._promote(now)
        if ask is None:
            return Exchange([], stale, None)
        jobs = self._claimed_before(ask) if again else []
        if not jobs and ask.limit > 0:
            jobs = self._claim(ask, waiting, now)
        return Exchange(jobs, stale, None if len(jobs) >= ask.limit else waiting.next_due)

    def _promote(self, now: int) -> Waiting:
        """Scheduled and failed jobs whose time has come are pending again; returns what waits then."""
        db = self.connection
        found, waiting = False, self._look()
        for state, due in waiting.due.items():
            if due > now:
                continue
            # One state a query, in the order of the index: else PostgreSQL may choose to read all jobs.
            rows = db.all(
                f"SELECT seq FROM {db.dialect.due_from} WHERE state IN ('scheduled', 'failed') AND state = ? "
                f"AND run_at <= ? ORDER BY run_at LIMIT {_PROMOTE}{db.dialect.take}",
                (state, now),
            )
            if rows:
                found = True
                these, seqs = db.dialect.these("seq", [row[0] for row in rows])
                db.run(f"UPDATE jobs SET state = 'pending', updated_at = ? WHERE {these}", (now, *seqs))
        return self._look() if found else waiting

    def _look(self) -> Waiting:
        """One query, and in it one index seek each."""
        return Waiting(self.connection.all(f"SELECT {_LOOK}")[0])

    def _claimed_before(self, ask: Ask) -> list[Job]:
        """What an earlier run of the same exchange has claimed, if its commit arrived after all."""
        rows = self.connection.all(
            f"SELECT {_COLUMNS} FROM jobs WHERE state = 'processing' AND worker_id = ? AND claim = ?",
            (ask.worker_id, ask.claim),
        )
        return sorted(map(job_from_row, rows), key=lambda job: (-job.priority, job.run_at, job.seq))

    def _claim(self, ask: Ask, waiting: Waiting, now: int) -> list[Job]:
        rows = self._claimable(ask, waiting)
        if not rows:
            return []
        these, seqs = self.connection.dialect.these("seq", [row[0] for row in rows])
        self.connection.run(
            "UPDATE jobs SET state = 'processing', attempts = attempts + 1, runs = runs + 1, "
            f"claim = ?, worker_id = ?, started_at = ?, updated_at = ? WHERE {these}",
            (ask.claim, ask.worker_id, now, now, *seqs),
        )
        return [claimed_from_row(row, ask.claim, ask.worker_id, now) for row in rows]

    def _claimable(self, ask: Ask, waiting: Waiting) -> list[tuple[object, ...]]:
        db = self.connection
        take = db.dialect.take
        if ask.only is not None:
            return db.all(
                f"SELECT {_CLAIM_COLUMNS} FROM jobs WHERE seq = ? AND state = 'pending'{take}", (ask.only,)
            )
        rows: list[tuple[object, ...]] = []
        # Each queue once, however often it was named: its jobs must not be handed out twice.
        queues = self._pending_queues(waiting) if ask.queues is None else list(dict.fromkeys(ask.queues))
        for queue in queues:
            # One queue a query: only so does the index give the order without sorting.
            rows += db.all(
                f"SELECT {_CLAIM_COLUMNS} FROM {db.dialect.claim_from} WHERE state = 'pending' AND queue = ? "
                f"ORDER BY {db.dialect.claim_order} LIMIT ?{take}",
                (queue, ask.limit),
            )
        if len(queues) > 1:
            rows.sort(key=_claim_order)
        return rows[: ask.limit]

    def _pending_queues(self, waiting: Waiting) -> list[object]:
        """The queues that have something pending: one index seek each, however many jobs wait.

        A query for each: in one recursive query MariaDB walks through all pending jobs.
        """
        if waiting.first_queue is None:
            return []
        found = [waiting.first_queue]
        while found[-1] != waiting.last_queue:
            row = self.connection.all(
                "SELECT min(queue) FROM jobs WHERE state = 'pending' AND queue > ?", (found[-1],)
            )[0]
            if row[0] is None:
                break  # others have taken the rest
            found.append(row[0])
        return found

    def next_due(self) -> int | None:
        """When the next scheduled or failed job is due."""
        return self._look().next_due

    def has_work(self, now: int) -> bool:
        """Whether an exchange could bring something; a read, so that idle workers take no lock."""
        # The least of an index: `LIMIT 1` would make a server that expects many walk through all jobs.
        waiting = self._look()
        due = waiting.next_due
        return waiting.first_queue is not None or (due is not None and due <= now)

    # --- what a person asks for -------------------------------------------------------------------

    def cancel(self, filter: JobFilter, now: int) -> tuple[int, int]:
        """Stop jobs: those that wait are cancelled at once, those that run are asked to end."""
        db = self.connection
        waiting, values = where(filter, db.dialect, states.CANCELLABLE)
        running, running_values = where(filter, db.dialect, (states.PROCESSING,))

        def body(earlier: tuple[int, int] | None) -> tuple[int, int]:
            asked = db.run(
                f"UPDATE jobs SET cancel_requested = 1, updated_at = ? WHERE {running}",
                (now, *running_values),
            )
            done = db.run(
                "UPDATE jobs SET state = 'cancelled', finished_at = ?, updated_at = ?, "
                f"last_error = 'cancelled while it waited' WHERE {waiting}",
                (now, now, *values),
            )
            # If the first run took effect after all, the second finds less to do.
            before = earlier or (0, 0)
            return max(done, before[0]), max(asked, before[1])

        return db.write("change", body)

    def retry(self, filter: JobFilter, now: int, *, sources: tuple[str, ...]) -> int:
        """Back to pending with all attempts anew."""
        db = self.connection
        condition, values = where(filter, db.dialect, sources)

        def body(earlier: int | None) -> int:
            done = db.run(
                "UPDATE jobs SET state = 'pending', attempts = 0, lost = 0, run_at = ?, "
                f"finished_at = NULL, last_error = NULL, updated_at = ? WHERE {condition}",
                (now, now, *values),
            )
            return max(done, earlier or 0)

        return db.write("change", body)

    def remove(self, filter: JobFilter, *, sources: tuple[str, ...], limit: int) -> tuple[int, list[str]]:
        """Delete up to `limit` jobs and their attempts; how many, and the log files left behind."""
        condition, values = where(filter, self.connection.dialect, sources)
        return self._delete(condition, values, limit)

    def purge(self, state: str, before: int, *, limit: int) -> tuple[int, list[str]]:
        """Delete jobs that ended in `state` before a time; the caller loops."""
        return self._delete("state = ? AND finished_at < ?", (state, before), limit)

    def _delete(self, condition: str, values: Sequence[object], limit: int) -> tuple[int, list[str]]:
        db = self.connection
        logs: dict[str, None] = {}

        def body(earlier: int | None) -> int:
            found = db.all(
                f"SELECT seq FROM jobs WHERE {condition} LIMIT ?{db.dialect.hold}", (*values, limit)
            )
            if found:
                these, seqs = f"({marks(found)})", [row[0] for row in found]
                for (log,) in db.all(
                    f"SELECT log FROM attempts WHERE job_seq IN {these} AND log IS NOT NULL", seqs
                ):
                    logs[str(log)] = None
                db.run(f"DELETE FROM attempts WHERE job_seq IN {these}", seqs)
                db.run(f"DELETE FROM jobs WHERE seq IN {these}", seqs)
            return max(len(found), earlier or 0)

        return db.write("change", body), list(logs)


_PRIORITY, _RUN_AT, _SEQ = map(CLAIM_COLUMNS.index, ("priority", "run_at", "seq"))


def _claim_order(row: Sequence[object]) -> tuple[int, int, int]:
    priority, run_at, seq = row[_PRIORITY], row[_RUN_AT], row[_SEQ]
    assert isinstance(priority, int)
    assert isinstance(run_at, int)
    assert isinstance(seq, int)
    return -priority, run_at, seq
