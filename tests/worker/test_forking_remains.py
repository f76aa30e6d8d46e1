"""Processes of a dead worker that go on forking: its jobs are freed when they are gone, not before."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator

import pytest

from queuectl import system
from queuectl.core import states
from queuectl.testing import FakeClock, wait_until
from queuectl.upkeep.remains import end_all
from queuectl.upkeep.rescuer import rescue
from tests.support.dead_worker import claim_by_a_dead_worker, identity
from tests.support.processes import alive, is_stopped
from tests.support.worker_home import WorkerHome

# Each process forks one more for each byte that it reads, and says so. The new one has a session of its own.
FORKS_WHEN_TOLD = """
import os, sys
asked, told = int(sys.argv[1]), int(sys.argv[2])
while os.read(asked, 1):
    if os.fork() == 0:
        os.setsid()
        os.write(told, b".")
"""


class ForkingTree:
    """Processes that fork whenever they are looked for, as long as there are fewer than `limit` of them.

    So each look misses one. With a fork bomb below a limit of the kernel that happens often, here always.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.token = secrets.token_hex(16)
        theirs, self._ask = os.pipe()
        self._told, tells = os.pipe()
        self.first = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", FORKS_WHEN_TOLD, str(theirs), str(tells)],
            env={**os.environ, system.TOKEN_VARIABLE: self.token},
            pass_fds=(theirs, tells),
        )
        os.close(theirs)
        os.close(tells)
        os.set_blocking(self._told, False)
        self._fork()

    def pids(self) -> set[int]:
        return set(system.kin_of_many([self.token])[self.token])

    def look(self) -> set[int]:
        found = self.pids()
        if 0 < len(found) < self._limit and not self._all_stopped():
            self._fork()
        return found

    def _fork(self) -> None:
        os.write(self._ask, b".")
        wait_until(lambda: self._has_forked() or self._all_stopped(), what="one of them to fork")

    def _has_forked(self) -> bool:
        try:
            return bool(os.read(self._told, 1))
        except BlockingIOError:
            return False

    def _all_stopped(self) -> bool:
        return all(is_stopped(pid) for pid in self.pids())

    def close(self) -> None:
        os.close(self._ask)  # those that are not stopped end by themselves
        for pid in self.pids():
            os.kill(pid, 9)
        self.first.wait()
        os.close(self._told)


@pytest.fixture
def tree() -> Iterator[ForkingTree]:
    it = ForkingTree(limit=8)
    yield it
    it.close()


def test_a_tree_that_forks_up_to_a_limit_is_ended(tree: ForkingTree) -> None:
    """To kill those that were found makes room for others: however often, one is left."""
    assert end_all(tree.look, monotonic=FakeClock().monotonic)
    assert not tree.pids()


def test_as_long_as_new_ones_come_up_they_are_not_gone(tree: ForkingTree) -> None:
    assert not end_all(tree.look, within=0)
    assert tree.pids()


def test_a_process_that_was_killed_and_stays_is_not_waited_for() -> None:
    """A zombie of ours stands for one that is stuck in the kernel."""
    stuck, clock, looks = subprocess.Popen(["sleep", "60"]), FakeClock(), 0

    def look() -> set[int]:
        nonlocal looks
        looks += 1
        clock.advance(1)
        return {stuck.pid}

    assert end_all(look, within=5, monotonic=clock.monotonic)
    assert looks == 7  # stopped at the first, killed at the second, given up after five seconds
    assert stuck.wait() == -9


def test_a_job_is_freed_when_its_processes_are_gone_and_not_before(home: WorkerHome) -> None:
    id = claim_by_a_dead_worker(home, identity(start="1"))
    environment = {**os.environ, system.TOKEN_VARIABLE: home.job(id).token}
    left = subprocess.Popen(["sleep", "60"], env=environment, start_new_session=True)
    store, settings = home.jobs.store, home.jobs.settings
    assert rescue(store, settings, home.jobs.clock.now(), kill_within=0) == 0
    assert alive(left.pid)
    assert home.job(id).state == states.PROCESSING
    assert [worker.state for worker in home.registered()] == ["dead"]
    assert rescue(store, settings, home.jobs.clock.now(), kill_within=600) == 1
    assert left.wait() == -9
    assert home.job(id).state == states.PENDING
    assert home.registered() == []
