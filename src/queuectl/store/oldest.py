"""Since when the pending job of a queue waits that waits longest, without a walk over all of them.

The index of the claim has each queue's jobs by priority first: the oldest of each priority is one seek away,
and there are few priorities.
"""

from __future__ import annotations

from queuectl.store.tallies import FEW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from queuectl.store.connection import Connection

_SEEKS = 100  # in a statement
_MOST_PRIORITIES = 50  # beyond that a walk over all of them is no slower


def oldest_pending(db: Connection, queues: Collection[str], pending: int) -> dict[str, int]:
    """By queue: the earliest time for which one of its pending jobs was due, of so many in all."""
    if pending <= FEW:
        return _by_walking(db, queues)
    found: dict[str, int] = {}
    groups: list[tuple[object, str, object]] = [
        (needs, queue, None) for needs in (None, *_kinds_of_needs(db)) for queue in queues
    ]
    for _ in range(_MOST_PRIORITIES):
        if not groups:
            return found
        following: list[tuple[object, str, object]] = []
        for start in range(0, len(groups), _SEEKS):
            for place, priority, run_at in _first_of_each(db, groups[start : start + _SEEKS]):
                needs, queue, _ = groups[start + place]
                found[queue] = min(found.get(queue, run_at), run_at)
                following.append((needs, queue, priority))
        groups = following
    return _by_walking(db, queues)


def _by_walking(db: Connection, queues: Collection[str]) -> dict[str, int]:
    rows = db.all("SELECT queue, min(run_at) FROM jobs WHERE state = 'pending' GROUP BY queue")
    return {str(queue): int(str(run_at)) for queue, run_at in rows if queue in queues}


def _kinds_of_needs(db: Connection) -> Iterator[object]:
    last: object = ""
    while True:
        last = db.all(
            "SELECT min(needs) FROM jobs WHERE state = 'pending' AND needs IS NOT NULL AND needs > ?", (last,)
        )[0][0]
        if last is None:
            return
        yield last


def _first_of_each(
    db: Connection, groups: Sequence[tuple[object, str, object]]
) -> Iterator[tuple[int, int, int]]:
    """For each group of needs, queue and last priority that has jobs below it: its place, the next priority,
    and when the first job of that was due."""
    seeks: list[str] = []
    values: list[object] = []
    for place, (needs, queue, priority) in enumerate(groups):
        conditions = ["needs IS NULL" if needs is None else "needs IS NOT NULL AND needs = ?", "queue = ?"]
        values += [queue] if needs is None else [needs, queue]
        if priority is not None:
            conditions.append(db.dialect.lower_priority)
            values.append(priority)
        seeks.append(
            f"SELECT * FROM (SELECT {place} AS place, priority, run_at FROM {db.dialect.claim_from} "
            f"WHERE state = 'pending' AND {' AND '.join(conditions)} "
            f"ORDER BY {db.dialect.claim_order} LIMIT 1) AS first_job"
        )
    for row in db.all(" UNION ALL ".join(seeks), values):
        place, priority, run_at = (int(str(value)) for value in row)
        yield place, priority, run_at
