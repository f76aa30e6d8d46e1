"""Database files that are not what they were: bytes changed, cut off, or put together from two stores."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from queuectl.config.settings import Settings
from queuectl.core import states
from queuectl.errors import QueuectlError
from queuectl.queue import JobFilter, Queue
from queuectl.testing import FakeClock
from queuectl.upkeep.purger import Purger
from queuectl.upkeep.rescuer import rescue

JOBS = 60


def make(directory: Path, prefix: str = "job") -> Path:
    """A store with jobs of all kinds; a part of them only in its log.

    They have a directory of their own choice: with that of the tests, each checkout's bytes lie elsewhere.
    """
    directory.mkdir(parents=True)
    file = directory / "queue.db"
    with Queue.open(str(file)) as queue:
        queue.enqueue_many(
            [
                {
                    "id": f"{prefix}{n}",
                    "command": f"echo {n} {'x' * (n * 20)}",
                    "tags": ["a", f"t{n}"],
                    "cwd": "/",
                }
                for n in range(JOBS // 2)
            ]
        )
        queue.store.connection.run("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
        queue.enqueue_many(
            [
                {"id": f"{prefix}{n}", "command": "true", "env": {"A": str(n)}, "delay": f"{n}h", "cwd": "/"}
                for n in range(JOBS // 2, JOBS)
            ]
        )
    return file


def copy(file: Path, directory: Path) -> Path:
    """Both files, as after the death of whoever had them open."""
    directory.mkdir()
    for name in (file.name, file.name + "-wal"):
        shutil.copy(file.with_name(name), directory / name)
    return directory / file.name


def flip(file: Path, seed: int) -> str:
    """Change some bytes somewhere, now and then in the first page; returns what was done."""
    chosen = random.Random(seed)
    content = bytearray(file.read_bytes())
    most = 100 if seed % 5 == 0 else 4_096 if seed % 5 == 1 else len(content)
    places = [chosen.randrange(min(most, len(content))) for _ in range(chosen.choice((1, 1, 4, 64)))]
    for place in places:
        content[place] ^= chosen.randrange(1, 256)
    file.write_bytes(content)
    return f"seed {seed}: {len(places)} byte(s) of {file.name}, the first at {places[0]}"


def use(file: Path) -> str:
    """What commands and workers do with a store. It works, or refuses in our own words: never a traceback.

    Returns what it said, or how many jobs it had.
    """
    inode = os.stat(file).st_ino
    try:
        with Queue.open(str(file)) as queue:
            found = queue.store.count(JobFilter())
            _read(queue)
            _write(queue)
            said = f"{found} jobs"
    except QueuectlError as error:
        said = error.message
    assert os.stat(file).st_ino == inode, "another file is in its place"
    return said


def _read(queue: Queue) -> None:
    for job in queue.list(limit=JOBS):
        queue.attempts(job)
    queue.store.next_due()


def _write(queue: Queue) -> None:
    now = FakeClock().now()
    queue.enqueue("true", id="new")
    rescue(queue.store, Settings(), now)
    Purger()(queue.store, Settings(), now)
    queue.cancel("new")
    assert queue.get("new").state == states.CANCELLED
