"""Fires recurring schedules that are due. Every worker does: the store lets only one of them have each time.

What is due is decided by `core.schedules`, and made in one transaction by the store.
"""

from __future__ import annotations

from queuectl import doorbell
from queuectl.arriving import prepared
from queuectl.core.fields import Defaults
from queuectl.errors import QueuectlError, Refused, StoreError
from queuectl.events import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.config.settings import Settings
    from queuectl.core.schedules import Firing, Schedule
    from queuectl.store.api import Store

_AT_ONCE = 50  # schedules in a turn; the rest waits for the next, so that heartbeats are not held up


class Scheduler:
    """Called at every heartbeat, and when `next_at` has come (None: nothing will be due)."""

    def __init__(self) -> None:
        self.next_at: int | None = None
        self._told: set[tuple[str, int]] = set()

    def __call__(self, store: Store, settings: Settings, now: int) -> None:
        self.next_at = self._run_once(store, settings, now)

    def _run_once(self, store: Store, settings: Settings, now: int) -> int | None:
        """Fire what is due; returns when there will be more to do."""
        schedules = store.schedules()
        first = schedules.next_at()
        if first is None or first > now:
            return first
        turns = made = 0
        more = False
        for schedule in schedules.due(now):
            firing = self._plan(schedule, settings, now)
            if firing is None:
                continue
            if turns >= _AT_ONCE:
                more = True
                break
            turns += 1
            new = self._fire(store, schedule, firing, now)
            made += new
            more = more or (new > 0 and firing.next_at is not None and firing.next_at <= now)
        if made:
            doorbell.announce(store, doorbell.JOB)
        # One that cannot be fired stays due, and would want to be looked at again and again.
        return now if more else schedules.next_at(after=now)

    def _plan(self, schedule: Schedule, settings: Settings, now: int) -> Firing | None:
        from queuectl.core.schedules import plan

        try:
            return plan(schedule, Defaults(now=now, max_retries=settings.max_retries))
        except Exception as error:  # whatever is wrong with one row: the others are not to suffer for it
            self._tell(schedule, str(error))
            return None

    def _fire(self, store: Store, schedule: Schedule, firing: Firing, now: int) -> int:
        from queuectl.core.schedules import name_followers

        drained = 0
        try:
            try:
                jobs = name_followers(prepared(firing.jobs, store))
            except Refused:  # its queue takes no new jobs
                jobs, drained = [], len(firing.jobs)
            made = store.schedules().fire(
                schedule,
                jobs=jobs,
                next_at=firing.next_at,
                last_at=firing.last_at,
                skipped=firing.skipped + drained,
                now=now,
            )
        except StoreError:
            raise
        except QueuectlError as error:  # of its job
            self._tell(schedule, error.message)
            return 0
        if made is None:
            return 0
        skipped = firing.skipped + len(firing.jobs) - len(made)
        emit("schedule.fired", schedule=schedule.name, jobs=len(made), skipped=skipped)
        return len(made)

    def _tell(self, schedule: Schedule, error: str) -> None:
        """Once for each state of it: it is due at every heartbeat."""
        what = (schedule.name, schedule.updated_at)
        if what not in self._told:
            self._told.add(what)
            emit("schedule.failed", schedule=schedule.name, error=error)


def run_once(store: Store, settings: Settings, now: int) -> int | None:
    """Fire everything that is due; returns when the next one is."""
    scheduler = Scheduler()
    scheduler(store, settings, now)
    return scheduler.next_at
