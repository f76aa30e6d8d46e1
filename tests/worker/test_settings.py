"""Settings reach running workers, retention is applied by them, nonsense does no harm."""

from __future__ import annotations

import os
from pathlib import Path

from queuectl.core import states
from queuectl.errors import NotFound
from queuectl.testing import wait_until
from tests.worker.workshop import Workshop, elapsed


def exists(site: Workshop, id: str) -> bool:
    try:
        site.job(id)
    except NotFound:
        return False
    return True


def test_a_changed_setting_reaches_a_running_worker(site: Workshop) -> None:
    site.serve()
    site.run("true")
    site.ok("config", "set", "job-timeout", "300ms")
    took = elapsed()
    wait_until(lambda: site.run("sleep 0.7").state == states.DEAD, what="the timeout to be known")
    assert took() < 4
    assert site.run("sleep 0.7", timeout="10s").state == states.COMPLETED  # its own wins


def test_another_shell_is_used_by_running_workers(site: Workshop) -> None:
    shell = site.work / "shell"
    shell.write_text('#!/bin/sh\necho special: "$2"\n')
    shell.chmod(0o755)
    site.serve()
    site.run("true")
    site.config(shell=str(shell))
    wait_until(lambda: site.stdout(site.run("anything").id) == b"special: anything\n")


def test_a_broken_config_file_does_not_hurt_running_jobs(site: Workshop) -> None:
    site.config(worker_heartbeat_interval="100ms")
    process = site.serve()
    id = site.enqueue("echo up; while ! test -e go; do sleep 0.02; done")
    site.running(id)
    (site.home / "config.toml").write_text("kill-grace = [nonsense\n")
    wait_until(lambda: "cannot read" in site.log or process.poll() is not None)
    (site.work / "go").touch()
    assert site.ended(id).state == states.COMPLETED
    assert process.poll() is None


def test_workers_delete_old_jobs_by_themselves(site: Workshop) -> None:
    site.serve()
    done = site.run("yes | head -c 50000").id
    failed = site.run("false").id
    log = Path(site.logs_dir, str(site.attempt(done).log))
    assert log.exists()
    wait_until(lambda: site.jobs.clock.now() > (site.job(done).finished_at or 0) + 10)
    site.config(keep_completed="1ms")
    wait_until(lambda: not exists(site, done), what="the completed job to be deleted")
    wait_until(lambda: not log.exists(), what="its log to be deleted")
    assert exists(site, failed)
    wait_until(lambda: "1 old completed job(s) deleted" in site.log)


def test_jobs_are_kept_as_long_as_they_shall(site: Workshop) -> None:
    process = site.serve()
    done, failed = site.run("true").id, site.run("false").id
    process.terminate()
    assert process.wait(20) == 0
    site.config(keep_completed="1h", keep_dead="1ms")
    site.serve()
    wait_until(lambda: not exists(site, failed), what="the dead job to be deleted")
    assert exists(site, done)


def test_the_shutdown_setting_stops_all_workers(site: Workshop) -> None:
    process = site.serve()
    site.start()
    id = site.enqueue("echo up; while ! test -e go; do sleep 0.02; done")
    site.running(id)
    site.config(shutdown="true")
    (site.work / "go").touch()
    assert process.wait(20) == 0
    wait_until(lambda: not site.pids(), what="all workers to end")
    assert site.job(id).state == states.COMPLETED
    site.start()  # which resets it
    assert site.run("true").state == states.COMPLETED
    assert os.listdir(site.home / "run") != []
