"""Notices that the wall clock was set back, and shortens the waits that would last until it has caught up.

Leases and timeouts go by clocks that nobody can set. A failed job waits until a time of day: were the clock
set back by two days, its second of back-off would last two days.
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
        self._looked = True
        if back > SLACK_MS or jobs:
            by = f" by {format_duration(back)}" if back > SLACK_MS else ""
            emit("clock.went_back", by=by, jobs=jobs)
