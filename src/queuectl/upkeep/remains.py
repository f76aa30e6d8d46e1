"""What is left of a dead worker: the processes of its jobs, found by its ledger and by their claims."""

from __future__ import annotations

import signal
import struct
import time

from queuectl import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Job

_KILL_WITHIN = 5.0  # seconds; a process stuck in the kernel must not keep its job from everybody


class Started:
    """The process of a job, as the ledger of its worker tells."""

    __slots__ = ("birth", "pid")

    def __init__(self, noted: int) -> None:
        pid = noted & 0x7FFFFFFF
        self.pid = pid if pid > 1 else 0  # 0: about to be started. 1 is no command: a damaged file
        self.birth = noted >> 32 & 0x7FFFFFFF  # 0: it had only just begun

    def is_another(self) -> bool:
        """Whether its number means a stranger now. Then it was free in between: none of its group is left."""
        return self.birth != 0 and system.birth_mark(self.pid) not in (0, self.birth)

    def is_surely_there(self) -> bool:
        """Whether it is still the same process."""
        return self.birth != 0 and system.birth_mark(self.pid) == self.birth


def read_ledger(path: str) -> dict[int, Started] | None:
    """The jobs that a worker had started, by number; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    pairs = struct.iter_unpack("<qq", data[: len(data) // 16 * 16])
    return {seq: Started(process) for seq, process in pairs if seq}


def kill_remains(jobs: Sequence[Job], started: dict[int, Started], session: int) -> None:
    """All processes of these jobs. Returns when they are gone, or will not go."""
    deadline = time.monotonic() + _KILL_WITHIN
    while True:
        left = _carrying([job.token for job in jobs])
        for job in jobs:
            leader = started.get(job.seq)
            if leader and leader.pid and system.group_alive(leader.pid) and not leader.is_another():
                # Without its token in the environment it still is in its group and in our session.
                left.update(system.kin(job.token, leader.pid, session))
        if not left or time.monotonic() > deadline:
            return
        system.kill_pids(left, signal.SIGKILL)
        time.sleep(0.005)


def kill_by_token(tokens: Sequence[str]) -> int:
    """All processes that carry one of them; returns how many there were at first."""
    deadline = time.monotonic() + _KILL_WITHIN
    first = left = _carrying(tokens)
    while left and time.monotonic() < deadline:
        system.kill_pids(left, signal.SIGKILL)
        time.sleep(0.005)
        left = _carrying(tokens)
    return len(first)


def _carrying(tokens: Sequence[str]) -> set[int]:
    found = system.kin_of_many(tokens).values() if tokens else ()
    return {pid for pids in found for pid in pids}
