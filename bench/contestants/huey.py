"""Huey on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contestants.contestant import SLOTS
from bench.contestants.python_queues import PythonQueue


class Huey(PythonQueue):
    """2 worker threads, which are quicker here than 2 processes. A crash loses the jobs that are running."""

    name = "Huey on SQLite"
    count = 800
    packages = ("huey>=3.5",)
    script = "for_huey"

    @contextmanager
    def store(self, directory: Path) -> Iterator[str]:
        yield str(directory / "huey.db")

    def workers(self, store: str) -> list[list[str]]:  # noqa: ARG002 - the script finds it
        options = ["--quiet", f"--workers={SLOTS}", "--worker-type=thread"]
        return [[self.environment.program("huey_consumer"), *options, "for_huey.huey"]]
