"""What only its worker can find out about a command that failed: it goes into the error, or is lost for good.

Whether the kernel killed it for want of memory, and where a command was looked for that was not found. What
it means is left to `core.deaths`.
"""

from __future__ import annotations

import os
import signal

from queuectl.core.meanings import NOT_FOUND, missing_command, signal_in
from queuectl.core.outcome import LOOKED_IN, NO_MEMORY, PERHAPS_NO_MEMORY
from queuectl.worker.cgroups import Unavailable, own_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Job
    from queuectl.core.outcome import Outcome

_EVERY = 5.0  # seconds between two looks, while commands run
_LONGEST_PATH = 300
_WORD = b"oom_kill "
_MACHINE = "/proc/vmstat"


class KernelKills:
    """How many processes the kernel has killed for want of memory: lately, and not accounted for yet."""

    def __init__(self, files: Sequence[tuple[str, str]] | None = None) -> None:
        """`files`: where it is counted, the best first, each with what can be said if the count has risen."""
        self._fd, self.means = -1, PERHAPS_NO_MEMORY
        for path, means in _counters() if files is None else files:
            try:
                self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            self.means = means
            if self._read() is not None:
                break
            self.close()
        # Two looks back: a kill may be counted some time before we notice the end of the command.
        self._before = self._last = self._read() or 0
        self._looked = float("-inf")
        self.next_look = 0.0

    def look(self, now: float) -> None:
        """Every few seconds: what was long ago has nothing to do with a command that ends now."""
        count = self._read() or 0
        self._before = count if now - self._looked > 3 * _EVERY else self._last
        self._last, self._looked, self.next_look = count, now, now + _EVERY

    def take_one(self) -> bool:
        """Whether there was one lately; each is the end of one command."""
        if (self._read() or 0) <= self._before:
            return False
        self._before += 1
        self._last = max(self._last, self._before)
        return True

    def _read(self) -> int | None:
        if self._fd < 0:
            return None
        try:
            text = os.pread(self._fd, 65_536, 0)
        except OSError:  # our cgroup is gone: we were moved
            self.close()
            return None
        for line in text.splitlines():
            if line.startswith(_WORD) and line[len(_WORD) :].isdigit():
                return int(line[len(_WORD) :])
        return None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _counters() -> list[tuple[str, str]]:
    """Of our own cgroup, which commands without limits share with us; else of the whole machine."""
    try:
        return [(os.path.join(own_place(), "memory.events"), NO_MEMORY), (_MACHINE, PERHAPS_NO_MEMORY)]
    except Unavailable:
        return [(_MACHINE, PERHAPS_NO_MEMORY)]


def add_evidence(job: Job, outcome: Outcome, kills: KernelKills) -> None:
    """To the error of a command that failed by itself."""
    code = outcome.exit_code
    was_killed = signal.SIGKILL in (outcome.signal, None if code is None else signal_in(code))
    if was_killed and "out of memory" not in (outcome.error or "") and kills.take_one():
        outcome.error = f"{outcome.error} ({kills.means})"
    elif code == NOT_FOUND and "/" not in (missing_command(outcome.error or "") or "/"):
        path = job.environment().get("PATH") or os.environ.get("PATH") or os.defpath
        shown = path[:_LONGEST_PATH].encode(errors="backslashreplace").decode()
        outcome.error = f"{outcome.error} {LOOKED_IN}{shown})"
