"""What this machine allows a process: open files, processes, the size of a file, its cgroup; and its clock.

Limits of single jobs are left to the worker.
"""

from __future__ import annotations

import os

from queuectl.core.durations import format_age
from queuectl.store.health import OK, PROBLEM, WARNING, Finding, shown_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FEW_FILES, _FEW_PROCESSES = 256, 200
_SMALL_FILE = 2**30
_LITTLE_MEMORY = 64 * 2**20
_NEW_YEAR_2024 = 1_704_067_200_000
_AHEAD_MS = 60_000
_CGROUPS = "/sys/fs/cgroup"


def look() -> list[Finding]:
    return [*process(_rlimits()), *cgroup(_cgroup())]


def _rlimits() -> dict[str, int | None]:
    """The soft limits; None: there is none."""
    try:
        import resource
    except ImportError:
        return {}
    found = {}
    for name in ("NOFILE", "NPROC", "FSIZE"):
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            soft = resource.getrlimit(number)[0]
            found[name] = None if soft == resource.RLIM_INFINITY else int(soft)
    return found


def process(limits: Mapping[str, int | None]) -> list[Finding]:
    """What a worker that is started from here would have."""
    found = []
    files, processes, size = (limits.get(name) for name in ("NOFILE", "NPROC", "FSIZE"))
    if files is not None and files < _FEW_FILES:
        why = "a worker needs a few for every command that it runs at once"
        found.append(Finding(WARNING, "limits", f"{files} open files", why=why, mend="ulimit -n 4096"))
    if processes is not None and processes < _FEW_PROCESSES:
        why = "every command is a process at least, and those of your other programs count too"
        found.append(Finding(WARNING, "limits", f"{processes} processes", why=why, mend="ulimit -u 4096"))
    if size is not None and size < _SMALL_FILE:
        why = "the store and log files cannot grow beyond that, and who tries is killed"
        what = f"files of at most {shown_size(size)}"
        found.append(Finding(PROBLEM, "limits", what, why=why, mend="ulimit -f unlimited"))
    if found or not limits:
        return found
    shown = ["any number of" if number is None else f"{number:,}" for number in (files, processes)]
    return [Finding(OK, "limits", f"{shown[0]} open files, {shown[1]} processes")]


def _cgroup() -> dict[str, int]:
    """What is left in ours and in those above it: of processes and of memory, the least of each."""
    try:
        with open("/proc/self/cgroup", encoding="ascii") as file:
            path = next(line[3:].strip() for line in file if line.startswith("0::"))
    except (OSError, StopIteration, UnicodeError):
        return {}
    found: dict[str, int] = {}
    while True:
        place = os.path.join(_CGROUPS, path.lstrip("/"))
        for name in ("pids", "memory"):
            most, now = (_number(os.path.join(place, f"{name}.{end}")) for end in ("max", "current"))
            if most is not None and now is not None:
                found[name] = min(found.get(name, most - now), most - now)
        if path in ("", "/"):
            return found
        path = os.path.dirname(path)


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def cgroup(left: Mapping[str, int]) -> list[Finding]:
    found = []
    if left.get("pids", _FEW_PROCESSES) < _FEW_PROCESSES:
        found.append(
            Finding(
                WARNING,
                "limits",
                f"this cgroup has room for {max(left['pids'], 0):,} more processes",
                why="where there is none, commands cannot be started",
                mend="raise pids.max of the container or unit: systemctl set-property UNIT TasksMax=4096",
            )
        )
    if left.get("memory", _LITTLE_MEMORY) < _LITTLE_MEMORY:
        found.append(
            Finding(
                WARNING,
                "limits",
                f"{shown_size(max(left['memory'], 0))} of memory left in this cgroup",
                why="when it is used up the kernel kills commands, or workers",
                mend="raise memory.max of the container or unit: systemctl set-property UNIT MemoryMax=2G",
            )
        )
    return found


def clock(now: int, newest: int | None) -> list[Finding]:
    """`newest`: when the job that came last was enqueued, by the clock of whoever did that."""
    if now < _NEW_YEAR_2024:
        why = "times of jobs, schedules and retention go by it"
        what = "the clock of this machine is years behind"
        return [Finding(PROBLEM, "clock", what, why=why, mend="timedatectl set-ntp true")]
    if newest is not None and newest - now > _AHEAD_MS:
        why = "the clock was set back, or somebody else's is ahead: what is due by that one waits"
        what = f"the newest job comes from the future, by {format_age(newest - now)}"
        return [Finding(WARNING, "clock", what, why=why, mend="timedatectl set-ntp true")]
    return [Finding(OK, "clock", "the clock agrees with the newest job")]
