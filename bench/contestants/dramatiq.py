"""Dramatiq on Redis."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from bench.contestants.contestant import SLOTS
from bench.contestants.private_redis import private_redis, redis_server
from bench.contestants.python_queues import PythonQueue


class Dramatiq(PythonQueue):
    """2 processes with one thread each, which is quicker than one process with two threads."""

    name = "Dramatiq on Redis"
    count = 1000
    packages = ("dramatiq[redis]>=2.2",)
    script = "for_dramatiq"

    def prepare(self) -> None:
        redis_server()
        super().prepare()

    def store(self, directory: Path) -> AbstractContextManager[str]:
        return private_redis(directory)

    def workers(self, store: str) -> list[list[str]]:  # noqa: ARG002 - the script finds it
        options = ["--processes", str(SLOTS), "--threads", "1", "--skip-logging"]
        return [[self.environment.program("dramatiq"), *options, "for_dramatiq"]]
