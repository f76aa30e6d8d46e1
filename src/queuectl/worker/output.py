"""What one attempt prints: kept in memory while short, in a file once long or once it takes a while.

Reading it back is left to `logfiles`.
"""

from __future__ import annotations

import os

from queuectl.core.chunks import HEAD_SIZE, STDERR, pack
from queuectl.logfiles import log_name, segments, tail_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job

_ERROR_TAIL = 512


class Output:
    """Collects both streams of one attempt in order, with caps that never stop the command."""

    __slots__ = (
        "_file",
        "_inline",
        "_job",
        "_kept",
        "_limit",
        "_logs_dir",
        "_parts",
        "last_error",
        "total",
    )

    def __init__(self, logs_dir: str, job: Job, *, inline: int, limit: int) -> None:
        self._logs_dir = logs_dir
        self._job = job
        self._inline = inline
        self._limit = limit
        self._parts: list[bytes] | None = []  # None once there is too much for memory
        self._kept = 0
        self._file: LogFile | None = None
        self.total = 0
        self.last_error = b""  # the end of stderr, for the error message

    def feed(self, stream: int, offset_ms: int, data: bytes) -> None:
        self.total += len(data)
        packed = pack(stream, offset_ms, data)
        if stream == STDERR:
            self.last_error = (self.last_error + data)[-_ERROR_TAIL:]
        if self._parts is not None:
            self._parts.append(packed)
            self._kept += len(packed)
            if self._kept > self._inline:
                self.show()
                self._parts = None
                return
        if self._file is not None:
            self._file.write(packed)

    def show(self) -> None:
        """Make what there is visible to `logs -f`; from now on it is written as it comes."""
        if self._file is None and self._parts:
            self._file = LogFile(self._logs_dir, self._name, self._limit)
            for part in self._parts:
                self._file.write(part)

    @property
    def _name(self) -> str:
        return log_name(self._job.seq, self._job.runs)

    @property
    def hidden(self) -> bool:
        """Whether there is output that nobody else can see yet."""
        return self._file is None and bool(self._parts)

    def finish(self) -> tuple[bytes | None, str | None, int]:
        """What to store: the packed output, or the name of its file; and how many bytes were left out."""
        if self._parts is not None:
            if self._file is not None:
                self._file.discard()
            return b"".join(self._parts) or None, None, 0
        assert self._file is not None
        return None, self._name, self._file.finish()


class LogFile:
    """A log on disk: the head, and behind it rotating tails, so that any flood ends up below the limit."""

    __slots__ = ("_dropped", "_fd", "_limit", "_logs_dir", "_name", "_sizes", "_tail")

    def __init__(self, logs_dir: str, name: str, limit: int) -> None:
        self._logs_dir = logs_dir
        self._name = name
        self._limit = limit
        self._tail = 0  # 0: the head is being written
        self._sizes = [0]
        self._dropped = 0
        self._fd = self._open(name)

    def _open(self, name: str) -> int:
        path = os.path.join(self._logs_dir, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(path, flags | os.O_EXCL, 0o600)
        except FileExistsError:
            # Left by an attempt that was given back; it never counted, so its output goes.
            os.unlink(path)
            return os.open(path, flags | os.O_EXCL, 0o600)

    def write(self, packed: bytes) -> None:
        part = self._limit // 2 if self._tail == 0 else self._limit // 4
        if self._sizes[-1] + len(packed) > part and self._sizes[-1]:
            self._rotate()
        try:
            os.write(self._fd, packed)
            self._sizes[-1] += len(packed)
        except OSError:
            # A full disk must not stop the command; what cannot be kept is counted.
            self._dropped += len(packed) - HEAD_SIZE

    def _rotate(self) -> None:
        os.close(self._fd)
        self._tail += 1
        self._sizes.append(0)
        if self._tail > 2:
            oldest = tail_name(self._name, self._tail - 2)
            self._dropped += self._sizes[self._tail - 2]
            self._sizes[self._tail - 2] = 0
            os.unlink(os.path.join(self._logs_dir, oldest))
        self._fd = self._open(tail_name(self._name, self._tail))

    def finish(self) -> int:
        """On the disk before the result is: a stored job never points to a log that power loss took."""
        os.fsync(self._fd)
        os.close(self._fd)
        return self._dropped

    def discard(self) -> None:
        os.close(self._fd)
        for path in segments(self._logs_dir, self._name):
            os.unlink(path)
