"""Through a file and back, on every engine."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.engines import engines
from tests.transfer.places import Places, change, everything, insert, killed_at, queuectl, rows
from tests.transfer.rows import AWKWARD, AWKWARD_WORDS, fill, fill_awkwardly, job

from queuectl.app import export_queue
from queuectl.errors import QueuectlError, Refused
from queuectl.queue import Queue
from queuectl.transfer.wholefile import WholeFile, unfinished_name

EMPTY = {"jobs": 0, "attempts": 0, "config": 0}


@pytest.mark.parametrize("target", engines(long=["mysql"]))
@pytest.mark.parametrize("source", engines(long=["mysql"]))
def test_there_and_back(source: str, target: str, place: Places, cli: Cli, tmp_path: Path) -> None:
    here, there = place(source), place(target)
    fill_awkwardly(here)
    file = str(tmp_path / "queue.jsonl")
    assert cli.ok("--db", here, "export", file).out == f"✓ {AWKWARD_WORDS} exported to {file}\n"
    assert cli.ok("--db", there, "import", file).out.startswith(f"✓ {AWKWARD_WORDS} imported and verified: ")

    assert everything(there) == everything(here)
    cli.ok("--db", there, "export", file + "2")
    assert Path(file).read_text().splitlines()[1:] == Path(file + "2").read_text().splitlines()[1:]
    with Queue.open(there) as queue:
        assert queue.enqueue("true").seq >= 3 * len(AWKWARD)


def test_the_form_of_the_file(place: Places, cli: Cli, tmp_path: Path) -> None:
    here = place("sqlite")
    fill(here, 2)
    file = tmp_path / "queue.jsonl"
    done = cli.ok("--db", here, "export", str(file), "--json").json()
    head, *middle, end = map(json.loads, file.read_text().splitlines())
    assert (head["queuectl"], head["version"], head["from"]) == ("export", 1, here)
    assert [line["table"] for line in middle] == ["jobs", "jobs", "attempts", "config"]
    assert middle[0]["row"]["id"] == "j1"
    assert "last_error" not in middle[0]["row"]
    assert middle[2]["row"]["output"] == "aGVsbG8="
    assert end["queuectl"] == "end"
    assert end["tables"] == done["tables"]
    assert done["file"] == str(file)


def test_an_old_file_is_replaced_only_by_force_and_the_new_one_is_private(
    place: Places, cli: Cli, tmp_path: Path
) -> None:
    fill(here := place("sqlite"), 2)
    file = tmp_path / "queue.jsonl"
    file.write_text("yesterday's")
    file.chmod(0o644)
    (tmp_path / "queue.jsonl.tmp").write_text("somebody's own")
    link = tmp_path / "link"
    link.symlink_to(file)
    refused = cli("--db", here, "export", str(link), code=4)
    assert refused.err == (
        f"error: {file} exists already\n  hint: name another file, or replace it with --force\n"
    )
    assert file.read_text() == "yesterday's"
    cli.ok("--db", here, "export", str(link), "--force")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert link.is_symlink()
    assert file.read_text().startswith('{"queuectl": "export"')
    assert (tmp_path / "queue.jsonl.tmp").read_text() == "somebody's own"
    assert list(tmp_path.glob("*.tmp-*")) == []


def test_half_an_export_never_stands_under_its_name(place: Places, cli: Cli, tmp_path: Path) -> None:
    fill(here := place("sqlite"))
    file = tmp_path / "queue.jsonl"
    file.write_text("yesterday's")
    change(here, "UPDATE jobs SET state = 'processing' WHERE seq = 250")
    assert "still processing" in cli("--db", here, "export", str(file), "--force", code=4).err
    assert file.read_text() == "yesterday's"
    assert not list(tmp_path.glob("*.tmp*"))


def test_a_file_that_comes_into_being_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "queue.jsonl"

    def write_while_another_does() -> None:
        with WholeFile(str(file), force=False) as ours:
            ours.write("ours")
            file.write_text("somebody's own")

    with pytest.raises(Refused, match="exists already"):
        write_while_another_does()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["somebody's own"]


def test_the_store_itself_is_never_replaced(place: Places, cli: Cli) -> None:
    fill(here := place("sqlite"), 2)
    assert "the store itself" in cli("--db", here, "export", here, "--force", code=2).err
    assert rows(here)["jobs"] == 2


def test_what_killed_exports_have_left_is_cleared(place: Places, cli: Cli, tmp_path: Path) -> None:
    fill(here := place("sqlite"), 2)
    left = tmp_path / Path(unfinished_name("queue.jsonl")).name.replace(str(os.getpid()), str(2**22 + 1))
    left.write_text("half")
    cli.ok("--db", here, "export", str(tmp_path / "queue.jsonl"))
    assert not left.exists()


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("command", ["export", "backup"])
def test_no_file_of_the_store_is_replaced_even_by_force(
    place: Places, cli: Cli, command: str, end: str
) -> None:
    fill(here := place("sqlite"), 2)
    cli.ok("--db", here, "config", "set", "shell", "/bin/sh")  # what is newest is in the log only
    before = everything(here)
    result = cli("--db", here, command, here + end, "--force", code=2)
    assert f"cannot be {'a file of the store' if end else 'the store itself'}" in result.err
    assert everything(here) == before


@pytest.mark.parametrize("command", ["export", "backup"])
def test_what_cannot_be_cleared_is_in_nobodys_way(
    place: Places, cli: Cli, tmp_path: Path, command: str
) -> None:
    """In /tmp it may be somebody else's. Here we may delete every file, so it is a directory."""
    fill(here := place("sqlite"), 2)
    left = tmp_path / Path(unfinished_name("copy")).name.replace(str(os.getpid()), str(2**22 + 1))
    left.mkdir()
    cli.ok("--db", here, command, str(tmp_path / "copy"))
    assert (tmp_path / "copy").is_file()


