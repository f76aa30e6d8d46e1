"""An upgrade without a stop: workers of the last version with schema 4 go on while a new program migrates.

The old program is the real one: the wheel in `old/`, made by tools/make_old_wheel.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.migration.places import ask as ask_file
from tests.support.engines import ENGINES, fresh_store
from tests.support.home import Home
from tests.support.sql import ask

from queuectl.core import states
from queuectl.core.job import Job
from queuectl.queue import Queue
from queuectl.store.migrate import LATEST
from queuectl.testing import wait_until

pytestmark = pytest.mark.long

WHEEL = Path(__file__).parent / "old" / "schema4" / "queuectl-0.1.0-py3-none-any.whl"
# Hangs at its first attempt, and leaves a file so that one can see it.
HANGS = 'touch "$QUEUECTL_JOB_ID"; test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 300'


@pytest.fixture(scope="module")
def old_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("old") / "program"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
    ]
    subprocess.run([*pip, str(WHEEL)], check=True, capture_output=True)
    return target


class MixedHome(Home):
    """One store, and programs of two versions."""

    def __init__(self, home: Path, url: str | None, old_program: Path) -> None:
        super().__init__(home, url=url)
        self.old = {"PYTHONPATH": str(old_program)}
        self.logs = home.parent

    def worker(self, name: str, *options: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """A worker in the foreground whose log has this name."""
        before = set(self.workers()) if self.version() else set()
        with open(self.logs / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "queuectl", "worker", "start", "--foreground", *options],
                env={**self.env, **(env or {})},
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._foreground.append(process)
        wait_until(lambda: set(self.pids_of_workers()) - before, what=f"{name} to register")
        return process

    def pids_of_workers(self) -> list[int]:
        """Asked by plain SQL: our own program would bring the schema up to date."""
        return [int(str(pid)) for (pid,) in self.sql("SELECT pid FROM workers WHERE state = 'alive'")]

    workers = pids_of_workers

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        if self.url is not None:
            return list(ask(self.url, statement))
        return ask_file(self.path / "queue.db", statement)

    def version(self) -> int:
        statement = "PRAGMA user_version" if self.url is None else "SELECT version FROM queuectl_schema"
        return int(str(self.sql(statement)[0][0]))

    def enqueue_many(self, prefix: str, count: int, env: dict[str, str] | None = None) -> list[str]:
        lines = "".join(f'{{"id": "{prefix}{n}", "command": "sleep 0.01"}}\n' for n in range(count))
        self.ok("enqueue", "--file", "-", "--quiet", input=lines, env=env)
        return [f"{prefix}{n}" for n in range(count)]

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text()


@pytest.fixture(params=ENGINES)
def mixed(request: pytest.FixtureRequest, tmp_path: Path, old_program: Path) -> Iterator[MixedHome]:
    with fresh_store(request.param) as url:
        home = MixedHome(tmp_path / "home", url, old_program)
        home.ok("init", env=home.old)
        for setting in ("worker-heartbeat-interval=500ms", "worker-lease=4s", "poll-interval=200ms"):
            home.ok("config", "set", *setting.split("="), env=home.old)
        yield home
        home.close()


def complaints(log: str) -> list[str]:
    """Lines that tell of trouble. That somebody holds a lock while the tables are changed is none."""
    words = ("error", "Traceback", "cannot be used", "heartbeat failed", "declared dead", "lost its lease")
    return [line for line in log.splitlines() if any(word in line for word in words) and "lock" not in line]


def ended_once(queue: Queue, ids: Sequence[str]) -> set[str | None]:
    """Who ran them."""
    assert queue.wait(ids, timeout=120)
    jobs: list[Job] = [queue.get(id) for id in ids]
    assert {(job.state, job.attempts, job.runs, job.lost) for job in jobs} == {(states.COMPLETED, 1, 1, 0)}
    return {attempt.worker_id for job in jobs for attempt in queue.attempts(job)}


def test_old_and_new_workers_share_one_queue_over_a_migration(mixed: MixedHome) -> None:
    assert (mixed.version(), LATEST) == (4, 5)
    one = mixed.worker("one", "--queue", "default,stale", "--concurrency", "2", env=mixed.old)
    two = mixed.worker("two", "--queue", "default,stale", "--concurrency", "2", env=mixed.old)
    before = mixed.enqueue_many("before", 200, env=mixed.old)
    mixed.ok("init")  # the new program migrates while they run
    assert mixed.version() == LATEST
    new = mixed.worker("new", "--queue", "default,fresh", "--concurrency", "2")
    after = mixed.enqueue_many("after", 600)
    with mixed.queue() as queue:
        ran = ended_once(queue, before + after)
        pids = {int(str(id).split("-")[-2]) for id in ran}
        assert new.pid in pids
        assert {one.pid, two.pid} & pids
        _rescued_by_the_old(mixed, queue, new)
        _rescued_by_the_new(mixed, queue, [one, two])
        stopped_with_its_jobs_done = [process.wait(30) for process in (one, two)]
    assert sorted(stopped_with_its_jobs_done) == [-signal.SIGKILL, 0]
    assert [line for name in ("one", "two", "new", "newer") for line in complaints(mixed.log(name))] == []


def _hanging(mixed: MixedHome, queue: Queue, id: str, name: str) -> Job:
    """A job in the middle of its first run."""
    queue.enqueue(HANGS, id=id, queue=name, cwd=str(mixed.work))
    wait_until((mixed.work / id).exists, what=f"{id} to run")
    return queue.get(id)


def _rescued_by_the_old(mixed: MixedHome, queue: Queue, new: subprocess.Popen[bytes]) -> None:
    """Only old workers are left when the new one is killed."""
    _hanging(mixed, queue, "orphan-of-the-new", "fresh")
    new.kill()
    new.wait()
    wait_until(lambda: queue.get("orphan-of-the-new").state == states.PENDING, what="the old to free it")
    assert queue.get("orphan-of-the-new").lost == 1


def _rescued_by_the_new(mixed: MixedHome, queue: Queue, old: list[subprocess.Popen[bytes]]) -> None:
    """One old worker is stopped with a drain, the other is killed with a job."""
    job = _hanging(mixed, queue, "orphan-of-the-old", "stale")
    holder = next(process for process in old if f"-{process.pid}-" in str(job.worker_id))
    other = next(process for process in old if process is not holder)
    mixed.worker("newer")
    other.terminate()
    assert other.wait(30) == 0
    os.kill(holder.pid, signal.SIGKILL)
    for id in ("orphan-of-the-new", "orphan-of-the-old"):
        assert queue.wait([id], timeout=60)
        assert (queue.get(id).state, queue.get(id).lost) == (states.COMPLETED, 1)


def test_a_drain_of_the_old_after_the_migration_lets_its_job_finish(mixed: MixedHome) -> None:
    old = mixed.worker("old", env=mixed.old)
    mixed.ok("enqueue", "--id", "slow", "echo up; while ! test -e go; do sleep 0.02; done", env=mixed.old)
    with_new = mixed.queue()  # migrates
    with with_new as queue:
        wait_until(lambda: queue.get("slow").state == states.PROCESSING)
        mixed.worker("new")
        old.terminate()
        wait_until(lambda: "is stopping (drain)" in mixed.log("old"))
        (mixed.work / "go").touch()
        assert old.wait(30) == 0
        job = queue.get("slow")
        assert (job.state, job.attempts, job.lost) == (states.COMPLETED, 1, 0)
        assert f"-{old.pid}-" in str(queue.attempts(job)[0].worker_id)


def test_an_old_program_that_comes_later_is_refused_and_says_why(mixed: MixedHome) -> None:
    """It cannot know that it could go on; the next version can."""
    mixed.ok("init")
    refused = mixed.q("status", env=mixed.old)
    assert refused.returncode == 3
    assert "was written by a newer queuectl" in refused.stderr
