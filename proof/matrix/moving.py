"""Rounds in which a store is being made, brought up to date or filled from another when its process dies.

Each has a new store; what was acknowledged before is there afterwards and runs.
"""

from __future__ import annotations

from pathlib import Path

from tests.migration.places import first_database
from tests.support.home import Home

from proof.matrix.stage import PATIENCE, Stage


def make(stage: Stage) -> None:
    if "migrate.step" in stage.env["QUEUECTL_FAILPOINT"]:
        # Another statement in each round: MySQL commits each by itself.
        stage.env["QUEUECTL_FAILPOINT"] = f"migrate.step@{stage.number}={stage.action}"
    stage.fires_in("init")
    stage.repeat("init")
    stage.put(2)
    stage.run_dry()


def bring_up_to_date(stage: Stage) -> None:
    """A file that the first version has made, with jobs in it."""
    stage.home.path.mkdir(mode=0o700)
    first_database(stage.home.path / "queue.db", jobs=5)
    stage.acknowledged += [f"j{n}" for n in range(5)]
    stage.fires_in("list")
    stage.succeed("list")
    stage.run_dry()


def copy(stage: Stage) -> None:
    """From a file to the engine's store; the jobs run there."""
    source = _source(stage)
    words = ("--db", source, "copy", "--to", stage.home.address)
    stage.fires_in(*words)
    stage.repeat(*words)
    stage.run_dry()


def copy_anew(stage: Stage) -> None:
    source = _source(stage)
    words = ("--db", source, "copy", "--to", stage.home.address)
    env = {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "copy.chunk=kill9"}
    stage.home.q(*words, env=env, timeout=PATIENCE)
    stage.fires_in(*words, "--restart")
    stage.repeat(*words, "--restart")
    stage.run_dry()


def load(stage: Stage) -> None:
    file = str(stage.file("exported"))
    stage.succeed("--db", _source(stage), "export", file)
    stage.fires_in("import", file)
    stage.repeat("import", file)
    stage.run_dry()


def _source(stage: Stage) -> str:
    """Another store with this round's jobs in it."""
    place: Path = stage.home.work / "source"
    place.mkdir()
    theirs, stage.home = stage.home, Home(place / "home")
    try:
        stage.put(3)
        return stage.home.address
    finally:
        stage.home = theirs
