"""Counts the system calls that a worker needs for one job, by strace; run by hand, it lists them.

Counted are all threads of the worker, and what it does in a child until that becomes the command; then strace
lets go of it. Two runs of different length are compared, so that start and end of the worker cancel out.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from queuectl import Queue

FEW, MANY = 50, 200  # jobs of the two runs
PATIENCE = 60.0
MISSING = "strace is not installed"

STRACE = ("strace", "-f", "-b", "execve")  # follow threads and children, let go of them when they exec
CALL = re.compile(r"\d+ +(\w+)\(")
# How often these come is a matter of time, not of jobs: exchanges with the store, waiting, the other threads.
AT_TIMES = (
    *("pwrite64", "pread64", "fsync", "fdatasync", "fcntl", "ftruncate", "lseek", "newfstatat", "getpid"),
    *("getrandom", "epoll_wait", "epoll_pwait", "epoll_ctl", "poll", "restart_syscall", "clock_nanosleep"),
    *("futex", "brk", "mmap", "munmap"),
)
# In a child of its own: who is allowed to be traced may trace.
MAY_BE_TRACED = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"


def trouble() -> str:
    """Why nothing can be traced here, if so."""
    if sys.platform != "linux":
        return "strace is for Linux"
    if not _succeeds(sys.executable, "-c", MAY_BE_TRACED):
        return "this machine does not permit ptrace"
    if shutil.which("strace") is None:
        return MISSING
    return "" if _succeeds(*STRACE, "-o", "/dev/null", "true") else "strace does not work here"


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def calls(lines: Iterable[str]) -> Counter[str]:
    """What is called in the output of `strace -f`. Signals, ends and second halves of calls are no calls."""
    return Counter(match[1] for line in lines if (match := CALL.match(line)))


def per_job(few: Counter[str], many: Counter[str], jobs: int) -> dict[str, float]:
    """By name, most first; `jobs` is by how many the two differ."""
    rates = {name: (many[name] - few[name]) / jobs for name in many | few}
    return dict(sorted(rates.items(), key=lambda item: -item[1]))


def measured() -> dict[str, float]:
    return per_job(_traced(FEW), _traced(MANY), MANY - FEW)


def _traced(jobs: int) -> Counter[str]:
    with tempfile.TemporaryDirectory(prefix="queuectl-work-") as home:
        trace = Path(home) / "trace"
        with Queue.open(str(Path(home) / "queue.db")) as queue:
            queue.enqueue_many(["true"] * jobs)
            process = subprocess.Popen(
                [*STRACE, "-o", str(trace), *_worker()],
                env=_environment(home),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                done = queue.wait(filter=None, timeout=PATIENCE)
                for worker in queue.store.workers():
                    os.kill(worker.pid, signal.SIGTERM)
                process.wait(PATIENCE)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
        if not done:
            sys.exit(f"the traced worker did not finish {jobs} jobs within {PATIENCE:.0f} s")
        with trace.open(encoding="utf-8", errors="replace") as lines:
            return calls(lines)


def _worker() -> list[str]:
    """In the foreground and alone, so that it has no supervisor: the process is the worker."""
    options = ("--foreground", "--count", "1", "--concurrency", "2")
    return [sys.executable, "-m", "queuectl", "worker", "start", *options]


def _environment(home: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUEUECTL_")}
    return {**kept, "QUEUECTL_HOME": home}


def main() -> int:
    why = trouble()
    if why:
        print(f"nothing can be counted: {why}", file=sys.stderr)
        return 1
    rates = measured()
    print("a job  system call")
    for name, rate in rates.items():
        if abs(rate) >= 0.005:
            print(f"{rate:5.2f}  {name}")
    print(f"{sum(rates.values()):5.1f}  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
