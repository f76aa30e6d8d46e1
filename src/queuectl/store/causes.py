"""Why jobs died: the dead letters, grouped by how their last attempt ended."""

from __future__ import annotations

from queuectl.core import states
from queuectl.store.filters import where
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.connection import Connection, Row
    from queuectl.store.messages import Cause


class Causes:
    """The dead jobs of one cause."""

    __slots__ = ("cause", "count", "example", "first_at", "last_at", "queues")

    def __init__(self, cause: Cause) -> None:
        self.cause = cause
        self.count = 0
        self.queues: list[str] = []
        self.first_at: int | None = None
        self.last_at: int | None = None
        self.example = 0  # the number of one of them, the last that came

    def add(self, queue: str, count: int, first_at: int, last_at: int, example: int) -> None:
        self.count += count
        self.queues.append(queue)
        self.first_at = first_at if self.first_at is None else min(self.first_at, first_at)
        self.last_at = last_at if self.last_at is None else max(self.last_at, last_at)
        self.example = max(self.example, example)


def causes(db: Connection, queue: str | None) -> list[Causes]:
    """The most frequent first."""
    condition, values = where(JobFilter(states=(states.DEAD,), queue=queue), db.dialect)
    rows = db.all(
        "SELECT exit_code, signal, last_error, queue, count(*), min(finished_at), max(finished_at), max(seq) "
        f"FROM jobs WHERE {condition} GROUP BY exit_code, signal, last_error, queue ORDER BY queue",
        values,
    )
    found: dict[Cause, Causes] = {}
    for row in rows:
        cause = _cause(row)
        found.setdefault(cause, Causes(cause)).add(str(row[3]), *(int(str(value)) for value in row[4:8]))
    return sorted(found.values(), key=lambda one: (-one.count, one.example))


def _cause(row: Row) -> Cause:
    exit_code, signal, error = row[:3]
    return (
        None if exit_code is None else int(str(exit_code)),
        None if signal is None else int(str(signal)),
        None if error is None else str(error),
    )
