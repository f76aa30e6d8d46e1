"""kill -9 in the middle of a migration: the old schema or the new one, and every job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.migration.places import first_database, future, ids, old_database, open_at, version

from queuectl.store.migrate import LATEST

MIGRATE = """
import sys
from queuectl.store.sqlite_connection import SqliteConnection as Connection
from queuectl.store.migrate import migrate
connection = Connection(sys.argv[1], create=True, busy_ms=1000)
migrate(connection, latest=int(sys.argv[2]), directory=sys.argv[3])
"""
TWO_STEPS = (
    "ALTER TABLE jobs ADD COLUMN colour TEXT; UPDATE jobs SET colour = 'red';",
    "ALTER TABLE jobs ADD COLUMN shade TEXT;",
)


def run(file: Path, latest: int, directory: str, failpoint: str = "") -> int:
    environment = {
        **os.environ,
        "QUEUECTL_ENABLE_FAILPOINTS": "1",
        "QUEUECTL_FAILPOINT": f"{failpoint}=kill9" if failpoint else "",
    }
    command = [sys.executable, "-c", MIGRATE, str(file), str(latest), directory]
    return subprocess.run(command, env=environment, timeout=60, check=False).returncode


@pytest.mark.parametrize(
    ("failpoint", "left"),
    [
        ("backup.copied", LATEST),
        ("migrate.backed_up", LATEST),
        ("migrate.applied", LATEST),
        ("migrate.applied@2", LATEST),
        ("migrate.before_commit", LATEST),
        ("migrate.committed", LATEST + 2),
    ],
)
def test_killed_at_any_point_it_is_old_or_new_and_can_be_done_again(
    tmp_path: Path, failpoint: str, left: int
) -> None:
    file = old_database(tmp_path / "q.db")
    directory = future(tmp_path / "m", *TWO_STEPS)
    assert run(file, LATEST + 2, directory, failpoint) == -signal.SIGKILL
    assert version(file) == left
    assert len(ids(file)) == 50
    backup = tmp_path / f"q.db.before-v{LATEST + 2}"
    if failpoint == "backup.copied":
        assert not backup.exists(), "half a backup must not look like one"
    else:
        assert (version(backup), len(ids(backup))) == (LATEST, 50)
    assert run(file, LATEST + 2, directory) == 0
    assert (version(file), len(ids(file))) == (LATEST + 2, 50)
    assert version(backup) == LATEST, "what it was, not what a killed upgrade made of it"
    assert not list(tmp_path.glob("*.tmp*"))


@pytest.mark.parametrize("failpoint", ["backup.copied", "migrate.applied", "migrate.before_commit"])
def test_killed_on_the_way_from_the_first_schema_it_keeps_every_job(tmp_path: Path, failpoint: str) -> None:
    file = first_database(tmp_path / "q.db")
    assert run(file, 2, future(tmp_path / "m"), failpoint) == -signal.SIGKILL
    assert (version(file), len(ids(file))) == (1, 50)
    open_at(file).close()
    assert (version(file), len(ids(file))) == (LATEST, 50)


@pytest.mark.parametrize(
    "failpoint",
    [*(f"migrate.applied@{n}" for n in range(1, LATEST + 1)), "migrate.before_commit", "migrate.committed"],
)
def test_killed_while_it_was_made_a_new_database_can_still_be_made(tmp_path: Path, failpoint: str) -> None:
    file = tmp_path / "q.db"
    assert run(file, LATEST, future(tmp_path / "m"), failpoint) == -signal.SIGKILL
    store = open_at(file)
    assert store.get("anything") is None
    store.close()
    assert version(file) == LATEST
