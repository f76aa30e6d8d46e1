"""Backups: what is in them, what they refuse, and that they come back as they were, on any engine."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.engines import engines
from tests.support.fake_worker import FakeWorker
from tests.transfer.places import ENGINES, Places, change, everything, killed_at

from queuectl.app import open_queue
from queuectl.core.chunks import STDOUT, pack
from queuectl.errors import Refused
from queuectl.keeping import make_backup, restore
from queuectl.logfiles import delete_log, log_name, tail_name
from queuectl.paths import locate
from queuectl.queue import Queue
from queuectl.store.migrate import migrate
from queuectl.store.snapshots import fold
from queuectl.store.sqlite_connection import SqliteConnection
from queuectl.testing import FakeClock
from queuectl.transfer.backup import stem


def fill(url: str) -> None:
    """A job in each state, two schedules (one paused), a rule and a setting; nobody works on it any more."""
    with open_queue(url) as queue:
        FakeWorker(queue, alive=False).add_jobs_in_every_state()
        queue.enqueue("echo child", id="child", depends_on=["later"])
        queue.set_config("max-retries", "7")


def schedule(cli: Cli, url: str) -> None:
    cli.ok("--db", url, "schedule", "add", "nightly", "0 3 * * *", "--", "true")
    cli.ok("--db", url, "schedule", "add", "never", "0 4 * * *", "--", "true")
    cli.ok("--db", url, "schedule", "pause", "never")


def states_of(url: str) -> dict[str, str]:
    with open_queue(url) as queue:
        return {job.id: job.state for job in queue.list(limit=1_000)}


@contextmanager
def backed_up(url: str, file: str, cli: Cli) -> Iterator[Queue]:
    """The queue after a backup with the one job that it had."""
    with open_queue(url) as queue:
        queue.enqueue("true", id="saved")
        cli.ok("--db", url, "backup", file)
        yield queue


def only_file(directory: Path) -> Path:
    (found,) = directory.iterdir()
    return found


@pytest.mark.parametrize(
    ("source", "target"), [(e, e) for e in ENGINES] + [("sqlite", "postgres"), ("mysql", "sqlite")]
)
def test_a_queue_comes_back_as_it_was(
    place: Places, tmp_path: Path, cli: Cli, source: str, target: str
) -> None:
    here, there, file = place(source), place(target), str(tmp_path / "backup")
    fill(here)
    schedule(cli, here)
    before = states_of(here)
    done = cli.ok("--db", here, "backup", file, "--json").json()
    assert (done["tables"]["jobs"], done["tables"]["schedules"], done["processing"]) == (8, 2, 1)
    assert done["tables"]["config"] == 1
    cli.ok("--db", here, "rm", "--state", "completed,dead", "--yes")
    back = cli.ok("--db", there, "restore", file)
    assert "8 jobs" in back.out
    assert "1 schedule of " in back.err  # of two, one is paused
    assert "will fire here too" in back.err
    assert states_of(there) == {**before, "running": "pending"}
    with open_queue(there) as queue:
        lost = queue.attempts(queue.get("running"))[-1]
        assert (lost.outcome, lost.error) == ("lost", "it was running when the backup was made")
        assert queue.settings.max_retries == 7
        assert "_backup" not in queue.store.stored_config()
        assert queue.store.workers() == []
        assert [one.name for one in queue.store.schedules().all() if one.paused_at is None] == ["nightly"]
        queue.enqueue("echo more", id="more")
    assert cli.ok("--db", there, "doctor", "--json").json()["store"]


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_over_the_present_queue_which_is_kept(
    place: Places, tmp_path: Path, home_dir: Path, cli: Cli, engine: str
) -> None:
    url, file = place(engine), str(tmp_path / "backup")
    fill(url)
    schedule(cli, url)
    cli.ok("--db", url, "backup", file)
    with open_queue(url) as queue:
        queue.remove("done")
        last = queue.enqueue("echo late", id="late").seq
    asked = cli("--db", url, "restore", file, code=4)
    assert "replace the queue at" in asked.err
    assert "late" in states_of(url)
    back = cli.ok("--db", url, "restore", file, "--yes", "--json")
    assert back.err == ""  # nobody is warned of schedules that come back to where they were
    assert "late" not in states_of(url)
    assert states_of(url)["done"] == "completed"
    with open_queue(url) as queue:
        assert queue.enqueue("echo next", id="next").seq > last  # numbers, and so log files, are never reused
    kept = back.json()["replaced"]
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    again = str(tmp_path / "again.db")
    cli.ok("--db", again, "restore", kept)
    assert "late" in states_of(again)
    assert not [name for name in os.listdir(tmp_path) if "restoring" in name or "tmp" in name]


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_two_restores_in_the_same_second_keep_what_each_has_replaced(
    place: Places, tmp_path: Path, cli: Cli, engine: str
) -> None:
    url, file, clock = place(engine), str(tmp_path / "empty"), FakeClock()
    cli.ok("--db", url, "init")
    cli.ok("--db", url, "backup", file)
    kept = []
    for id in ("first", "second"):
        cli.ok("--db", url, "enqueue", "--id", id, "true")
        done = restore(url, file, agree=lambda _: True, progress=lambda *_: None, clock=clock)
        assert done is not None
        assert done.aside is not None
        kept.append(done.aside)
    for number, id in enumerate(("first", "second")):
        there = str(tmp_path / f"{id}.db")
        cli.ok("--db", there, "restore", kept[number])
        assert states_of(there) == {id: "pending"}


def test_a_backup_is_private_whole_and_alone(place: Places, tmp_path: Path, cli: Cli) -> None:
    url, directory = place("sqlite"), tmp_path / "backups"
    fill(url)
    directory.mkdir()
    cli.ok("--db", url, "backup", str(directory / "b.db"))
    file = only_file(directory)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    database = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert database.execute("SELECT count(*) FROM jobs").fetchone() == (8,)
    database.close()
    first = file.read_bytes()
    refused = cli("--db", url, "backup", str(file), code=4)
    assert "exists already" in refused.err
    assert file.read_bytes() == first
    cli.ok("--db", url, "rm", "done")
    assert "7 jobs" in cli.ok("--db", url, "backup", str(file), "--force").out
    only_file(directory)


def test_it_says_what_is_not_in_it(place: Places, tmp_path: Path, cli: Cli) -> None:
    url = place("sqlite")
    fill(url)
    said = cli.ok("--db", url, "backup", str(tmp_path / "b.db"))
    assert said.out.startswith("✓ 8 jobs, 3 attempts, 1 setting, ")
    assert "note: 1 job running now" in said.err


def test_log_files_come_along_if_wanted(place: Places, tmp_path: Path, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    with open_queue(here) as queue:
        _print_much(queue, "a")
    without = cli.ok("--db", here, "backup", str(tmp_path / "b.db"))
    assert "note: the long output of 1 attempt is in log files, which are not in it" in without.err
    tar = str(tmp_path / "b.tar")
    assert "with the log files of 1 attempt" in cli.ok("--db", here, "backup", "--logs", tar).err
    with tarfile.open(tar) as opened:
        assert opened.getnames()[0] == "queue.db"
        assert {member.mode for member in opened} == {0o600}
    assert "1 log file put back" in cli.ok("--db", there, "restore", tar).err
    assert cli.ok("--db", there, "logs", "a").out == "much\n"


def _print_much(queue: Queue, id: str) -> None:
    queue.enqueue("echo much", id=id)
    fake_worker = FakeWorker(queue)
    job = fake_worker.claim(id)
    name = log_name(job.seq, job.runs)
    path = Path(queue.store.location.logs_dir) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pack(STDOUT, 0, b"much\n"))
    fake_worker.end(job, "succeeded", exit_code=0, log=name, output_bytes=5)
    fake_worker.leave()


def test_a_log_counts_only_if_its_attempt_is_in_the_backup(place: Places, tmp_path: Path) -> None:
    """Jobs end while it is written: their logs come along, but not what the store knew of them later."""
    with open_queue(place("sqlite")) as queue:
        _print_much(queue, "a")
        _print_much(queue, "b")
        tail = Path(queue.store.location.logs_dir) / tail_name(log_name(queue.get("b").seq, 1), 1)
        tail.write_bytes(b"")
        file = str(tmp_path / "b.tar")

        def go_on(phase: str, done: int, total: int) -> None:
            if phase == "pages copied" and done == total:
                _print_much(queue, "c")
            if phase == "log files" and done == 1:
                delete_log(queue.store.location.logs_dir, log_name(queue.get("b").seq, 1))

        done = make_backup(queue.store.location.url, file, logs=True, progress=go_on)
    assert (done.rows["jobs"], done.logs, done.logs_left_out) == (2, 1, 1)


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_logs_that_are_elsewhere_are_counted_as_left_out(
    place: Places, tmp_path: Path, cli: Cli, engine: str
) -> None:
    url = place(engine)
    with open_queue(url) as queue:
        _print_much(queue, "a")
        _print_much(queue, "b")
        delete_log(queue.store.location.logs_dir, log_name(queue.get("b").seq, 1))
    done = cli.ok("--db", url, "backup", "--logs", str(tmp_path / "b.tar"))
    assert "with the log files of 1 attempt" in done.err
    assert "the long output of 1 attempt is not in it: its log files are on other machines" in done.err


MARKED = re.compile(r"(.*)-20\d{6}T\d{6}Z\.(db|jsonl|tar)")


def test_nightly_backups_get_a_date_and_only_some_are_kept(place: Places, tmp_path: Path, cli: Cli) -> None:
    url, directory = place("sqlite"), tmp_path / "nightly"
    fill(url)
    first = Path(cli.ok("--db", url, "backup", f"{directory}/", "--json").json()["file"])
    found = MARKED.fullmatch(first.name)
    assert found
    stem = found[1]
    assert re.fullmatch(re.escape(Path(url).stem) + "-[0-9a-f]{8}", stem)
    first.unlink()
    for day in (10, 11, 12):
        (directory / f"{stem}-202011{day}T030000Z.db").write_bytes(b"")
    others = [
        "other-20201101T030000Z.db",
        f"{Path(url).stem}-20201101T030000Z.db",  # without a mark: it may be anybody's
        f"{Path(url).stem}-00000000-20201101T030000Z.db",
        f"{stem}-notes.db",
    ]
    for name in others:
        (directory / name).write_bytes(b"")
    done = cli.ok("--db", url, "backup", f"{directory}/", "--keep", "2", "--json").json()
    assert done["deleted"] == [f"{stem}-20201110T030000Z.db", f"{stem}-20201111T030000Z.db"]
    assert sorted(os.listdir(directory)) == sorted(
        [os.path.basename(done["file"]), f"{stem}-20201112T030000Z.db", *others]
    )
    assert (
        "--keep is for backups in a directory"
        in cli("--db", url, "backup", str(tmp_path / "x.db"), "--keep", "2", code=2).err
    )


def test_stores_of_the_same_name_do_not_delete_each_others_backups(tmp_path: Path, cli: Cli) -> None:
    files = []
    for name in ("ann", "ben"):
        url = str(tmp_path / name / "queue.db")
        cli.ok("--db", url, "init")
        done = cli.ok("--db", url, "backup", f"{tmp_path}/backups/", "--keep", "1", "--json").json()
        assert done["deleted"] == []
        files.append(os.path.basename(done["file"]))
    assert sorted(os.listdir(tmp_path / "backups")) == sorted(files)


def test_a_place_has_one_mark_and_a_local_one_that_of_its_machine() -> None:
    def mark(url: str, host: str | None = None) -> str:
        return stem(locate(url), host)

    assert mark("postgresql://ann:secret@db/jobs") == mark("postgres://ben@db:5432/jobs")
    assert mark("postgresql://db/jobs") != mark("postgresql://db/jobs?schema=other")
    here = {url: mark(url) for url in ("/srv/q.db", "mysql://localhost/jobs", "mysql://db/jobs")}
    assert [mark(url, "another-machine") == here[url] for url in here] == [False, False, True]


def test_what_killed_nightly_backups_have_left_is_cleared(place: Places, tmp_path: Path, cli: Cli) -> None:
    url, directory = place("sqlite"), tmp_path / "nightly"
    fill(url)
    killed_at("backup.copied", "--db", url, "backup", f"{directory}/", "--logs")
    dead = only_file(directory).name.removesuffix(".content")
    assert not (directory / dead).exists()
    young = [f"{dead}-of-another-machine", _with_pid(dead, os.getppid()), f"mine.tmp-{2**22 + 1}"]
    old = [f"{dead}-of-a-third-machine.content", _with_pid(dead, os.getppid()) + "-journal"]
    for name in (*young, *old):
        (directory / name).write_bytes(b"")
    for name in (*old, young[2]):
        os.utime(directory / name, (0, 0))
    made = cli.ok("--db", url, "backup", f"{directory}/", "--json").json()["file"]
    assert sorted(os.listdir(directory)) == sorted([*young, os.path.basename(made)])


def _with_pid(name: str, pid: int) -> str:
    return re.sub(r"\.tmp-\d+", f".tmp-{pid}", name)


def test_a_queue_with_living_workers_is_not_replaced(place: Places, tmp_path: Path, cli: Cli) -> None:
    url, other, file = place("sqlite"), place("sqlite"), str(tmp_path / "b.db")
    fill(url)
    cli.ok("--db", url, "backup", file)
    with open_queue(url) as queue:
        fake_worker = FakeWorker(queue)
        refused = cli("--db", url, "restore", file, "--yes", code=4)
        assert "a worker is active on" in refused.err
        assert f"queuectl --db {url} worker stop" in refused.err
        cli.ok("--db", other, "restore", file, "--pause-schedules")  # elsewhere, why not
        fake_worker.leave()
    cli.ok("--db", url, "restore", file, "--yes")


def test_schedules_can_come_back_paused(place: Places, tmp_path: Path, cli: Cli) -> None:
    url, other, file = place("sqlite"), place("sqlite"), str(tmp_path / "b.db")
    schedule(cli, url)
    cli.ok("--db", url, "backup", file)
    assert cli.ok("--db", other, "restore", file, "--pause-schedules").err == ""
    with open_queue(other) as queue:
        assert all(one.paused_at for one in queue.store.schedules().all())


def test_a_damaged_store_is_replaced_and_kept(place: Places, tmp_path: Path, cli: Cli) -> None:
    url, file = place("sqlite"), str(tmp_path / "b.db")
    fill(url)
    cli.ok("--db", url, "backup", file)
    fold(url)
    with open(url, "r+b") as damaged:
        damaged.seek(100)
        damaged.write(b"\xff" * 2000)
    cli("--db", url, "list", code=3)
    done = cli.ok("--db", url, "restore", file, "--yes", "--json").json()
    assert states_of(url)["done"] == "completed"
    assert b"\xff" * 2000 in Path(done["replaced"]).read_bytes()


@pytest.mark.parametrize("what", ["foreign", "text", "cut", "flipped", "empty", "tar"])
def test_what_is_no_backup_changes_nothing(place: Places, tmp_path: Path, cli: Cli, what: str) -> None:
    url, file = place("sqlite"), tmp_path / "b.db"
    fill(url)
    cli.ok("--db", url, "backup", str(file))
    before = states_of(url)
    _spoil(file, what)
    assert cli(
        "--db", url, "restore", str(file), "--yes", code=3 if what in ("foreign", "cut", "flipped") else 2
    ).err
    assert states_of(url) == before
    assert not [name for name in os.listdir(tmp_path) if "restoring" in name or "replaced" in name]


def _spoil(file: Path, what: str) -> None:
    good = file.read_bytes()
    if what == "foreign":
        file.unlink()
        other: Any = sqlite3.connect(file)
        other.execute("CREATE TABLE t (x)")
        other.close()
    elif what == "tar":
        with tarfile.open(file, "w") as tar:
            tar.add(__file__, "../../etc/passwd")
    else:
        middle = len(good) // 2
        spoilt = {
            "text": b"hello",
            "empty": b"",
            "cut": good[:middle],
            "flipped": good[: 4096 * 3] + b"\xff" * 4096 + good[4096 * 4 :],
        }
        file.write_bytes(spoilt[what])


def test_a_store_that_is_none_of_ours_is_never_replaced(place: Places, tmp_path: Path, cli: Cli) -> None:
    url, file = place("sqlite"), str(tmp_path / "b.db")
    fill(url)
    cli.ok("--db", url, "backup", file)
    for name, content in (("notes.txt", b"mine\n"), ("foreign.db", None)):
        target = tmp_path / name
        if content is None:
            other = sqlite3.connect(target)
            other.execute("CREATE TABLE t (x)")
            other.close()
        else:
            target.write_bytes(content)
        before = target.read_bytes()
        cli("--db", str(target), "restore", file, "--yes", code=3)
        assert target.read_bytes() == before


def test_a_backup_of_an_older_version_is_brought_up_to_date(place: Places, tmp_path: Path, cli: Cli) -> None:
    old, url = str(tmp_path / "old.db"), place("sqlite")
    connection = SqliteConnection(old, create=True, busy_ms=1_000)
    migrate(connection, latest=2)
    connection.script(
        "INSERT INTO jobs (id, command, queue, state, priority, attempts, max_retries, lost, runs, run_at, "
        "created_at, updated_at, cancel_requested) "
        "VALUES ('a', 'true', 'q', 'pending', 0, 0, 3, 0, 0, 1, 1, 1, 0)"
    )
    connection.close()
    fold(old)
    before = Path(old).read_bytes()
    assert "1 job" in cli.ok("--db", url, "restore", old).out
    assert states_of(url) == {"a": "pending"}
    assert Path(old).read_bytes() == before
    assert cli.ok("--db", url, "doctor").code == 0


def test_mistakes(place: Places, tmp_path: Path, cli: Cli) -> None:
    url = place("sqlite")
    assert "there is no database" in cli("--db", url, "backup", str(tmp_path / "b"), code=3).err
    fill(url)
    assert "there is no directory" in cli("--db", url, "backup", str(tmp_path / "no" / "b"), code=2).err
    assert "the store itself" in cli("--db", url, "backup", url, "--force", code=2).err
    assert "the store itself" in cli("--db", url, "restore", url, code=2).err
    assert "cannot read" in cli("--db", url, "restore", str(tmp_path / "none"), code=2).err
    assert "not an ordinary file" in cli("--db", url, "backup", "/dev/null", code=2).err


def test_the_log_of_a_store_that_is_gone_is_not_played_into_the_new_one(
    place: Places, tmp_path: Path, cli: Cli
) -> None:
    """A store leaves its -wal behind; `mv queue.db aside` and a restore is what people do in need."""
    here, file = place("sqlite"), str(tmp_path / "b.db")
    with backed_up(here, file, cli) as queue:
        queue.enqueue_many([{"id": f"late{n}", "command": "true"} for n in range(6)])
    os.rename(here, tmp_path / "broken.db")
    assert os.path.exists(f"{here}-wal")
    cli.ok("--db", here, "restore", file)
    assert list(states_of(here)) == ["saved"]


def test_a_backup_that_somebody_used_as_a_store_is_replaced_whole(
    place: Places, tmp_path: Path, cli: Cli
) -> None:
    here, file = place("sqlite"), str(tmp_path / "b.db")
    with backed_up(here, file, cli) as queue:
        with open_queue(file) as other:
            other.enqueue("true", id="stray")
        queue.enqueue("true", id="later")
    cli.ok("--db", here, "backup", file, "--force")
    there = place("sqlite")
    cli.ok("--db", there, "restore", file)
    assert list(states_of(there)) == ["saved", "later"]


# What a server does to rows on their way in, without a word: counts alone would not tell.
SPOILS = {
    "postgres": (
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.priority := 9; RETURN NEW; END $$",
        "CREATE TRIGGER spoil BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION spoil()",
    ),
    "mysql": ("CREATE TRIGGER spoil BEFORE INSERT ON jobs FOR EACH ROW SET NEW.priority = 9",),
}


@pytest.mark.parametrize("engine", sorted(SPOILS))
def test_a_restore_that_stores_something_else_is_taken_back(
    place: Places, tmp_path: Path, cli: Cli, engine: str
) -> None:
    url, file = place(engine), str(tmp_path / "b")
    fill(url)
    cli.ok("--db", url, "backup", file)
    cli.ok("--db", url, "rm", "done")
    before = everything(url)
    for sql in SPOILS[engine]:
        change(url, sql)
    failed = cli("--db", url, "restore", file, "--yes", code=3)
    assert (
        "what was stored is not what was read: the jobs in the backup and in the store are not" in failed.err
    )
    assert everything(url) == before


@pytest.mark.parametrize("engine", sorted(SPOILS))
def test_what_changes_while_the_old_queue_is_kept_aside_is_not_lost(
    place: Places, tmp_path: Path, cli: Cli, engine: str
) -> None:
    """As many rows as before, but one of them is not in what was kept."""
    url, file = place(engine), str(tmp_path / "b")
    fill(url)
    cli.ok("--db", url, "backup", file)
    states, changed = states_of(url), []

    def meddle(phase: str, done: int, total: int) -> None:
        if phase == "bytes verified" and not changed:
            changed.append(1)
            change(url, "UPDATE jobs SET priority = 9 WHERE id = 'done'")

    with pytest.raises(Refused, match="jobs came, went or changed while the queue was kept aside"):
        restore(url, file, agree=lambda _: True, progress=meddle)
    assert changed
    assert states_of(url) == states
    with open_queue(url) as queue:
        assert queue.get("done").priority == 9
