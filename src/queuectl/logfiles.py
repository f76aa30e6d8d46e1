"""Where long output lies and how it is read back; `worker.output` writes it.

An attempt's log is a head file, and once that is full, numbered tail files of which the last two are kept.
"""

from __future__ import annotations

import os

from queuectl.core.chunks import GAP, Chunk, unpack_some

_LONGEST_NAME = 60  # two numbers of 64 bits, and room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def log_name(seq: int, run: int) -> str:
    """The file of an attempt, relative to logs/. Made of numbers of ours, never of the job's id."""
    return f"{seq % 256:02x}/{seq}-{run}.log"


def _is_ours(name: str) -> bool:
    """Names come back from the store, where others may have written them, and are read and deleted."""
    seq, _, run = name[3:].removesuffix(".log").partition("-")
    if len(name) > _LONGEST_NAME or not (seq.isdecimal() and run.isdecimal()):
        return False
    return name == log_name(int(seq), int(run))


def parse_log_file(name: str) -> tuple[int, int] | None:
    """The job and the run of a file below logs/, head or tail; None if it is none of ours."""
    head, dot, tail = name.partition(".log")
    if not dot or not _is_ours(head + dot) or (tail and not (tail[0] == "." and tail[1:].isdecimal())):
        return None
    seq, _, run = head[3:].partition("-")
    return int(seq), int(run)


def is_log_file(name: str) -> bool:
    return parse_log_file(name) is not None


def tail_name(name: str, number: int) -> str:
    return f"{name}.{number}"


def delete_log(logs_dir: str, name: str) -> None:
    for path in segments(logs_dir, name):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass


def segments(logs_dir: str, name: str) -> list[str]:
    """The existing files of a log, in order. A name that is none of ours has no file, wherever it leads."""
    if not _is_ours(name):
        return []
    head = os.path.join(logs_dir, name)
    directory, base = os.path.split(head)
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    tails = []
    for other in names:
        number = other.removeprefix(base + ".")
        if number != other and number.isdigit():
            tails.append(int(number))
    files = [head] if base in names else []
    return files + [tail_name(head, number) for number in sorted(tails)]


class LogReader:
    """Reads a log from its beginning, and goes on where it stopped when called again."""

    __slots__ = ("_logs_dir", "_name", "_offset", "_path")

    def __init__(self, logs_dir: str, name: str) -> None:
        self._logs_dir = logs_dir
        self._name = name
        self._path: str | None = None
        self._offset = 0

    def read(self) -> Iterator[Chunk]:
        """All pieces that were added since the last call."""
        while True:
            if self._path is not None:
                yield from self._rest_of(self._path)
            following = self._next_segment()
            if following is None:
                return
            if self._path is not None:
                # Written between our last look at it and the rotation.
                yield from self._rest_of(self._path)
            if self._path is not None and not _follows(self._path, following):
                yield Chunk(GAP, 0, b"")
            self._path, self._offset = following, 0

    def _next_segment(self) -> str | None:
        files = segments(self._logs_dir, self._name)
        if self._path is None:
            return files[0] if files else None
        later = [path for path in files if _number(path) > _number(self._path)]
        return later[0] if later else None

    def _rest_of(self, path: str) -> Iterator[Chunk]:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        with open(fd, "rb") as file:  # of a pipe, this cannot be sought in: an error, and no waiting
            file.seek(self._offset)
            kept = b""
            while block := file.read(1 << 20):
                chunks, used = unpack_some(kept + block)
                kept = (kept + block)[used:]
                self._offset += used
                yield from chunks


def _number(path: str) -> int:
    suffix = path.rpartition(".")[2]
    return int(suffix) if suffix.isdigit() else 0


def _follows(path: str, following: str) -> bool:
    return _number(following) == _number(path) + 1
