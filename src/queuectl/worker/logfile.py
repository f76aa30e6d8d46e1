"""The log of background workers: one file that many processes append to, turned over when it is long.

Which lines are written is left to `log`. Every line is one write to a descriptor with O_APPEND, so none is
torn; and none is lost: who writes to a file that was renamed a moment ago has written to the old one.
"""

from __future__ import annotations

import fcntl
import os

_STDOUT, _STDERR = 1, 2
KEEP = 3  # old files


class SharedLog:
    """Behind our stdout and stderr. Follows the name when one of us or logrotate has moved the file."""

    def __init__(self, path: str, most: int, keep: int = KEEP) -> None:
        self.path = path
        self.most = most  # bytes; 0: leave it to others
        self._keep = keep

    def write(self, line: bytes) -> None:
        self._follow()
        if self.most and os.fstat(_STDERR).st_size + len(line) > self.most:
            self._turn_over(len(line))
        os.write(_STDERR, line)

    def _follow(self) -> None:
        """Have the file that bears the name now; a new one if there is none."""
        ours = os.fstat(_STDERR)
        try:
            if os.path.samestat(os.lstat(self.path), ours):
                return
        except FileNotFoundError:
            pass
        fd = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        # In place, so that what Python says when it dies goes there as well, and new workers begin there.
        os.dup2(fd, _STDOUT)
        os.dup2(fd, _STDERR)
        os.close(fd)

    def _turn_over(self, more: int) -> None:
        lock = os.open(f"{self.path}.lock", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Somebody else may have done it while we waited; only under the lock is it sure.
            try:
                size = os.lstat(self.path).st_size
            except FileNotFoundError:
                size = 0
            if size + more > self.most and size:
                self._shift()
        finally:
            os.close(lock)
        self._follow()

    def _shift(self) -> None:
        names = [self.path, *(f"{self.path}.{number}" for number in range(1, self._keep + 1))]
        free = next((number for number, name in enumerate(names) if not os.path.lexists(name)), self._keep)
        for number in range(free, 0, -1):
            os.replace(names[number - 1], names[number])
