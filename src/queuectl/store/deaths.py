"""The dead letters one by one, only what their grouping needs of each; a page at a time."""

from __future__ import annotations

from typing import NamedTuple

from queuectl.core import states
from queuectl.store.filters import where
from queuectl.store.messages import JobFilter
from queuectl.store.tallies import totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.store.connection import Connection, Row


class Death(NamedTuple):
    """One dead job."""

    seq: int
    id: str
    queue: str
    command: str
    exit_code: int | None
    signal: int | None
    error: str | None
    at: int


def deaths(db: Connection, queue: str | None, *, page: int = 2_000) -> Iterator[Death]:
    """Queue by queue, those that died first come first: the order of the index. Read `page` at a time."""
    names = [queue] if queue is not None else [name for name, counts in totals(db).items() if counts]
    for name in names:
        yield from _of_queue(db, name, page)


def _of_queue(db: Connection, queue: str, page: int) -> Iterator[Death]:
    condition, values = where(JobFilter(states=(states.DEAD,), queue=queue), db.dialect)
    at, seq = -1, -1
    while True:
        rows = db.all(
            "SELECT seq, id, queue, command, exit_code, signal, last_error, finished_at FROM jobs "
            f"WHERE {condition} AND finished_at >= ? AND (finished_at > ? OR seq > ?) "
            "ORDER BY finished_at, seq LIMIT ?",
            (*values, at, at, seq, page),
        )
        found = [_death(row) for row in rows]
        yield from found
        if len(found) < page:
            return
        at, seq = found[-1].at, found[-1].seq


def _death(row: Row) -> Death:
    seq, id, queue, command, exit_code, signal, error, at = row
    return Death(
        int(str(seq)),
        str(id),
        str(queue),
        str(command),
        None if exit_code is None else int(str(exit_code)),
        None if signal is None else int(str(signal)),
        None if error is None else str(error),
        int(str(at)),
    )