def test_a_queue_that_is_changed_during_the_export_is_noticed(place: Places) -> None:
    fill(here := place("sqlite"))
    out = io.StringIO()

    def meddle(phase: str, done: int, total: int) -> None:
        if phase == "exported" and done == total:
            change(here, "UPDATE jobs SET priority = 1 WHERE seq = 1")

    with pytest.raises(QueuectlError, match="was changed while it was exported: the jobs in the file and in"):
        export_queue(here, out.write, progress=meddle)
    assert '"end"' not in out.getvalue()


def test_a_device_is_written_to_and_not_replaced(place: Places, cli: Cli, tmp_path: Path) -> None:
    fill(here := place("sqlite"), 2)
    cli.ok("--db", here, "export", os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert "cannot write" in cli("--db", here, "export", str(tmp_path), code=2).err
    assert "cannot write" in cli("--db", here, "export", str(tmp_path / "no" / "file"), code=2).err
    assert "no database at" in cli("--db", str(tmp_path / "no.db"), "export", code=3).err


@pytest.mark.parametrize("words", [["-"], pytest.param([], marks=pytest.mark.long)])
def test_by_pipes(words: list[str], place: Places) -> None:
    here, there = place("sqlite"), place("postgres")
    fill_awkwardly(here)
    exported = queuectl("--db", here, "export", *words)
    assert (exported.returncode, exported.stderr.startswith(f"✓ {len(AWKWARD)} jobs")) == (0, True)
    done = queuectl("--db", there, "import", *words, "--json", input=exported.stdout.encode())
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["tables"] == json.loads(exported.stdout.splitlines()[-1])["tables"]
    assert everything(there) == everything(here)


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
@pytest.mark.parametrize(("point", "kept"), [("import.before_commit", False), ("import.committed", True)])
def test_a_killed_import_is_all_or_nothing(
    engine: str, point: str, kept: bool, place: Places, cli: Cli, tmp_path: Path
) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    cli.ok("--db", here, "export", file := str(tmp_path / "file"))
    killed_at(point, "--db", there, "import", file)
    if kept:
        assert everything(there) == everything(here)
        assert "is not empty" in cli("--db", there, "import", file, code=4).err
    else:
        assert rows(there) == EMPTY
        cli.ok("--db", there, "import", file)
    with Queue.open(there) as queue:
        assert queue.enqueue("true").seq > 300


def test_a_queue_of_nothing(place: Places, cli: Cli, tmp_path: Path) -> None:
    here, there = place("sqlite"), place("mysql")
    cli.ok("--db", here, "init")
    cli.ok("--db", here, "export", file := str(tmp_path / "file"))
    assert len(Path(file).read_text().splitlines()) == 2
    assert cli.ok("--db", there, "import", file).out.startswith("✓ 0 jobs, 0 attempts, 0 settings imported")


def test_what_is_imported_runs(place: Places, cli: Cli, tmp_path: Path) -> None:
    """A job of a file is an ordinary job."""
    here, there = place("sqlite"), place("sqlite")
    insert(here, "jobs", job(1, command="echo from afar", cwd=str(tmp_path)))
    cli.ok("--db", here, "export", file := str(tmp_path / "file"))
    cli.ok("--db", there, "import", file)
    assert queuectl("--db", there, "worker", "start").returncode == 0
    try:
        cli.ok("--db", there, "wait", "j1")
        assert cli.ok("--db", there, "logs", "j1").out == "from afar\n"
    finally:
        assert queuectl("--db", there, "worker", "stop").returncode == 0
