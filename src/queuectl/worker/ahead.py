"""How many jobs to claim beyond the free slots: some while jobs are short, none once they are not.

Claiming ahead lets the next command start before the last result is on the disk. Jobs that were claimed and
then have to wait are given back, so nobody else is kept from them.
"""

from __future__ import annotations

_BUFFER = 0.1  # seconds of work to hold at most
_WEIGHT = 0.2  # of the newest job in the average


class Pace:
    """Learns how long jobs take, and says how many to hold."""

    __slots__ = ("average",)

    def __init__(self) -> None:
        self.average: float | None = None  # unknown at first: hold none

    def learn(self, seconds: float) -> None:
        if self.average is None:
            self.average = seconds
        else:
            self.average += _WEIGHT * (seconds - self.average)

    def slow_down(self) -> None:
        """What we hold does not get started: hold none, however many slots, until the next job tells."""
        self.average = None

    def ahead(self, slots: int, limit: int) -> int:
        if self.average is None:
            return 0
        return min(limit, int(slots * _BUFFER / max(self.average, 0.0005)))
