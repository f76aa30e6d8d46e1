"""What is started by a worker is killed before it when the machine, or its container, runs out of memory.

The worker knows what becomes of a command that was killed; without the worker nobody would know for a while.
"""

from __future__ import annotations

import os

_FILE = "/proc/self/oom_score_adj"
_MORE = 500  # as if it used half of all memory beyond what it does
_MOST = 1000


class Expendable:
    """A context in which to start commands. Elsewhere than on Linux it does nothing.

    A child inherits the mark that we have at the fork, and so do all below it. To mark the child after the
    fork would be too late for what it has forked by then, and would take a file to be opened each time.
    """

    __slots__ = ("_fd", "_own", "_theirs")

    def __init__(self, file: str = _FILE) -> None:
        self._fd = -1
        self._own = self._theirs = b""
        try:
            self._fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
            own = int(os.pread(self._fd, 16, 0))
        except (OSError, ValueError):
            self.close()
            return
        self._own = b"%d" % own
        self._theirs = b"%d" % min(own + _MORE, _MOST)

    def __enter__(self) -> None:
        if self._fd >= 0:
            self._set(self._theirs)

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            self._set(self._own)

    def _set(self, value: bytes) -> None:
        try:
            os.pwrite(self._fd, value, 0)
        except OSError:  # a sandbox that lets us look, not change
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
