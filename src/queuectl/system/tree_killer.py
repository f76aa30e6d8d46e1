"""Ends processes that go on forking while they are being killed.

Which processes are meant, and when to give up, is left to the callers.
"""

from __future__ import annotations

import signal

from queuectl.system.anywhere import kill_pids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class TreeKiller:
    """Called with all processes of a tree that are found, again and again, until none is found.

    A process that is killed makes room for another: in a tree that forks as long as a limit on processes lets
    it, some are always missed. So all are stopped first. A stopped process does not fork, and it keeps its
    place. When a look finds nobody new, all are killed.
    """

    def __init__(self) -> None:
        self._stopped: set[int] = set()
        self._killed: set[int] = set()

    def __call__(self, found: Iterable[int]) -> signal.Signals | None:
        """Signal them; returns what was new to some of them, None if all had been killed before."""
        pids = set(found)
        fresh = pids - self._stopped
        self._stopped = pids
        self._killed &= pids  # a number that is free again may come to mean another process
        if fresh:
            _stop(fresh)
            return signal.SIGSTOP
        first = not pids <= self._killed
        self._killed = pids
        kill_pids(pids, signal.SIGKILL)
        return signal.SIGKILL if first else None


def _stop(pids: Iterable[int]) -> None:
    try:
        kill_pids(pids, signal.SIGSTOP)
    except PermissionError:
        pass  # the KILL tells
