"""What changes jobs because a person asked for it: cancel, retry, delete.

Portable SQL beside the method that uses it.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.errors import Refused
from queuectl.store.connection import Clash
from queuectl.store.exchange import Exchanges
from queuectl.store.filters import marks, where
from queuectl.store.intake import Intake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.store.connection import Connection
    from queuectl.store.messages import JobFilter


class JobWrites(Intake, Exchanges):
    """Mixed into a store; needs `self.connection`."""

    connection: Connection

    def cancel(self, filter: JobFilter, now: int) -> tuple[int, int]:
        """Stop jobs: those that wait are cancelled at once, those that run are asked to end."""
        db = self.connection
        waiting, values = where(filter, db.dialect, states.CANCELLABLE)
        running, running_values = where(filter, db.dialect, (states.PROCESSING,))

        def body(earlier: tuple[int, int] | None) -> tuple[int, int]:
            asked = db.run(
                f"UPDATE jobs SET cancel_requested = 1, updated_at = ? WHERE {running}",
                (now, *running_values),
            )
            done = db.run(
                "UPDATE jobs SET state = 'cancelled', finished_at = ?, updated_at = ?, "
                f"last_error = 'cancelled while it waited' WHERE {waiting}",
                (now, now, *values),
            )
            # Looked up only now: a job that comes in and waits for one of these has had it locked.
            ended = "finished_at IS NOT NULL AND state = 'cancelled' AND finished_at = ?"
            self._follow_up(self._affected(ended, (now,)), now)
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
            done = db.run(
                # A group lets its jobs in one by one.
                "UPDATE jobs SET state = CASE WHEN job_group IS NULL THEN 'pending' ELSE 'blocked' END, "
                "attempts = 0, lost = 0, run_at = ?, held = NULL, waits = NULL, unmet = NULL, "
                f"finished_at = NULL, last_error = NULL, updated_at = ? WHERE {condition}",
                (now, now, *values),
            )
            self._follow_up(affected, now)
            return max(done, earlier or 0)

        try:
            return db.write("change", body)
        except Clash:
            raise Refused(
                "another job with the same unique key waits or runs", "retry this one when that has ended"
            ) from None

    def _affected(self, condition: str, values: Sequence[object]) -> list[tuple[object, ...]]:
        """The numbers and groups of these jobs, if anybody could care."""
        waiting = self._look()
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

    def purge(self, state: str, before: int, *, limit: int) -> tuple[int, list[str]]:
        """Delete jobs that ended in `state` before a time; the caller loops."""
        return self._delete("state = ? AND finished_at < ?", (state, before), limit)

    def _delete(self, condition: str, values: Sequence[object], limit: int) -> tuple[int, list[str]]:
        db = self.connection
        logs: dict[str, None] = {}

        def body(earlier: int | None) -> int:
            found = db.all(
                f"SELECT seq, job_group, updated_at FROM jobs WHERE {condition} LIMIT ?{db.dialect.hold}",
                (*values, limit),
            )
            if found:
                these, seqs = f"({marks(found)})", [row[0] for row in found]
                waiting = self._look()
                if waiting.linked:
                    from queuectl.store.links import Links

                    Links(db).forget(seqs)
                for (log,) in db.all(
                    f"SELECT log FROM attempts WHERE job_seq IN {these} AND log IS NOT NULL", seqs
                ):
                    logs[str(log)] = None
                db.run(f"DELETE FROM attempts WHERE job_seq IN {these}", seqs)
                db.run(f"DELETE FROM jobs WHERE seq IN {these}", seqs)
                if waiting.grouped:
                    from queuectl.store.readiness import admit

                    groups = {row[1] for row in found if row[1] is not None}
                    admit(db, groups, max(int(str(row[2])) for row in found))
            return max(len(found), earlier or 0)

        return db.write("change", body), list(logs)
