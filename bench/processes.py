"""What processes cost, as Linux counts it: time on the CPU, and memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence

_LOOK_EVERY = 0.01  # seconds


def cpu_seconds(pid: int) -> float:
    """From schedstat: nanoseconds on the CPU, finer than the clock ticks of stat."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def share_of_a_core(pids: Sequence[int], seconds: float) -> float:
    """Percent of one core that these used together while we slept."""
    began, used = time.monotonic(), sum(map(cpu_seconds, pids))
    time.sleep(seconds)
    return (sum(map(cpu_seconds, pids)) - used) / (time.monotonic() - began) * 100


def resident_mb(pid: int) -> float:
    return _status(pid, "VmRSS")


def peak_mb(pid: int) -> float:
    return _status(pid, "VmHWM")


def own_mb(pid: int) -> float:
    """What it has for itself, plus its part of what it shares: these can be added up."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024


def peak_of(command: Sequence[str], env: Mapping[str, str]) -> float:
    """Megabytes that a command had at most.

    Asked while it runs: what the kernel tells at its end counts ours too, from which it was forked.
    """
    peak = 0.0
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                peak = peak_mb(process.pid)
            except ValueError:
                pass  # it has ended and is only to be waited for
            time.sleep(_LOOK_EVERY)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command))
    return peak


def _status(pid: int, field: str) -> float:
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    raise ValueError(field)
