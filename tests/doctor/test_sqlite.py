"""A SQLite file: damage, journal mode, modes, and that a look leaves no file behind."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.doctor.place import Place, doctor

from queuectl.app import look_at
from queuectl.doctor import machine
from queuectl.paths import locate
from queuectl.store.health import Finding

GIB = 2**30


@pytest.fixture
def file(sqlite_place: Place) -> Path:
    return Path(sqlite_place.url)


def fold_in_the_log(file: Path) -> None:
    """As when the last of all programs has closed it."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert not Path(f"{file}-wal").exists()


def files_of(place: Place) -> set[str]:
    return {path.name for path in place.home.rglob("*")}


def test_no_file_is_made_beside_a_store_whose_log_is_folded_in(sqlite_place: Place, file: Path) -> None:
    sqlite_place.make(jobs=3)
    fold_in_the_log(file)
    before, names = sqlite_place.everything(), files_of(sqlite_place)

    report = doctor(sqlite_place.url)

    assert report.code == 0
    assert report.one("no worker is running")["message"].endswith("3 jobs waiting")
    assert (sqlite_place.everything(), files_of(sqlite_place)) == (before, names)


def test_who_begins_to_write_during_a_look_is_seen(sqlite_place: Place, file: Path) -> None:
    sqlite_place.make()
    fold_in_the_log(file)
    store: Any = look_at(locate(sqlite_place.url))
    assert store.connection.alone  # it takes the file for one that nobody touches
    sqlite_place.make(jobs=2)

    found = store.examine(now=lambda: 0)

    assert [finding.level for finding in found if finding.level != "ok"] == []
    assert [waiting.jobs for waiting in store.waiting()] == [2]
    store.close()


def test_a_file_that_is_no_database_cannot_be_used(sqlite_place: Place, file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text("this is a letter to a friend, and no database at all\n" * 100)
    before = sqlite_place.everything()

    report = doctor(sqlite_place.url)

    assert report.code == 3
    assert report.level("is damaged or not a database") == "problem"
    assert sqlite_place.everything() == before


def test_an_empty_file_stays_empty(sqlite_place: Place, file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.touch(0o600)

    report = doctor(sqlite_place.url)

    assert report.code == 3
    assert report.level("there is no queue") == "problem"
    assert file.stat().st_size == 0


def test_a_damaged_page_is_found(sqlite_place: Place, file: Path) -> None:
    with sqlite_place.queue() as queue:
        queue.enqueue_many([{"command": f"echo {'x' * 200} {n}"} for n in range(200)])
    fold_in_the_log(file)
    pages = file.stat().st_size // 4096
    with open(file, "r+b") as opened:
        opened.seek((pages - 3) * 4096)
        opened.write(os.urandom(4096))
    before = sqlite_place.everything()

    report = doctor(sqlite_place.url)

    assert report.code in (1, 3)
    assert any(
        "quick_check" in finding["message"] or "damaged" in finding["message"] for finding in report.findings
    )
    assert sqlite_place.everything() == before


def test_only_a_full_look_compares_indexes_with_their_tables(sqlite_place: Place, file: Path) -> None:
    sqlite_place.make()
    # While the index is unknown a job comes in; then it is known again, without that job.
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA writable_schema = ON")
    row = connection.execute("SELECT * FROM sqlite_schema WHERE name = 'jobs_claim'").fetchone()
    connection.execute("DELETE FROM sqlite_schema WHERE name = 'jobs_claim'")
    connection.commit()
    connection.close()
    sqlite_place.make(jobs=1)
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()

    assert doctor(sqlite_place.url).level("quick_check: ok") == "ok"
    full = doctor(sqlite_place.url, "--full")
    assert full.code == 1
    assert "jobs_claim" in full.one("integrity_check")["message"]


def test_another_journal_mode_is_told_and_not_switched(sqlite_place: Place) -> None:
    sqlite_place.make()
    sqlite_place.ask("PRAGMA journal_mode = DELETE")

    assert doctor(sqlite_place.url).level("journal mode: delete") == "warning"
    assert sqlite_place.ask("PRAGMA journal_mode") == [("delete",)]


def test_a_missing_table_is_a_problem(sqlite_place: Place) -> None:
    sqlite_place.make()
    sqlite_place.ask("DROP TABLE config")

    report = doctor(sqlite_place.url)

    assert report.code == 1
    assert report.level("table config is missing") == "problem"


def test_a_file_of_ours_needs_only_another_mode(file: Path, sqlite_place: Place, monkeypatch: Any) -> None:
    sqlite_place.make(jobs=0)
    parent = str(file.parent)
    assert machine.how_to_open([str(file)]) == f"chmod u+rwX {file}"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    theirs = machine.how_to_open([str(file), parent])
    assert theirs == f"become its owner, or: chown {os.getuid()} {file} {parent}"


# --- this machine ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "level", "code"), [(0o640, "warning", 0), (0o604, "warning", 0), (0o602, "problem", 1)]
)
def test_a_file_that_is_open_to_others(
    sqlite_place: Place, file: Path, mode: int, level: str, code: int
) -> None:
    sqlite_place.make()
    file.chmod(mode)

    report = doctor(sqlite_place.url)

    assert (report.code, report.level(f"(mode {mode:04o})")) == (code, level)
    assert report.one(f"(mode {mode:04o})")["fix"] == f"chmod 600 {file}"
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_home_that_is_open_to_others(sqlite_place: Place) -> None:
    sqlite_place.make()
    sqlite_place.home.chmod(0o755)

    report = doctor(sqlite_place.url)

    assert report.one("(mode 0755)")["fix"] == f"chmod 700 {sqlite_place.home}"
    assert stat.S_IMODE(sqlite_place.home.stat().st_mode) == 0o755


def test_a_directory_in_which_others_could_replace_the_store(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    place = Place("sqlite", str(shared / "jobs.db"), tmp_path)
    place.make()
    shared.chmod(0o777)

    assert doctor(place.url).level("others can replace what is in") == "problem"
    shared.chmod(0o1777)  # as /tmp: everybody may add, only owners may replace
    assert doctor(place.url).about("others can replace") == []


def test_a_password_in_a_readable_config_file_is_told_and_not_shown(sqlite_place: Place) -> None:
    sqlite_place.make()
    config = sqlite_place.home / "config.toml"
    config.write_text('db = "postgresql://me:sesame@db.example/jobs"\n')
    config.chmod(0o644)

    report = doctor(sqlite_place.url)

    assert report.level("which holds a password") == "problem"
    assert "sesame" not in report.out
    config.chmod(0o600)
    assert doctor(sqlite_place.url).about("which holds a password") == []


def test_a_large_log_is_told(sqlite_place: Place, file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    log = Path(f"{file}-wal")
    log.touch(0o600)
    os.truncate(log, GIB)  # a hole: it takes no room

    assert only(machine.log_size(str(file))).level == "warning"
    os.truncate(log, 1)
    assert only(machine.log_size(str(file))).level == "ok"


@pytest.mark.parametrize(("free", "level"), [(50 * 2**20, "problem"), (GIB - 1, "warning"), (GIB, "ok")])
def test_a_disk_is_judged_by_what_is_free(free: int, level: str) -> None:
    assert only(machine.disk("/var/lib", free)).level == level


def test_a_network_file_system_is_a_problem_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(machine.file_system("/mnt", "nfs4")).level == "problem"
    assert only(machine.file_system("/mnt", "ext4")).level == "ok"
    monkeypatch.setenv("QUEUECTL_ALLOW_NETWORK_FS", "1")
    assert only(machine.file_system("/mnt", "nfs4")).level == "warning"


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding
