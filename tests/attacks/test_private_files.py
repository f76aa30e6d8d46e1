"""C12, C35: whatever the umask, nothing of ours can be read by others, not even for an instant."""

from __future__ import annotations

import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from queuectl.store.snapshots import back_up
from queuectl.store.sqlite_connection import SqliteConnection
from tests.support.home import Home

# What makes a file or changes its mode, with the mode in octal at its end.
MADE = re.compile(
    r"(?:openat\([^,]+, |open\(|creat\(|mkdir\(|mkdirat\([^,]+, |mknod\(|"
    r"mknodat\([^,]+, |chmod\(|fchmodat\([^,]+, )"
    r'"([^"]*)"'
    r"[^)]*?(0[0-7]{3,4})\b"
)
NOBODYS = ("/proc/", "/sys/", "/dev/")


def made(trace: str) -> list[tuple[str, int]]:
    """Every file that was made or changed, with the mode that was asked for."""
    lines = [line for line in trace.splitlines() if "O_CREAT" in line or "open" not in line.partition("(")[0]]
    found = [match for line in lines if (match := MADE.search(line))]
    return [(match[1], int(match[2], 8)) for match in found if not match[1].startswith(NOBODYS)]


def test_such_a_line_is_understood() -> None:
    """Else the next test would prove nothing."""
    assert made('openat(AT_FDCWD, "/a", O_WRONLY|O_CREAT|O_CLOEXEC, 0644) = 3') == [("/a", 0o644)]
    assert made('12 mkdir("/b", 0700) = 0\\n[pid 3] mknodat(AT_FDCWD, "/c", S_IFIFO|0600) = 0') == [
        ("/b", 0o700)
    ]
    assert made('openat(AT_FDCWD, "/a", O_RDONLY) = 3') == []


@pytest.mark.long  # strace follows a dozen processes
@pytest.mark.parametrize("mask", [0o000, pytest.param(0o077, marks=pytest.mark.proof)])
def test_no_file_is_ever_made_wider(home: Home, tmp_path: Path, mask: int) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is missing: whether a file was wider for an instant cannot be seen")
    trace = tmp_path / "trace"
    calls = "trace=open,openat,creat,mkdir,mkdirat,mknod,mknodat,chmod,fchmodat"
    script = (
        "q() { $PY -P -m queuectl $@; }; q enqueue --id a 'head -c 300000 /dev/zero'; q worker start;"
        "q wait a; q worker stop; q export all.jsonl; q copy --to copy.db; "
        "q dashboard token add somebody > token; q rm a"
    )
    env = {**home.env, "PY": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    strace = ["strace", "-f", "-qq", "-s", "200", "-e", calls, "-e", "signal=none", "-o", str(trace)]
    before = os.umask(mask)
    try:
        done = subprocess.run(
            [*strace, "sh", "-ec", script],
            check=False,
            env=env,
            cwd=home.work,
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        os.umask(before)
    if "Operation not permitted" in done.stderr:
        pytest.skip("strace may not trace here: whether a file was wider for an instant cannot be seen")
    assert done.returncode == 0, done.stderr
    found = [(path, mode) for path, mode in made(trace.read_text()) if path != "token"]
    assert {"queue.db", "workers.log"} <= {os.path.basename(path) for path, _ in found}
    assert [(path, oct(mode)) for path, mode in found if mode & 0o077] == []
    ours = [*home.path.rglob("*"), *home.work.rglob("*")]
    wide = [path for path in ours if path.name != "token" and stat.S_IMODE(path.lstat().st_mode) & 0o077]
    assert wide == []


def test_a_backup_before_a_migration_is_private(home: Home) -> None:
    home.ok("init")
    before = os.umask(0)
    try:
        connection = SqliteConnection(str(home.path / "queue.db"), create=False, busy_ms=1_000)
        with connection.transaction("migrate"):
            back_up(connection.file, str(home.path / "backup"))
        connection.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((home.path / "backup").stat().st_mode) == 0o600


def test_a_worker_leaves_no_core_file_and_a_job_may_want_one(home: Home) -> None:
    """In it would be the password of the store, and what other jobs have in their environments."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard == 0:
        pytest.skip("there are no core files here at all")

    home.ok("enqueue", "--id", "a", "ulimit -c; ulimit -c $(ulimit -Hc) && ulimit -c")
    starter = ["prlimit", f"--core={hard}:{hard}"] if shutil.which("prlimit") else []
    subprocess.run(
        [*starter, sys.executable, "-m", "queuectl", "worker", "start"],
        env=home.env,
        check=True,
        capture_output=True,
    )
    home.wait_for("a", "completed")
    pids = [*home.workers(), *home.supervisors()]
    assert len(pids) == 2
    for pid in pids:
        assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, hard)
    first, second = home.ok("logs", "a").split()
    assert first == "0"
    assert second != "0"
