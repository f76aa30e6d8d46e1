"""Which jobs are on a page of a list, found without a walk over millions of others.

No index has the jobs of a state in the order in which they came: keeping one would cost every job its share.
Instead the kept counts say where to look: common ones are met soon on a walk along all jobs, and of rare ones
all can be looked at.
"""

from __future__ import annotations

from queuectl.store.filters import where
from queuectl.store.tallies import FEW, totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuectl.store.connection import Connection
    from queuectl.store.messages import JobFilter

_PARTS = 100  # in a statement


class Pages:
    """The numbers of the jobs that a filter with a state or a queue finds.

    Where more than `few` jobs are of these kinds, it walks along the numbers of all jobs, `steps` far.
    """

    def __init__(
        self, db: Connection, filter: JobFilter, *, few: int = FEW, steps: Sequence[int] = (10_000, 40_000)
    ) -> None:
        self._db = db
        self._filter = filter
        self._few = few
        self._steps = steps
        self._kinds = [
            (queue, state, jobs)
            for queue, counts in totals(db, filter.queue).items()
            for state, jobs in counts.items()
            if not filter.states or state in filter.states
        ]

    def by_number(self, count: int, *, after: int | None, descending: bool) -> list[int]:
        """The first of them, in the order in which they came."""
        found = None
        ordered = all(state in self._db.dialect.ordered for _, state, _ in self._kinds)
        if not ordered and sum(jobs for _, _, jobs in self._kinds) > self._few:
            found = self._walk(count, after=after, descending=descending)
        if found is None:
            behind = "" if after is None else " AND seq < ?" if descending else " AND seq > ?"
            rows = self._of_each_kind("seq", count, behind, [] if after is None else [after], descending)
            found = sorted((int(str(row[0])) for row in rows), reverse=descending)
        return found[:count]

    def by_end(self, count: int, *, descending: bool) -> list[int]:
        """The first of them, in the order in which they ended; all of them have ended."""
        rows = self._of_each_kind("finished_at, seq", count, "", [], descending)
        pairs = sorted(((int(str(at)), int(str(seq))) for at, seq in rows), reverse=descending)
        return [seq for _, seq in pairs[:count]]

    def _walk(self, count: int, *, after: int | None, descending: bool) -> list[int] | None:
        """None: they are not met soon."""
        db = self._db
        ends = db.all("SELECT (SELECT min(seq) FROM jobs), (SELECT max(seq) FROM jobs)")[0]
        if ends[0] is None:
            return []
        first, last = int(str(ends[0])), int(str(ends[1]))
        condition, values = where(self._filter, db.dialect)
        condition = f"({condition}) IS TRUE"  # no condition of an index, or PostgreSQL would use that
        at = (last + 1 if descending else first - 1) if after is None else after
        found: list[int] = []
        for step in self._steps:
            low, high = (at - step, at) if descending else (at + 1, at + step + 1)
            rows = db.all(
                f"SELECT seq FROM {db.dialect.walk_from} WHERE {condition} AND seq >= ? AND seq < ? "
                f"ORDER BY seq {'DESC' if descending else 'ASC'} LIMIT ?",
                (*values, low, high, count - len(found)),
            )
            found += [int(str(row[0])) for row in rows]
            if len(found) >= count or (low <= first if descending else high > last):
                return found
            at = low if descending else high - 1
        return None

    def _of_each_kind(
        self, columns: str, count: int, behind: str, values: Sequence[object], descending: bool
    ) -> Iterator[tuple[object, ...]]:
        """The first of each queue and state by itself, for which there are indexes."""
        parts = list(self._parts(columns, count, behind, values, descending))
        for start in range(0, len(parts), _PARTS):
            some = parts[start : start + _PARTS]
            yield from self._db.all(
                " UNION ALL ".join(sql for sql, _ in some), [value for _, given in some for value in given]
            )

    def _parts(
        self, columns: str, count: int, behind: str, values: Sequence[object], descending: bool
    ) -> Iterator[tuple[str, list[object]]]:
        dialect = self._db.dialect
        names = [dialect.number] if columns == "seq" else columns.split(", ")
        order = ", ".join(f"{name} {'DESC' if descending else 'ASC'}" for name in names)
        for queue, state, _ in self._kinds:
            condition, given = where(self._filter, dialect, (state,))
            if self._filter.queue is None:
                condition, given = f"{condition} AND queue = ?", [*given, queue]
            for more in dialect.kinds.get(state, ("",)):
                yield (
                    f"SELECT * FROM (SELECT {columns} FROM {dialect.kind_from} "
                    f"WHERE {condition}{more}{behind} ORDER BY {order} LIMIT {count}) AS kind",
                    [*given, *values],
                )
