"""What one attempt prints: kept in memory while short, in a file once long or once it takes a while.

Reading it back is left to `logfiles`.
"""

from __future__ import annotations

import os
from collections import deque

from queuectl.core.chunks import HEAD_SIZE, STDERR, pack
from queuectl.failpoints import failpoint
from queuectl.logfiles import delete_log, log_name, tail_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job

_ERROR_TAIL = 512
_SMALLEST_PIECE = 512


class Output:
    """Collects both streams of one attempt in order, with caps that never stop the command."""

    __slots__ = (
        "_file",
        "_inline",
        "_job",
        "_kept",
        "_last",
        "_limit",
        "_logs_dir",
        "_parts",
        "_piece",
        "last_error",
        "total",
    )

    def __init__(self, logs_dir: str, job: Job, *, inline: int, limit: int, share: bool = False) -> None:
        self._logs_dir = logs_dir
        self._job = job
        self._inline = inline
        self._limit = limit
        # What is written at once has to fit into the smallest part of a file. The end is cut by pieces.
        most = min(limit, inline) // 4 if share else limit // 4
        self._piece = max(most - HEAD_SIZE, _SMALLEST_PIECE)
        self._parts: list[bytes] | None = []  # None once there is too much for memory
        self._kept = 0
        # The end of long output goes into the store too if others cannot read our files.
        self._last: Last | None = Last(inline) if share else None
        self._file: LogFile | None = None
        self.total = 0
        self.last_error = b""  # the end of stderr, for the error message

    def feed(self, stream: int, offset_ms: int, data: bytes) -> None:
        self.total += len(data)
        if stream == STDERR:
            self.last_error = (self.last_error + data)[-_ERROR_TAIL:]
        if len(data) <= self._piece:
            self._keep(pack(stream, offset_ms, data))
        else:
            for start in range(0, len(data), self._piece):
                self._keep(pack(stream, offset_ms, data[start : start + self._piece]))

    def _keep(self, packed: bytes) -> None:
        if self._last is not None:
            self._last.add(packed)
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
            failpoint("run.log_opened")
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
        """What to store: the packed output (or its end), the name of its file, how much was left out."""
        if self._parts is not None:
            if self._file is not None:
                self._file.discard()
            return b"".join(self._parts) or None, None, 0
        assert self._file is not None
        return self._last.packed() if self._last is not None else None, self._name, self._file.finish()

    def abandon(self) -> None:
        """Nobody wants to know; what was shown stays where it is."""
        if self._file is not None:
            self._file.close()


class Last:
    """The last pieces of a stream, as many as fit."""

    __slots__ = ("_pieces", "_room", "_size")

    def __init__(self, room: int) -> None:
        self._room = room
        self._size = 0
        self._pieces: deque[bytes] = deque()

    def add(self, packed: bytes) -> None:
        self._pieces.append(packed)
        self._size += len(packed)
        while self._size > self._room:
            self._size -= len(self._pieces.popleft())

    def packed(self) -> bytes | None:
        return b"".join(self._pieces) or None


class LogFile:
    """A log on disk: the head, and behind it rotating tails, so that any flood ends up below the limit.

    Where it cannot be written (a full disk, no descriptor left) output is counted as dropped: that must
    neither stop the command nor end the worker.
    """

    __slots__ = ("_dropped", "_fd", "_limit", "_logs_dir", "_name", "_size", "_tail", "_texts")

    def __init__(self, logs_dir: str, name: str, limit: int) -> None:
        self._logs_dir = logs_dir
        self._name = name
        self._limit = limit
        self._tail = 0  # 0: the head is being written
        self._size = 0  # of the part that is being written
        self._texts = {0: 0}  # bytes of output in each part that is kept
        self._dropped = 0
        self._fd: int | None = None

    def _path(self, number: int) -> str:
        return os.path.join(self._logs_dir, tail_name(self._name, number) if number else self._name)

    def _open(self) -> int:
        path = self._path(self._tail)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if self._tail == 0:
            delete_log(
                self._logs_dir, self._name
            )  # tails too: of one given back, or of a queue replaced since
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(path, flags | os.O_EXCL, 0o600)
        except FileExistsError:
            # Left by an attempt that was given back; it never counted, so its output goes.
            os.unlink(path)
            return os.open(path, flags | os.O_EXCL, 0o600)

    def write(self, packed: bytes) -> None:
        part = self._limit // 2 if self._tail == 0 else self._limit // 4
        if self._size and self._size + len(packed) > part:
            self._rotate()
        text = len(packed) - HEAD_SIZE
        if self._append(packed):
            self._size += len(packed)
            self._texts[self._tail] += text
        else:
            self._dropped += text

    def _append(self, packed: bytes) -> bool:
        try:
            if self._fd is None:
                self._fd = self._open()
            written = os.write(self._fd, packed)
            if written < len(packed):
                os.ftruncate(self._fd, self._size)  # behind half a piece nothing could be read any more
        except OSError:
            return False
        return written == len(packed)

    def _rotate(self) -> None:
        self.close()
        self._tail += 1
        self._size = 0
        self._texts[self._tail] = 0
        oldest = self._tail - 2
        if oldest > 0:
            self._dropped += self._texts.pop(oldest)
            _unlink(self._path(oldest))

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def finish(self) -> int:
        """On the disk before the result is: a stored job never points to a log that power loss took."""
        self.close()
        for number in self._texts:
            _sync(self._path(number))
        return self._dropped

    def discard(self) -> None:
        self.close()
        for number in self._texts:
            _unlink(self._path(number))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # somebody tidied up, it could never be made, or the disk is read-only: no reason to stop


def _sync(path: str) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return  # it could not be written, or is gone: then the result alone has to do
    try:
        os.fsync(fd)
    except OSError:
        pass  # a full or failing disk: the result is worth more than its log
    finally:
        os.close(fd)
