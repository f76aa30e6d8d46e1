"""Notices that the wall clock was set back, and shortens the waits that would last until it has caught up.

Leases and timeouts go by clocks that nobody can set. A failed job waits until a time of day: were the clock
set back by two days, its second of back-off would last two days. And a schedule that fired while the clock
was a year ahead would be silent for a year.
"""

from __future__ import annotations

from queuectl.core.durations import format_duration
from queuectl.events import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.clock import Clock
    from queuectl.config.settings import Settings
    from queuectl.store.api import Store

# Clocks of machines differ by a bit, and are corrected by a bit all the time.
SLACK_MS = 60_000
# So much later than its next time a schedule fires only if that was worked out by a wrong clock. Less than a
# day is left alone: what has been fired must not be fired again because a clock was corrected.
DAY_MS = 86_400_000


class Timekeeper:
    """Called at every heartbeat; asks the store soon after it began, and whenever the clock went back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead: int | None = None  # of the wall clock before the one that nobody can set
        self._looked = False

    def __call__(self, store: Store, settings: Settings, now: int) -> None:  # noqa: ARG002
        ahead = self._clock.now() - round(self._clock.monotonic() * 1000)
        before, self._ahead = self._ahead, ahead
        if before is None:
            return  # the first look at the store comes with the next beat: some workers live but briefly
        back = before - ahead
        if back <= SLACK_MS and self._looked:
            return
        self._looked = False  # until the store has heard of it
        jobs = store.bookkeeping().shorten_waits(now, SLACK_MS)
        hasten_schedules(store, now)
        self._looked = True
        if back > SLACK_MS or jobs:
            by = f" by {format_duration(back)}" if back > SLACK_MS else ""
            emit("clock.went_back", by=by, jobs=jobs)


def hasten_schedules(store: Store, now: int) -> None:
    """Those that would fire more than a day later than by the clock as it is now."""
    from queuectl.core.recurrence import next_after

    schedules = store.schedules()
    last = schedules.last_at()
    if last is None or last <= now + DAY_MS:
        return  # so it is nearly always, and to work out the times of many schedules takes a while
    for schedule in schedules.all():
        if schedule.paused_at is None and schedule.next_at is not None and schedule.next_at > now + DAY_MS:
            soonest = next_after(schedule.parsed(), now)
            if soonest is not None and schedule.next_at > soonest + DAY_MS:
                schedules.hasten(schedule, soonest, now)
