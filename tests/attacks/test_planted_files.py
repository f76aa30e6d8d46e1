"""C11: what another user put in our way before we came. As root here, with an enemy of uid 1234."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from queuectl import doorbell
from queuectl.cli.main import main
from queuectl.errors import StoreError
from queuectl.logfiles import LogReader, log_name
from queuectl.paths import make_private_dir
from tests.support.home import Home

ENEMY = 1234
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")


def as_enemy(script: str, *args: object, stdin: str = "") -> None:
    """By a process that really is somebody else, so that the kernel decides what it may do."""
    code = f"import os, sys; os.setgroups([]); os.setgid({ENEMY}); os.setuid({ENEMY})\n{script}"
    subprocess.run(
        [sys.executable, "-I", "-c", code, *map(str, args)], input=stdin, text=True, check=True, timeout=60
    )


@pytest.fixture
def open_to_all(tmp_path: Path) -> Path:
    """The way to the home can be walked by everybody; pytest's own directories are private."""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path.stat().st_mode & 0o005 != 0o005 and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o005)
    return tmp_path


PLANTED = (
    *(("queue.db", kind) for kind in ("link", "dangling link", "pipe", "file")),
    ("run", "directory"),
    ("logs", "link"),
    ("dashboard.token", "dangling link"),
    ("config.toml", "pipe"),
    ("config.toml", "file"),
)
# By an enemy: for each line of stdin its kind, where it is to be, and what it shall lead to.
PLANT = """
for line in sys.stdin:
    kind, path, target = line.rstrip("\\n").split("\\t")
    if kind == "link":
        os.symlink(target, path)
    elif kind == "dangling link":
        os.symlink(target + ".not", path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        os.mkdir(path)
    else:
        open(path, "w").write(f'db = "{target}.not"')
"""


@needs_root
def test_a_home_that_others_could_write_to_is_not_taken_over(
    open_to_all: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = open_to_all / "precious"
    target.write_text("precious")
    target.chmod(0o600)
    homes = {row: open_to_all / f"home{number}" for number, row in enumerate(PLANTED)}
    for path in homes.values():
        path.mkdir()
        path.chmod(0o777)
    lines = [f"{kind}\t{path / name}\t{target}\n" for (name, kind), path in homes.items()]
    as_enemy(PLANT, stdin="".join(lines))
    for row, path in homes.items():
        monkeypatch.setenv("QUEUECTL_HOME", str(path))
        assert main(["enqueue", "true"]) in (2, 3), row
        said = capsys.readouterr()
        assert said.out == "", row
        assert "internal error" not in said.err, row
        assert os.listdir(path) == [row[0]]
    assert target.read_text() == "precious"
    assert not (open_to_all / "precious.not").exists()


@needs_root
def test_a_home_of_somebody_else_is_refused(open_to_all: Path, home: Home) -> None:
    open_to_all.chmod(0o777)
    as_enemy("os.mkdir(sys.argv[1], 0o777)", home.path)
    result = home.q("enqueue", "true")
    assert (result.returncode, "belongs to another user" in result.stderr) == (3, True)
    assert os.listdir(home.path) == []


@needs_root
def test_a_directory_of_somebody_else_in_place_of_ours_is_refused(open_to_all: Path) -> None:
    open_to_all.chmod(0o777)
    as_enemy("os.mkdir(sys.argv[1], 0o777)", open_to_all / "run")
    with pytest.raises(StoreError, match="another user"):
        make_private_dir(str(open_to_all / "run"))


def test_a_second_name_of_a_file_is_found_out(tmp_path: Path) -> None:
    """A kernel without protected_hardlinks lets others make one; a log would be appended to it."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    (tmp_path / "precious").write_text("precious")
    os.link(tmp_path / "precious", home / "workers.log")
    with pytest.raises(StoreError, match=r"workers\.log"):
        make_private_dir(str(home))
    assert stat.S_IMODE(home.stat().st_mode) == 0o777


def test_what_is_ours_in_a_home_that_was_open_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "queue.db").write_text("")
    (home / "logs").mkdir()
    home.chmod(0o775)
    make_private_dir(str(home))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_ring_follows_no_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "w.bell").symlink_to(precious)
    assert doorbell.ring(str(tmp_path / "run"), doorbell.JOB) == 0
    assert precious.read_text() == "precious"


def test_a_pipe_in_place_of_a_log_keeps_nobody_waiting(tmp_path: Path) -> None:
    name = log_name(1, 1)
    (tmp_path / name).parent.mkdir()
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError):  # noqa: PT011  # Python's own words for what cannot be sought in
        list(LogReader(str(tmp_path), name).read())


def test_the_log_of_workers_is_written_through_no_link(unchecked_home: Home, tmp_path: Path) -> None:
    unchecked_home.ok("init")
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (unchecked_home.path / "logs").mkdir(mode=0o700)
    os.symlink(precious, unchecked_home.path / "logs" / "workers.log")
    assert unchecked_home.q("worker", "start").returncode != 0
    assert precious.read_text() == "precious"


def test_nothing_of_ours_lies_in_the_directory_for_everybody(home: Home, tmp_path: Path) -> None:
    """So no name in it can be guessed. Python's own temporary files there have none (O_TMPFILE)."""
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    env = {"TMPDIR": str(shared)}
    home.ok("enqueue", "--id", "a", "--memory", "1G", "echo hello", env=env)
    home.start(env=env)
    home.ok("wait", "a", env=env)
    assert os.listdir(shared) == []
    home.ok("worker", "stop")
    home.ok("export", "all.jsonl", env=env)
    assert os.listdir(shared) == []
