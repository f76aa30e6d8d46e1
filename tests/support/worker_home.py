"""A home with a worker to watch: short graces, jobs and their output at hand, the log in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from queuectl import Queue
from queuectl.core import states
from queuectl.core.chunks import STDERR, STDOUT, Chunk, unpack
from queuectl.core.job import Attempt, Job
from queuectl.errors import QueuectlError
from queuectl.fleet import stop_workers
from queuectl.logfiles import LogReader, log_name
from queuectl.paths import Location
from queuectl.store.messages import Worker
from queuectl.store.open import open_store
from queuectl.testing import wait_until
from tests.support.home import Home
from tests.support.processes import kill, read_proc

QUICK = {"kill-grace": "300ms", "stop-grace": "20s", "backoff-base": "0.001"}


def failpoints(what: str) -> dict[str, str]:
    """The environment of a worker that passes these failpoints: see `queuectl.failpoints`."""
    return {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": what}


class WorkerHome(Home):
    """`home.serve()` starts one worker process; `home.run("echo hi")` the job when it has ended."""

    def __init__(self, home: Path, *, portable: bool = False) -> None:
        super().__init__(home, portable=portable)
        self.portable = portable  # whether its workers use the fallbacks for other systems
        file = str(home / "queue.db")
        open_store(Location(file, file, str(home))).close()  # from here on it is known as a home
        self.jobs = Queue.open(file)
        self.log_file = home.parent / "worker.log"
        self.config(**QUICK)

    def config(self, **values: object) -> None:
        """Change settings as `config set` does, without the price of a process."""
        for name, value in values.items():
            self.jobs.set_config(name, str(value))

    # --- workers --------------------------------------------------------------------------------------------

    def serve(
        self,
        *options: str,
        count: int = 1,
        env: dict[str, str] | None = None,
        prefix: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """A worker in the foreground, ready for work. `prefix`: a command that becomes it."""
        before = {worker.id for worker in self.registered()}
        with open(self.log_file, "ab") as log:
            process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "queuectl", "worker", "start", "--foreground"]
                + (["--count", str(count)] if count > 1 else [])
                + list(options),
                env={**self.env, **(env or {})},
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=pass_fds,
            )
        self._foreground.append(process)
        wait_until(
            lambda: len({w.id for w in self.registered()} - before) >= count or process.poll() is not None,
            what="the worker to be ready",
        )
        return process

    def in_a_terminal(self, *command: str) -> tuple[int, subprocess.Popen[bytes]]:
        """A command that a terminal of its own belongs to; the other end of that is ours."""
        leader, follower = os.openpty()
        process = subprocess.Popen(
            ["setsid", "--ctty", *command],
            env=self.env,
            cwd=self.work,
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        self._foreground.append(process)
        return leader, process

    def registered(self) -> Sequence[Worker]:
        return self.jobs.store.workers()

    def worker(self) -> Worker:
        """The only one."""
        (worker,) = self.registered()
        return worker

    @property
    def log(self) -> str:
        """What foreground workers and those in the background have said."""
        files = (self.log_file, self.path / "logs" / "workers.log")
        return "".join(file.read_text() for file in files if file.exists())

    # --- jobs -----------------------------------------------------------------------------------------------

    def enqueue(self, command: str | Sequence[str], **fields: Any) -> str:
        fields.setdefault("cwd", str(self.work))
        return self.jobs.enqueue(command, **fields).id

    def run(self, command: str | Sequence[str], **fields: Any) -> Job:
        """Enqueue a job that is tried once, and wait for its end."""
        fields.setdefault("max_retries", 0)
        return self.ended(self.enqueue(command, **fields))

    def job(self, id: str) -> Job:
        return self.jobs.get(id)

    def ended(self, *ids: str, timeout: float = 30) -> Job:
        """Wait until these jobs have ended; returns the last."""
        assert self.jobs.wait(ids, timeout=timeout), [(id, self.job(id).state) for id in ids] + [self.log]
        return self.job(ids[-1])

    def wait_for(self, id: str, *wanted: str, timeout: float = 30) -> None:
        wait_until(lambda: self.job(id).state in wanted, timeout=timeout, what=f"{id} to be {wanted}")

    def running(self, id: str) -> Job:
        """Wait until the job's command has printed something; it runs then for certain."""
        wait_until(lambda: self.job(id).state == states.PROCESSING, what=f"{id} to be claimed")
        job = self.job(id)
        wait_until(lambda: self.live(job) or self.job(id).claim != job.claim, what=f"{id} to print something")
        return job

    def attempts(self, id: str) -> Sequence[Attempt]:
        return self.jobs.attempts(self.job(id))

    def attempt(self, id: str) -> Attempt:
        """The only one."""
        (attempt,) = self.attempts(id)
        return attempt

    # --- output ---------------------------------------------------------------------------------------------

    @property
    def logs_dir(self) -> str:
        return str(self.path / "logs")

    def chunks(self, id: str) -> list[Chunk]:
        """The stored output of the last attempt."""
        attempt = self.attempts(id)[-1]
        if attempt.log:
            return list(LogReader(self.logs_dir, attempt.log).read())
        return list(unpack(attempt.output or b""))

    def stdout(self, id: str) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks(id) if chunk.stream == STDOUT)

    def stderr(self, id: str) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks(id) if chunk.stream == STDERR)

    def live(self, job: Job) -> bytes:
        """What a running job has printed so far."""
        reader = LogReader(self.logs_dir, log_name(job.seq, job.runs))
        return b"".join(chunk.data for chunk in reader.read())

    # --- the database, from outside -------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else can write meanwhile."""
        db = apsw.Connection(str(self.path / "queue.db"))
        db.set_busy_timeout(5000)
        db.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            db.execute("ROLLBACK")
            db.close()

    # --- processes ------------------------------------------------------------------------------------------

    def job_processes(self) -> list[int]:
        """Living processes that belong to a job of this home."""
        return [pid for pid in self.pids() if b"QUEUECTL_ATTEMPT_TOKEN=" in read_proc(pid, "environ")]

    def _stop(self) -> None:
        """Does what `worker stop --now` does, without the price of a process where there is a choice."""
        if not self.portable:
            try:
                stop_workers(self.jobs, now=True, timeout_ms=0)
                return
            except QueuectlError:
                pass  # the test has taken the store away
        self.q("worker", "stop", "--now", "--timeout", "0")

    def close(self) -> list[int]:
        """Stop everything; returns the processes of jobs that a stop has left."""
        if self.pids():
            self._stop()
        self.jobs.close()
        left = self.job_processes()
        for pid in self.pids():
            kill(pid)
        for process in self._foreground:
            process.wait(20)
        return left
