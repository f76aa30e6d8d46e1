"""What changes jobs because a person asked for it: cancel, retry, delete.

Portable SQL beside the method that uses it.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.errors import Refused
from queuectl.store.connection import Clash
from queuectl.store.exchange import what_waits
from queuectl.store.filters import marks, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuectl.store.connection import Connection, Row
    from queuectl.store.messages import JobFilter
    from queuectl.store.notices import Notices

_ROUNDS = 3
_CANCELLED = "cancelled while it waited"


class JobActions:
    """Cancel, retry and delete jobs, by a filter."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def cancel(
        self, filter: JobFilter, now: int, *, chunk: int = 1_000, notices: Notices | None = None
    ) -> tuple[int, int]:
        """Stop jobs: those that wait are cancelled at once, those that run are asked to end.

        Where somebody is told of each, `chunk` at a time: nobody else could write for as long as all take.
        """
        if filter.ids or not self._tells_of_cancels(filter):
            return self._cancel(filter, now, notices)
        done = asked = 0
        for ids in self._some_at_a_time(filter, chunk):
            here, there = self._cancel(filter.replaced(ids=ids), now, notices)
            done, asked = done + here, asked + there
        return done, asked

    def _tells_of_cancels(self, filter: JobFilter) -> bool:
        from queuectl.store.notices import Notices

        if Notices(self.connection).are_of_cancels():
            return True
        waiting, values = where(filter, self.connection.dialect, states.CANCELLABLE)
        return bool(
            self.connection.all(f"SELECT 1 FROM jobs WHERE notify IS NOT NULL AND {waiting} LIMIT 1", values)
        )

    def _some_at_a_time(self, filter: JobFilter, chunk: int) -> Iterator[tuple[str, ...]]:
        """The ids of jobs that have not ended. One may go to another state meanwhile, and is still meant."""
        condition, values = where(filter, self.connection.dialect, (*states.CANCELLABLE, states.PROCESSING))
        # What is told of them comes behind, and is not meant.
        last = self.connection.all("SELECT max(seq) FROM jobs")[0][0]
        rows: Sequence[Row] = [(0, "")]
        while rows:
            rows = self.connection.all(
                f"SELECT seq, id FROM jobs WHERE {condition} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
                (*values, rows[-1][0], last, chunk),
            )
            if rows:
                yield tuple(str(id) for _, id in rows)

    def _cancel(self, filter: JobFilter, now: int, notices: Notices | None) -> tuple[int, int]:
        db = self.connection
        waiting, values = where(filter, db.dialect, states.CANCELLABLE)
        running, running_values = where(filter, db.dialect, (states.PROCESSING,))

        def body(earlier: tuple[int, int] | None) -> tuple[int, int]:
            asked = db.run(
                f"UPDATE jobs SET cancel_requested = 1, updated_at = ? WHERE {running}",
                (now, *running_values),
            )
            done, queues = 0, set()
            for queue, state in self._kinds("queue, state", waiting, values):
                queues.add(queue)
                mine, my_values = where(filter, db.dialect, (str(state),))
                jobs = db.run(
                    "UPDATE jobs SET state = 'cancelled', finished_at = ?, updated_at = ?, "
                    f"last_error = ? WHERE {mine} AND queue = ?",
                    (now, now, _CANCELLED, *my_values, queue),
                )
                db.tally.moved(queue, state, states.CANCELLED, now, jobs)
                done += jobs
            # Looked up only now: a job that comes in and waits for one of these has had it locked.
            ended = "finished_at IS NOT NULL AND state = 'cancelled' AND queue = ? AND finished_at = ?"
            if filter.ids:
                ended += f" AND id IN ({marks(filter.ids)})"
            for queue in queues:
                self._follow_up(self._affected(ended, (queue, now, *filter.ids)), now)
                if done:
                    from queuectl.store.notices import Notices

                    # Not those that a worker has ended in the same moment: it has told of them itself.
                    told = (queue, now, *filter.ids, _CANCELLED)
                    tell = notices or Notices(db)
                    tell.of_all_cancelled(f"{ended} AND last_error = ?", told, now)
            # If the first run took effect after all, the second finds less to do.
            before = earlier or (0, 0)
            return max(done, before[0]), max(asked, before[1])

        return db.write("change", body)

    def retry(self, filter: JobFilter, now: int, *, sources: tuple[str, ...]) -> int:
        """Back to pending with all attempts anew."""
        db = self.connection
        condition, values = where(filter, db.dialect, sources)

        def body(earlier: int | None) -> int:
            affected = self._affected(condition, values)
            done = 0
            grouping = "CASE WHEN job_group IS NULL THEN 0 ELSE 1 END"
            for queue, state, grouped in self._kinds(f"queue, state, {grouping}", condition, values):
                # A group lets its jobs in one by one.
                after, group = (states.BLOCKED, "IS NOT NULL") if grouped else (states.PENDING, "IS NULL")
                mine, my_values = where(filter, db.dialect, (str(state),))
                jobs = db.run(
                    "UPDATE jobs SET state = ?, attempts = 0, lost = 0, run_at = ?, held = NULL, "
                    "waits = NULL, unmet = NULL, finished_at = NULL, last_error = NULL, updated_at = ? "
                    f"WHERE {mine} AND queue = ? AND job_group {group}",
                    (after, now, now, *my_values, queue),
                )
                db.tally.moved(queue, state, after, now, jobs)
                done += jobs
            self._follow_up(affected, now)
            return max(done, earlier or 0)

        try:
            return db.write("change", body)
        except Clash:
            raise Refused(
                "another job with the same unique key waits or runs", "retry this one when that has ended"
            ) from None

    def _kinds(self, columns: str, condition: str, values: Sequence[object]) -> Iterator[Row]:
        """The kinds of jobs for which a condition holds, each to be changed by a statement of its own, which
        says how many it changed. On a server some may become of another kind meanwhile: so we look again.
        """
        for _ in range(_ROUNDS if self.connection.dialect.hold else 1):
            kinds = self.connection.all(f"SELECT DISTINCT {columns} FROM jobs WHERE {condition}", values)
            yield from kinds
            if not kinds:
                break

    def _affected(self, condition: str, values: Sequence[object]) -> list[tuple[object, ...]]:
        """The numbers and groups of these jobs, if anybody could care."""
        waiting = what_waits(self.connection)
        if not (waiting.linked or waiting.grouped):
            return []
        return self.connection.all(f"SELECT seq, job_group FROM jobs WHERE {condition}", values)

    def _follow_up(self, affected: Sequence[tuple[object, ...]], now: int) -> None:
        """Who waits for these jobs, or for their place in a group, will hear of it."""
        if affected:
            from queuectl.store.links import Links
            from queuectl.store.readiness import admit

            Links(self.connection).note([seq for seq, _ in affected])
            admit(self.connection, {group for _, group in affected if group is not None}, now)

    def remove(self, filter: JobFilter, *, sources: tuple[str, ...], limit: int) -> tuple[int, list[str]]:
        """Delete up to `limit` jobs and their attempts; how many, and the log files left behind."""
        condition, values = where(filter, self.connection.dialect, sources)
        return self._delete(condition, values, limit)

    def purge(self, state: str, before: int | None, *, limit: int, keep: int = 0) -> tuple[int, list[str]]:
        """Delete jobs that ended in `state` before a time, if there is one, and that are not among the `keep`
        newest of their queue; the caller loops. One that others still wait for stays.
        """
        from queuectl.store.retention import OLDER, cuts, older_than

        total = 0
        logs: list[str] = []
        unneeded = ""
        if what_waits(self.connection).linked:
            unneeded = (
                " AND NOT EXISTS (SELECT 1 FROM dependencies "
                "WHERE dependencies.parent_seq = jobs.seq AND dependencies.settled IS NULL)"
            )
        for queue, cut in cuts(self.connection, state, before=before, keep=keep, most=limit):
            count, more = self._delete(
                f"state = ? AND queue = ? AND {OLDER}{unneeded}",
                (state, queue, *older_than(cut)),
                limit - total,
            )
            total, logs = total + count, logs + more
            if total >= limit:
                break
        return total, logs

    def _delete(self, condition: str, values: Sequence[object], limit: int) -> tuple[int, list[str]]:
        db = self.connection
        logs: dict[str, object] = {}  # the job of each

        def body(earlier: int | None) -> int:
            found = db.all(
                "SELECT seq, job_group, updated_at, queue, state FROM jobs "
                f"WHERE {condition} LIMIT ?{db.dialect.hold}",
                (*values, limit),
            )
            self._leave_out_logs_of_others(logs)
            if found:
                these, seqs = f"({marks(found)})", [row[0] for row in found]
                waiting = what_waits(self.connection)
                if waiting.linked:
                    from queuectl.store.links import Links

                    Links(db).forget(seqs)
                for log, seq in db.all(
                    f"SELECT log, job_seq FROM attempts WHERE job_seq IN {these} AND log IS NOT NULL", seqs
                ):
                    logs[str(log)] = seq
                db.run(f"DELETE FROM attempts WHERE job_seq IN {these}", seqs)
                db.run(f"DELETE FROM jobs WHERE seq IN {these}", seqs)
                db.tally.went((queue, state) for *_, queue, state in found)
                if waiting.grouped:
                    from queuectl.store.readiness import admit

                    groups = {row[1] for row in found if row[1] is not None}
                    admit(db, groups, max(int(str(row[2])) for row in found))
            return max(len(found), earlier or 0)

        return db.write("change", body), list(logs)

    def _leave_out_logs_of_others(self, logs: dict[str, object]) -> None:
        """An earlier run that was undone has named logs of jobs which may be claimed or changed by now."""
        seqs = list(dict.fromkeys(logs.values()))
        if not seqs:
            return
        rows = self.connection.all(f"SELECT seq FROM jobs WHERE seq IN ({marks(seqs)})", seqs)
        there = {row[0] for row in rows}
        for log in [log for log, seq in logs.items() if seq in there]:
            del logs[log]
