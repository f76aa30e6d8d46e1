"""The running commands of one worker: start them, read their pipes, notice their end, stop them.

Which job to start and what its end means is left to the loop.
"""

from __future__ import annotations

import errno
import os

from queuectl import system
from queuectl.core import outcome as kinds
from queuectl.core.durations import format_duration
from queuectl.core.exit_codes import EX_TEMPFAIL
from queuectl.core.job import PERCENT
from queuectl.core.outcome import Outcome
from queuectl.failpoints import failpoint
from queuectl.system.poller import READABLE
from queuectl.worker.child import NEVER, Child
from queuectl.worker.evidence import KernelKills, add_evidence
from queuectl.worker.output import Output
from queuectl.worker.retry_after import SWEEP_EVERY
from queuectl.worker.spawn import CannotEnter, CannotStart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.clock import Clock
    from queuectl.config.settings import Settings
    from queuectl.core.job import Job
    from queuectl.paths import Location
    from queuectl.system.poller import Poller
    from queuectl.worker.launcher import Launcher
    from queuectl.worker.ledger import Ledger
    from queuectl.worker.stock import Stock

# Seconds until the output of a command is read as it comes: for each that a core has to run, and at most.
_WATCH_AFTER, _LATEST_WATCH = 0.01, 0.1
_CORES = os.cpu_count() or 1

# Not the command's fault: the machine has no room now. The job is given back, and nothing is started for a
# while.
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


class TooLate(Exception):
    """Others may have the job by now."""


