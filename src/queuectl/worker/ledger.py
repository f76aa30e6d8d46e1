"""Which claimed jobs were really started, kept where a kill -9 of the worker cannot reach it.

A worker claims a little ahead of its free slots. If it dies, the jobs it had started count as attempts and
the ones it had not are as if never claimed; the store cannot tell them apart, this file can. It is a mapped
file of (seq, process) pairs: a mark costs no system call. A process is its pid and, once it has run for a
while, a mark of when it began, so that nobody takes a later one with the same number for it.
"""

from __future__ import annotations

import mmap
import os
import struct

_PAIR = struct.Struct("<qq")
_PID_BITS = 32  # of a process; above them is its `system.birth_mark`, 0 while that is not known


def ledger_path(run_dir: str, worker_id: str) -> str:
    return os.path.join(run_dir, worker_id + ".ledger")


def _fill(fd: int, size: int) -> None:
    """A disk that is nearly full takes a part of it; only the next write says that it is full."""
    while size:
        size -= os.write(fd, bytes(size))


class Ledger:
    """The writing side, owned by one worker."""

    def __init__(self, path: str, capacity: int) -> None:
        self.path = path
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            # Not a file with holes: writing to one on a full disk would be a SIGBUS.
            _fill(fd, capacity * _PAIR.size)
            self._map = mmap.mmap(fd, capacity * _PAIR.size)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(fd)
        self._free = list(range(capacity))

    def room(self) -> int:
        """How many more jobs can be marked; no more than this may be claimed."""
        return len(self._free)

    def mark(self, seq: int) -> int:
        """Note, before it is started, that a job is; the result is what `started` and `clear` take."""
        index = self._free.pop()
        _PAIR.pack_into(self._map, index * _PAIR.size, seq, 0)
        return index

    def started(self, index: int, seq: int, pid: int, birth: int = 0) -> None:
        """Its process; `birth` is told later, since to learn it would make every start dearer."""
        _PAIR.pack_into(self._map, index * _PAIR.size, seq, birth << _PID_BITS | pid)

    def clear(self, index: int) -> None:
        """Only after its result is stored."""
        _PAIR.pack_into(self._map, index * _PAIR.size, 0, 0)
        self._free.append(index)

    def close(self) -> None:
        self._map.close()
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
