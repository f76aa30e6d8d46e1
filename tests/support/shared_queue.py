"""A store on a server for one test: commands and workers that use it, each with a home of its own.

What became of the jobs is left to records.py; servers and proxies to the tests.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from queuectl.address import Address
from queuectl.clock import SYSTEM_CLOCK
from queuectl.config.settings import Settings
from queuectl.core.job import NewJob
from queuectl.paths import Location
from queuectl.queue import Queue
from queuectl.store.api import Store
from queuectl.store.messages import JobFilter
from queuectl.store.open import open_store
from queuectl.testing import wait_until

Popen = Callable[..., "subprocess.Popen[bytes]"]


class SharedQueue:
    """`queue.q("status")` runs the real command, `queue.worker()` starts a real worker in the foreground.

    Both take another `url` for the same store, by way of a proxy.
    """

    def __init__(self, directory: Path, url: str) -> None:
        self.url = url
        self.directory = directory
        self.work = directory / "work"
        self.work.mkdir()
        self._worker_processes: list[WorkerProcess] = []
        self._stores: list[Store] = []
        self.store = self.open()
        self.queue = Queue(self.store, Settings(), SYSTEM_CLOCK)

    def open(self, url: str = "", **options: Any) -> Store:
        """A connection of the test itself."""
        store = open_store(location(url or self.url, self.directory / "own"), **options)
        self._stores.append(store)
        return store

    def environment(self, home: str = "home", url: str = "") -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("QUEUECTL_")}
        return kept | {"QUEUECTL_HOME": str(self.directory / home), "QUEUECTL_DB": url or self.url}

    def q(
        self,
        *args: str,
        url: str = "",
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "queuectl", *args],
            env=self.environment(url=url) | dict(env or {}),
            cwd=self.work,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def ok(self, *args: str, url: str = "") -> str:
        """Run a command that must succeed; returns its stdout."""
        done = self.q(*args, url=url)
        assert done.returncode == 0, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def configure(self, **values: str) -> None:
        for name, value in values.items():
            self.store.put_config(name.replace("_", "-"), value, SYSTEM_CLOCK.now())

    def put(self, commands: Mapping[str, str], **fields: Any) -> list[str]:
        """Store jobs that run where runs.log is; returns their ids."""
        jobs = []
        for id, command in commands.items():
            job = NewJob(command, fields.get("max_retries", 3))
            job.id, job.cwd = id, str(self.work)
            job.queue = fields.get("queue", job.queue)
            jobs.append(job)
        self.queue.enqueue_jobs(jobs)
        return list(commands)

    def worker(
        self, *options: str, url: str = "", home: str = "home", count: int = 1, popen: Popen | None = None
    ) -> WorkerProcess:
        """Worker processes in the foreground, not yet registered."""
        worker_process = WorkerProcess(
            self, options, url=url, home=home, count=count, popen=popen or subprocess.Popen
        )
        self._worker_processes.append(worker_process)
        return worker_process

    def completed(self) -> int:
        return self.store.count(JobFilter(states=("completed",)))

    def settle(self, *, but: int = 0, timeout: float = 40) -> None:
        """Until every job has ended, or all but some."""
        wait_until(lambda: self.store.unfinished(JobFilter()) <= but, timeout=timeout, what="all jobs to end")

    def close(self) -> None:
        for worker_process in self._worker_processes:
            worker_process.kill()
        for store in self._stores:
            store.close()


class WorkerProcess:
    """The processes of one `worker start --foreground`, and what they say."""

    def __init__(
        self, place: SharedQueue, options: tuple[str, ...], *, url: str, home: str, count: int, popen: Popen
    ) -> None:
        self._place = place
        self._mark = f"QUEUECTL_HOME={place.directory / home}".encode()
        self.count = count
        self.log_file = place.directory / f"worker-{len(place._worker_processes)}.log"
        with open(self.log_file, "wb") as log:
            self.process = popen(
                [
                    *(sys.executable, "-m", "queuectl", "worker", "start", "--foreground"),
                    *("--count", str(count), *options),
                ],
                env=place.environment(home, url),
                cwd=place.work,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def ids(self) -> list[str]:
        """The incarnations that have registered so far, in their order."""
        return [line.split()[2] for line in self.log.splitlines() if line.split()[3:4] == ["started,"]]

    def ready(self, *, timeout: float = 30) -> WorkerProcess:
        wait_until(
            lambda: len(self.ids()) >= self.count or self.process.poll() is not None,
            timeout=timeout,
            what="the workers to be ready",
        )
        assert self.process.poll() is None, self.log
        return self

    def pids(self) -> list[int]:
        """Its own processes: workers and their supervisor."""
        return [
            pid for pid in self._processes() if not _is_of_a_job(pid) and b"worker" in _read(pid, "cmdline")
        ]

    def commands(self) -> list[int]:
        """The living processes of its jobs."""
        return [pid for pid in self._processes() if _is_of_a_job(pid)]

    def _processes(self) -> list[int]:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [pid for pid in pids if self._mark in _read(pid, "environ") and _lives(pid)]

    def stop(self) -> None:
        """Politely; it must end well."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0, self.log

    def kill(self) -> None:
        for pid in self._processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(timeout=20)


def location(url: str, directory: Path) -> Location:
    address = Address(url)
    return Location(url, "", str(directory), engine=address.engine, shown=address.shown)


def _read(pid: int, name: str) -> list[bytes]:
    try:
        return Path("/proc", str(pid), name).read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


def _is_of_a_job(pid: int) -> bool:
    return any(entry.startswith(b"QUEUECTL_ATTEMPT_TOKEN=") for entry in _read(pid, "environ"))


def _lives(pid: int) -> bool:
    stat = b"".join(_read(pid, "stat"))
    return bool(stat) and stat.rpartition(b")")[2].split()[0] not in b"ZX"
