"""RQ on Redis."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from bench.contestants.contestant import SLOTS
from bench.contestants.private_redis import private_redis, redis_server
from bench.contestants.python_queues import PythonQueue


class Rq(PythonQueue):
    """2 workers that run jobs in their own process: its usual ones fork for each job and are slower."""

    name = "RQ on Redis"
    count = 500
    packages = ("rq>=2.12",)
    script = "for_rq"

    def prepare(self) -> None:
        redis_server()
        super().prepare()

    def store(self, directory: Path) -> AbstractContextManager[str]:
        return private_redis(directory)

    def workers(self, store: str) -> list[list[str]]:
        options = ["--quiet", "--burst", "--worker-class", "rq.worker.SimpleWorker", "--url", store]
        return [[self.environment.program("rq"), "worker", *options, "default"]] * SLOTS
