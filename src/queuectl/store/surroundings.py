"""What stands around one job: who is before it, how full its group is, what the workers are at.

Reads only, each bounded whatever the size of the queue. What follows from it is left to `core.explaining`.
"""

from __future__ import annotations

from queuectl.store.readiness import FREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job
    from queuectl.store.connection import Connection

_MOST_RUNNING = 10_000


class Surroundings:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def ahead(self, job: Job, most: int) -> int:
        """How many pending jobs of its queue would be claimed before it; counted up to `most`.

        Jobs with other needs stand in another line, as they do for a claim.
        """
        dialect = self._db.dialect
        needs = "needs IS NULL" if job.needs is None else "needs IS NOT NULL AND needs = ?"
        rows = self._db.all(
            f"SELECT seq FROM {dialect.claim_from} WHERE state = 'pending' AND {needs} AND queue = ? "
            f"ORDER BY {dialect.claim_order} LIMIT ?",
            (*(() if job.needs is None else (job.needs,)), job.queue, most),
        )
        return _place(job.seq, rows)

    def group(self, job: Job, most: int) -> tuple[int, int, int]:
        """Of the job's group: its limit, how many jobs it has let in, how many wait there before this one."""
        db = self._db
        limit = db.one("SELECT concurrency FROM job_groups WHERE name = ?", (job.job_group,))
        mine = f"job_group IS NOT NULL AND job_group = ? AND {db.dialect.group_state}"
        inside = db.all(
            f"SELECT count(*) FROM jobs WHERE {mine} IN ('pending', 'processing')", (job.job_group,)
        )
        rows = db.all(
            f"SELECT seq FROM jobs WHERE {mine} = 'blocked' AND {FREE} ORDER BY {db.dialect.order} LIMIT ?",
            (job.job_group, most),
        )
        return int(str(limit[0])) if limit else 1, int(str(inside[0][0])), _place(job.seq, rows)

    def running(self) -> list[tuple[str, str | None]]:
        """The worker of each running job, and what the job needs of it."""
        rows = self._db.all(
            f"SELECT worker_id, needs FROM jobs WHERE state = 'processing' LIMIT {_MOST_RUNNING}"
        )
        return [(str(worker), None if needs is None else str(needs)) for worker, needs in rows]

    def holder(self, job: Job) -> tuple[str, str] | None:
        """Id and state of another job that has not ended and has the same unique key."""
        row = self._db.one(
            f"SELECT id, state FROM jobs WHERE unique_key IS NOT NULL AND {self._db.dialect.live_key} = ? "
            "AND finished_at IS NULL AND seq <> ?",
            (job.unique_key, job.seq),
        )
        return None if row is None else (str(row[0]), str(row[1]))

    def with_parents(self, limit: int) -> list[int]:
        """Jobs that have not ended and wait, or have waited, for others; oldest first."""
        rows = self._db.all(
            "SELECT DISTINCT child_seq FROM dependencies WHERE EXISTS "
            "(SELECT 1 FROM jobs WHERE seq = child_seq AND finished_at IS NULL) ORDER BY child_seq LIMIT ?",
            (limit,),
        )
        return [int(str(row[0])) for row in rows]


def _place(seq: int, rows: list[tuple[object, ...]]) -> int:
    """How many of these are before the job; all of them if it is not among them."""
    return next((place for place, row in enumerate(rows) if row[0] == seq), len(rows))
