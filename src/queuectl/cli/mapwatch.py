"""`map --wait`: a bar while jobs end, their output in the order of the inputs, and the rule that halts.

If no worker serves the queue, this process is one meanwhile.
"""

from __future__ import annotations

import os
import threading

from queuectl.cli.logview import LogView
from queuectl.cli.output import say
from queuectl.core import states
from queuectl.core.halting import FAIL, NEVER, NOW, triggered
from queuectl.outputs import stored_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.cli.progress import Bar
    from queuectl.core.halting import HaltRule
    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

_UNFINISHED = tuple(state for state in states.ALL if state not in states.TERMINAL)
_PAGE = 200
_PAUSE, _LOOK_EVERY, _LONGEST_PAUSE = 0.01, 0.5, 5.0  # seconds


class Watch:
    """Waits for the jobs of a map. `stopped` ends the waiting before they have ended."""

    __slots__ = ("_bar", "_jobs", "_rule", "halted", "printing", "stopped", "total")

    def __init__(
        self, jobs: JobFilter, total: int, *, rule: HaltRule, bar: Bar | None = None, printing: bool = False
    ) -> None:
        self._jobs = jobs
        self._rule = rule
        self._bar = bar
        self.total = total
        self.printing = printing
        self.halted = False
        self.stopped = threading.Event()

    def run(self, queue: Queue) -> None:
        """Until all have ended."""
        printer = Printer(queue, self._jobs, self._clear) if self.printing else None
        clock, left, look_at = queue.clock, 1, 0.0
        try:
            while left and not self.stopped.is_set():
                seen = queue.store.changed()  # before the count: the last finish may come right after it
                began = clock.monotonic()
                if began >= look_at:
                    left = self._look(queue)
                    # Counting takes the workers' time: it may have a fiftieth of it, however many there are.
                    took = clock.monotonic() - began
                    look_at = clock.monotonic() + min(50 * took, _LONGEST_PAUSE)
                if printer is not None:
                    printer.catch_up()
                if left:
                    queue.wait_for_change(clock.monotonic() + _LOOK_EVERY, seen=seen, pause=_PAUSE)
        finally:
            self._clear()

    def _look(self, queue: Queue) -> int:
        # First what is left: a job that ends meanwhile may then seem to be left, never to have succeeded.
        left = queue.store.unfinished(self._jobs.replaced(states=_UNFINISHED))
        if self.halted and left:
            self._cancel_again(queue)
        if self._bar is None and (self._rule.when == NEVER or self.halted):
            return left
        dead, cancelled = (
            queue.store.count(self._jobs.replaced(states=(s,))) for s in (states.DEAD, states.CANCELLED)
        )
        ended = max(self.total - left, 0)
        completed = max(ended - dead - cancelled, 0)
        if not self.halted and triggered(self._rule, completed=completed, failed=dead, total=self.total):
            self._halt(queue)
        if self._bar is not None:
            bad = [
                f", {count:,} {word}" for count, word in ((dead, "dead"), (cancelled, "cancelled")) if count
            ]
            self._bar(ended, self.total, "".join(bad))
        return left

    def _halt(self, queue: Queue) -> None:
        self.halted = True
        wanted = _UNFINISHED if self._rule.when == NOW else states.CANCELLABLE
        count = queue.cancel_matching(self._jobs.replaced(states=wanted))
        self._clear()
        say(f"halting ({self._rule}): {count:,} cancelled")

    def _cancel_again(self, queue: Queue) -> None:
        """What ran when we halted and has failed since then would be retried."""
        waiting = self._jobs.replaced(states=states.CANCELLABLE)
        if queue.store.unfinished(waiting):
            queue.cancel_matching(waiting)

    def _clear(self) -> None:
        if self._bar is not None:
            self._bar.clear()

    def is_satisfied(self, counts: dict[str, int]) -> bool:
        """Whether it has all gone as wanted, now that it is over."""
        if not self.halted or self._rule.what == FAIL:
            return counts[states.COMPLETED] >= self.total
        # It stopped because enough was done; only success makes up for failures.
        return self._rule.what == "success" or not counts[states.DEAD]


class Printer:
    """Prints what jobs have printed, in the order in which they were enqueued, as far as they have ended."""

    __slots__ = ("_before", "_jobs", "_last", "_page", "_queue", "_view")

    def __init__(self, queue: Queue, jobs: JobFilter, before: Callable[[], None]) -> None:
        self._queue = queue
        self._jobs = jobs
        self._before = before  # something is going to be printed
        self._view = LogView()
        self._last: Job | None = None
        self._page: list[Job] = []  # those that come next, the nearest at the end

    def catch_up(self) -> None:
        while job := self._next():
            if job.state not in states.TERMINAL:
                found = self._queue.store.get(job.id)
                if found is not None and found.state not in states.TERMINAL:
                    return
                job = found or job
            self._page.pop()
            self._last = job
            self._print(job)

    def _next(self) -> Job | None:
        if not self._page:
            found = self._queue.list(filter=self._jobs, limit=_PAGE, after=self._last)
            self._page = list(reversed(found))
        return self._page[-1] if self._page else None

    def _print(self, job: Job) -> None:
        attempts = self._queue.attempts(job)
        if not attempts:
            return
        self._before()
        self._view.begin(attempts[-1].started_at)
        for chunk in stored_output(self._queue, job, attempts[-1]):
            self._view.write(chunk)
        self._view.end()


def watch_as_worker(queue: Queue, watch: Watch, *, queue_name: str, jobs: int | None) -> None:
    """Be a worker for the queue while a thread of its own watches."""
    from queuectl.assembly import WorkerSpec, build_worker
    from queuectl.cli.workinghere import work_here

    presses = 0

    def interrupted() -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            say("\nstopping when the commands that run have ended; Ctrl+C again ends them")
        loop.stop(now=presses > 1)

    spec = WorkerSpec(concurrency=jobs or os.cpu_count() or 1, queues=(queue_name,))
    loop = build_worker(queue, spec, interrupted=interrupted)
    work_here(queue, loop, watch.run, over=watch.stopped)
    if presses:
        raise KeyboardInterrupt
