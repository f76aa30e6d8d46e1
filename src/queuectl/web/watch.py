"""One job that a page looks at: its document when it changes, its output as it comes in."""

from __future__ import annotations

from queuectl.core.chunks import GAP
from queuectl.core.states import PROCESSING
from queuectl.errors import NotFound
from queuectl.logfiles import LogReader, log_name
from queuectl.outputs import is_short, lies_elsewhere
from queuectl.web.routes_jobs import shown
from queuectl.web.routes_output import MOST, Pieces, find, some_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from queuectl.core.chunks import Chunk
    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

    class Sink(Protocol):
        def put(self, event: str, data: object) -> None: ...

        def put_output(self, data: dict[str, object], size: int) -> None: ...


class JobWatch:
    """`run`: the attempt whose output is wanted; None: the latest. `known`: an attempt, and how many bytes of
    its output are known.
    """

    def __init__(self, id: str, *, run: int | None = None, known: tuple[int | None, int] = (None, 0)) -> None:
        self.id = id
        self._wanted = run
        self._known = known
        self._run: int | None = None  # whose output is being sent
        self._after = 0
        self._mark: object = None
        self._claim: str | None = None
        self._file: _File | None = None  # of the attempt that runs
        self._more = False  # there is some that did not fit into one event
        self._ended: int | None = None  # the attempt of which all has been sent

    def look(self, queue: Queue, page: Sink) -> None:
        try:
            job = queue.get(self.id)
        except NotFound:
            if self._mark != "gone":
                self._mark = "gone"
                page.put("job", {"id": self.id, "deleted": True})
            return
        mark = job.state, job.runs, job.claim, job.updated_at, job.progress, job.progress_text
        changed = mark != self._mark
        self._mark = mark
        if changed:
            page.put("job", shown(queue, job))
        if changed or self._more or self._file is not None:
            self._send_output(queue, job, page)

    def _send_output(self, queue: Queue, job: Job, page: Sink) -> None:
        if self._file is not None and job.state == PROCESSING and job.claim == self._claim:
            self._send_live(page)
            return
        try:
            run, attempt = self._find(queue, job)
        except NotFound:
            return  # not yet
        if attempt is not None and self._file is not None:
            self._send_end(queue, job, attempt, page)
            if self._file is not None:
                return  # there is more of it
            run, attempt = self._find(queue, job)
        if attempt is not None and run == self._ended:
            return
        if run != self._run or (attempt is None and job.claim != self._claim):
            self._start(run)
        self._send_some(queue, job, run, attempt, page)

    def _find(self, queue: Queue, job: Job) -> tuple[int | None, Attempt | None]:
        """The attempt that is being sent, to its end, and then the one that is wanted."""
        if self._file is not None:
            for attempt in queue.attempts(job):
                if attempt.claim == self._claim:
                    return self._run, attempt
            self._file = None  # it was given back, and did not run
        return find(queue, job, self._wanted)

    def _start(self, run: int | None) -> None:
        self._run, self._after, self._file = run, 0, None
        known, after = self._known
        if run is not None and after and known in (None, run):
            self._after = after
        if run is not None:
            self._known = None, 0  # what was known is of this one, or of one before it

    def _send_some(
        self, queue: Queue, job: Job, run: int | None, attempt: Attempt | None, page: Sink
    ) -> None:
        """What there is behind what is known; of one that runs, the rest is read from its file."""
        found = some_output(queue, job, run, attempt, after=self._after)
        size = int(str(found["next"])) - max(self._after, int(str(found["skipped"])))
        self._after = int(str(found["next"]))
        page.put_output({**found, "restart": False}, size)
        self._more = attempt is not None and size >= MOST
        self._ended = run if attempt is not None and not self._more else None
        self._claim = job.claim
        if run is not None and attempt is None:
            self._file = _File(queue.store.location.logs_dir, log_name(job.seq, run), self._after)

    def _send_live(self, page: Sink, *, running: bool = True) -> None:
        assert self._file is not None
        pieces, size = self._file.take()
        self._after += size
        if pieces or not running:
            page.put_output(
                {
                    "attempt": self._run,
                    "running": running,
                    "pieces": pieces,
                    "next": self._after,
                    "skipped": 0,
                    "note": None,
                    "restart": False,
                },
                size,
            )

    def _send_end(self, queue: Queue, job: Job, attempt: Attempt, page: Sink) -> None:
        """The rest of one that is over: from its file, as far as it is kept, else from the store."""
        assert self._file is not None
        if is_short(attempt) or lies_elsewhere(queue, attempt):
            self._file = None
            self._send_some(queue, job, self._run, attempt, page)
            return
        if self._file.gap:
            # What was left out has its size, and its place, only now.
            self._file, self._ended = None, self._run
            found = some_output(queue, job, self._run, attempt, after=0)
            self._after = int(str(found["next"]))
            page.put_output({**found, "restart": True}, self._after - int(str(found["skipped"])))
            return
        self._file.over = True
        self._send_live(page, running=False)
        if self._file.ended:
            self._file, self._ended = None, self._run


class _File:
    """The output of an attempt as it grows, behind what is known of it; so much at a time."""

    def __init__(self, logs_dir: str, name: str, skip: int) -> None:
        self._reader = LogReader(logs_dir, name)
        self._pieces = Pieces(skip)
        self._chunks: Iterator[Chunk] | None = None
        self.gap = False
        self.over = False  # nobody writes any more
        self.ended = False  # all of it was taken

    def take(self) -> tuple[list[dict[str, object]], int]:
        """Pieces, and how many bytes they are."""
        before = self._pieces.seen
        # Kept until it has given all: the reader knows only of whole blocks where it was.
        self._chunks = self._chunks or self._reader.read()
        for chunk in self._chunks:
            self.gap = self.gap or chunk.stream == GAP
            self._pieces.add(chunk)
            if self._pieces.seen - before >= MOST // 4:
                break
        else:
            self._chunks = None
            self.ended = self.over
            if self.over:
                self._pieces.finish()
        return self._pieces.take(), self._pieces.seen - before
