"""What looks at jobs without changing them: get, list, attempts, stats."""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.job import ATTEMPT_COLUMNS, JOB_COLUMNS, attempt_from_row, job_from_row
from queuectl.errors import InvalidInput
from queuectl.store.filters import portions, where
from queuectl.store.messages import JobFilter, Stats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Attempt, Job
    from queuectl.store.connection import Connection

_COLUMNS = ", ".join(JOB_COLUMNS)
_ATTEMPT_COLUMNS = ", ".join(ATTEMPT_COLUMNS)

# What `list` may sort by; the key is what the caller says, never SQL.
SORTS = {
    "created": "seq",
    "updated": "updated_at",
    "priority": "priority",
    "due": "run_at",
    "finished": "finished_at",
    "id": "id",
}


_UNFINISHED = tuple(state for state in states.ALL if state not in states.TERMINAL)


class JobReads:
    """Mixed into a store; needs `self.connection`."""

    connection: Connection

    def get(self, id: str) -> Job | None:
        row = self.connection.one(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (id,))
        return None if row is None else job_from_row(row)

    def page(
        self,
        filter: JobFilter,
        *,
        limit: int,
        after: int | None = None,
        offset: int = 0,
        sort: str = "created",
        descending: bool = False,
    ) -> list[Job]:
        """A page of jobs. `after` (a seq) pages by key when sorted by creation."""
        if sort not in SORTS:
            raise InvalidInput(f"cannot sort by {sort!r}", "choose one of " + ", ".join(SORTS))
        condition, values = where(filter, self.connection.dialect)
        if after is not None:
            condition += " AND seq < ?" if descending else " AND seq > ?"
            values.append(after)
        direction = "DESC" if descending else "ASC"
        rows = self.connection.all(
            f"SELECT {_COLUMNS} FROM jobs WHERE {condition} "
            f"ORDER BY {SORTS[sort]} {direction}, seq {direction} LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return [job_from_row(row) for row in rows]

    def count(self, filter: JobFilter) -> int:
        return sum(self._count(*where(portion, self.connection.dialect)) for portion in portions(filter))

    def _count(self, condition: str, values: Sequence[object]) -> int:
        return _int(self.connection.all(f"SELECT count(*) FROM jobs WHERE {condition}", values)[0])

    def attempts(self, seq: int) -> list[Attempt]:
        """Every attempt at a job, oldest first."""
        rows = self.connection.all(
            f"SELECT {_ATTEMPT_COLUMNS} FROM attempts WHERE job_seq = ? ORDER BY run", (seq,)
        )
        return [attempt_from_row(row) for row in rows]

    def unfinished(self, filter: JobFilter) -> int:
        """How many of these jobs have not ended yet."""
        wanted = [s for s in _UNFINISHED if not filter.states or s in filter.states]
        return sum(sum(self._by_state(portion, wanted)) for portion in portions(filter))

    def _by_state(self, filter: JobFilter, wanted: Sequence[str]) -> list[int]:
        """Counts, state by state so that each stays within its index, but of one moment.

        In one statement: a job that changes its state between two would be counted twice, or not at all.
        """
        if not wanted:
            return []
        conditions = [where(filter, self.connection.dialect, (state,)) for state in wanted]
        counts = ", ".join(f"(SELECT count(*) FROM jobs WHERE {condition})" for condition, _ in conditions)
        values = [value for _, part in conditions for value in part]
        return [_int((count,)) for count in self.connection.all(f"SELECT {counts}", values)[0]]

    def stats(self, now: int, *, window_ms: int, queue: str | None = None) -> Stats:
        """Jobs by state, the oldest waiting one, and what ended within the window."""
        counts = dict(zip(states.ALL, self._by_state(JobFilter(queue=queue), states.ALL), strict=True))
        condition, values = where(JobFilter(states=(states.PENDING,), queue=queue), self.connection.dialect)
        oldest = self.connection.all(f"SELECT min(run_at) FROM jobs WHERE {condition}", values)[0][0]
        recent = {}
        for state in states.TERMINAL:
            condition, values = where(JobFilter(states=(state,), queue=queue), self.connection.dialect)
            recent[state] = self._count(f"{condition} AND finished_at >= ?", (*values, now - window_ms))
        return Stats(counts, None if oldest is None else int(str(oldest)), recent, window_ms)


def _int(row: tuple[object, ...]) -> int:
    value = row[0]
    assert isinstance(value, int)
    return value
