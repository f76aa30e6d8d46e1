"""The files in which commands may write when to try them again: `QUEUECTL_RETRY_AFTER`.

We make only their directory, one for each worker process. A file is looked at when its command has ended
with 75; what others leave is removed in bulk, so that an ordinary job costs nothing. What the text means is
left to `core.retry_after`.
"""

from __future__ import annotations

import fcntl
import os
import stat

from queuectl.core.retry_after import read_retry_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

VARIABLE = b"QUEUECTL_RETRY_AFTER"
_PREFIX = "retry-"
_LONGEST_TEXT = 1024
SWEEP_EVERY = 1024  # commands
_IN_DOUBT_MS = 60_000  # so long after it was written, whoever ended has been looked at


class RetryFiles:
    """A directory of our own, locked while we live: that of a dead worker is known by its missing lock."""

    def __init__(self, run_dir: str) -> None:
        _remove_abandoned(run_dir)
        self._path, self._lock = _make(run_dir)
        self._prefix = VARIABLE + b"=" + os.fsencode(self._path) + b"/"
        self.issued = 0  # since we last swept

    def entry(self, token: str) -> bytes:
        """The variable for the environment of a command."""
        self.issued += 1
        return self._prefix + token.encode()

    def take(self, token: str, now: int) -> tuple[int | None, str | None]:
        """When the command that has ended wants to be tried again, and what is to be told about that."""
        path = os.path.join(self._path, token)
        try:
            text = _read(path)
        except FileNotFoundError:
            return None, None
        except OSError as error:
            return None, f"cannot read its QUEUECTL_RETRY_AFTER: {error.strerror}"
        finally:
            _unlink(path)
        return read_retry_after(text, now_ms=now)

    def sweep(self, running: Collection[str], now: int) -> None:
        """Remove what commands have left that did not end with 75."""
        self.issued = 0
        for name, age in _ages(self._path, now):
            if age > _IN_DOUBT_MS and name not in running:
                _unlink(os.path.join(self._path, name))

    def close(self) -> None:
        _remove(self._path)
        os.close(self._lock)


def _make(run_dir: str) -> tuple[str, int]:
    while True:
        path = os.path.join(run_dir, f"{_PREFIX}{os.getpid()}-{os.urandom(3).hex()}")
        os.mkdir(path, 0o700)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # taken for abandoned before we could lock it
        if _lock(fd) is not False and os.path.isdir(path):
            return path, fd
        os.close(fd)


def _lock(fd: int) -> bool | None:
    """Whether we have the lock now; None if there are none on this file system."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_abandoned(run_dir: str) -> None:
    for name in os.listdir(run_dir):
        if not name.startswith(_PREFIX):
            continue
        path = os.path.join(run_dir, name)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # its owner, or another worker, was quicker
        try:
            if _lock(fd):
                _remove(path)
        finally:
            os.close(fd)


def _remove(directory: str) -> None:
    try:
        for name in os.listdir(directory):
            _unlink(os.path.join(directory, name))
        os.rmdir(directory)
    except OSError:
        pass  # somebody writes there still, or has removed it; the next worker looks again


def _read(path: str) -> str:
    # Without blocking: what lies there was made by the command, and may be a pipe.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return "(not a file)"
        return os.read(fd, _LONGEST_TEXT).decode("utf-8", "replace")
    finally:
        os.close(fd)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # a directory, or gone


def _ages(directory: str, now: int) -> list[tuple[str, int]]:
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                written = entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
                found.append((entry.name, now - written))
    except OSError:
        pass  # what was removed meanwhile is looked for again next time
    return found
