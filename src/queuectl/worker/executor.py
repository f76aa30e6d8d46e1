"""The running commands of one worker: start them, read their pipes, notice their end, stop them.

Which job to start and what its end means is left to the loop.
"""

from __future__ import annotations

import errno
import os
import select

from queuectl.core import outcome as kinds
from queuectl.core.outcome import Outcome
from queuectl.failpoints import failpoint
from queuectl.worker.child import LIVE_AFTER, NEVER, Child
from queuectl.worker.output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.clock import Clock
    from queuectl.config.settings import Settings
    from queuectl.core.job import Job
    from queuectl.worker.child import Launcher
    from queuectl.worker.ledger import Ledger

# Not the command's fault: the machine has no room now. The job is given back and nothing is started for a while.
_SHORTAGES = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Ended:
    """An attempt that is over."""

    __slots__ = ("index", "job", "outcome", "seconds")

    def __init__(self, job: Job, outcome: Outcome, index: int, seconds: float) -> None:
        self.job = job
        self.outcome = outcome
        self.index = index
        self.seconds = seconds


class Shortage(Exception):
    """The machine has no room for another process now."""


class Executor:
    """Children by pid. `poll` is shared with the loop, which hands us the events of our pipes."""

    def __init__(
        self, poll: select.epoll, launcher: Launcher, ledger: Ledger, clock: Clock, logs_dir: str
    ) -> None:
        self._poll = poll
        self._launcher = launcher
        self._ledger = ledger
        self._clock = clock
        self._logs_dir = logs_dir
        self._children: dict[int, Child] = {}
        self._by_fd: dict[int, Child] = {}
        self.next_time = NEVER  # when on_time wants to be called

    def __len__(self) -> int:
        return len(self._children)

    def start(self, job: Job, settings: Settings) -> Ended | None:
        """Start a job; the result is not None if it could not be started and that was its own fault."""
        index = self._ledger.mark(job.seq)
        failpoint("run.marked")
        now = self._clock.monotonic()
        try:
            pid, fds = self._launcher.start(job)
        except OSError as error:
            if error.errno in _SHORTAGES:
                self._ledger.clear(index)
                raise Shortage(os.strerror(error.errno)) from None
            return Ended(job, self._not_started(job, error), index, 0.0)
        failpoint("run.spawned")
        self._ledger.started(index, job.seq, pid)
        output = Output(
            self._logs_dir,
            job.seq,
            job.runs,
            inline=settings.output_inline,
            limit=settings.output_max,
        )
        child = Child(job, pid, fds, output, index)
        child.began = now
        child.started_at = self._clock.now()
        timeout = job.timeout if job.timeout is not None else settings.job_timeout
        if timeout is not None:
            child.deadline = now + timeout / 1000
        self._watch(child)
        failpoint("run.running")
        return None

    def _not_started(self, job: Job, error: OSError) -> Outcome:
        now = self._clock.now()
        outcome = Outcome(kinds.SPAWN_ERROR, started_at=now, finished_at=now)
        what = job.cwd if error.filename == job.cwd and job.cwd else error.filename or "the command"
        outcome.error = f"cannot start {what}: {error.strerror}"
        return outcome

    def _watch(self, child: Child) -> None:
        self._children[child.pid] = child
        for fd in child.fds:
            self._poll.register(fd, select.EPOLLIN)
            self._by_fd[fd] = child
        self.next_time = min(self.next_time, child.deadline, child.began + LIVE_AFTER)

    def on_ready(self, fd: int) -> None:
        """A pipe of ours has something to read, or has ended."""
        child = self._by_fd.get(fd)
        if child is not None and not child.read(fd, self._clock.monotonic()):
            self._poll.unregister(fd)
            del self._by_fd[fd], child.fds[fd]
            os.close(fd)

    def reap(self) -> list[Ended]:
        """Collect ended processes: our commands, and orphans that fell to us as their subreaper."""
        ended = []
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            child = self._children.get(pid)
            if child is not None:
                cpu_ms = int((usage.ru_utime + usage.ru_stime) * 1000)
                child.ended(status, (cpu_ms, usage.ru_maxrss))
                failpoint("run.exited")
                if child.stop_kind is None:
                    ended.append(self._remove(child))
                else:
                    self.next_time = 0.0  # see at once whether the rest of its tree is gone
        return ended

    def on_time(self) -> list[Ended]:
        """Timeouts, kill ladders, live output: whatever is due now."""
        now = self._clock.monotonic()
        if now < self.next_time:
            return []
        ended = []
        self.next_time = NEVER
        for child in list(self._children.values()):
            if child.stop_kind is None and now >= child.deadline:
                self._time_out(child, now)
            if child.stop_kind is not None and child.gone(now):
                ended.append(self._remove(child))
            else:
                self.next_time = min(self.next_time, child.on_time(now))
        return ended

    def _time_out(self, child: Child, now: float) -> None:
        child.stop(
            kinds.TIMEOUT, f"timed out after {now - child.began:.1f} s", self.kill_grace, now
        )

    kill_grace = 5.0  # seconds; the loop keeps it current

    def stop(self, seq: int, kind: str, error: str) -> bool:
        """Begin to end one job; False if it does not run here."""
        for child in self._children.values():
            if child.job.seq == seq:
                child.stop(kind, error, self.kill_grace, self._clock.monotonic())
                self.next_time = 0.0
                return True
        return False

    def stop_all(self, kind: str, error: str, grace: float) -> None:
        for child in self._children.values():
            child.stop(kind, error, grace, self._clock.monotonic())
        self.next_time = 0.0

    def running(self) -> list[Job]:
        return [child.job for child in self._children.values()]

    def _remove(self, child: Child) -> Ended:
        del self._children[child.pid]
        now = self._clock.monotonic()
        child.drain(now)
        for fd in child.fds:
            self._by_fd.pop(fd, None)  # closing takes it out of the epoll set as well
        child.close()
        failpoint("run.reaped")
        return Ended(child.job, child.outcome(self._clock.now()), child.index, now - child.began)
