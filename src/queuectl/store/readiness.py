"""Blocked jobs become ready: at once, at their time, or when their group has room.

A group lets in only so many of its jobs: the others stay blocked, so that no claim ever walks over them.
Runs in the transaction of whoever made them ready.
"""

from __future__ import annotations

from queuectl.core import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuectl.store.connection import Connection

CHUNK = 1_000
FREE = "held IS NULL AND waits IS NULL"  # nothing but its group can keep such a job blocked


def make_ready(db: Connection, seqs: Sequence[object], now: int) -> None:
    """Of these jobs, those that nothing keeps blocked now wait for their time, their group or a worker."""
    for start in range(0, len(seqs), CHUNK):
        these, values = db.dialect.these("seq", seqs[start : start + CHUNK])
        for state, condition in (
            (states.SCHEDULED, "run_at > ?"),
            (states.PENDING, "job_group IS NULL AND run_at <= ?"),
        ):
            unblock(db, state, f"{FREE} AND {condition} AND {these}", (now, *values), now)
        admit(db, groups_of(db, these, values), now)


def unblock(db: Connection, state: str, condition: str, values: Sequence[object], now: int) -> int:
    """Blocked jobs for which the condition holds go on to another state; how many."""
    rows = db.all(
        f"SELECT seq, queue FROM jobs WHERE state = 'blocked' AND {condition} ORDER BY seq{db.dialect.hold}",
        values,
    )
    if rows:
        these, seqs = db.dialect.these("seq", [row[0] for row in rows])
        db.run(f"UPDATE jobs SET state = ?, updated_at = ? WHERE {these}", (state, now, *seqs))
        for _, queue in rows:
            db.tally.moved(queue, states.BLOCKED, state, now)
    return len(rows)


def groups_of(db: Connection, condition: str, values: Sequence[object]) -> list[object]:
    """The groups of the jobs that a condition names."""
    return [
        row[0]
        for row in db.all(
            f"SELECT DISTINCT job_group FROM jobs WHERE job_group IS NOT NULL AND {condition}", values
        )
    ]


def admit(db: Connection, groups: Iterable[object], now: int) -> int:
    """Let jobs of these groups in while there is room; returns how many."""
    # In one order everywhere, so that two who do this never wait for each other.
    return sum(_admit(db, group, now) for group in sorted(map(str, groups)))


def _admit(db: Connection, group: str, now: int) -> int:
    limit = db.one(f"SELECT concurrency FROM job_groups WHERE name = ?{db.dialect.hold}", (group,))
    state = db.dialect.group_state
    busy = db.all(
        f"SELECT count(*) FROM jobs WHERE job_group IS NOT NULL AND job_group = ? "
        f"AND {state} IN ('pending', 'processing')",
        (group,),
    )[0][0]
    room = int(str(limit[0] if limit else 1)) - int(str(busy))
    if room <= 0:
        return 0
    rows = db.all(
        f"SELECT seq FROM jobs WHERE job_group IS NOT NULL AND job_group = ? AND {state} = 'blocked' "
        f"AND {FREE} ORDER BY {db.dialect.order} LIMIT ?",
        (group, room),
    )
    if not rows:
        return 0
    these, values = db.dialect.these("seq", [row[0] for row in rows])
    return unblock(db, states.PENDING, f"{FREE} AND {these}", values, now)
