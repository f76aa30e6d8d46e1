"""What is left of a dead worker: the processes of its jobs, found by its ledger and by their claims."""

from __future__ import annotations

import signal
import struct
import time

from queuectl import system
from queuectl.system.tree_killer import TreeKiller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.core.job import Job

KILL_WITHIN = 5.0  # seconds


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


def kill_remains(
    jobs: Sequence[Job], started: dict[int, Started], session: int, *, within: float = KILL_WITHIN
) -> bool:
    """End all processes of these jobs; returns whether they are gone, as `end_all` does."""

    def find() -> set[int]:
        found = _carrying([job.token for job in jobs])
        for job in jobs:
            leader = started.get(job.seq)
            if leader and leader.pid and system.group_alive(leader.pid) and not leader.is_another():
                # Without its token in the environment it still is in its group and in our session.
                found.update(system.kin(job.token, leader.pid, session))
        return found

    return end_all(find, within=within)


def kill_by_token(tokens: Sequence[str]) -> tuple[int, bool]:
    """End all processes that carry one of them; returns how many there were, and whether they are gone."""
    return len(_carrying(tokens)), end_all(lambda: _carrying(tokens))


def end_all(
    find: Callable[[], set[int]],
    *,
    within: float = KILL_WITHIN,
    monotonic: Callable[[], float] = time.monotonic,
) -> bool:
    """End the processes that `find` finds, until it finds none. True when they are gone.

    True also when all that are left were killed `within` seconds ago: they are stuck in the kernel, run
    nothing of their program any more, and must not keep their job from everybody.
    False when new ones came up for as long. They may be at work: whoever calls must call again.
    """
    kill = TreeKiller()
    began = changed = monotonic()
    while found := find():
        now = monotonic()
        sent = kill(found)
        if sent is None and now - changed >= within:
            return True
        if sent == signal.SIGSTOP and now - began >= within:
            return False
        if sent is not None:
            changed = now
        time.sleep(0.005)
    return True


def _carrying(tokens: Sequence[str]) -> set[int]:
    found = system.kin_of_many(tokens).values() if tokens else ()
    return {pid for pids in found for pid in pids}
