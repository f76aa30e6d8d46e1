"""What a process does before it becomes a worker: what its jobs inherit, and what they must not."""

from __future__ import annotations

import os
import resource

from queuectl import system
from queuectl.core.pieces import PREFIX

# Ours alone: a job that starts a worker must not make that worker part of its own process tree.
_OURS = (
    system.TOKEN_VARIABLE,
    "QUEUECTL_JOB_ID",
    "QUEUECTL_ATTEMPT",
    "QUEUECTL_QUEUE",
    "QUEUECTL_RETRY_AFTER",
    # The trace of whoever started us; a job has its own, or none.
    "TRACEPARENT",
    "TRACESTATE",
    # What a service manager says to the process that it started, and to no other.
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
)
_FAILPOINTS = ("QUEUECTL_FAILPOINT", "QUEUECTL_ENABLE_FAILPOINTS", "QUEUECTL_FAILPOINT_ONCE")


def job_environment(url: str) -> dict[str, str]:
    """The environment every job starts from: the worker's own. `queuectl` in a job finds the same store."""
    environment = {k: v for k, v in _inherited().items() if k not in _FAILPOINTS}
    environment["QUEUECTL_DB"] = url
    return environment


def daemon_environment(url: str) -> dict[str, str]:
    """For a process that outlives its caller, which may be a job."""
    environment = _inherited()
    environment["QUEUECTL_DB"] = url
    return environment


def _inherited() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in _OURS and not k.startswith(PREFIX)}


def keep_memory_private() -> None:
    """No core file of ours: in it would be the passwords of stores and the environments of jobs.

    Jobs inherit this, and may raise it again (`ulimit -c unlimited`): only the soft limit is changed.
    """
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def keep_descriptors_private() -> None:
    """Commands get stdin, stdout and stderr, and no other descriptor that we were started with."""
    directory = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        try:
            if int(name) > 2:
                os.set_inheritable(int(name), False)
        except OSError:
            pass  # the one that listed the directory
