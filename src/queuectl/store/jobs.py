"""What changes jobs: exchange (finish + claim), and what a person asks for.

Portable SQL beside the method that uses it. Storing results is left to `results`.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.job import JOB_COLUMNS, job_from_row
from queuectl.errors import WorkerFenced
from queuectl.store.filters import where
from queuectl.store.intake import Intake
from queuectl.store.messages import Exchange
from queuectl.store.results import Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report
    from queuectl.store.connection import Connection
    from queuectl.store.messages import Ask, JobFilter

_COLUMNS = ", ".join(JOB_COLUMNS)


class JobWrites(Intake, Results):
    """Mixed into a store; needs `self.connection`."""

    connection: Connection

    # --- a worker's exchange ----------------------------------------------------------------------

    def exchange(
        self, worker_id: str, host: str, reports: Sequence[Report], ask: Ask | None, now: int
    ) -> Exchange:
        """Hand in results and take new work in one transaction: one fsync for many jobs."""
        with self.connection.write("complete" if reports else "claim") as db:
            # Under the write lock, so that no claim can slip in while this worker is being buried.
            if not db.all("SELECT 1 FROM workers WHERE id = ? AND state = 'alive'", (worker_id,)):
                raise WorkerFenced(f"worker {worker_id} was declared dead")
            stale = self._finish(reports, worker_id, host, now) if reports else []
            self._promote(now)
            jobs = self._claim(ask, now) if ask is not None and ask.limit > 0 else []
            # Inside: an error after the commit would leave claims that nobody knows of.
            due = None if ask is None or len(jobs) >= ask.limit else self.next_due()
        return Exchange(jobs, stale, due)

    def _promote(self, now: int) -> int:
        """Scheduled and failed jobs whose time has come are pending again."""
        return self.connection.run(
            "UPDATE jobs SET state = 'pending', updated_at = ? "
            "WHERE state IN ('scheduled', 'failed') AND run_at <= ?",
            (now, now),
        )

    def _claim(self, ask: Ask, now: int) -> list[Job]:
        rows = self._claimable(ask)
        if not rows:
            return []
        self.connection.many(
            "UPDATE jobs SET state = 'processing', attempts = attempts + 1, runs = runs + 1, "
            "claim = ?, worker_id = ?, started_at = ?, updated_at = ? WHERE seq = ?",
            [(ask.claim, ask.worker_id, now, now, row[0]) for row in rows],
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
        if ask.only is not None:
            return db.all(f"SELECT {_COLUMNS} FROM jobs WHERE seq = ? AND state = 'pending'", (ask.only,))
        rows: list[tuple[object, ...]] = []
        # Each queue once, however often it was named: its jobs must not be handed out twice.
        queues = self.pending_queues() if ask.queues is None else list(dict.fromkeys(ask.queues))
        for queue in queues:
            # One queue a query: only so does the index give the order without sorting.
            rows += db.all(
                f"SELECT {_COLUMNS} FROM jobs WHERE state = 'pending' AND queue = ? "
                "ORDER BY priority DESC, run_at, seq LIMIT ?",
                (queue, ask.limit),
            )
        if len(queues) > 1:
            rows.sort(key=_claim_order)
        return rows[: ask.limit]

    def pending_queues(self) -> list[str]:
        """The queues that have something pending: one index seek each, however many jobs wait."""
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
        times = [
            # Both conditions: only with the index's own one does SQLite use it.
            self.connection.all(
                "SELECT min(run_at) FROM jobs WHERE state IN ('scheduled', 'failed') AND state = ?",
                (state,),
            )[0][0]
            for state in states.TIMED
        ]
        return min((int(str(time)) for time in times if time is not None), default=None)

    def has_work(self, now: int) -> bool:
        """Whether an exchange could bring something; a read, so that idle workers take no lock."""
        return bool(
            self.connection.all("SELECT 1 FROM jobs WHERE state = 'pending' LIMIT 1")
            or self.connection.all(
                "SELECT 1 FROM jobs WHERE state IN ('scheduled', 'failed') AND run_at <= ? LIMIT 1",
                (now,),
            )
        )

    # --- what a person asks for -------------------------------------------------------------------

    def cancel(self, filter: JobFilter, now: int) -> tuple[int, int]:
        """Stop jobs: those that wait are cancelled at once, those that run are asked to end."""
        waiting, values = where(filter, states.CANCELLABLE)
        running, running_values = where(filter, (states.PROCESSING,))
        with self.connection.write("change") as db:
            asked = db.run(
                f"UPDATE jobs SET cancel_requested = 1, updated_at = ? WHERE {running}",
                (now, *running_values),
            )
            done = db.run(
                "UPDATE jobs SET state = 'cancelled', finished_at = ?, updated_at = ?, "
                f"last_error = 'cancelled while it waited' WHERE {waiting}",
                (now, now, *values),
            )
        return done, asked

    def retry(self, filter: JobFilter, now: int, *, sources: tuple[str, ...]) -> int:
        """Back to pending with all attempts anew."""
        condition, values = where(filter, sources)
        with self.connection.write("change") as db:
            return db.run(
                "UPDATE jobs SET state = 'pending', attempts = 0, lost = 0, run_at = ?, "
                f"finished_at = NULL, last_error = NULL, updated_at = ? WHERE {condition}",
                (now, now, *values),
            )

    def remove(self, filter: JobFilter, *, sources: tuple[str, ...], limit: int) -> tuple[int, list[str]]:
        """Delete up to `limit` jobs and their attempts; how many, and the log files left behind."""
        condition, values = where(filter, sources)
        return self._delete(condition, values, limit)

    def purge(self, state: str, before: int, *, limit: int) -> tuple[int, list[str]]:
        """Delete jobs that ended in `state` before a time; the caller loops."""
        return self._delete("state = ? AND finished_at < ?", (state, before), limit)

    def _delete(self, condition: str, values: Sequence[object], limit: int) -> tuple[int, list[str]]:
        with self.connection.write("change") as db:
            found = db.all(f"SELECT seq FROM jobs WHERE {condition} LIMIT ?", (*values, limit))
            logs = []
            for (seq,) in found:
                logs += db.all("SELECT log FROM attempts WHERE job_seq = ? AND log IS NOT NULL", (seq,))
            db.many("DELETE FROM attempts WHERE job_seq = ?", found)
            db.many("DELETE FROM jobs WHERE seq = ?", found)
        return len(found), [str(row[0]) for row in logs]


_PRIORITY = JOB_COLUMNS.index("priority")
_RUN_AT = JOB_COLUMNS.index("run_at")
_SEQ = JOB_COLUMNS.index("seq")


def _claim_order(row: Sequence[object]) -> tuple[int, int, int]:
    priority, run_at, seq = row[_PRIORITY], row[_RUN_AT], row[_SEQ]
    assert isinstance(priority, int)
    assert isinstance(run_at, int)
    assert isinstance(seq, int)
    return -priority, run_at, seq
