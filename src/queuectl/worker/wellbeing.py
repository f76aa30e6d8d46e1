"""How the workers of a supervisor are, by what they say themselves; and what that means for all of it.

Starting and ending them is left to the supervisor.
"""

from __future__ import annotations

import os

from queuectl.worker.pulse import ALIVE, EXTEND, READY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.worker.pulse import Pulse

# A fresh interpreter that finds its store locked or far away may need so long, whatever the watchdog allows.
_START_WITHIN = 60.0  # seconds


class Wellbeing:
    """Hears the workers, and speaks for them all to the service manager; does nothing without one."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._ready = self._stopping = False
        self._last: dict[int, float] = {}  # of each process that was ready: when it was heard last
        self.fd: int | None = None  # there is something to hear when it can be read
        self._writer = -1
        if pulse.heard:
            self.fd, self._writer = os.pipe()
            os.set_blocking(self.fd, False)

    def words(self) -> list[str]:
        """What is said to each worker's command."""
        return [] if self.fd is None else ["--pulse", f"{self._writer}:{self._pulse.every}"]

    def passed(self) -> tuple[int, ...]:
        """The descriptors it needs for that."""
        return () if self.fd is None else (self._writer,)

    @property
    def next_at(self) -> float:
        return self._pulse.next_at

    def look(self, now: float, workers: Sequence[tuple[int | None, float]]) -> None:
        """`workers`: the process of each, None while it waits for its next start; and when it was started."""
        if self.fd is None:
            return
        self._hear(now)
        living = [pid for pid, _ in workers if pid is not None]
        status = f"{sum(pid in self._last for pid in living)} of {len(workers)} worker(s) running"
        everybody = len(living) == len(workers) > 0 and all(pid in self._last for pid in living)
        if not self._ready and everybody:
            self._ready = True
            self._pulse.ready(status)
        if now >= self._pulse.next_at:
            if all(pid is None or self._is_well(pid, started, now) for pid, started in workers):
                self._pulse.beat(now, status)
            else:
                # The manager's patience runs out, unless it comes back. Meanwhile nothing is said.
                self._pulse.next_at = now + self._pulse.every

    def stopping(self) -> None:
        """All of them are told to stop; how long that may take they say themselves."""
        if not self._stopping:
            self._stopping = True
            self._pulse.stopping("stopping")

    def _is_well(self, pid: int, started: float, now: float) -> bool:
        """Whether it was heard twice in the time that a manager allows; a new one may take its time."""
        last = self._last.get(pid)
        return now - started < _START_WITHIN if last is None else now - last <= 2 * self._pulse.every

    def _hear(self, now: float) -> None:
        assert self.fd is not None
        try:
            lines = os.read(self.fd, 65536).splitlines()
        except BlockingIOError:
            return
        for line in lines:
            pid, _, said = line.decode().partition(" ")
            name, _, value = said.partition("=")
            if said in (READY, ALIVE):
                self._last[int(pid)] = now
            elif name == EXTEND and self._stopping and value.isdecimal():
                self._pulse.extend(int(value))
