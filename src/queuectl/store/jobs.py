"""What changes jobs: exchange (finish + claim), and what a person asks for.

Portable SQL beside the method that uses it. Storing results is left to `results`.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.job import JOB_COLUMNS, job_from_row
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
_PROMOTE = 1_000  # at a time: whoever holds many rows for long is in everybody's way

_FIRST_DUE = "SELECT " + ", ".join(
    # Both conditions: only with the index's own one does SQLite use it.
    f"(SELECT min(run_at) FROM jobs WHERE state IN ('scheduled', 'failed') AND state = '{state}')"
    for state in states.TIMED
)


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
        next_due = self._promote(now)
        if ask is None:
            return Exchange([], stale, None)
        jobs = self._claimed_before(ask) if again else []
        if not jobs and ask.limit > 0:
            jobs = self._claim(ask, now)
        return Exchange(jobs, stale, None if len(jobs) >= ask.limit else next_due)

    def _promote(self, now: int) -> int | None:
        """Scheduled and failed jobs whose time has come are pending again; returns when the next is due."""
        db = self.connection
        found, waiting = False, self._first_due()
        for state, due in waiting.items():
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
                db.run(
                    f"UPDATE jobs SET state = 'pending', updated_at = ? WHERE seq IN ({marks(rows)})",
                    (now, *(row[0] for row in rows)),
                )
        return self.next_due() if found else min(waiting.values(), default=None)

    def _first_due(self) -> dict[str, int]:
        """For each state that waits for a time: when its first job is due."""
        times = self.connection.all(_FIRST_DUE)[0]
        return {
            state: int(str(time)) for state, time in zip(states.TIMED, times, strict=True) if time is not None
        }

    def _claimed_before(self, ask: Ask) -> list[Job]:
        """What an earlier run of the same exchange has claimed, if its commit arrived after all."""
        rows = self.connection.all(
            f"SELECT {_COLUMNS} FROM jobs WHERE state = 'processing' AND worker_id = ? AND claim = ?",
            (ask.worker_id, ask.claim),
        )
        return sorted(map(job_from_row, rows), key=lambda job: (-job.priority, job.run_at, job.seq))

    def _claim(self, ask: Ask, now: int) -> list[Job]:
        rows = self._claimable(ask)
        if not rows:
            return []
        self.connection.run(
            "UPDATE jobs SET state = 'processing', attempts = attempts + 1, runs = runs + 1, "
            f"claim = ?, worker_id = ?, started_at = ?, updated_at = ? WHERE seq IN ({marks(rows)})",
            (ask.claim, ask.worker_id, now, now, *(row[0] for row in rows)),
        )
        jobs = [job_from_row(row) for row in rows]
        for job in jobs:
            job.state = states.PROCESSING
            job.attempts += 1
            job.runs += 1
            job.claim = ask.claim
            job.worker_id = ask.worker_id
            job.started_at = job.updated_at = now
        return jobs

    def _claimable(self, ask: Ask) -> list[tuple[object, ...]]:
        db = self.connection
        take = db.dialect.take
        if ask.only is not None:
            return db.all(
                f"SELECT {_COLUMNS} FROM jobs WHERE seq = ? AND state = 'pending'{take}", (ask.only,)
            )
        rows: list[tuple[object, ...]] = []
        # Each queue once, however often it was named: its jobs must not be handed out twice.
        queues = self.pending_queues() if ask.queues is None else list(dict.fromkeys(ask.queues))
        for queue in queues:
            # One queue a query: only so does the index give the order without sorting.
            rows += db.all(
                f"SELECT {_COLUMNS} FROM {db.dialect.claim_from} WHERE state = 'pending' AND queue = ? "
                f"ORDER BY {db.dialect.claim_order} LIMIT ?{take}",
                (queue, ask.limit),
            )
        if len(queues) > 1:
            rows.sort(key=_claim_order)
        return rows[: ask.limit]

    def pending_queues(self) -> list[str]:
        """The queues that have something pending: one index seek each, however many jobs wait.

        A query for each: in one recursive query MariaDB walks through all pending jobs.
        """
        found: list[str] = []
        last: object = ""
        while True:
            row = self.connection.all(
                "SELECT min(queue) FROM jobs WHERE state = 'pending' AND queue > ?", (last,)
            )[0]
            if row[0] is None:
                return found
            last = row[0]
            found.append(str(last))

    def next_due(self) -> int | None:
        """When the next scheduled or failed job is due."""
        return min(self._first_due().values(), default=None)

    def has_work(self, now: int) -> bool:
        """Whether an exchange could bring something; a read, so that idle workers take no lock."""
        # The least of an index: `LIMIT 1` would make a server that expects many walk through all jobs.
        if self.connection.all("SELECT min(queue) FROM jobs WHERE state = 'pending'")[0][0] is not None:
            return True
        due = self.next_due()
        return due is not None and due <= now

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


_PRIORITY = JOB_COLUMNS.index("priority")
_RUN_AT = JOB_COLUMNS.index("run_at")
_SEQ = JOB_COLUMNS.index("seq")


def _claim_order(row: Sequence[object]) -> tuple[int, int, int]:
    priority, run_at, seq = row[_PRIORITY], row[_RUN_AT], row[_SEQ]
    assert isinstance(priority, int)
    assert isinstance(run_at, int)
    assert isinstance(seq, int)
    return -priority, run_at, seq
