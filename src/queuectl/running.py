"""What came of a job that somebody waited for: the exit code of `run`, its output, one document.

That the job runs, and that somebody waits, is left to the command line and to `agents`.
"""

from __future__ import annotations

import errno
import os

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.chunks import GAP, STDERR, STDOUT
from queuectl.documents import job_document
from queuectl.outputs import live_output, stored_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuectl.core.chunks import Chunk
    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

__all__ = ["Captured", "can_run_here", "captured", "exit_code", "run_document"]

TIMED_OUT = 124
NOT_STARTED = 126
NOT_FOUND = 127
CANCELLED = 130

# Of each stream, from its end. A document is held in memory, also by who reads it; `logs` has no such bound.
MOST_BYTES = 16 * 1024 * 1024


def can_run_here(job: Job) -> bool:
    """Whether a process that is no worker may run it by itself.

    What needs resources waits for a worker that has them: elsewhere is nobody who counts them.
    """
    return job.needs is None and job.state != states.BLOCKED


def exit_code(job: Job, attempts: Sequence[Attempt]) -> int:
    """Of the process that ran a job for somebody: as a shell would tell it."""
    if job.state == states.COMPLETED:
        return 0
    if job.state == states.CANCELLED:
        return CANCELLED
    if attempts and attempts[-1].outcome == kinds.TIMEOUT:
        return TIMED_OUT
    if job.signal is not None:
        return 128 + job.signal
    if job.exit_code:
        return job.exit_code
    return NOT_FOUND if os.strerror(errno.ENOENT) in (job.last_error or "") else NOT_STARTED


def run_document(queue: Queue, job: Job) -> dict[str, object]:
    """The job as `show --json` has it, what its last attempt printed, and what `run` exits with."""
    attempts = queue.attempts(job)
    output = captured(stored_output(queue, job, attempts[-1]) if attempts else (), most=MOST_BYTES)
    return {
        **job_document(queue, job),
        "stdout": output.text(STDOUT),
        "stderr": output.text(STDERR),
        "combined": output.text(),
        "truncated": output.truncated,
        "run_exit_code": exit_code(job, attempts),
    }


def output_of(queue: Queue, job: Job, attempt: Attempt | None, *, most: int) -> Captured:
    """The end of what an attempt printed; None: the one that runs now."""
    chunks = live_output(queue, job) if attempt is None else stored_output(queue, job, attempt)
    return captured(chunks, most=most)


class Captured:
    """The end of some output, in memory."""

    __slots__ = ("_pieces", "_sizes", "missing", "truncated")

    def __init__(self) -> None:
        self._pieces: list[tuple[int, bytes]] = []
        self._sizes = {STDOUT: 0, STDERR: 0}
        self.truncated = False
        self.missing = 0  # bytes, as far as their number is known

    def add(self, chunk: Chunk, most: int) -> None:
        if chunk.stream == GAP:
            self.truncated = True
            self.missing += int(chunk.data or b"0")
            return
        self._pieces.append((chunk.stream, chunk.data))
        self._sizes[chunk.stream] += len(chunk.data)
        if self._sizes[chunk.stream] > 2 * most:  # not at each piece: that would copy the list each time
            self.shorten(most)

    def shorten(self, most: int) -> None:
        """Only the last `most` bytes of each stream stay."""
        left = {STDOUT: most, STDERR: most}
        kept: list[tuple[int, bytes]] = []
        for stream, data in reversed(self._pieces):
            rest = data[max(len(data) - left[stream], 0) :] if left[stream] else b""
            left[stream] -= len(rest)
            if len(rest) < len(data):
                self.truncated = True
                self.missing += len(data) - len(rest)
            if rest:
                kept.append((stream, rest))
        self._pieces = kept[::-1]
        self._sizes = {stream: most - free for stream, free in left.items()}

    def text(self, stream: int | None = None) -> str:
        """Of one stream, or of both as they came."""
        data = b"".join(data for one, data in self._pieces if stream in (None, one))
        return data.decode("utf-8", "replace")


def captured(chunks: Iterable[Chunk], *, most: int) -> Captured:
    result = Captured()
    for chunk in chunks:
        result.add(chunk, most)
    result.shorten(most)
    return result
