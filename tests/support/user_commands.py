"""The command line as a user types it, and real workers, which are remembered."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import psutil

from queuectl.core.job import Job
from queuectl.queue import Queue
from queuectl.testing import wait_until
from tests.support.commands import run_command


class Queuectl:
    """`queuectl …` as a user types it. It runs in this process, but workers are started as always."""

    def __init__(self) -> None:
        self.processes: list[psutil.Process] = []

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        if words[:2] == ("worker", "start"):
            return self.run_process(*words)
        return run_command(words)

    def run_process(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "queuectl", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=90,
            check=False,
        )

    def __call__(self, *words: str) -> str:
        """What it prints; it must succeed."""
        done = self.run(*words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def start(self, *words: str) -> str:
        """`worker start …`; returns what it prints."""
        printed = self("worker", "start", *words)
        self.remember_workers()
        return printed

    def remember_workers(self) -> None:
        """Whoever runs now must be gone in the end."""
        known = {process.pid for process in self.processes}
        for worker in self.json("worker", "list"):
            for pid in (worker["pid"], worker["supervisor_pid"]):
                if pid is not None and pid not in known:
                    known.add(pid)
                    self.processes.append(psutil.Process(pid))

    def running(self) -> list[psutil.Process]:
        return [process for process in self.processes if _runs(process)]


def _runs(process: psutil.Process) -> bool:
    """A zombie is over: whether its parent takes note of that is not our business."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_state(queue: Queue, id: str, *states: str, timeout: float = 30.0) -> Job:
    def reached() -> Job | None:
        job = queue.get(id)
        return job if job.state in states else None

    found = wait_until(reached, timeout=timeout, what=f"{id} to be {' or '.join(states)}")
    assert found is not None
    return found
