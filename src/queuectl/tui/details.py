"""The chosen job: what it is, why it waits or how it ended, and the last lines of its output."""

from __future__ import annotations

from queuectl.core.durations import format_age
from queuectl.core.explaining import explain
from queuectl.core.states import PROCESSING
from queuectl.explaining import situation_of
from queuectl.logfiles import LogReader, log_name
from queuectl.outputs import has_output, stored_output
from queuectl.tui.tail import Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue
    from queuectl.tui.tail import Line

__all__ = ["Details", "Looker"]

_MOST_REASONS = 3


class Details:
    """Text that can be shown as it is, but for the key."""

    __slots__ = ("facts", "heading", "key", "lines", "live", "reasons", "verdict")

    def __init__(self, key: str) -> None:
        self.key = key
        self.facts = ""
        self.verdict = ""
        self.reasons: list[str] = []
        self.heading = ""  # of the log
        self.lines: list[Line] = []
        self.live = False


class Looker:
    """Looks at one job again and again; of a log that grows only what is new is read."""

    __slots__ = ("_clean", "_mark", "_reader", "_tail")

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self._mark: tuple[object, ...] = ()  # which attempt, and in which state, the lines are of
        self._reader: LogReader | None = None
        self._tail = Tail(clean)

    def grown(self) -> list[Line] | None:
        """The lines of a running command if it has printed more since the last look."""
        if self._reader is None or not self._tail.feed(self._reader.read()):
            return None
        return self._tail.lines()

    def look(self, queue: Queue, id: str) -> Details | None:
        """None: there is no such job any more."""
        job = queue.store.get(id)
        if job is None:
            return None
        situation = situation_of(queue, job)
        found = Details(id)
        found.live = job.state == PROCESSING
        found.facts = self._facts(job, queue.clock.now())
        explanation = explain(situation)
        found.verdict = self._clean(explanation.verdict)
        for reason in explanation.reasons[:_MOST_REASONS]:
            remedy = f"  → {reason.remedy}" if reason.remedy else ""
            found.reasons.append(self._clean(reason.sentence + remedy))
        found.heading = self._read(queue, job, situation.attempts)
        found.lines = self._tail.lines()
        return found

    def _facts(self, job: Job, now: int) -> str:
        parts = [job.id, job.state, f"queue {job.queue}", f"attempt {job.attempts} of {job.max_retries + 1}"]
        if job.priority:
            parts.append(f"priority {job.priority}")
        if job.state == PROCESSING and job.started_at is not None:
            parts.append(f"for {format_age(now - job.started_at)}")
        if job.exit_code is not None:
            parts.append(f"exit code {job.exit_code}")
        if job.tags:
            parts.append("tags " + " ".join(job.tag_list()))
        return self._clean(" · ".join(parts))

    def _read(self, queue: Queue, job: Job, attempts: Sequence[Attempt]) -> str:
        """Bring the lines up to date; returns whose they are."""
        mark = (job.seq, job.runs, job.state, job.claim, len(attempts))
        running = job.state == PROCESSING
        last = None if running else next((a for a in reversed(attempts) if has_output(queue, job, a)), None)
        if mark != self._mark:
            self._mark = mark
            self._tail, self._reader = Tail(self._clean), None
            if running:
                self._reader = LogReader(queue.store.location.logs_dir, log_name(job.seq, job.runs))
            elif last is not None:
                self._tail.feed(stored_output(queue, job, last))
        if self._reader is not None:
            self._tail.feed(self._reader.read())
        run = job.runs if running else last.run if last is not None else 0
        shown = self._clean(job.id)
        if not run:
            return f"log of {shown}: nothing printed"
        return f"log of {shown}, attempt {run}" + (", running" if running else "")
