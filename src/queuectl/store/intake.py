"""New jobs come in: many in one transaction, all or nothing.

What a job may look like is left to `core.spec`, their ids to the caller.
"""

from __future__ import annotations

from queuectl.errors import DuplicateId
from queuectl.store.connection import Clash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queuectl.core.job import NewJob
    from queuectl.store.connection import Connection

_NAMES = (
    "id, command, argv, queue, state, priority, attempts, max_retries, lost, runs, backoff_strategy, "
    "backoff_base, backoff_max, retry_delay, timeout, run_at, created_at, updated_at, cwd, env, tags, "
    "cancel_requested"
)
_VALUES = "VALUES (?, ?, ?, ?, ?, ?, 0, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
_INSERT = f"INSERT INTO jobs ({_NAMES}) {_VALUES}"
_STAGE = f"INSERT INTO temp.staged ({_NAMES}, claim) {_VALUES[:-1]}, ?)"


class Intake:
    """Mixed into a store; needs `self.connection`."""

    connection: Connection

    def enqueue(self, batches: Iterable[Sequence[NewJob]], now: int, *, skip: bool = False) -> int:
        """Store all jobs of all batches in one transaction; returns how many are new.

        Ids are made by the caller, so that a repeated call after an unknown commit finds its own
        rows. With `skip`, a job whose id exists is left as it is; otherwise that is an error and
        nothing is stored.
        """
        new = 0
        part: Sequence[NewJob] = ()
        try:
            with self.connection.write("enqueue") as db:
                for jobs in batches:
                    for sql, part in _by_rule(jobs) if skip else [(_INSERT, jobs)]:
                        new += db.many(sql, [_insert_values(job, now) for job in part])
        except Clash as clash:
            # All was rolled back by now: what is found under that id was there before this call.
            raise self._duplicate(part[clash.done].id) from None
        return new

    def enqueue_staged(self, batches: Iterable[Sequence[NewJob]], now: int, *, skip: bool = False) -> int:
        """The same for batches that take their time to come: the write lock is held only for the last step.

        They are collected in a table of our own connection, beside the database, and moved in one statement.
        """
        db = self.connection
        db.script("CREATE TEMP TABLE staged AS SELECT * FROM jobs LIMIT 0")
        try:
            db.script("BEGIN")
            for jobs in batches:
                db.many(_STAGE, [(*_insert_values(job, now), "made" if job.made else None) for job in jobs])
            db.script("COMMIT")
            return self._move_staged(skip)
        finally:
            db.rollback()
            db.script("DROP TABLE temp.staged")

    def _move_staged(self, skip: bool) -> int:
        move = f"INSERT INTO jobs ({_NAMES}) SELECT {_NAMES} FROM temp.staged"
        try:
            with self.connection.write("enqueue") as db:
                if not skip:
                    return db.run(f"{move} ORDER BY rowid")
                # As in `_by_rule`: an id of our own making is never skipped.
                new = db.run(f"{move} WHERE claim IS NOT NULL ORDER BY rowid")
                return new + db.run(f"{move} WHERE claim IS NULL ORDER BY rowid ON CONFLICT (id) DO NOTHING")
        except Clash:
            found = self.connection.one(
                "SELECT id FROM temp.staged WHERE id IN (SELECT id FROM jobs) LIMIT 1"
            )
            found = found or self.connection.one(
                "SELECT id FROM temp.staged GROUP BY id HAVING count(*) > 1 LIMIT 1"
            )
            raise self._duplicate(str(found[0]) if found else None) from None

    def _duplicate(self, id: str | None) -> DuplicateId:
        found = self.connection.one("SELECT state FROM jobs WHERE id = ?", (id,))
        if found is None:
            return DuplicateId(f"the id {id} is given twice", "every job needs an id of its own", id=id)
        return DuplicateId(
            f"job {id} exists already ({found[0]})", "choose another id, or give --if-exists skip", id=id
        )


def _by_rule(jobs: Sequence[NewJob]) -> Iterator[tuple[str, Sequence[NewJob]]]:
    """The jobs in their order, in parts that are inserted alike.

    An id of our own making that exists is an accident, never a repeat: to skip the job would be
    to lose it.
    """
    from itertools import groupby

    for made, part in groupby(jobs, lambda job: job.made):
        yield (_INSERT if made else _INSERT + " ON CONFLICT (id) DO NOTHING"), list(part)


def _insert_values(job: NewJob, now: int) -> tuple[object, ...]:
    run_at = job.run_at
    later = run_at is not None and run_at > now
    return (
        job.id,
        job.command,
        job.argv,
        job.queue,
        "scheduled" if later else "pending",
        job.priority,
        job.max_retries,
        job.backoff_strategy,
        job.backoff_base,
        job.backoff_max,
        job.retry_delay,
        job.timeout,
        run_at if later else now,
        now,
        now,
        job.cwd,
        job.env,
        job.tags,
    )
