"""Numbers of dead processes that mean other processes now: nobody signals them, for whatever reason."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from queuectl.system import linux
from queuectl.upkeep.rescuer import rescue
from tests.support.dead_worker import job_of_a_dead_worker, spares_an_unrelated_process
from tests.support.worker_home import WorkerHome

SPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
ROOT = Path(__file__).parents[2]


@cache
def refusal() -> str:
    """Why we cannot make a pid namespace and choose numbers in it; empty if we can."""
    line = "test $$ = 1 && echo 100 > /proc/sys/kernel/ns_last_pid"
    tried = subprocess.run([*SPACE, "sh", "-c", line], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else tried.stderr.strip() or "no numbers of our choice"


@pytest.mark.parametrize("scene", ["background", pytest.param("foreground", marks=pytest.mark.long)])
def test_no_unrelated_process_is_signalled(tmp_path: Path, scene: str) -> None:
    if refusal():
        pytest.skip(f"NO PID NAMESPACE OF OUR OWN: {refusal()}")
    command = [*SPACE, sys.executable, "-m", "tests.worker.reusing", str(tmp_path / "home"), scene]
    played = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert played.returncode == 0, played.stdout + played.stderr


def test_numbers_from_another_container_are_not_looked_up(home: WorkerHome) -> None:
    """It shares our home and our boot; but its numbers mean other processes here."""
    spares_an_unrelated_process(home, namespace="4711", lease_ms=1)


@pytest.mark.parametrize("noted", [1, -1, -(2**63), 2**63 - 1, 2**31, 1 << 32])
def test_a_damaged_ledger_stops_nobody(home: WorkerHome, noted: int) -> None:
    id = job_of_a_dead_worker(home, noted, start="1")
    assert rescue(home.jobs.store, home.jobs.settings, home.jobs.clock.now()) == 1
    assert home.job(id).lost == 1


def test_a_birth_is_the_same_whenever_it_is_asked_for() -> None:
    first = subprocess.Popen(["sleep", "60"])
    mark = linux.birth_mark(first.pid)
    assert 0 < mark < 2**31
    assert linux.birth_mark(first.pid) == mark
    first.kill()
    first.wait()
    assert linux.birth_mark(first.pid) == 0
