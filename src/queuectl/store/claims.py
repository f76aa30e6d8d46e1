"""A claim: which pending jobs a worker gets, in the order of the queue, and how they become its own.

What only some queues and jobs ask of one (limits, weights, resources) is left to `claiming`.
"""

from __future__ import annotations

from collections import Counter

from queuectl.core import states
from queuectl.core.rows import CLAIM_COLUMNS, JOB_COLUMNS, claimed_from_row, job_from_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuectl.core.job import Job
    from queuectl.store.connection import Connection, Row
    from queuectl.store.dialect import Dialect
    from queuectl.store.exchange import Waiting
    from queuectl.store.messages import Ask, Exchange

_COLUMNS = ", ".join(JOB_COLUMNS)
_CLAIM_COLUMNS = ", ".join(CLAIM_COLUMNS)


def claimed_before(db: Connection, ask: Ask) -> list[Job]:
    """What an earlier run of the same exchange has claimed, if its commit arrived after all."""
    rows = db.all(
        f"SELECT {_COLUMNS} FROM jobs WHERE state = 'processing' AND worker_id = ? AND claim = ?",
        (ask.worker_id, ask.claim),
    )
    return sorted(map(job_from_row, rows), key=lambda job: (-job.priority, job.run_at, job.seq))


def claim(db: Connection, ask: Ask, waiting: Waiting, answer: Exchange, now: int) -> list[Job]:
    """The next jobs for this worker, which are its own with this transaction."""
    rows = _claimable(db, ask, waiting, answer, now)
    if not rows:
        return []
    these, seqs = db.dialect.these("seq", [row[0] for row in rows])
    db.run(
        "UPDATE jobs SET state = 'processing', attempts = attempts + 1, runs = runs + 1, claim = ?, "
        "worker_id = ?, started_at = ?, updated_at = ?, progress = NULL, progress_text = NULL "
        f"WHERE {these}",
        (ask.claim, ask.worker_id, now, now, *seqs),
    )
    for queue, jobs in Counter([row[_QUEUE] for row in rows]).items():
        db.tally.moved(queue, states.PENDING, states.PROCESSING, now, jobs)
    return [claimed_from_row(row, ask.claim, ask.worker_id, now) for row in rows]


def _claimable(db: Connection, ask: Ask, waiting: Waiting, answer: Exchange, now: int) -> Sequence[Row]:
    if ask.only is not None and not waiting.ruled:
        return this_one(db, ask.only)
    if ask.only is not None:
        from queuectl.store.claiming import Claiming

        return Claiming(db, ask, answer, now).take(ask.only)
    # Each queue once, however often it was named: its jobs must not be handed out twice.
    queues = _pending_queues(db, waiting) if ask.queues is None else list(dict.fromkeys(ask.queues))
    if waiting.ruled or ask.weights or (waiting.first_needs is not None and ask.free):
        from queuectl.store.claiming import Claiming

        return Claiming(db, ask, answer, now).choose(queues, waiting)
    rows: list[Row] = []
    for queue in queues:
        rows += claimable_of(db, queue, ask.limit - (len(rows) if ask.queues else 0))
        if ask.queues and len(rows) >= ask.limit:
            break
    if ask.queues is None and len(queues) > 1:
        rows.sort(key=claim_order)
    return rows[: ask.limit]


def _pending_queues(db: Connection, waiting: Waiting) -> list[object]:
    """The queues that have something pending: one index seek each, however many jobs wait.

    A query for each: in one recursive query MariaDB walks through all pending jobs.
    """
    if waiting.first_queue is None:
        return []
    found = [waiting.first_queue]
    while found[-1] != waiting.last_queue:
        row = db.one(pending_queue(db.dialect, more=" AND queue > ?"), found[-1:])
        if row is None:
            break  # others have taken the rest
        found.append(row[0])
    return found


def pending_queue(dialect: Dialect, *, more: str = "", last: bool = False) -> str:
    """The first or the last queue that has something pending: the end of an index."""
    order = ", ".join(f"{column} DESC" if last else column for column in dialect.queue_order)
    return f"SELECT queue FROM jobs WHERE state = 'pending' AND needs IS NULL{more} ORDER BY {order} LIMIT 1"


def claimable_of(db: Connection, queue: object, limit: int, needs: object = None) -> Iterable[Row]:
    """The next jobs of a queue, those without needs or those with just these, for ourselves alone."""
    # One queue a query: only so does the index give the order without sorting.
    condition = "needs IS NULL" if needs is None else "needs IS NOT NULL AND needs = ?"
    return db.all(
        f"SELECT {_CLAIM_COLUMNS} FROM {db.dialect.claim_from} WHERE state = 'pending' AND {condition} "
        f"AND queue = ? ORDER BY {db.dialect.claim_order} LIMIT ?{db.dialect.take}",
        (*([] if needs is None else [needs]), queue, limit),
    )


def this_one(db: Connection, seq: int) -> Sequence[Row]:
    """This job, if it is pending and nobody else is about to take it."""
    return db.all(
        f"SELECT {_CLAIM_COLUMNS} FROM jobs WHERE seq = ? AND state = 'pending'{db.dialect.take}", (seq,)
    )


_PRIORITY, _RUN_AT, _SEQ, _QUEUE = map(CLAIM_COLUMNS.index, ("priority", "run_at", "seq", "queue"))


def claim_order(row: Row) -> tuple[int, int, int]:
    priority, run_at, seq = row[_PRIORITY], row[_RUN_AT], row[_SEQ]
    assert isinstance(priority, int)
    assert isinstance(run_at, int)
    assert isinstance(seq, int)
    return -priority, run_at, seq
