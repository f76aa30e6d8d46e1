"""New jobs come in: many in one transaction, all or nothing.

What a job may look like is left to `core.spec`, their ids to the caller.
"""

from __future__ import annotations

from queuectl.errors import DuplicateId
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queuectl.core.job import NewJob
    from queuectl.store.connection import Connection

JOBS = Insert(
    "jobs",
    (
        *("id", "command", "argv", "queue", "state", "priority", "max_retries", "backoff_strategy"),
        *("backoff_base", "backoff_max", "retry_delay", "timeout", "run_at", "created_at", "updated_at"),
        *("cwd", "env", "tags"),
    ),
    zeros=("attempts", "lost", "runs", "cancel_requested"),
    key="id",
)


class Intake:
    """Mixed into a store; needs `self.connection`."""

    connection: Connection

    def enqueue(self, batches: Iterable[Sequence[NewJob]], now: int, *, skip: bool = False) -> int:
        """Store all jobs of all batches in one transaction; returns how many are new.

        Ids are made by the caller, so that a repeated call after an unknown commit finds its own
        rows. With `skip`, a job whose id exists is left as it is; otherwise that is an error and
        nothing is stored.
        """
        part: Sequence[NewJob] = ()

        def store(_: int | None) -> int:
            nonlocal part
            new = 0
            for jobs in batches:
                for optional, part in by_rule(jobs) if skip else [(False, jobs)]:
                    rows = [insert_values(job, now) for job in part]
                    new += self.connection.insert(JOBS, rows, skip=optional)
            return new

        try:
            return self.connection.write("enqueue", store)
        except Clash as clash:
            # All was rolled back by now: what is found under that id was there before this call.
            raise self._duplicate(part[clash.done].id) from None

    def _duplicate(self, id: str | None) -> DuplicateId:
        found = self.connection.one("SELECT state FROM jobs WHERE id = ?", (id,))
        if found is None:
            return DuplicateId(f"the id {id} is given twice", "every job needs an id of its own", id=id)
        return DuplicateId(
            f"job {id} exists already ({found[0]})", "choose another id, or give --if-exists skip", id=id
        )


def by_rule(jobs: Sequence[NewJob]) -> Iterator[tuple[bool, Sequence[NewJob]]]:
    """The jobs in their order, in parts that are inserted alike: whether an existing id is skipped.

    An id of our own making that exists is an accident, never a repeat: to skip the job would be
    to lose it.
    """
    from itertools import groupby

    for made, part in groupby(jobs, lambda job: job.made):
        yield not made, list(part)


def insert_values(job: NewJob, now: int) -> tuple[object, ...]:
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