class Executor:
    """Children by pid. `poll` is shared with the loop, which hands us the events of our pipes."""

    def __init__(
        self,
        poll: Poller,
        launcher: Launcher,
        ledger: Ledger,
        clock: Clock,
        location: Location,
        stock: Stock,
        settings: Settings,
    ) -> None:
        self.settings = settings  # the loop keeps them current
        self._poll = poll
        self._stock = stock
        self._launcher = launcher
        self._ledger = ledger
        self._clock = clock
        self._logs_dir = location.logs_dir
        self._share_output = location.shared
        self._children: dict[int, Child] = {}
        self._by_fd: dict[int, Child] = {}
        self._kills = KernelKills()
        self.next_time = NEVER  # when on_time wants to be called

    def __len__(self) -> int:
        return len(self._children)

    def start(self, job: Job, before: float = NEVER) -> Ended | None:
        """Start a job; the result is not None if it could not be started and that was its own fault.

        `before`: from then on it may be somebody else's. Looked at last of all, as we may have stood still.
        """
        told = None if job.needs is None else self._take_pieces(job)
        index = self._ledger.mark(job.seq)
        failpoint("run.marked")
        now = self._clock.monotonic()
        if now >= before:
            self._give_pieces(job)
            self._ledger.clear(index)
            raise TooLate
        try:
            pid, launch = self._launcher.start(job, told)
        except OSError as error:
            self._give_pieces(job)
            if error.errno in _SHORTAGES:
                self._ledger.clear(index)
                raise Shortage(os.strerror(error.errno)) from None
            cannot = kinds.CANNOT_ENTER if isinstance(error, CannotEnter) else "cannot start"
            why = f"{cannot} {error.filename or 'the command'}: {error.strerror}"
            return Ended(job, self._not_started(why), index, 0.0)
        except CannotStart as error:
            self._give_pieces(job)
            return Ended(job, self._not_started(str(error)), index, 0.0)
        failpoint("run.spawned")
        self._ledger.started(index, job.seq, pid)
        failpoint("run.pid_recorded")
        child = Child(job, pid, launch.pipes, self._make_output, index)
        child.confinement = launch.confinement
        child.began = now
        if now >= self._kills.next_look:
            self._kills.look(now)
        child.started_at = self._clock.now()
        timeout = job.timeout if job.timeout is not None else self.settings.job_timeout
        if timeout is not None:
            child.deadline = now + timeout / 1000
        self._children[pid] = child
        child.watch_at = now + min(_WATCH_AFTER * max(len(self._children) / _CORES, 1), _LATEST_WATCH)
        self.next_time = min(self.next_time, child.deadline, child.watch_at)
        failpoint("run.running")
        return None

    def _make_output(self, job: Job) -> Output:
        settings = self.settings
        return Output(
            self._logs_dir,
            job,
            inline=settings.output_inline,
            limit=settings.output_max,
            share=self._share_output,
        )

    def _take_pieces(self, job: Job) -> dict[str, str]:
        """What the command is told of them."""
        from queuectl.core.pieces import variables

        try:
            return variables(self._stock.take(job))
        except ValueError as error:  # whoever claimed it has counted otherwise
            raise Shortage(str(error)) from None

    def _give_pieces(self, job: Job) -> None:
        if job.needs is not None:
            self._stock.give(job)

    def _not_started(self, error: str) -> Outcome:
        now = self._clock.now()
        outcome = Outcome(kinds.SPAWN_ERROR, started_at=now, finished_at=now)
        outcome.error = error
        return outcome

    def _watch(self, child: Child) -> None:
        """From now on its output is read as it comes.

        Not from the start: most short commands are over before, and one read at their end is all they need.
        That saves a third of the loop's work for each of them (docs/adr/0007). Where more commands run than
        there are cores, each of them takes longer, and may.
        """
        self._ledger.started(child.index, child.job.seq, child.pid, system.birth_mark(child.pid))
        child.watch()
        for fd in child.fds:
            self._poll.register(fd, READABLE)
            self._by_fd[fd] = child

    def on_ready(self, fd: int) -> None:
        """A pipe of ours has something to read, or has ended."""
        child = self._by_fd.get(fd)
        if child is not None and not child.read(fd, self._clock.monotonic()):
            self._poll.unregister(fd)
            del self._by_fd[fd]
            child.close_one(fd)

    def reap(self) -> Child | None:
        """The next command that has ended, if any; orphans that fell to us, their subreaper, go on the way.

        Its slot is free from now on; `conclude` it when there is time.
        """
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid == 0:
                return None
            child = self._children.get(pid)
            if child is None:
                continue
            child.ended(status, usage, self._clock.monotonic(), self._clock.now())
            failpoint("run.exited")
            if child.stop_kind is None:
                del self._children[pid]
                self._give_pieces(child.job)
                return child
            self.next_time = 0.0  # see at once whether the rest of its tree is gone

    def on_time(self) -> list[Child]:
        """Timeouts, kill ladders, live output: whatever is due now."""
        now = self._clock.monotonic()
        if self._children and now >= self._kills.next_look:
            self._kills.look(now)
        if now < self.next_time:
            return []
        ended = []
        self.next_time = NEVER
        for child in list(self._children.values()):
            if not child.watched and now >= child.watch_at:
                self._watch(child)
            if child.stop_kind is None and now >= child.deadline:
                self._time_out(child, now)
            if child.stop_kind is not None and child.gone(now):
                child.give_up(now, self._clock.now())
                del self._children[child.pid]
                self._give_pieces(child.job)
                ended.append(child)
            else:
                self.next_time = min(self.next_time, child.on_time(now))
        return ended

    def _time_out(self, child: Child, now: float) -> None:
        why = f"timed out after {now - child.began:.1f} s"
        usual = child.job.usual_ms
        if usual is not None:
            limit, usually = format_duration(child.job.timeout or 0), format_duration(usual)
            why = f"{why} (limit {limit}: {child.job.rule(PERCENT)}% of its usual {usually})"
        child.stop(kinds.TIMEOUT, why, self.kill_grace, now)

    @property
    def kill_grace(self) -> float:
        """Seconds between TERM and KILL."""
        return self.settings.kill_grace / 1000

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

    def untouched(self) -> bool:
        """Whether there is a command that nobody has begun to end."""
        return any(child.stop_kind is None for child in self._children.values())

    def running(self) -> list[Job]:
        return [child.job for child in self._children.values()]

    def close(self) -> None:
        self._kills.close()

    def conclude(self, child: Child) -> Ended:
        """Read the rest of its output and say how it ended."""
        child.drain(child.ended_at)
        if child.watched:
            for fd in child.fds:
                del self._by_fd[fd]  # closing takes it out of the epoll set as well
        child.close()
        failpoint("run.reaped")
        outcome = child.outcome()
        if outcome.kind == kinds.FAILED:
            add_evidence(child.job, outcome, self._kills)
        if outcome.exit_code == EX_TEMPFAIL:
            self._heed_retry_after(child.job, outcome)
        if self._launcher.retry_files.issued >= SWEEP_EVERY:
            running = {other.job.token for other in self._children.values()}
            self._launcher.retry_files.sweep(running, self._clock.now())
        return Ended(child.job, outcome, child.index, child.ended_at - child.began)

    def _heed_retry_after(self, job: Job, outcome: Outcome) -> None:
        """The command has said that another try will help, and perhaps when."""
        wanted, note = self._launcher.retry_files.take(job.token, outcome.finished_at)
        if outcome.kind == kinds.FAILED:
            outcome.retry_at = wanted
            if note:
                outcome.error = f"{outcome.error} ({note})"
