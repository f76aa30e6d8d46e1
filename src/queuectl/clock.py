"""Where the time comes from: wall time in epoch milliseconds, and a monotonic one.

Everything that decides by time takes a `Clock`, so that tests can turn it by hand
(`queuectl.testing.FakeClock`). Leases have a clock of their own.
"""

from __future__ import annotations

import time


class Clock:
    """The real clock."""

    __slots__ = ()

    def now(self) -> int:
        """Wall time, epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never jump; for timeouts and durations."""
        return time.monotonic()


SYSTEM_CLOCK = Clock()


def lease_clock_ms() -> int:
    """Milliseconds that nobody can set, the same for all processes of this machine since it booted.

    It stands still while the machine sleeps: on waking no worker has been silent for too long.
    """
    return time.monotonic_ns() // 1_000_000
