"""The output of a job's attempts, as it was stored and as it comes in.

How it is put on the screen is left to `logview`. `run` and `logs -f` both follow.
"""

from __future__ import annotations

from queuectl import system
from queuectl.core.chunks import GAP, STDERR, STDOUT, Chunk, unpack
from queuectl.core.states import PROCESSING, TERMINAL
from queuectl.errors import NotFound
from queuectl.logfiles import LogReader, log_name, segments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

    Write = Callable[[Chunk], None]
    Begin = Callable[[int, int | None], None]

# New output of a running command appears in its file without anybody telling us.
_LOOK_EVERY_SECONDS = 0.1


class Output:
    """What one attempt printed, as far as it was kept."""

    __slots__ = ("attempt", "stderr", "stdout")

    def __init__(self, attempt: int | None, stdout: bytes, stderr: bytes) -> None:
        self.attempt = attempt  # its number; None: the job has not run yet
        self.stdout = stdout
        self.stderr = stderr

    @property
    def text(self) -> str:
        """What came on stdout; bytes that are no UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")


def whole_output(queue: Queue, job: Job, *, run: int | None = None) -> Output:
    """Of one attempt, else of that which runs, else of the last that printed anything."""
    attempts = queue.attempts(job)
    run = run or latest_run(queue, job, attempts)
    return gathered(run, () if run is None else chunks_of(queue, job, attempts, run)[0])


def gathered(run: int | None, chunks: Iterable[Chunk]) -> Output:
    """Both streams, each in one piece."""
    streams = {STDOUT: bytearray(), STDERR: bytearray()}
    for chunk in chunks:
        if chunk.stream in streams:
            streams[chunk.stream] += chunk.data
    return Output(run, bytes(streams[STDOUT]), bytes(streams[STDERR]))


def chunks_of(
    queue: Queue, job: Job, attempts: Sequence[Attempt], run: int
) -> tuple[Iterator[Chunk], Attempt | None]:
    """The output of the attempt with this number, and the attempt; None: it runs still."""
    for attempt in attempts:
        if attempt.run == run:
            return stored_output(queue, job, attempt), attempt
    if job.state == PROCESSING and run == job.runs:
        return live_output(queue, job), None
    known = ", ".join(str(attempt.run) for attempt in attempts[-20:])
    raise NotFound(f"job {job.id} has no attempt {run}", f"it has {known}" if known else "it has not run yet")


def follow(
    queue: Queue,
    job_id: str,
    *,
    write: Write,
    begin: Begin | None = None,
    caught_up: Callable[[Job], None] | None = None,
    first: int = 1,
    over: Callable[[], bool] = lambda: False,
) -> Job:
    """Hand output to `write` as it comes, over all retries, until the job has ended, or it is `over`.

    `begin` hears the number and the start of each attempt before its output. `caught_up` is called
    once, when all that was there already has been handed over. Attempts before `first` are not.
    """
    follower = _Follower(queue, job_id, write, begin, first)
    while True:
        last = over()  # before the look: what came until then is handed over
        seen = queue.store.changed()
        job = follower.catch_up()
        if caught_up is not None:
            caught_up(job)
            caught_up = None
        if last or job.state in TERMINAL:
            return job
        queue.wait_for_change(queue.clock.monotonic() + _LOOK_EVERY_SECONDS, seen=seen)


def stored_output(queue: Queue, job: Job, attempt: Attempt) -> Iterator[Chunk]:
    """The output of an attempt that is over, from the store or its file."""
    if is_short(attempt) or lies_elsewhere(queue, attempt):
        yield from _stored_part(attempt)
    else:
        name = attempt.log or log_name(job.seq, attempt.run)
        yield from _with_gaps(LogReader(queue.store.location.logs_dir, name).read(), attempt)


def is_short(attempt: Attempt) -> bool:
    """Whether all of it is in the store."""
    return attempt.output is not None and attempt.log is None


def was_cleaned(attempt: Attempt) -> bool:
    """Whether its output was dropped later, as `keep-output` wants it."""
    gone = attempt.output is None and attempt.log is None
    return gone and 0 < attempt.output_bytes == attempt.output_dropped


def lies_elsewhere(queue: Queue, attempt: Attempt) -> bool:
    """Whether its log is a file of another machine, so that only the end of it can be read here."""
    location = queue.store.location
    # A queue in a file may have been copied from a server: then the end of such a log is in the store.
    if attempt.log is None or not (location.shared or attempt.output):
        return False
    here = not location.shared or attempt.host == system.hostname()
    return not (here and segments(location.logs_dir, attempt.log))


def _stored_part(attempt: Attempt) -> Iterator[Chunk]:
    pieces = list(unpack(attempt.output or b""))
    missing = attempt.output_bytes - sum(len(piece.data) for piece in pieces)
    if attempt.log is not None and missing > 0:
        yield Chunk(GAP, 0, b"%d" % missing)
    yield from pieces


def live_output(queue: Queue, job: Job) -> Iterator[Chunk]:
    """What the attempt that runs now has printed, as far as it can be seen yet."""
    return LogReader(queue.store.location.logs_dir, log_name(job.seq, job.runs)).read()


def has_output(queue: Queue, job: Job, attempt: Attempt) -> bool:
    """Whether there is anything to show; a lost attempt may have left its file behind."""
    if attempt.output or attempt.log:
        return True
    return bool(segments(queue.store.location.logs_dir, log_name(job.seq, attempt.run)))


def latest_run(queue: Queue, job: Job, attempts: Sequence[Attempt]) -> int | None:
    """The attempt that runs, else the last one that has printed something, else the last one."""
    if job.state == PROCESSING:
        return job.runs
    for attempt in reversed(attempts):
        if has_output(queue, job, attempt):
            return attempt.run
    return attempts[-1].run if attempts else None


def _with_gaps(chunks: Iterable[Chunk], attempt: Attempt, *, seen: bool = False) -> Iterator[Chunk]:
    """The pieces, with what was left out named once: at its place if known, else at the end."""
    for chunk in chunks:
        if chunk.stream != GAP:
            yield chunk
            continue
        seen = True
        size = chunk.data or (b"%d" % attempt.output_dropped if attempt.output_dropped else b"")
        yield Chunk(GAP, chunk.offset_ms, size)
    if attempt.output_dropped and not seen:
        yield Chunk(GAP, 0, b"%d" % attempt.output_dropped)


class _Follower:
    """Knows what of which attempt has been handed over."""

    __slots__ = (
        "_begin",
        "_claim",
        "_gap",
        "_id",
        "_mark",
        "_next_run",
        "_queue",
        "_reader",
        "_shown",
        "_write",
    )

    def __init__(self, queue: Queue, job_id: str, write: Write, begin: Begin | None, first: int) -> None:
        self._queue = queue
        self._id = job_id
        self._write = write
        self._begin = begin
        self._next_run = first  # the first attempt that is not yet handed over as a whole
        self._mark: tuple[object, ...] = ()
        self._claim: str | None = None  # the attempt whose live file is being read
        self._reader: LogReader | None = None
        self._shown = 0
        self._gap = False

    def catch_up(self) -> Job:
        job = self._queue.get(self._id)
        # An attempt is stored in the transaction that changes one of these, so without a change
        # there is none to look for; if one comes right after this read, the next turn finds it.
        mark = (job.state, job.runs, job.claim)
        if mark != self._mark:
            self._mark = mark
            for attempt in self._queue.attempts(job):
                if attempt.run >= self._next_run:
                    self._hand_over(job, attempt)
        if job.state == PROCESSING and job.runs >= self._next_run:
            self._look_at_file(job)
        return job

    def _look_at_file(self, job: Job) -> None:
        # By the claim, not the number: a claim given back unstarted is not counted as a run.
        if self._reader is None or self._claim != job.claim:
            self._start(job.runs, job.claim, job.started_at)
            self._reader = self._open(log_name(job.seq, job.runs))
        self._put(self._reader.read())

    def _hand_over(self, job: Job, attempt: Attempt) -> None:
        """The rest of an attempt that is over: the stored pieces are those of its live file."""
        if self._claim != attempt.claim:
            self._start(attempt.run, attempt.claim, attempt.started_at)
        if is_short(attempt) or lies_elsewhere(self._queue, attempt):
            self._put(_after(_stored_part(attempt), self._shown))
        else:
            name = attempt.log or log_name(job.seq, attempt.run)
            reader = self._reader or self._open(name)
            self._put(_with_gaps(reader.read(), attempt, seen=self._gap))
        self._next_run = attempt.run + 1

    def _open(self, name: str) -> LogReader:
        return LogReader(self._queue.store.location.logs_dir, name)

    def _start(self, run: int, claim: str | None, started_at: int | None) -> None:
        self._claim, self._reader, self._shown, self._gap = claim, None, 0, False
        if self._begin is not None:
            self._begin(run, started_at)

    def _put(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            if chunk.stream == GAP:
                self._gap = True
            else:
                self._shown += len(chunk.data)
            self._write(chunk)


def _after(chunks: Iterable[Chunk], skip: int) -> Iterator[Chunk]:
    """The pieces behind the first `skip` bytes of output."""
    for chunk in chunks:
        if chunk.stream == GAP:
            if not skip:
                yield chunk
        elif len(chunk.data) > skip:
            yield Chunk(chunk.stream, chunk.offset_ms, chunk.data[skip:])
            skip = 0
        else:
            skip -= len(chunk.data)
