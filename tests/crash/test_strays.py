"""A machine that was given up by the others comes back: what still runs there of then is ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.testing import wait_until
from tests.crash.checker import end_lease
from tests.crash.points import armed
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("QUEUECTL_PORTABLE") == "1", reason="only on Linux is a process known by when it began"
    ),
    on_engines(*SERVERS, long=["mysql"]),  # a file belongs to one machine
]

ELSEWHERE = {"QUEUECTL_BOOT_ID": "another-machine"}
# The first run never ends by itself; the second, on the other machine, does.
LINGERS = 'echo $$ >> pids; test "$QUEUECTL_ATTEMPT" -gt 1 || exec sleep 300'


@pytest.fixture
def other(tmp_path: Path, store_url: str) -> Iterator[Home]:
    (tmp_path / "other").mkdir()
    home = Home(tmp_path / "other" / "home", url=store_url)
    yield home
    home.close()


def left_alone(home: Home, other: Home) -> int:
    """All of queuectl dies on one machine, and the other takes over. Returns the command that lives on."""
    home.configure(worker_heartbeat_interval="200ms", kill_grace="100ms")
    home.ok("enqueue", "--id", "a", LINGERS)
    home.start()
    pids = home.work / "pids"
    command = int(wait_until(lambda: pids.exists() and pids.read_text(), what="the job to run"))
    ledger = next(run_dir(home).glob("*.ledger"))
    wait_until(lambda: _has_birth(ledger), what="the command to be noted with its birth")
    (worker,) = home.workers()
    for pid in [*home.supervisors(), worker]:
        os.kill(pid, signal.SIGKILL)
    end_lease(home, worker)
    other.ok("worker", "start", env=ELSEWHERE)
    other.wait_for("a", "completed")
    assert is_running(command), "nobody on the other machine can end it"
    os.utime(ledger, (1, 1))  # older than a lease: nobody is about to register
    return command


def run_dir(home: Home) -> Path:
    return Path(home.location.run_dir)


def _has_birth(ledger: Path) -> bool:
    content = ledger.read_bytes()
    return any(content[at + 12 : at + 16] != bytes(4) for at in range(0, len(content), 16))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_command_that_others_have_run_again_is_ended(home: Home, other: Home) -> None:
    command = left_alone(home, other)
    home.start()
    wait_until(lambda: not is_running(command), what="what was left to end")
    wait_until(lambda: len(list(run_dir(home).glob("*.ledger"))) == 1, what="its files to be gone")
    assert home.state("a") == "completed"


def test_whoever_ends_it_may_be_killed_meanwhile(home: Home, other: Home) -> None:
    command = left_alone(home, other)
    home.start(env=armed(home, "stray.killed"))
    wait_until(lambda: not is_running(command), what="what was left to end")
    # The worker that comes after it clears up.
    run = run_dir(home)
    wait_until(lambda: len(list(run.glob("*.ledger"))) == 1, what="its files to be gone")


def test_another_process_with_the_same_number_is_left_alone(home: Home, other: Home) -> None:
    """Its ledger names a process that began at another time."""
    command = left_alone(home, other)
    run = run_dir(home)
    (ledger,) = run.glob("*.ledger")
    content = bytearray(ledger.read_bytes())
    for at in range(0, len(content), 16):
        if content[at : at + 8] != bytes(8):
            content[at + 12] ^= 1  # of the time of its birth
    ledger.write_bytes(content)
    os.utime(ledger, (1, 1))
    home.start()
    wait_until(lambda: not ledger.exists(), what="its files to be gone")
    assert is_running(command)
