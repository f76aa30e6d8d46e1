"""Settings reach running workers, retention is applied by them, nonsense does no harm."""

from __future__ import annotations

import os
from pathlib import Path

from queuectl.core import states
from queuectl.errors import NotFound
from queuectl.testing import wait_until
from tests.support.worker_home import WorkerHome


def exists(home: WorkerHome, id: str) -> bool:
    try:
        home.job(id)
    except NotFound:
        return False
    return True


def test_a_changed_setting_reaches_a_running_worker(home: WorkerHome) -> None:
    home.config(worker_lease="3h")
    home.config(worker_heartbeat_interval="1h")  # so that only the ring can be the reason
    home.serve()
    home.run("true")
    home.ok("config", "set", "job-timeout", "300ms")
    wait_until(lambda: home.run("sleep 0.7").state == states.DEAD, what="the timeout to be known")
    assert home.run("sleep 0.7", timeout="10s").state == states.COMPLETED  # its own wins


def test_another_shell_is_used_by_running_workers(home: WorkerHome) -> None:
    shell = home.work / "shell"
    shell.write_text('#!/bin/sh\necho special: "$2"\n')
    shell.chmod(0o755)
    home.serve()
    home.run("true")
    home.config(shell=str(shell))
    wait_until(lambda: home.stdout(home.run("anything").id) == b"special: anything\n")


def test_a_broken_config_file_does_not_hurt_running_jobs(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    process = home.serve()
    id = home.enqueue("echo up; while ! test -e go; do sleep 0.02; done")
    home.running(id)
    (home.path / "config.toml").write_text("kill-grace = [nonsense\n")
    wait_until(lambda: "cannot read" in home.log or process.poll() is not None)
    (home.work / "go").touch()
    assert home.ended(id).state == states.COMPLETED
    assert process.poll() is None


def test_workers_delete_old_jobs_by_themselves(home: WorkerHome) -> None:
    home.serve()
    done = home.run("yes | head -c 50000").id
    failed = home.run("false").id
    log = Path(home.logs_dir, str(home.attempt(done).log))
    assert log.exists()
    wait_until(lambda: home.jobs.clock.now() > (home.job(done).finished_at or 0) + 10)
    home.config(keep_completed="1ms")
    wait_until(lambda: not exists(home, done), what="the completed job to be deleted")
    wait_until(lambda: not log.exists(), what="its log to be deleted")
    assert exists(home, failed)
    wait_until(lambda: "1 old completed job(s) deleted" in home.log)


def test_jobs_are_kept_as_long_as_they_shall(home: WorkerHome) -> None:
    process = home.serve()
    done, failed = home.run("true").id, home.run("false").id
    process.terminate()
    assert process.wait(20) == 0
    home.config(keep_completed="1h", keep_dead="1ms")
    home.serve()
    wait_until(lambda: not exists(home, failed), what="the dead job to be deleted")
    assert exists(home, done)


def test_the_shutdown_setting_stops_all_workers(home: WorkerHome) -> None:
    process = home.serve()
    home.start()
    id = home.enqueue("echo up; while ! test -e go; do sleep 0.02; done")
    home.running(id)
    home.config(shutdown="true")
    (home.work / "go").touch()
    assert process.wait(20) == 0
    wait_until(lambda: not home.pids(), what="all workers to end")
    assert home.job(id).state == states.COMPLETED
    home.start()  # which resets it
    assert home.run("true").state == states.COMPLETED
    assert os.listdir(home.path / "run") != []
