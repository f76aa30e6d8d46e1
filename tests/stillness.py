"""Processes that stand still, and whether they hold a lock of the store while they do."""

from __future__ import annotations

import os
import signal
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
    db = queue.store.connection  # type: ignore[attr-defined]
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
