"""Those who enqueue while the storm goes on: programs, which are killed too, and people with a shell."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.support.home import Home

from proof.storm.client import Task, acknowledged
from proof.storm.plan import Plan, job

_ROOT = Path(__file__).parent.parent.parent
_PATIENCE = 60.0


class Program:
    """A client process that is replaced when it was killed."""

    def __init__(self, task: Task, home: Home) -> None:
        self.task = task
        self._site = home
        self._process = self._started()

    @property
    def acknowledged(self) -> list[str]:
        return acknowledged(Path(self.task.acks))

    @property
    def done(self) -> bool:
        return len(self.acknowledged) >= self.task.share

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process = self._started()

    def close(self) -> None:
        """After there is the file that says so."""
        try:
            self._process.wait(_PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "proof.storm.client", self.task.spelled()],
            env={**self._site.env, "PYTHONPATH": str(_ROOT)},
            cwd=self._site.work,
            stdin=subprocess.DEVNULL,
        )


class Person:
    """`queuectl enqueue`, one job after the other; some of the commands are killed, and repeated."""

    def __init__(self, plan: Plan, home: Home, log: Path) -> None:
        self.acknowledged: list[str] = []
        self.killed = 0
        self._plan = plan
        self._site = home
        self._log = log
        self._dice = random.Random(f"{plan.seed}/{plan.engine}/person")

    def enqueue(self) -> None:
        """One job; when it did not work out, the same again the next time."""
        new = job(self._plan, "person", len(self.acknowledged), self._log)
        command = subprocess.Popen(
            [
                *(sys.executable, "-m", "queuectl", "enqueue", "--if-exists", "skip"),
                *("--id", str(new["id"]), "--max-retries", str(new["max_retries"])),
                *("-c", str(new["command"])),
            ],
            env=self._site.env,
            cwd=self._site.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if self._dice.random() < 0.3:
            time.sleep(self._dice.uniform(0, 0.5))
            command.kill()
            self.killed += 1
        try:
            if command.wait(_PATIENCE) == 0:
                self.acknowledged.append(str(new["id"]))
        finally:
            command.kill()
            command.wait()
