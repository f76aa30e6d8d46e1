"""Rounds in which somebody's command dies, and is given again."""

from __future__ import annotations

from tests.crash.test_queue_rules import rule

from proof.checker import recorded
from proof.matrix.stage import Stage
from queuectl.testing import wait_until


def enqueue(stage: Stage) -> None:
    """The job is absent or whole; given again with the same id it is there once."""
    id = f"r{stage.number}-once"
    words = ("enqueue", "--id", id, "--command", recorded("true", stage.log), "--if-exists", "skip")
    stage.fires_in(*words)
    stage.succeed(*words)
    stage.acknowledged.append(id)
    stage.run_dry()


def cancel(stage: Stage) -> None:
    """All are cancelled, or none."""
    ids = stage.put(3)
    words = ("cancel", "--all", "--yes")
    stage.fires_in(*words)
    with stage.home.queue() as queue:
        found = {queue.get(id).state for id in ids}
    if len(found) != 1:
        stage.extra.append(f"some are cancelled and some are not: {found}")
    stage.repeat(*words)
    stage.run_dry()


def cancel_with_dependents(stage: Stage) -> None:
    """The telling of those who wait goes on with whoever comes next."""
    (parent,) = stage.put(1)
    (child,) = stage.put(1, after=[parent])
    stage.put(1, after=[child])
    stage.fires_in("cancel", parent)
    stage.put(1)
    stage.run_dry()


def stop_workers(stage: Stage) -> None:
    stage.put(2)
    supervisor = stage.supervise(armed=False)
    wait_until(stage.home.workers, timeout=60, what="the worker")
    stage.fires_in("worker", "stop")
    stage.succeed("worker", "stop")
    supervisor.wait(60)
    if stage.home.workers() or stage.home.pids():
        stage.extra.append("a worker is left after the second stop")
    stage.run_dry()


def set_something(stage: Stage) -> None:
    """The old value holds, or the new one."""
    stage.put(1)
    words = ("config", "set", "max-retries", str(10 + stage.number))
    stage.fires_in(*words)
    with stage.home.queue() as queue:
        if queue.settings.max_retries not in (3, 9 + stage.number, 10 + stage.number):
            stage.extra.append(f"max-retries is {queue.settings.max_retries}")
    stage.succeed(*words)
    with stage.home.queue() as queue:
        if queue.settings.max_retries != 10 + stage.number:
            stage.extra.append("a setting was not stored")
    stage.run_dry()


def set_a_rule(stage: Stage) -> None:
    stage.put(1)
    words = ("queue", "set", "mail", "--concurrency", str(10 + stage.number))
    stage.fires_in(*words)
    stage.succeed(*words)
    if rule(stage.home)[0] != 10 + stage.number:
        stage.extra.append("a rule was not stored")
    stage.run_dry()


def recount(stage: Stage) -> None:
    """The counts are compared with the rows at the end of every round."""
    stage.put(2)
    stage.fires_in("doctor", "--recount")
    stage.run_dry()
