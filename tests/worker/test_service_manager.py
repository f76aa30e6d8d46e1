"""What a service manager is told by workers in the foreground, and what their jobs do not see of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from queuectl.clock import SYSTEM_CLOCK
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from queuectl.worker.child import NEVER
from queuectl.worker.pulse import service_pulse
from queuectl.worker.wellbeing import Wellbeing
from tests.support.worker_home import WorkerHome
from tests.worker.manager import PERIOD, manager

UNTIL_GO = "echo up; while ! test -e go; do sleep 0.02; done"


@pytest.mark.parametrize("count", [1, 2])
def test_a_service_is_ready_with_its_workers_and_says_that_it_lives_and_stops(
    home: WorkerHome, tmp_path: Path, count: int
) -> None:
    with manager(tmp_path, abstract=count == 2) as systemd:
        process = home.serve(count=count, env=systemd.env)
        assert systemd.hears("READY=1"), home.log
        assert len(home.registered()) == count  # not before
        status = systemd.hears("WATCHDOG=1")
        assert status
        assert "STATUS=" + ("0 of 1 slot(s) busy" if count == 1 else "2 of 2 worker(s) running") in status
        assert systemd.hears("WATCHDOG=1")
        id = home.enqueue("env; " + UNTIL_GO)
        home.running(id)
        process.terminate()
        assert systemd.hears("STOPPING=1")
        extension = systemd.hears("EXTEND_TIMEOUT_USEC=")
        assert extension
        assert int(extension.partition("=")[2]) > 20_300_000  # stop-grace and kill-grace, and some more
        (home.work / "go").touch()
        assert process.wait(20) == 0
        assert home.job(id).state == states.COMPLETED
        printed = home.stdout(id)
        assert b"QUEUECTL_JOB_ID=" in printed
        for name in (b"NOTIFY_SOCKET", b"WATCHDOG_USEC", b"WATCHDOG_PID"):
            assert name not in printed


@pytest.mark.parametrize("count", [1, 2])
def test_no_sign_of_life_comes_while_a_worker_hangs(home: WorkerHome, tmp_path: Path, count: int) -> None:
    with manager(tmp_path) as systemd:
        home.serve(count=count, env=systemd.env)
        assert systemd.hears("WATCHDOG=1"), home.log
        hung = home.registered()[-1].pid
        os.kill(hung, signal.SIGSTOP)
        # A supervisor may take its word for a while yet, but never for as long as the manager waits.
        wait_until(lambda: not systemd.hears("WATCHDOG=1", within=PERIOD), what="the signs of life to end")
        os.kill(hung, signal.SIGCONT)
        assert systemd.hears("WATCHDOG=1")


def test_a_supervisor_is_not_ready_before_all_of_its_workers_are(home: WorkerHome, tmp_path: Path) -> None:
    with manager(tmp_path) as systemd:
        with home.locked():  # nobody can register
            process = home.foreground("--count", "2", env=systemd.env)
            wait_until(lambda: len(home.pids()) >= 3, what="the workers to be started")
            assert not systemd.hears("READY=1", within=0.5)
        assert systemd.hears("READY=1"), home.log
        assert len(home.registered()) == 2
        process.terminate()
        process.communicate(timeout=20)
        assert process.returncode == 0


def test_nobody_is_not_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that were stopped before they were ready: nothing has started."""
    with manager(tmp_path) as systemd:
        for name, value in systemd.env.items():
            monkeypatch.setenv(name, value)
        wellbeing = Wellbeing(service_pulse(SYSTEM_CLOCK))
        wellbeing.look(0.0, [(None, 0.0)])
        wellbeing.look(0.0, [])
        wellbeing.stopping()
        said = systemd.hears("STOPPING=1")
        assert said
        assert systemd.said == [said]


def test_a_crashed_worker_does_not_make_the_whole_service_unwell(home: WorkerHome, tmp_path: Path) -> None:
    """Its supervisor deals with it; the manager could only harm the others."""
    with manager(tmp_path) as systemd:
        home.serve(count=2, env=systemd.env)
        assert systemd.hears("WATCHDOG=1"), home.log
        victim = home.registered()[0]
        os.kill(victim.pid, signal.SIGKILL)
        wait_until(lambda: victim.id not in [w.id for w in home.registered()], what="it to be buried")
        systemd.catch_up()
        for _ in range(4):
            assert systemd.hears("WATCHDOG=1"), home.log


def test_a_watchdog_for_somebody_else_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/nobody/listens")
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    monkeypatch.setenv("WATCHDOG_PID", "1")
    pulse = service_pulse(SYSTEM_CLOCK)
    assert (pulse.heard, pulse.every) == (True, NEVER)
    pulse.ready("and nobody hears it")  # which is no error
    assert pulse.next_at == NEVER
    assert not service_pulse(SYSTEM_CLOCK).heard  # it was taken by the first


@pytest.mark.long
def test_a_service_restarted_in_the_middle_of_jobs_loses_nothing_and_burns_no_attempt(
    home: WorkerHome, tmp_path: Path
) -> None:
    """`systemctl restart`: one job may finish, one is cut off, others wait their turn."""
    home.config(stop_grace="500ms")
    short = home.enqueue("echo up; while ! test -e short; do sleep 0.02; done")
    long = home.enqueue(UNTIL_GO, max_retries=0)
    waiting = [home.enqueue("true", max_retries=0) for _ in range(20)]
    with manager(tmp_path) as systemd:
        for last in (False, True):
            process = home.serve("--concurrency", "1", count=2, env=systemd.env)
            assert systemd.hears("READY=1"), home.log
            home.running(long)
            if last:
                (home.work / "go").touch()
                home.ended(short, long, *waiting)
            else:
                home.running(short)
            process.terminate()
            (home.work / "short").touch()
            assert process.wait(20) == 0
    jobs = [home.job(id) for id in (short, long, *waiting)]
    assert {(job.state, job.attempts, job.lost) for job in jobs} == {(states.COMPLETED, 1, 0)}
    assert [a.outcome for a in home.attempts(long)] == [kinds.RELEASED, kinds.SUCCEEDED]
