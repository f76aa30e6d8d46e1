"""The file under an open store: noticed when it goes, private from its first moment, never forked."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.migration.forking import forks_with
from tests.migration.places import old_database, open_at
from tests.support.jobs import add, claim, register, report, some_worker

from queuectl.errors import StoreReplaced
from queuectl.store.messages import JobFilter

FORKED = forks_with(
    """
from queuectl.paths import Location
from queuectl.store.open import open_store
store = open_store(Location(sys.argv[1], sys.argv[1], sys.argv[1] + ".d"))
""",
    last="changed",
)


def test_a_deleted_file_is_noticed_at_the_next_write(tmp_path: Path) -> None:
    store = open_at(old_database(tmp_path / "q.db"))
    for name in ("q.db", "q.db-wal", "q.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    for write in (
        lambda: add(store, "new"),
        lambda: store.cancel(JobFilter(), 1),
        lambda: store.register(some_worker(), 1),
        lambda: store.put_config("shell", "/bin/sh", 1),
        store.check_identity,
    ):
        with pytest.raises(StoreReplaced, match="deleted or replaced"):
            write()
    store.close()
    assert not (tmp_path / "q.db").exists(), "and it was not made anew behind our back"


def test_a_replaced_file_is_noticed_before_a_worker_writes_to_either(tmp_path: Path) -> None:
    store = open_at(old_database(tmp_path / "q.db"))
    register(store)
    (job,) = claim(store)
    old_database(tmp_path / "other.db", jobs=3)
    os.replace(tmp_path / "other.db", tmp_path / "q.db")
    before = (tmp_path / "q.db").read_bytes()
    with pytest.raises(StoreReplaced):
        store.finish([report(job)], "w1", "host", 1)
    with pytest.raises(StoreReplaced):
        store.heartbeat("w1", 1, 0, 1)
    with pytest.raises(StoreReplaced):
        claim(store)
    store.close()
    assert (tmp_path / "q.db").read_bytes() == before


def test_a_directory_that_went_away_is_noticed_too(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    store = open_at(old_database(tmp_path / "d" / "q.db"))
    (tmp_path / "d").rename(tmp_path / "moved")
    (tmp_path / "d").write_text("now a file")
    with pytest.raises(StoreReplaced):
        add(store, "new")
    store.close()


def test_the_right_file_put_back_is_good_again(tmp_path: Path) -> None:
    store = open_at(old_database(tmp_path / "q.db"))
    (tmp_path / "q.db").rename(tmp_path / "away.db")
    with pytest.raises(StoreReplaced):
        add(store, "new")
    (tmp_path / "away.db").rename(tmp_path / "q.db")
    add(store, "new")
    store.close()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = open_at(old_database(tmp_path / "new" / "q.db"))
        add(store, "new")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == {"q.db": 0o600, "q.db-wal": 0o600, "q.db-shm": 0o600, "q.db.d": 0o700}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_connection_refuses_to_work_after_a_fork(tmp_path: Path) -> None:
    file = str(tmp_path / "q.db")
    result = subprocess.run([sys.executable, "-c", FORKED, file], timeout=60, check=False)
    assert result.returncode == 4, "all four uses were refused, and the parent goes on"
