"""A store of its own for each measurement, with workers that are always stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queuectl import Queue

PYTHON = sys.executable


class Home:
    """A temporary QUEUECTL_HOME."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("QUEUECTL_")}
        self.env["QUEUECTL_HOME"] = str(path)
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once

    def queuectl(self, *args: str) -> str:
        return subprocess.run(
            [PYTHON, "-m", "queuectl", *args],
            env=self.env,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ).stdout

    def queue(self) -> Queue:
        return Queue.open(str(self.path / "queue.db"))

    @contextmanager
    def workers(self, *, count: int = 1, concurrency: int = 1) -> Iterator[list[int]]:
        """Background workers; their pids."""
        self.queuectl("worker", "start", "--count", str(count), "--concurrency", str(concurrency))
        try:
            with self.queue() as queue:
                yield [worker.pid for worker in queue.store.workers()]
        finally:
            self.queuectl("worker", "stop", "--now")


@contextmanager
def fresh_home() -> Iterator[Home]:
    path = Path(tempfile.mkdtemp(prefix="queuectl-bench-"))
    try:
        home = Home(path)
        home.queuectl("init")
        yield home
    finally:
        shutil.rmtree(path)
