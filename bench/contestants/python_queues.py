"""What the queues written in Python share: jobs that run a command by `subprocess.run` and note the time."""

from __future__ import annotations

import subprocess
import tempfile
import time
from abc import abstractmethod
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

from bench.contestants.contestant import PATIENCE, Contestant, Lost, steady_rate
from bench.contestants.installing import Environment, ask, surroundings
from bench.contestants.starting import last_line, started

_INSIDE = Path(__file__).parent / "inside"
_LOOK_EVERY = 0.02  # seconds


class PythonQueue(Contestant):
    """First all jobs are enqueued, then the workers start.

    Measured from the end of the first tenth of the commands to the end of the last one, so that neither the
    start of the workers counts nor what is stored after the last. What a command prints is caught and thrown
    away, to the queue's advantage.
    """

    packages: tuple[str, ...]
    script: str  # in inside/: makes the queue, and enqueues when it is run

    @cached_property
    def environment(self) -> Environment:
        return Environment(self.script.removeprefix("for_"), *self.packages)

    def at_hand(self) -> bool:
        return self.environment.ready()

    def prepare(self) -> None:
        self.environment.install()

    @property
    def version(self) -> str:
        package = self.script.removeprefix("for_")
        return f"{package} {self.environment.version(package)}"

    @abstractmethod
    def store(self, directory: Path) -> AbstractContextManager[str]:
        """A fresh one, and how the script finds it."""

    @abstractmethod
    def workers(self, store: str) -> list[list[str]]:
        """The commands that start them."""

    def rate(self, command: str, count: int) -> float:
        with tempfile.TemporaryDirectory(prefix="queuectl-bench-") as directory:
            times, log = Path(directory) / "times", Path(directory) / "log"
            with self.store(Path(directory)) as store:
                env = surroundings() | {
                    "PYTHONPATH": str(_INSIDE),
                    "BENCH_STORE": store,
                    "BENCH_TIMES": str(times),
                }
                script = str(_INSIDE / f"{self.script}.py")
                ask([self.environment.program("python"), script, command, str(count)], env=env)
                with started(self.workers(store), env, log) as processes:
                    _wait(times, count, processes, log)
            return steady_rate([float(line) for line in times.read_text().splitlines()])


def _wait(times: Path, count: int, processes: list[subprocess.Popen[bytes]], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        done = times.read_bytes().count(b"\n") if times.exists() else 0
        if done >= count:
            break
        if time.monotonic() > deadline or all(process.poll() is not None for process in processes):
            raise Lost(f"{done} of {count} commands have run: {last_line(log)}")
        time.sleep(_LOOK_EVERY)
    if done > count:
        raise Lost(f"{count} commands have run {done} times")
