"""A running command with limits: killing it as one, and what its end has to do with them.

How the limits are applied is left to `limits`.
"""

from __future__ import annotations

import errno
import os
import resource
import signal

from queuectl.core import outcome as kinds
from queuectl.core.amounts import show_size
from queuectl.core.durations import format_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.outcome import Outcome
    from queuectl.worker.cgroups import Group

# What programs say when a limit is in their way. It proves nothing, so all we tell is what the limit is.
_HINTS: dict[str, tuple[bytes, ...]] = {
    "memory": (
        b"memoryerror",
        b"bad_alloc",
        b"out of memory",
        b"cannot allocate memory",
        b"not enough memory",
        b"failed to map segment",
    ),
    "files": (b"too many open files", b"emfile"),
    "processes": (b"resource temporarily unavailable", b"cannot fork", b"start new thread"),
}
_MEMORY_SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)


def show(name: str, value: int) -> str:
    if name == "memory":
        return show_size(value)
    return format_duration(value) if name == "cpu_time" else str(value)


class Confinement:
    """The limits of one running command. `settle` it when it has ended, then `explain` its outcome."""

    __slots__ = ("_group", "_limits", "_out_of_memory", "_pipe", "_program", "_refused", "_said")

    def __init__(self, program: str, limits: dict[str, int], group: Group | None, pipe: int) -> None:
        self._program = program
        self._limits = limits
        self._group = group
        self._pipe: int | None = pipe
        self._said = b""
        self._out_of_memory = False
        self._refused = False

    def kill(self) -> None:
        """KILL whatever is in its cgroup, however quickly that multiplies."""
        if self._group is not None:
            self._group.kill()

    def is_over(self) -> bool:
        """Whether nothing lives in its cgroup, if it has one."""
        return self._group is None or not self._group.is_populated()

    def settle(self) -> None:
        """Read what is worth knowing, and let go of what we hold."""
        if self._pipe is None:
            return
        try:
            self._said = os.read(self._pipe, 4096)
        except BlockingIOError:
            pass  # it has not come that far, and is stuck
        os.close(self._pipe)
        self._pipe = None
        if self._group is not None:
            self._out_of_memory = self._group.count("memory.events", "oom_kill") > 0
            self._refused = self._group.count("pids.events", "max") > 0
            self._group.remove()

    def explain(self, outcome: Outcome, stderr: bytes) -> None:
        """Say in the error of a command that has failed what its limits have to do with it."""
        if outcome.kind != kinds.FAILED:
            return
        if self._out_of_memory:
            self._tell_out_of_memory(outcome)
        elif self._said != b"+":
            outcome.kind = kinds.SPAWN_ERROR
            outcome.error = self._not_started(outcome.error)
            outcome.exit_code = outcome.signal = None
        elif _died_of(outcome, signal.SIGXCPU) and "cpu_time" in self._limits:
            outcome.error = f"used up its {self._shown('cpu_time')} of processor time"
        else:
            suspects = self._suspects(outcome, stderr.lower())
            if suspects:
                outcome.error = f"{outcome.error} (while limited to {' and '.join(suspects)})"

    def _tell_out_of_memory(self, outcome: Outcome) -> None:
        limit = f"limit {self._shown('memory')}"
        if _died_of(outcome, signal.SIGKILL):
            outcome.error = f"killed: out of memory ({limit})"
        else:
            outcome.error = f"{outcome.error} (out of memory: {limit})"

    def _not_started(self, error: str | None) -> str:
        said = self._said.decode("utf-8", "replace")
        if said.startswith("+"):
            code = int(said[1:])
            short = "memory" in self._limits and code in (
                errno.ENOMEM,
                errno.E2BIG,
            )  # its words need room too
            within = f" (while limited to {self._shown('memory')} of memory)" if short else ""
            return f"cannot start {self._program}: {os.strerror(code)}{within}"
        limit, _, reason = said.partition(":")
        if not limit:
            return f"cannot apply its limits: the program that does has ended with {error}"
        if limit == "cgroup":
            return f"cannot apply its limits: {reason} (of joining its cgroup)"
        if limit == "files":
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            reason = f"{reason} (the worker itself may have {most})"
        if limit == "nice":
            reason = f"{reason} (less than the worker's own takes privileges)"
        return f"cannot apply the limit {limit}={self._shown(limit)}: {reason}"

    def _suspects(self, outcome: Outcome, stderr: bytes) -> list[str]:
        """The limits that may be the reason. We cannot know, and do not say so."""
        found = []
        for name in self._limits:
            hinted = any(hint in stderr for hint in _HINTS.get(name, ()))
            if name == "memory" and (hinted or any(_died_of(outcome, one) for one in _MEMORY_SIGNALS)):
                found.append(f"{self._shown(name)} of memory")
            elif name == "files" and hinted:
                found.append(f"{self._shown(name)} open files")
            elif name == "processes" and (hinted or self._refused):
                found.append(f"{self._shown(name)} processes")
            elif name == "cpu_time" and _died_of(outcome, signal.SIGKILL):
                found.append(f"{self._shown(name)} of processor time")
        return found

    def _shown(self, name: str) -> str:
        return show(name, self._limits[name])


def _died_of(outcome: Outcome, signum: int) -> bool:
    """Itself, or the last process of its shell."""
    return signum == outcome.signal or outcome.exit_code == 128 + signum
