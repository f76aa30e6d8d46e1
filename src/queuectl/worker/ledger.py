"""Which claimed jobs were really started, kept where a kill -9 of the worker cannot reach it.

A worker claims a little ahead of its free slots. If it dies, the jobs it had started count as attempts and
the ones it had not are as if never claimed; the store cannot tell them apart, this file can. It is a mapped
file of (seq, pid) pairs: a mark costs no system call.
"""

from __future__ import annotations

import mmap
import os
import struct

_PAIR = struct.Struct("<qq")


def ledger_path(run_dir: str, worker_id: str) -> str:
    return os.path.join(run_dir, worker_id + ".ledger")


class Ledger:
    """The writing side, owned by one worker."""

    def __init__(self, path: str, capacity: int) -> None:
        self.path = path
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        # Not a file with holes: writing to one on a full disk would be a SIGBUS.
        os.write(fd, bytes(capacity * _PAIR.size))
        self._map = mmap.mmap(fd, capacity * _PAIR.size)
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

    def started(self, index: int, seq: int, pid: int) -> None:
        _PAIR.pack_into(self._map, index * _PAIR.size, seq, pid)

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
