"""Cgroups of the kernel's own around real commands. Elsewhere than in version 2 these are skipped, loudly;
`test_own_kernel` boots a kernel that has it, and runs them there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from queuectl.worker import cgroups
from tests.support.processes import alive, kill
from tests.support.worker_home import WorkerHome

BOTH = frozenset({"memory", "pids"})
# Leaves its group and its session with each process, and never gives up.
BOMB = """
import os, time
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def base() -> Path:
    """Where workers make their cgroups. Asked as they do, which may prepare our own."""
    try:
        found = cgroups.find(BOTH)
    except cgroups.Unavailable as why:
        pytest.skip(f"NO CGROUP V2 WITH MEMORY AND PIDS FOR US: {why}")
    if found.controllers != BOTH:
        pytest.skip(f"NO CGROUP V2 WITH MEMORY AND PIDS FOR US: only {sorted(found.controllers)}")
    return Path(found.base)


def of_jobs(base: Path) -> list[str]:
    return [name for name in os.listdir(base) if name.startswith("queuectl-job-")]


def population(base: Path) -> int:
    return sum(int((base / group / "pids.current").read_text()) for group in of_jobs(base))


def test_out_of_memory_ends_the_command_and_is_told(base: Path, home: WorkerHome) -> None:
    process = home.serve()
    eater = [sys.executable, "-I", "-S", "-c", "b = bytearray(200_000_000)"]
    job = home.run(eater, memory="64M")
    assert (job.state, job.signal) == (states.DEAD, 9)
    assert job.last_error == "killed: out of memory (limit 64M)"
    assert process.poll() is None
    assert of_jobs(base) == []


def test_a_fork_bomb_is_held_and_ends_as_one(base: Path, home: WorkerHome) -> None:
    process = home.serve("--concurrency", "2")
    id = home.enqueue([sys.executable, "-I", "-S", "-c", BOMB], processes=30)
    wait_until(lambda: population(base) == 30, timeout=60, what="the bomb to fill its cgroup")
    assert home.run("echo on").state == states.COMPLETED  # others have room meanwhile
    home.jobs.cancel(id)
    assert home.ended(id, timeout=60).state == states.CANCELLED
    assert not home.job_processes()
    assert process.poll() is None
    wait_until(lambda: of_jobs(base) == [], what="its cgroup to be removed")


def test_what_a_command_leaves_behind_stays_in_its_cgroup(base: Path, home: WorkerHome) -> None:
    home.serve()
    job = home.run("sleep 60 & echo $!", processes=5)
    assert job.state == states.COMPLETED
    left = int(home.stdout(job.id))
    (group,) = of_jobs(base)
    assert str(left) in (base / group / "cgroup.procs").read_text().split()
    kill(left)
    wait_until(lambda: not alive(left))
    home.run("true", processes=5)
    wait_until(lambda: of_jobs(base) == [], what="its cgroup to be removed")


def test_cgroups_of_a_worker_that_was_killed_are_removed_by_the_next(base: Path, home: WorkerHome) -> None:
    first = home.serve()
    id = home.enqueue('echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60', memory="64M", processes=9)
    home.running(id)
    first.kill()
    first.wait()
    assert len(of_jobs(base)) == 1
    home.serve()
    assert home.ended(id).attempts == 2
    wait_until(lambda: of_jobs(base) == [], what="both cgroups to be removed")


@pytest.fixture
def unit(base: Path) -> Iterator[Path]:
    """A cgroup as systemd makes it for a unit with Delegate=yes."""
    path = base / f"queuectl-unit-{os.getpid()}"
    path.mkdir()
    try:
        os.setxattr(path, "trusted.delegate", b"1")
    except OSError as error:
        path.rmdir()
        pytest.skip(f"NO MARK ON A CGROUP: {error}")
    yield path
    for below in path.iterdir():
        if below.is_dir():
            below.rmdir()
    path.rmdir()


def test_a_delegated_unit_is_divided(base: Path, unit: Path, home: WorkerHome) -> None:
    process = home.serve(prefix=["sh", "-c", f'echo $$ > {unit}/cgroup.procs && exec "$@"', "sh"])
    job = home.run("cat /proc/self/cgroup", memory="64M", processes=9)
    assert job.state == states.COMPLETED, job.last_error
    assert f"/{unit.name}/queuectl-job-" in home.stdout(job.id).decode()
    assert str(process.pid) in (unit / cgroups.WORKERS / "cgroup.procs").read_text().split()
    assert (unit / "cgroup.procs").read_text() == ""
    assert of_jobs(base) == []
    process.terminate()
    assert process.wait(20) == 0
