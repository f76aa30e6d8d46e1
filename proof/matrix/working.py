"""Rounds in which a worker, its supervisor or a rescuer dies at its work."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from proof.matrix.stage import PATIENCE, Stage
from queuectl.testing import wait_until

_SUPERVISED = 8  # every eighth round
_NO_PID = 2**30  # more than any system gives


def replaced(stage: Stage, command: str = "true") -> None:
    """A worker dies with jobs in its hands; its supervisor starts another, which frees and runs them."""
    stage.put(4, command)
    supervisor = stage.supervise(armed=True)
    stage.await_fire()
    stage.settle()
    stage.dismiss(supervisor)


def killed_at_work(stage: Stage) -> None:
    """As `replaced`; but mostly we are the supervisor: a real one waits longer after each crash."""
    if stage.number % _SUPERVISED == 1:
        stage.retire()
        replaced(stage)
        return
    survivor = stage.take_survivor()
    stage.put(4)
    victim = survivor or stage.work_alone(armed=True)
    stage.await_fire()
    stage.go_on_after(victim)


def killed_while_output_comes(stage: Stage) -> None:
    replaced(stage, "seq 9000")  # more than is kept in memory


def killed_while_it_clears(stage: Stage) -> None:
    """A worker dies while it removes the files of one that nobody knows any more."""
    stage.put(1)
    run_dir = Path(stage.home.location.run_dir)
    run_dir.mkdir(mode=0o700, exist_ok=True)
    stray = run_dir / f"gone-{_NO_PID}-{stage.number:06}.ledger"
    stray.write_bytes(bytes(16))
    os.utime(stray, (0, 0))  # long ago
    supervisor = stage.supervise(armed=True)
    stage.await_fire()
    wait_until(lambda: not stray.exists(), timeout=PATIENCE, what="somebody else to remove them")
    stage.settle()
    stage.dismiss(supervisor)


def killed_at_a_heartbeat(stage: Stage) -> None:
    """While jobs run: the heart beats beside them."""
    replaced(stage, f"until test -e {stage.fuse}; do sleep 0.02; done")


def killed_at_a_rescue(stage: Stage) -> None:
    """A worker dies in the middle of its jobs, and so does the one that is about to free them."""
    hung = stage.put_hanging(2)
    first = stage.work_alone()
    stage.await_hanging(hung)
    first.kill()
    first.wait()
    supervisor = stage.supervise(armed=True)
    stage.await_fire()
    stage.settle()
    stage.dismiss(supervisor)


def killed_while_jobs_are_stopped(stage: Stage) -> None:
    """A worker that was told to stop dies before its jobs have ended; its supervisor frees them."""
    hung = stage.put_hanging(2)
    supervisor = stage.supervise(armed=True)
    stage.await_hanging(hung)
    supervisor.terminate()
    stage.await_fire()
    supervisor.terminate()  # whoever has survived the point need not wait for the jobs
    supervisor.wait(PATIENCE)
    stage.run_dry()


def killed_while_leaving(stage: Stage) -> None:
    """A worker dies after its last job, on the way out."""
    stage.put(2)
    supervisor = stage.supervise(armed=True)
    stage.settle()
    supervisor.terminate()
    stage.await_fire()
    supervisor.wait(PATIENCE)
    if stage.home.workers():
        stage.extra.append("a worker that has gone is still counted")


def supervisor_killed_at_a_start(stage: Stage) -> None:
    """Its worker goes on without it."""
    stage.put(3)
    supervisor = stage.supervise(armed=True)
    stage.await_fire()
    stage.settle()
    stage.stop(supervisor)
    stage.sweep()


def supervisor_killed_at_a_crash(stage: Stage) -> None:
    """A supervisor dies when it sees that its worker is dead: the next worker of anybody frees the jobs."""
    hung = stage.put_hanging(2)
    supervisor = stage.supervise(armed=True)
    stage.await_hanging(hung)
    (worker,) = stage.home.workers()
    os.kill(worker, signal.SIGKILL)
    stage.await_fire()
    stage.run_dry()
    stage.stop(supervisor)
    stage.sweep()


def supervisor_killed_at_a_stop(stage: Stage) -> None:
    """It has passed the wish on to its workers, and dies."""
    stage.put(3, "sleep 0.05")
    supervisor = stage.supervise(armed=True)
    wait_until(stage.log.exists, timeout=PATIENCE, what="the first run")
    supervisor.terminate()
    stage.await_fire()
    supervisor.wait(PATIENCE)
    wait_until(lambda: not stage.home.pids(), timeout=PATIENCE, what="its worker to end")
    stage.run_dry()
