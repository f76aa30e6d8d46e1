"""New jobs come in: many in one transaction, all or nothing.

What a job may look like is left to `core.spec`, their ids to the caller.
"""

from __future__ import annotations

from collections import Counter
from operator import itemgetter

from queuectl.core.batches import Commands, ids_of, special
from queuectl.errors import DuplicateId
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert
from queuectl.store.filters import MOST_IDS, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queuectl.core.batches import Batch
    from queuectl.core.conditions import Conditions
    from queuectl.core.job import NewJob
    from queuectl.store.arrivals import Arrivals
    from queuectl.store.connection import Connection

    Rows = Sequence[Sequence[object]]

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

# The same for a job with conditions. Others do without: their columns are NULL, and reading a million jobs in
# is faster that way.
CONDITIONED_JOBS = Insert(
    "jobs",
    (
        *JOBS.columns,
        "rules",
        "needs",
        "unique_key",
        "job_group",
        "held",
        "waits",
        "schedule",
        "notify",
        "input",
        "about",
    ),
    zeros=JOBS.zeros,
    key="id",
)


_OWN = 2  # id and command: columns that differ from job to job when all else is the same


def insert_for(rows: Rows, common: Sequence[object] = ()) -> Insert:
    """The kind of these rows, which are all of one length."""
    return CONDITIONED_JOBS if len(rows[0]) + len(common) == len(CONDITIONED_JOBS.columns) else JOBS


def enqueue(db: Connection, batches: Iterable[Batch], now: int, *, skip: bool = False) -> int:
    """Store all jobs of all batches in one transaction; returns how many are new.

    Ids are made by the caller, so that a repeated call after an unknown commit finds its own
    rows. With `skip`, a job whose id exists is left as it is; otherwise that is an error and
    nothing is stored.
    """
    kept = list(batches)
    arrivals = arrivals_of(kept)
    part: Batch = ()

    def store(_: int | None) -> int:
        nonlocal part
        new = 0
        if arrivals:
            arrivals.make_room(db, now, skip=skip)
        for jobs in kept:
            some = alike(stored(jobs, arrivals), skip=skip) if arrivals or skip else [(False, jobs)]
            for optional, part in some:
                rows, common = rows_of(part, now)
                new += insert_jobs(db, rows, common, now=now, skip=optional)
        if arrivals:
            arrivals.follow_up(db, now)
        return new

    try:
        return db.write("enqueue", store)
    except Clash as clash:
        # All was rolled back by now: what is found under that id was there before this call.
        raise duplicate(db, ids_of(part)[clash.done]) from None


def duplicate(db: Connection, id: str | None) -> DuplicateId:
    """The error for an id that is stored already, or given twice."""
    found = db.one("SELECT state FROM jobs WHERE id = ?", (id,))
    if found is None:
        return DuplicateId(f"the id {id} is given twice", "every job needs an id of its own", id=id)
    return DuplicateId(
        f"job {id} exists already ({found[0]})", "choose another id, or give --if-exists skip", id=id
    )


_ID, _QUEUE, _STATE = map(JOBS.columns.index, ("id", "queue", "state"))
_kind_of = itemgetter(_QUEUE, _STATE)


def kinds_of(rows: Rows, common: Sequence[object] = ()) -> Counter[tuple[object, object]]:
    """What the jobs are counted under, queue and state, and how many of them there."""
    if common:
        return Counter({_kind_of((*rows[0], *common)): len(rows)})
    return Counter(map(_kind_of, rows))


def insert_jobs(
    db: Connection, rows: Rows, common: Sequence[object] = (), *, now: int, skip: bool = False
) -> int:
    """Insert and count them; returns how many are new. `skip` leaves out those whose id exists."""
    kinds = kinds_of(rows, common)
    if skip and len(kinds) > 1:
        # Which are left out must be known, to count the others: a clash means that somebody was faster.
        rows, skip = _unknown(db, rows), False
        kinds = kinds_of(rows)
    if not rows:
        return 0
    new = db.insert(insert_for(rows, common), rows, common=common, skip=skip)
    for (queue, state), jobs in kinds.items():
        db.tally.enqueued(queue, state, new if len(kinds) == 1 else jobs, now)
    return new


def _unknown(db: Connection, rows: Rows) -> Rows:
    """Those of which none is stored, each id once."""
    new = {row[_ID]: row for row in reversed(rows)}
    ids = list(new)
    for start in range(0, len(ids), MOST_IDS):
        part = ids[start : start + MOST_IDS]
        for (id,) in db.all(f"SELECT id FROM jobs WHERE id IN ({marks(part)}){db.dialect.keep}", part):
            del new[id]
    return list(reversed(new.values()))


def arrivals_of(batches: Sequence[Batch]) -> Arrivals | None:
    """What these jobs bring along; None for the most of them, who bring nothing."""
    if not any(special(batch) for batch in batches):
        return None
    from queuectl.store.arrivals import Arrivals

    arrivals = Arrivals()
    for batch in batches:
        arrivals.add(special(batch))
    return arrivals


def stored(jobs: Batch, arrivals: Arrivals | None) -> Batch:
    """Without those that a live job with the same key stands for."""
    if arrivals is None or not arrivals.left_out or isinstance(jobs, Commands):
        return jobs
    return [job for job in jobs if job.id not in arrivals.left_out]


def alike(jobs: Batch, *, skip: bool) -> Iterator[tuple[bool, Batch]]:
    """The jobs in their order, in parts that are inserted alike: whether an existing id is skipped.

    An id of our own making that exists is an accident, never a repeat: to skip the job would be to lose it.
    """
    from itertools import groupby

    if isinstance(jobs, Commands) or (not skip and not special(jobs)):
        yield False, jobs
        return
    # One with conditions is not among them if its id exists: see `Arrivals.make_room`.
    for (plain, made), part in groupby(jobs, lambda job: (job.conditions is None, job.made)):
        yield skip and plain and not made, list(part)


def rows_of(jobs: Batch, now: int) -> tuple[Rows, Sequence[object]]:
    """Rows for `insert_for`, and what all of them end with, if they have so much in common."""
    if isinstance(jobs, Commands):
        return list(zip(jobs.ids, jobs.commands, strict=True)), insert_values(jobs.like, now)[_OWN:]
    rows = [insert_values(job, now) for job in jobs]
    common = rows[0][_OWN:] if rows else ()
    if not all(row[_OWN:] == common for row in rows):
        return rows, ()
    return [row[:_OWN] for row in rows], common


def insert_values(job: NewJob, now: int) -> tuple[object, ...]:
    """A whole row. In one piece: it runs for every job of millions."""
    run_at, mine = job.run_at, job.conditions
    later = run_at is not None and run_at > now
    state = "scheduled" if later else "pending"
    values = (
        job.id,
        job.command,
        job.argv,
        job.queue,
        state if mine is None else _first_state(mine, state),
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
    return values if mine is None else (*values, *_conditions(mine))


def _first_state(mine: Conditions, state: str) -> str:
    """As it would be without conditions, unless something keeps it; a group lets its jobs in one by one."""
    blocked = mine.held or mine.after or (mine.group and state == "pending")
    return "blocked" if blocked else state


def _conditions(mine: Conditions) -> tuple[object, ...]:
    import json

    return (
        json.dumps(mine.rules, sort_keys=True) if mine.rules else None,
        mine.needs,
        mine.unique_key,
        mine.group,
        1 if mine.held else None,
        len(mine.after) or None,
        mine.schedule,
        mine.notify,
        mine.input,
        mine.about,
    )
