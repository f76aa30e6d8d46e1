"""Rounds in which a backup, a restore or what forgets old things dies, and is done again.

What was acknowledged is in the store afterwards, whole, and runs.
"""

from __future__ import annotations

import sys

from tests.crash.test_forgetting import TRIM, UNLEARN

from proof.matrix.stage import PATIENCE, Stage


def back_up(stage: Stage) -> None:
    stage.put(3)
    file = str(stage.file("backup"))
    stage.fires_in("backup", file, "--force")
    stage.succeed("backup", file, "--force")
    stage.run_dry()


def restore_over(stage: Stage) -> None:
    """The queue is the old one or the new one; here both have the same jobs."""
    stage.put(3)
    file = str(stage.file("backup"))
    stage.succeed("backup", file)
    stage.fires_in("restore", file, "--yes")
    stage.succeed("restore", file, "--yes")
    stage.run_dry()


def restore_elsewhere(stage: Stage) -> None:
    stage.put(3)
    file, other = str(stage.file("backup")), str(stage.file("other.db"))
    stage.succeed("backup", file)
    words = ("--db", other, "restore", file, "--pause-schedules")
    stage.fires_in(*words)
    stage.repeat(*words)
    stage.succeed("--db", other, "list")
    stage.run_dry()


def trim(stage: Stage) -> None:
    """Jobs whose output goes stay as they are."""
    stage.put(2, "echo something")
    stage.run_dry()
    _dies_and_is_repeated(stage, TRIM)


def unlearn(stage: Stage) -> None:
    stage.put(1)
    with stage.home.queue() as queue:
        queue.store.history().measured(
            [("mail", "run ms", 5)], queue.clock.now(), {(f"c{n}", 20): 1 for n in range(5)}
        )
    _dies_and_is_repeated(stage, UNLEARN)
    stage.run_dry()


def _dies_and_is_repeated(stage: Stage, code: str) -> None:
    words = [sys.executable, "-c", code, stage.home.address]
    stage.fires(stage.execute(words, armed=True))
    stage.execute(words).wait(PATIENCE)
