"""Puts jobs into any state without a worker, by doing to the store what a worker does."""

from __future__ import annotations

import os

from queuectl import system
from queuectl.core.chunks import STDERR, STDOUT, pack
from queuectl.core.job import Job
from queuectl.core.lifecycle import decide
from queuectl.core.outcome import CANCELLED, FAILED, SUCCEEDED, Outcome
from queuectl.core.runtimes import class_of_run, digest_of
from queuectl.logfiles import log_name
from queuectl.queue import Queue
from queuectl.store.messages import Ask, Worker


class FakeWorker:
    """A worker that runs nothing: the test says how each attempt ends."""

    def __init__(self, queue: Queue, *, alive: bool = True) -> None:
        self.queue = queue
        self.host = system.hostname()
        self.worker = worker = Worker()
        worker.id = f"fake-{os.urandom(3).hex()}"
        worker.host = self.host
        worker.pid = os.getpid()
        identity = system.identify()
        assert identity is not None
        if not alive:
            identity.start = "1"  # somebody else's process number by now
        worker.identity = identity.encode()
        worker.session = 0
        worker.state = "alive"
        worker.started_at = worker.seen_at = queue.clock.now()
        worker.concurrency, worker.running = 1, 0
        worker.memory_kb = worker.version = None
        worker.queues = worker.supervisor = worker.control = worker.provides = None
        queue.store.register(worker, 600_000)
        self._claims = 0

    def add_jobs_in_every_state(self) -> None:
        """One job in each state that there is without dependencies."""
        queue = self.queue
        for id in ("done", "broken", "flaky", "running"):
            queue.enqueue(f"echo {id}", id=id, max_retries=0 if id == "broken" else 3)
        queue.enqueue("echo stopped", id="stopped")
        queue.cancel("stopped")
        queue.enqueue("echo later", id="later", delay="1h")
        queue.enqueue("echo waiting", id="waiting", queue="mail", tags=["night"], priority=7)
        self.complete("done")
        self.fail("broken", error="exit code 1: no such file")
        self.fail("flaky")
        self.claim("running")

    def leave(self) -> None:
        self.queue.store.forget(self.worker.id)

    def claim(self, id: str) -> Job:
        """The job is `processing` from now on; one that waits for its time gets there at once."""
        self._claims += 1
        job = self.queue.get(id)
        ask = Ask(self.worker.id, f"{self.worker.id}-{self._claims}", 1, only=job.seq)
        now = max(self.queue.clock.now(), job.run_at)
        return self.queue.store.exchange(self.worker.id, self.host, [], ask, now).jobs[0]

    def end(self, job: Job, kind: str, **details: object) -> None:
        """The attempt ends like this; the usual rules decide what becomes of the job."""
        now = self.queue.clock.now()
        outcome = Outcome(kind, started_at=job.started_at, finished_at=now)
        for name, value in details.items():
            setattr(outcome, name, value)
        if outcome.output is not None and not outcome.output_bytes:
            outcome.output_bytes = len(outcome.output)
        report = decide(job, outcome, self.queue.settings.policy, now=now)
        self.queue.store.exchange(self.worker.id, self.host, [report], None, now)

    def complete(self, id: str, output: bytes | None = None) -> None:
        self.end(self.claim(id), SUCCEEDED, exit_code=0, output=output)

    def fail(self, id: str, *, error: str = "exit code 1", output: bytes | None = None) -> None:
        self.end(self.claim(id), FAILED, exit_code=1, error=error, output=output)

    def kill(self, id: str, *, error: str = "exit code 1", output: bytes | None = None) -> None:
        """Fail it until it is dead."""
        while self.queue.get(id).state != "dead":
            self.fail(id, error=error, output=output)

    def cancel(self, job: Job) -> None:
        self.end(job, CANCELLED, signal=15)

    def live_file(self, job: Job) -> LiveFile:
        logs_dir = self.queue.store.location.logs_dir
        return LiveFile(os.path.join(logs_dir, log_name(job.seq, job.runs)))


class LiveFile:
    """What a running job has printed so far, as its worker shows it."""

    def __init__(self, path: str) -> None:
        self.path = path
        os.makedirs(os.path.dirname(path), exist_ok=True)

    def write(self, data: bytes) -> None:
        with open(self.path, "ab") as file:
            file.write(data)

    def delete(self) -> None:
        os.unlink(self.path)


def out(text: bytes, at: int = 0) -> bytes:
    return pack(STDOUT, at, text)


def err(text: bytes, at: int = 0) -> bytes:
    return pack(STDERR, at, text)


def learned(queue: Queue, command: str, seconds: float, cwd: str | None = "/srv") -> int:
    """The command has succeeded three times in that time; returns the median that follows."""
    digest = digest_of(command, None, cwd)
    runs = {(digest, class_of_run(round(seconds * 1000))): 3}
    queue.store.history().measured([("default", "run ms", 1)], queue.clock.now(), runs)
    known = queue.store.runtimes().of([digest])[digest].median_ms
    return known or 0
