"""Recurring jobs: when they are due, and firing them exactly once.

Which jobs a firing makes, and when the next one is, is left to `core.schedules`.
"""

from __future__ import annotations

from queuectl.core.schedules import SCHEDULE_COLUMNS, SKIP, schedule_from_row
from queuectl.errors import InvalidInput, Refused
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert
from queuectl.store.filters import marks
from queuectl.store.intake import arrivals_of, insert_jobs, insert_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import NewJob
    from queuectl.core.schedules import Schedule
    from queuectl.store.connection import Connection

_COLUMNS = ", ".join(SCHEDULE_COLUMNS)
_SCHEDULES = Insert("schedules", SCHEDULE_COLUMNS)

# Never the same twice, even within a millisecond: a firing goes by it to see that nobody was faster.
_TOUCH = "updated_at = CASE WHEN updated_at >= ? THEN updated_at + 1 ELSE ? END"


class Schedules:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    # --- look -------------------------------------------------------------------------------------

    def all(self) -> list[Schedule]:
        rows = self._db.all(f"SELECT {_COLUMNS} FROM schedules ORDER BY name")
        return [schedule_from_row(row) for row in rows]

    def get(self, name: str) -> Schedule | None:
        row = self._db.one(f"SELECT {_COLUMNS} FROM schedules WHERE name = ?", (name,))
        return None if row is None else schedule_from_row(row)

    def next_at(self, *, after: int = -1) -> int | None:
        """When the first of them fires, of those that fire after a time."""
        row = self._db.all(
            "SELECT min(next_at) FROM schedules WHERE paused_at IS NULL AND next_at > ?", (after,)
        )[0]
        return None if row[0] is None else int(str(row[0]))

    def last_at(self) -> int | None:
        """When the last of them fires."""
        row = self._db.all("SELECT max(next_at) FROM schedules WHERE paused_at IS NULL")[0]
        return None if row[0] is None else int(str(row[0]))

    def due(self, now: int) -> list[Schedule]:
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM schedules WHERE paused_at IS NULL AND next_at <= ? "
            "ORDER BY next_at, name",
            (now,),
        )
        return [schedule_from_row(row) for row in rows]

    # --- change -----------------------------------------------------------------------------------

    def add(self, schedule: Schedule) -> None:
        values = [getattr(schedule, name) for name in SCHEDULE_COLUMNS]
        unsure = False  # whether an earlier run may have taken effect

        def body(earlier: int | None) -> int:
            nonlocal unsure
            unsure = unsure or earlier is not None
            return self._db.insert(_SCHEDULES, [values])

        try:
            self._db.write("schedule", body)
        except Clash:
            found = self.get(schedule.name)
            ours = found is not None and all(
                getattr(found, name) == getattr(schedule, name) for name in ("job", "created_at")
            )
            if not (unsure and ours):
                raise InvalidInput(
                    f"schedule {schedule.name} exists already", "choose another name, or give --replace"
                ) from None

    def replace(self, schedule: Schedule) -> bool:
        """Lay it down anew; False if there is none of its name. What it has done, and a pause, remain.

        While it stays at the same times, a firing that is due now is not lost.
        """

        def body(earlier: int | None) -> int:
            # `next_at` is first: MySQL goes by the new values of the columns to its left.
            changed = self._db.run(
                "UPDATE schedules "
                "SET next_at = CASE WHEN recurrence = ? AND zone = ? THEN next_at ELSE ? END, "
                f"recurrence = ?, zone = ?, catch_up = ?, overlap = ?, job = ?, {_TOUCH} WHERE name = ?",
                (
                    *(schedule.recurrence, schedule.zone, schedule.next_at),
                    *(schedule.recurrence, schedule.zone, schedule.catch_up, schedule.overlap, schedule.job),
                    *(schedule.updated_at, schedule.updated_at, schedule.name),
                ),
            )
            return changed or earlier or 0

        return bool(self._db.write("schedule", body))

    def remove(self, name: str) -> bool:
        """Its jobs stay."""

        def body(earlier: int | None) -> int:
            return self._db.run("DELETE FROM schedules WHERE name = ?", (name,)) or earlier or 0

        return bool(self._db.write("schedule", body))

    def pause(self, name: str, now: int) -> bool:
        """False if it was paused, or is not there."""
        return self._change("paused_at = ?", (now,), "paused_at IS NULL", name, now)

    def resume(self, name: str, next_at: int | None, now: int) -> bool:
        """Fire again, at that time first; False if it was not paused, or is not there."""
        return self._change("paused_at = NULL, next_at = ?", (next_at,), "paused_at IS NOT NULL", name, now)

    def hasten(self, before: Schedule, next_at: int, now: int) -> bool:
        """Fire sooner than was laid down; False if somebody has changed it meanwhile."""

        def body(earlier: int | None) -> int:
            changed = self._db.run(
                f"UPDATE schedules SET next_at = ?, {_TOUCH} WHERE name = ? AND updated_at = ?",
                (next_at, now, now, before.name, before.updated_at),
            )
            return changed or earlier or 0

        return bool(self._db.write("schedule", body))

    def _change(self, sets: str, values: tuple[object, ...], condition: str, name: str, now: int) -> bool:
        def body(earlier: int | None) -> int:
            changed = self._db.run(
                f"UPDATE schedules SET {sets}, {_TOUCH} WHERE name = ? AND {condition}",
                (*values, now, now, name),
            )
            return changed or earlier or 0

        return bool(self._db.write("schedule", body))

    # --- fire -------------------------------------------------------------------------------------

    def fire(
        self,
        before: Schedule,
        *,
        jobs: Sequence[NewJob],
        next_at: int | None,
        last_at: int | None,
        skipped: int,
        now: int,
    ) -> list[str] | None:
        """Store the jobs and move on to the next time, all in one transaction; returns the ids that are new.

        Among the jobs may be some that follow those of the schedule; they are not counted.
        None: it is no longer as it was read, so that somebody else has fired it, or it was changed. Who tries
        waits at the schedule's row until the others are done, and then finds another `next_at`.
        """
        db = self._db

        def body(earlier: list[str] | None) -> list[str] | None:
            if not db.all(
                "SELECT 1 FROM schedules WHERE name = ? AND next_at = ? AND updated_at = ? "
                f"AND paused_at IS NULL{db.dialect.hold}",
                (before.name, before.next_at, before.updated_at),
            ):
                return earlier  # ours, if its commit arrived after all
            wanted = sum(_is_of(before.name, job) for job in jobs)
            late = before.overlap == SKIP and self._unfinished(before.name) is not None
            made = [] if late else self._store(before.name, jobs, now)
            if made:
                self._record(before.name, last_at, made[-1], len(made))
            db.run(
                f"UPDATE schedules SET next_at = ?, skipped = skipped + ?, {_TOUCH} WHERE name = ?",
                (next_at, skipped + wanted - len(made), now, now, before.name),
            )
            return made

        return db.write("schedule", body)

    def trigger(self, before: Schedule, jobs: Sequence[NewJob], now: int) -> bool:
        """Store a job of this schedule now, and what follows it; its times stay as they are.

        False if it is not there any more.
        """
        db, id = self._db, str(jobs[0].id)

        def body(earlier: bool | None) -> bool:
            if not db.all(f"SELECT 1 FROM schedules WHERE name = ?{db.dialect.hold}", (before.name,)):
                return bool(earlier)
            if earlier is not None and self._known([id]):
                return earlier
            running = self._unfinished(before.name) if before.overlap == SKIP else None
            if running is not None:
                raise Refused(
                    f"job {running} of schedule {before.name} has not ended, and its jobs shall not overlap",
                    f"queuectl wait {running}, or cancel it",
                )
            made = self._store(before.name, jobs, now)
            self._record(before.name, now, id, len(made))
            return True

        return db.write("schedule", body)

    def _unfinished(self, name: str) -> object:
        """The id of a job of this schedule that has not ended."""
        row = self._db.one(f"SELECT id FROM jobs WHERE {self._db.dialect.live_schedule} LIMIT 1", (name,))
        return None if row is None else row[0]

    def _store(self, name: str, jobs: Sequence[NewJob], now: int) -> list[str]:
        """The new jobs of the schedule: what was made for a firing before the clock was set back is there."""
        known = self._known([str(job.id) for job in jobs])
        new = [job for job in jobs if not known.intersection([job.id, *_parents(job)])]
        if new:
            rows = [insert_values(job, now) for job in new]
            insert_jobs(self._db, rows, now=now, skip=True)
            arrivals = arrivals_of([new])
            if arrivals is not None:
                arrivals.follow_up(self._db, now)
        return [str(job.id) for job in new if _is_of(name, job)]

    def _known(self, ids: Sequence[str]) -> set[object]:
        if not ids:
            return set()
        return {row[0] for row in self._db.all(f"SELECT id FROM jobs WHERE id IN ({marks(ids)})", ids)}

    def _record(self, name: str, last_at: int | None, last_job: str, count: int) -> None:
        self._db.run(
            "UPDATE schedules SET last_at = ?, last_job = ?, fired = fired + ? WHERE name = ?",
            (last_at, last_job, count, name),
        )


def _is_of(name: str, job: NewJob) -> bool:
    return job.conditions is not None and job.conditions.schedule == name


def _parents(job: NewJob) -> list[object]:
    after = job.conditions.after if job.conditions is not None else []
    return [parent if isinstance(parent, str) else parent.id for _, parent in after]
