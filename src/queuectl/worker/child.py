"""One running command: in a process group of its own, read through two pipes, ended by a ladder."""

from __future__ import annotations

import os
import resource
import signal

from queuectl import system
from queuectl.core import outcome as kinds
from queuectl.core.chunks import STDERR, STDOUT
from queuectl.core.outcome import Outcome
from queuectl.failpoints import failpoint
from queuectl.system.tree_killer import TreeKiller
from queuectl.worker.pipes import waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from queuectl.core.job import Job
    from queuectl.worker.confinement import Confinement
    from queuectl.worker.output import Output
    from queuectl.worker.pipes import Pipes

NEVER = float("inf")
LIVE_AFTER = 0.25  # seconds until output of a running job is written where `logs -f` can see it
_CHECK = 0.02  # how often a dying tree is looked at
_GIVE_UP = 10.0  # after all were killed; a process stuck in the kernel must not block a slot for ever
_READ = 65536
_CLOCK_WAS_SET_MS = 1_000  # the two clocks differ by more than they do by themselves


class Child:
    """A command that was started and has not been reported yet. Times are monotonic seconds."""

    __slots__ = (
        "_error",
        "_finished_at",
        "_kill",
        "_kill_at",
        "_killed_at",
        "_make_output",
        "_open",
        "_pipes",
        "_usage",
        "began",
        "confinement",
        "deadline",
        "ended_at",
        "index",
        "job",
        "output",
        "pid",
        "started_at",
        "status",
        "stop_kind",
        "watch_at",
        "watched",
    )

    def __init__(
        self, job: Job, pid: int, pipes: Pipes, make_output: Callable[[Job], Output], index: int
    ) -> None:
        self.job = job
        self.pid = pid
        self._pipes = pipes
        self._open = {pipes.out_read: STDOUT, pipes.err_read: STDERR}  # descriptors that have not ended
        self._make_output = make_output
        self.output: Output | None = None  # until there is some
        self.index = index  # in the ledger
        self.confinement: Confinement | None = None
        self.began = 0.0
        self.started_at = 0
        self.deadline = NEVER
        self.ended_at = NEVER
        self._finished_at = 0
        self.watch_at = 0.0  # when to begin to read its output as it comes
        self.watched = False
        self.status: int | None = None  # of waitpid, once the command itself has ended
        self.stop_kind: str | None = None  # why we are ending it
        self._error: str | None = None
        self._kill_at = NEVER
        self._killed_at = NEVER  # when the last of them was killed that had not been before
        self._kill = TreeKiller()
        self._usage: resource.struct_rusage | None = None

    def watch(self) -> None:
        """From now on its output is read as it comes."""
        self.watched = True
        self._pipes.listen()

    @property
    def fds(self) -> Iterable[int]:
        """The pipes that have not ended yet."""
        return self._open

    def read(self, fd: int, now: float) -> bool:
        """Take what is in a pipe that can be read; False when it has ended."""
        data = os.read(fd, _READ)
        if data:
            output = self._feed(self._open[fd], int((now - self.began) * 1000), data)
            if now - self.began > LIVE_AFTER and output.hidden:
                output.show()
        return bool(data)

    def close_one(self, fd: int) -> None:
        """A pipe that has ended."""
        del self._open[fd]
        os.close(fd)

    def _feed(self, stream: int, offset_ms: int, data: bytes) -> Output:
        output = self.output
        if output is None:
            output = self.output = self._make_output(self.job)
        output.feed(stream, offset_ms, data)
        return output

    def drain(self, now: float) -> None:
        """After the command has ended: what is left in the pipes, without waiting for anybody else."""
        for fd, stream in self._open.items():
            for _ in range(64):  # a grandchild that keeps writing must not keep us
                if not waiting(fd):
                    break
                self._feed(stream, int((now - self.began) * 1000), os.read(fd, _READ))

    def stop(self, kind: str, error: str | None, grace: float, now: float) -> None:
        """Begin the ladder: TERM to the group and to whoever escaped it, KILL when the grace is over."""
        if self.stop_kind is None:
            self.stop_kind, self._error = kind, error
            self._kill_at = now + grace
            if grace > 0:
                self._signal(signal.SIGTERM)
        elif now + grace < self._kill_at:
            self._kill_at = now + grace  # a more urgent request

    def on_time(self, now: float) -> float:
        """Do what is due; returns when to call again."""
        if self.stop_kind is not None:
            if now >= self._kill_at and (self._kill_all() or self._killed_at == NEVER):
                self._killed_at = now
            return min(self._kill_at, now + _CHECK) if now < self._kill_at else now + _CHECK
        if now < self.watch_at:
            return min(self.deadline, self.watch_at)
        if now - self.began < LIVE_AFTER:
            return min(self.deadline, self.began + LIVE_AFTER)
        if self.output is not None and self.output.hidden:
            self.output.show()
        return self.deadline

    def ended(self, status: int, usage: resource.struct_rusage, now: float, now_ms: int) -> None:
        self.status = status
        self._usage = usage
        self._end_at(now, now_ms)

    def give_up(self, now: float, now_ms: int) -> None:
        """It does not end whatever we do; its slot is needed."""
        if self.status is None:
            self._end_at(now, now_ms)

    def _end_at(self, now: float, now_ms: int) -> None:
        """It took as long as the monotonic clock says, also if the other one was set meanwhile."""
        self.ended_at = now
        self._finished_at = now_ms
        took = round((now - self.began) * 1000)
        if abs(now_ms - self.started_at - took) > _CLOCK_WAS_SET_MS:
            self.started_at = now_ms - took

    def gone(self, now: float) -> bool:
        """Whether the attempt is over: the command, and if we are ending it, its whole tree."""
        if now - self._killed_at > _GIVE_UP:
            return True
        if self.status is None:
            return False
        if self.stop_kind is None:
            return True
        if self.confinement is not None and not self.confinement.is_over():
            return False
        return not system.group_alive(self.pid) and self._escaped() == []

    def _signal(self, signum: int) -> None:
        self._signal_group(signum)
        system.kill_pids(self._escaped() or (), signum)

    def _kill_all(self) -> bool:
        """Returns whether there was one that had not been killed before: it may go on forking."""
        self._signal_group(signal.SIGKILL)
        if self.confinement is not None:
            self.confinement.kill()
        return self._kill(self._escaped() or ()) is not None

    def _signal_group(self, signum: int) -> None:
        if self.status is None or system.group_alive(self.pid):
            # While the leader is not reaped, or a member is left, the kernel keeps the number reserved.
            try:
                os.killpg(self.pid, signum)
            except (ProcessLookupError, PermissionError):
                pass

    def _escaped(self) -> list[int] | None:
        """Its processes, whatever group they are in; None if that cannot be told now (no descriptor left)."""
        try:
            return system.kin(self.job.token, None, None)
        except OSError:
            return None

    def outcome(self) -> Outcome:
        """How it ended, with everything worth keeping."""
        result = Outcome(kinds.SUCCEEDED, started_at=self.started_at, finished_at=self._finished_at)
        # No status: it is stuck in the kernel and could not even be killed.
        code = 0 if self.status is None else os.waitstatus_to_exitcode(self.status)
        if self.status is None:
            self._error = f"{self._error or 'stopped'}; it could not be killed"
        elif code < 0:
            result.signal = -code
        else:
            result.exit_code = code
        if self.stop_kind is not None:
            result.kind, result.error = self.stop_kind, self._error
        elif code != 0:
            result.kind = kinds.FAILED
            stderr = b"" if self.output is None else self.output.last_error
            result.error = _describe(code, stderr)
            if self.confinement is not None:
                self.confinement.explain(result, stderr)
        if self._usage is not None:
            result.cpu_ms = int((self._usage.ru_utime + self._usage.ru_stime) * 1000)
            # The kernel counts the moment before exec too, when the child still had our memory: a peak
            # below our own says nothing.
            peak = self._usage.ru_maxrss
            result.max_rss_kb = peak if _OurPeak.is_below(peak) else None
        if self.output is not None:
            result.output, result.log, result.output_dropped = self.output.finish()
            result.output_bytes = self.output.total
        failpoint("run.output_flushed")
        return result

    def abandon(self) -> None:
        """Nobody wants to know what it printed."""
        if self.output is not None:
            self.output.abandon()
        self.close()

    def close(self) -> None:
        self._pipes.close(self._open)
        self._open = {}
        if self.confinement is not None:
            self.confinement.settle()


class _OurPeak:
    """The most memory that we ourselves had, in KB; looked up only when it matters, for it only grows."""

    known = 0

    @classmethod
    def is_below(cls, theirs: int) -> bool:
        if theirs > cls.known:
            cls.known = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return theirs > cls.known


def _describe(code: int, stderr: bytes) -> str:
    how = f"exit code {code}" if code > 0 else f"killed by {system.signal_name(-code)}"
    text = stderr.decode("utf-8", "backslashreplace").replace("\0", "\\x00")  # no server's text can hold it
    lines = text.strip().splitlines()
    return f"{how}: {lines[-1][:200]}" if lines else how
