"""What looks at jobs without changing them: get, list, attempts, stats."""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.rows import ATTEMPT_COLUMNS, JOB_COLUMNS, attempt_from_row, job_from_row
from queuectl.errors import InvalidInput
from queuectl.store.filters import MOST_IDS, marks, portions, where
from queuectl.store.messages import JobFilter, Stats
from queuectl.store.tallies import FEW, KEPT_MS, MINUTE_MS, totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from queuectl.core.job import Attempt, Job
    from queuectl.store.causes import Causes
    from queuectl.store.connection import Connection
    from queuectl.store.deaths import Death

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
    """Jobs and attempts, one by one, by pages and counted."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

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
        if (filter.states or filter.queue) and not filter.ids and sort in ("created", "finished"):
            seqs = self._seqs(filter, limit + offset, after=after, sort=sort, descending=descending)
            if seqs is not None:
                return self.by_numbers(seqs[offset:])
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

    def _seqs(
        self, filter: JobFilter, count: int, *, after: int | None, sort: str, descending: bool
    ) -> list[int] | None:
        """The numbers of the first of them; None: the engine finds them as well by itself."""
        from queuectl.store.pages import Pages

        if sort == "created":
            return Pages(self.connection, filter).by_number(count, after=after, descending=descending)
        if after is None and filter.states and set(filter.states) <= set(states.TERMINAL):
            return Pages(self.connection, filter).by_end(count, descending=descending)
        return None

    def by_numbers(self, seqs: Sequence[int]) -> list[Job]:
        """The jobs with these, in this order."""
        found = {}
        for start in range(0, len(seqs), MOST_IDS):
            these, values = self.connection.dialect.these("seq", seqs[start : start + MOST_IDS])
            rows = self.connection.all(f"SELECT {_COLUMNS} FROM jobs WHERE {these}", values)
            found.update({job.seq: job for job in map(job_from_row, rows)})
        return [found[seq] for seq in seqs if seq in found]

    def count(self, filter: JobFilter) -> int:
        if _is_kept(filter) and not self._are_few(filter.states):
            where(filter, self.connection.dialect)  # refuses what is no state
            return sum(self._kept(filter, filter.states or states.ALL))
        return sum(self._count(*where(portion, self.connection.dialect)) for portion in portions(filter))

    def ended_before(self, state: str, before: int, *, keep: int = 0) -> int:
        """How many `purge` would delete."""
        if keep:
            from queuectl.store.retention import cleanable

            return cleanable(self.connection, state, before=before, keep=keep)
        return self._count("state = ? AND finished_at < ?", (state, before))

    def _count(self, condition: str, values: Sequence[object]) -> int:
        return _int(self.connection.all(f"SELECT count(*) FROM jobs WHERE {condition}", values)[0])

    def attempts(self, seq: int) -> list[Attempt]:
        """Every attempt at a job, oldest first."""
        rows = self.connection.all(
            f"SELECT {_ATTEMPT_COLUMNS} FROM attempts WHERE job_seq = ? ORDER BY run", (seq,)
        )
        return [attempt_from_row(row) for row in rows]

    def causes(self, queue: str | None = None) -> list[Causes]:
        """Why the dead jobs died, the most frequent cause first."""
        from queuectl.store.causes import causes

        return causes(self.connection, queue)

    def deaths(self, queue: str | None = None, *, page: int = 2_000) -> Iterator[Death]:
        """The dead jobs one by one, with what tells them apart."""
        from queuectl.store.deaths import deaths

        return deaths(self.connection, queue, page=page)

    def ids_from(self, prefix: str, *, limit: int) -> list[str]:
        """The ids that begin so."""
        rows = self.connection.all(
            "SELECT id FROM jobs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            (prefix, prefix + "\x7f", limit),  # ids are ASCII, and this is behind all of it
        )
        return [str(row[0]) for row in rows]

    def unfinished(self, filter: JobFilter) -> int:
        """How many of these jobs have not ended yet."""
        wanted = [s for s in _UNFINISHED if not filter.states or s in filter.states]
        if _is_kept(filter) and not self._are_few(wanted):
            return sum(self._kept(filter, wanted))
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
        from queuectl.store.oldest import oldest_pending

        kept = totals(self.connection, queue)
        counts = {state: sum(of_queue.get(state, 0) for of_queue in kept.values()) for state in states.ALL}
        names = [name for name, of_queue in kept.items() if of_queue.get(states.PENDING)]
        oldest = oldest_pending(self.connection, names, counts[states.PENDING]) if names else {}
        recent = self._ended_since(now - window_ms, now, kept, queue)
        return Stats(counts, min(oldest.values(), default=None), recent, window_ms)

    def _ended_since(
        self, since: int, now: int, depths: Mapping[str, Mapping[str, int]], queue: str | None
    ) -> dict[str, int]:
        """Whole minutes were counted as they passed; the rows of the first one are looked at."""
        from queuectl.store.history import ended_since

        minute = since // MINUTE_MS + 1 if now - since <= KEPT_MS else None
        kept = {} if minute is None else ended_since(self.connection, minute, queue)
        found = {}
        for state in states.TERMINAL:
            found[state] = kept.get(state, 0)
            names = [name for name, counts in depths.items() if counts.get(state)]
            if names:
                condition, _ = where(JobFilter(states=(state,)), self.connection.dialect)
                until, end = ("", ()) if minute is None else (" AND finished_at < ?", (minute * MINUTE_MS,))
                found[state] += self._count(
                    f"{condition} AND queue IN ({marks(names)}) AND finished_at >= ?{until}",
                    (*names, since, *end),
                )
        return found

    def _are_few(self, wanted: Sequence[str]) -> bool:
        """Whether they are so few that they are better looked at: somebody may wait for the last one, and a
        count that a stranger has made wrong shall not keep him waiting.
        """
        return (
            bool(wanted)
            and not set(wanted) & set(states.TERMINAL)
            and sum(self._kept(JobFilter(), wanted)) <= FEW
        )

    def _kept(self, filter: JobFilter, wanted: Sequence[str]) -> list[int]:
        kept = totals(self.connection, filter.queue)
        kept.pop(filter.without or "", None)
        return [sum(of_queue.get(state, 0) for of_queue in kept.values()) for state in wanted]


def _is_kept(filter: JobFilter) -> bool:
    """Whether the store keeps count of these."""
    others = filter.tag, filter.text, filter.created_after, filter.created_before, filter.held, filter.cause
    return not filter.ids and all(value is None for value in others)


def _int(row: tuple[object, ...]) -> int:
    value = row[0]
    assert isinstance(value, int)
    return value
