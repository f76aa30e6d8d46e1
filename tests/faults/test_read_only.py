"""A store that may only be read: by its file system, or its owner. One clear line, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.small_disk import SmallDisk, small_disk
from tests.support.home import Home
from tests.support.worker_home import WorkerHome

NOBODY = 65_534


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def one_clear_line(told: subprocess.CompletedProcess[str], *words: str) -> None:
    assert told.returncode == 3, told
    assert told.stdout == ""
    assert "Traceback" not in told.stderr
    first = told.stderr.splitlines()[0]
    assert first.startswith("error: "), told
    assert any(word in first for word in words), told


def test_a_file_system_that_becomes_read_only_and_writable_again(disk: SmallDisk) -> None:
    home = WorkerHome(disk.directory / "home")
    try:
        home.log_file = disk.directory.parent / "worker.log"
        home.enqueue("true", id="a")
        home.jobs.close()
        disk.read_only()
        one_clear_line(home.q("enqueue", "--id", "b", "true"), "read-only", "readonly", "cannot open")
        doctor = home.q("doctor")
        assert "cannot write" in doctor.stdout + doctor.stderr, doctor
        disk.read_only(False)
        home.ok("enqueue", "--id", "b", "true")
        assert home.ok("list", "--quiet").split() == ["a", "b"]
    finally:
        home.close()


def test_another_user_is_told_and_changes_nothing(home: Home) -> None:
    """Its mode lets nobody else in."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become somebody else, and by setpriv")
    home.ok("enqueue", "--id", "a", "true")
    before = (home.path / "queue.db").read_bytes()
    told = _as_nobody(home, "enqueue", "--id", "b", "true")
    assert told.returncode != 0
    assert "Traceback" not in told.stderr, told
    assert (home.path / "queue.db").read_bytes() == before
    assert home.ok("list", "--quiet") == "a\n"


def _as_nobody(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    look = [*become, sys.executable, "-c", "import queuectl"]
    if subprocess.run(look, capture_output=True, check=False).returncode:
        pytest.skip("somebody else cannot reach this Python: its directories are private")
    return subprocess.run(
        [*become, sys.executable, "-m", "queuectl", *words],
        env=home.env,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
