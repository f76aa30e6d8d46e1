"""One job that a page looks at: its document when it changes, its output as it comes in."""

from __future__ import annotations

from queuectl.core.chunks import GAP
from queuectl.core.states import PROCESSING
from queuectl.errors import NotFound
from queuectl.logfiles import LogReader, log_name
from queuectl.web.routes_jobs import shown
from queuectl.web.routes_output import Pieces, find, some_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

    class Sink(Protocol):
        def put(self, event: str, data: object) -> None: ...

        def put_output(self, data: dict[str, object], size: int) -> None: ...


class JobWatch:
    """`run`: the attempt whose output is wanted; None: the latest. `after`: bytes of it that are known."""

    def __init__(self, id: str, *, run: int | None = None, after: int = 0) -> None:
        self.id = id
        self._wanted = run
        self._run = run  # whose output is being sent
        self._after = after
        self._mark: object = None
        self._reader: LogReader | None = None
        self._pieces = Pieces()
        self._skip = 0
        self._gap = False
        self._ended = False  # all of it has been sent

    def look(self, queue: Queue, page: Sink) -> None:
        job = queue.store.get(self.id)
        mark = None if job is None else (job.state, job.runs, job.claim, job.updated_at, job.progress)
        if job is None:
            if self._mark != "gone":
                self._mark = "gone"
                page.put("job", {"id": self.id, "deleted": True})
            return
        changed = mark != self._mark
        self._mark = mark
        if changed:
            page.put("job", shown(queue, job))
        if changed or self._reader is not None:
            self._send_output(queue, job, page)

    def _send_output(self, queue: Queue, job: Job, page: Sink) -> None:
        if self._reader is not None and job.state == PROCESSING and job.runs == self._run:
            self._send_more(page)
            return
        try:
            run, attempt = find(queue, job, self._wanted)
        except NotFound:
            return
        if run != self._run:
            self._start(run, 0)
        if self._ended:
            return
        self._send_all(queue, job, run, attempt, page)

    def _start(self, run: int | None, after: int) -> None:
        self._run, self._after = run, after
        self._reader, self._pieces, self._gap, self._ended = None, Pieces(), False, False

    def _send_all(self, queue: Queue, job: Job, run: int | None, attempt: Attempt | None, page: Sink) -> None:
        """What there is behind what is known; of one that runs, the rest is read from its file."""
        restart = self._gap and attempt is not None  # what was left out has its place only now
        if restart:
            self._after = 0
        found = some_output(queue, job, run, attempt, after=self._after)
        self._after = int(str(found["next"]))
        page.put_output({**found, "restart": restart}, self._after)
        self._ended = attempt is not None
        self._reader = None
        if run is not None and attempt is None:
            self._reader = LogReader(queue.store.location.logs_dir, log_name(job.seq, run))
            self._skip = self._after
            self._pieces = Pieces()

    def _send_more(self, page: Sink) -> None:
        assert self._reader is not None
        size = 0
        for chunk in self._reader.read():
            if chunk.stream == GAP:
                self._gap = True
                self._pieces.add(chunk)
                continue
            skip = min(self._skip, len(chunk.data))
            self._skip -= skip
            if skip < len(chunk.data):
                size += self._pieces.add(chunk, skip)
        pieces = self._pieces.take()
        if pieces:
            self._after += size
            page.put_output(
                {
                    "attempt": self._run,
                    "running": True,
                    "pieces": pieces,
                    "next": self._after,
                    "skipped": 0,
                    "note": None,
                    "restart": False,
                },
                size,
            )
