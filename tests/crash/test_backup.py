"""Backups under a flood of real workers, and kill -9 at every step of a backup and a restore."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.app import open_queue
from queuectl.core.job import Job
from queuectl.keeping import make_backup
from queuectl.queue import JobFilter
from queuectl.store.snapshots import look_into
from queuectl.testing import wait_until
from tests.support.fake_worker import FakeWorker

HELD_BACK = 20


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in list(os.environ):
        if name.startswith("QUEUECTL_") and name != "QUEUECTL_PORTABLE":
            monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("QUEUECTL_HOME", str(path))
    yield path
    for db in (path / "queue.db", tmp_path / "restored.db"):
        if db.exists():
            queuectl("--db", str(db), "worker", "stop", "--now")


def queuectl(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "queuectl", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def killed_at(point: str, *words: str) -> None:
    done = queuectl(*words, QUEUECTL_ENABLE_FAILPOINTS="1", QUEUECTL_FAILPOINT=f"{point}=kill9")
    assert done.returncode == -9, (point, done.stdout, done.stderr)


def everything(url: str) -> list[Job]:
    with open_queue(url, create=False) as queue:
        return list(queue.list(limit=10_000))


@pytest.mark.parametrize("jobs", [200, pytest.param(600, marks=pytest.mark.long)])
def test_a_backup_under_load_has_every_acknowledged_job_once(home: Path, tmp_path: Path, jobs: int) -> None:
    """The last jobs do not end before the backup is made, however quick the workers are."""
    url, backup, restored = str(home / "queue.db"), str(tmp_path / "b.db"), str(tmp_path / "restored.db")
    ran, go = tmp_path / "ran", tmp_path / "go"
    ran.mkdir()
    with open_queue(url) as queue:
        started = queuectl("worker", "start", "--count", "2", "--concurrency", "2")
        assert started.returncode == 0, started.stderr
        queue.enqueue_many(
            [
                {
                    "id": f"j{n}",
                    "command": f"echo {n} >> {ran}/{n}; "
                    + (f"until test -e {go}; do sleep 0.02; done" if n >= jobs - HELD_BACK else "sleep 0.01"),
                }
                for n in range(jobs)
            ]
        )
        wait_until(lambda: queue.store.unfinished(JobFilter()) < jobs - 50, timeout=60)
        make_backup(url, backup, progress=lambda *_: None)
        go.touch()
        queue.enqueue_many([f"true late {n}" for n in range(50)])
        assert queue.wait(timeout=120)
    assert queuectl("worker", "stop").returncode == 0
    held = look_into(backup)
    assert held.rows["jobs"] == jobs

    # Somewhere else, run to the end: what was not done at that moment is done there.
    assert queuectl("restore", "--db", restored, backup).returncode == 0
    before = {job.id: job.state for job in everything(restored)}
    assert sorted(before) == sorted(f"j{n}" for n in range(jobs))
    assert set(before.values()) <= {"pending", "completed"}
    assert 0 < sum(state == "completed" for state in before.values()) < jobs
    for path in ran.iterdir():
        path.unlink()
    assert queuectl("--db", restored, "worker", "start", "--count", "2").returncode == 0
    with open_queue(restored) as queue:
        assert queue.wait(timeout=120)
    assert {job.state for job in everything(restored)} == {"completed"}
    again = {f"j{path.name}" for path in ran.iterdir()}
    assert again == {id for id, state in before.items() if state == "pending"}
    assert all(len(path.read_text().splitlines()) == 1 for path in ran.iterdir())


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> tuple[str, str]:
    """A store, and a backup of it from before its last job."""
    url, backup = str(home / "queue.db"), str(tmp_path / "b.db")
    with open_queue(url) as queue:
        FakeWorker(queue, alive=False).add_jobs_in_every_state()
        queue.enqueue_many([f"echo {'x' * 2000} {number}" for number in range(2_500)])
        assert queuectl("backup", backup).returncode == 0
        queue.enqueue("echo late", id="late")
    return url, backup


@pytest.mark.long
def test_kill_9_during_a_backup_leaves_the_old_one_or_the_new(
    filled: tuple[str, str], tmp_path: Path
) -> None:
    _, backup = filled
    old = look_into(backup).rows["jobs"]
    for point in ("backup.step", "backup.step@2", "backup.copied", "backup.written"):
        killed_at(point, "backup", backup, "--force")
        assert look_into(backup).rows["jobs"] == old, point
    killed_at("backup.put", "backup", backup, "--force")
    assert look_into(backup).rows["jobs"] == old + 1
    assert queuectl("backup", backup, "--force").returncode == 0
    assert [name for name in os.listdir(tmp_path) if "tmp" in name] == []


@pytest.mark.long
def test_kill_9_during_a_restore_leaves_the_old_queue_or_the_new(filled: tuple[str, str], home: Path) -> None:
    url, backup = filled
    for point in (
        "finish.before_commit",
        "restore.locked",
        "restore.kept",
        "restore.copying",
        "restore.copying@2",
    ):
        killed_at(point, "restore", backup, "--yes")
        assert everything(url)[-1].id == "late", point
        assert look_into(url)
    killed_at("restore.replaced", "restore", backup, "--yes")
    jobs = everything(url)
    assert "late" not in {job.id for job in jobs}
    assert {job.state for job in jobs if job.id == "running"} == {"pending"}
    assert queuectl("restore", backup, "--yes").returncode == 0
    assert [name for name in os.listdir(home) if "restoring" in name] == []
    assert queuectl("doctor", "--full").returncode == 0


def test_kill_9_during_a_restore_elsewhere_leaves_nothing_or_all(
    filled: tuple[str, str], tmp_path: Path
) -> None:
    _, backup = filled
    other = str(tmp_path / "other.db")
    killed_at("restore.ready", "restore", "--db", other, backup)
    assert not os.path.exists(other)
    assert queuectl("restore", "--db", other, backup).returncode == 0
    assert len(everything(other)) == 2_507
