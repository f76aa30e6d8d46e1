"""Processes that stand still, and whether they hold a lock of the store while they do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from queuectl.errors import StoreBusy
from queuectl.queue import Queue
from queuectl.testing import wait_until


def is_stopped(pid: int) -> bool:
    return _state(pid) == "T"


def is_running(pid: int) -> bool:
    """Whether it lives, and is not only a zombie."""
    return _state(pid) not in ("", "Z", "X")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def freeze(pid: int, queue: Queue) -> None:
    """SIGSTOP, but not in the middle of a transaction: its locks would be in everybody's way."""
    queue.store.be_patient(100)
    while True:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(pid), what="the process to stand still")
        if _is_free(queue):
            return
        os.kill(pid, signal.SIGCONT)


def _is_free(queue: Queue) -> bool:
    """Whether nobody is in the middle of a transaction that others would have to wait for."""
    db = queue.store.connection
    # A worker locks its own row in each exchange, and its jobs when it stores a result.
    everything = (
        "SELECT id FROM workers",
        f"SELECT id FROM {db.dialect.claim_from} WHERE state = 'processing'",
    )

    def probe(_: bool | None) -> bool:
        return all({*db.all(rows)} == {*db.all(rows + db.dialect.take)} for rows in everything)

    try:
        return bool(db.write("probe", probe))  # in SQLite to write at all is the proof
    except StoreBusy:
        return False


def read_proc(pid: int, name: str) -> bytes:
    try:
        return Path("/proc", str(pid), name).read_bytes()
    except OSError:
        return b""


def kill(pid: int, signum: int = 9) -> None:
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        pass


def alive(pid: int) -> bool:
    """Whether it runs, and is not only a zombie."""
    stat = read_proc(pid, "stat").decode()
    return bool(stat) and stat.rpartition(")")[2].split()[0] not in "ZX"


def cpu_seconds(pid: int) -> float:
    fields = read_proc(pid, "stat").decode().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def switches(pid: int) -> int:
    """How often it went to sleep."""
    return _status(pid, "voluntary_ctxt_switches")


def resident_kb(pid: int) -> int:
    return _status(pid, "VmRSS")


def _status(pid: int, name: str) -> int:
    for line in read_proc(pid, "status").decode().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def elapsed() -> Callable[[], float]:
    """A stopwatch, running."""
    began = time.monotonic()
    return lambda: time.monotonic() - began
