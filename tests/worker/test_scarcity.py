"""Memory and processes that really run out, in a cgroup that holds the worker and its commands together."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from queuectl.worker.expendable import Expendable
from tests.support.processes import cpu_seconds, elapsed
from tests.support.systems import both_systems_shared
from tests.support.worker_home import WorkerHome
from tests.worker.own_cgroup import own_cgroup

MEGABYTE = 1024 * 1024
EATER = f"{sys.executable} -I -S -c 'b = bytearray(400_000_000)'"
# A shell gives up when it cannot fork; this one does not.
BOMB = """
import os, sys, time
while True:
    try:
        if os.fork() == 0 and "scatter" in sys.argv:
            os.setsid()
    except OSError:
        time.sleep(0.01)
"""


# --- memory -------------------------------------------------------------------------------------------------


def score(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


@both_systems_shared
def test_commands_are_killed_before_their_worker(shared_home: WorkerHome) -> None:
    job = shared_home.run(
        "cat /proc/self/oom_score_adj; sh -c 'sh -c \"cat /proc/self/oom_score_adj; true\"; true'"
    )
    own = score(shared_home.worker().pid)
    assert own == score("self")
    assert [int(line) for line in shared_home.stdout(job.id).split()] == [min(own + 500, 1000)] * 2


def test_without_such_a_file_commands_start_all_the_same(tmp_path: Path) -> None:
    with Expendable(str(tmp_path / "nothing")):
        pass
    (tmp_path / "odd").write_text("odd")
    with Expendable(str(tmp_path / "odd")):
        assert (tmp_path / "odd").read_text() == "odd"


def test_a_mark_is_never_beyond_the_most(tmp_path: Path) -> None:
    file = tmp_path / "score"
    file.write_text("700\n")
    expendable = Expendable(str(file))
    with expendable:
        assert int(file.read_text()) == 1000
    assert file.read_text()[:3] == "700"
    expendable.close()
    expendable.close()


@pytest.mark.proof
def test_a_command_that_eats_the_memory_dies_and_its_worker_does_not(home: WorkerHome) -> None:
    """Several times: the kernel must choose the command each time, also while it is still small."""
    with own_cgroup("memory", 128 * MEGABYTE) as group:
        process = home.serve("--concurrency", "3", prefix=group.joined)
        assert process.pid in group.pids()
        bystander = home.enqueue("echo up; while ! test -e go; do sleep 0.05; done")
        ids = [home.enqueue(EATER, max_retries=0) for _ in range(2)]
        home.ended(*ids, timeout=60)
        (home.work / "go").touch()
        for id in ids:
            job = home.job(id)
            assert (job.state, job.lost) == (states.DEAD, 0), job.last_error
            assert 9 in (job.signal, (job.exit_code or 0) - 128), job.last_error
        assert process.poll() is None, home.log
        assert home.ended(bystander).lost == 0
        assert home.run("echo on").state == states.COMPLETED
        assert group.events("oom_kill") >= 2


@pytest.mark.proof
def test_a_worker_that_may_take_little_more_memory_works_on(home: WorkerHome) -> None:
    process = home.serve("--concurrency", "2")
    flood = "yes | head -c 3000000"
    home.ended(*[home.enqueue(flood) for _ in range(3)])
    most, hardest = resource.prlimit(process.pid, resource.RLIMIT_AS)
    resource.prlimit(process.pid, resource.RLIMIT_AS, (size(process.pid) + 16 * MEGABYTE, hardest))
    ids = [home.enqueue(flood) for _ in range(6)]
    home.ended(*ids)
    assert all((home.job(id).state, home.job(id).attempts) == (states.COMPLETED, 1) for id in ids)
    assert process.poll() is None
    resource.prlimit(process.pid, resource.RLIMIT_AS, (most, hardest))


def size(pid: int) -> int:
    """All that it has mapped, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()


# --- processes ----------------------------------------------------------------------------------------------


@pytest.mark.proof
@pytest.mark.parametrize("how", ["together", "scatter"])
def test_a_fork_bomb_ends_at_its_timeout_and_the_worker_lives(home: WorkerHome, how: str) -> None:
    """Also one whose processes leave its group and its session as soon as they are born."""
    with own_cgroup("pids", 80) as group:
        process = home.serve(prefix=group.joined)
        id = home.enqueue([sys.executable, "-I", "-S", "-c", BOMB, how], timeout="1s", max_retries=0)
        job = home.ended(id, timeout=60)
        assert group.events("max") > 0, "the bomb was none"
        assert home.attempt(id).outcome == kinds.TIMEOUT, job.last_error
        assert process.poll() is None, home.log
        assert home.run("echo on").state == states.COMPLETED
        wait_until(lambda: group.pids() == [process.pid], what="the rest of the bomb to be reaped")
    assert job.lost == 0


@pytest.mark.proof
def test_the_bomb_of_a_dead_worker_is_gone_before_its_job_runs_again(home: WorkerHome) -> None:
    """Whoever rescues has no process group to kill, only what carries the token, and that is ever others."""
    (home.work / "bomb.py").write_text(BOMB)
    with own_cgroup("pids", 80) as group:
        first = home.serve(prefix=group.joined)
        again = f'test "$QUEUECTL_ATTEMPT" -gt 1 && exec wc -l < {group.path}/cgroup.procs'
        id = home.enqueue(f"{again}; exec {sys.executable} -I -S bomb.py scatter", max_retries=1)
        wait_until(lambda: group.events("max") > 0, what="the bomb to go off")
        first.kill()
        first.wait()
        home.serve()
        job = home.ended(id, timeout=60)
        assert (job.state, job.attempts, job.lost) == (states.COMPLETED, 2, 1), job.last_error
        assert home.stdout(id) == b"0\n"
        assert not group.pids()


@pytest.mark.proof
def test_without_room_for_a_process_jobs_wait_and_keep_their_attempts(home: WorkerHome) -> None:
    """EAGAIN of a real fork."""
    with own_cgroup("pids", 80) as group:
        process = home.serve("--concurrency", "2", prefix=group.joined)
        home.run("true")
        (group.path / "pids.max").write_text(str(group.number("pids.current")))
        ids = [home.enqueue("true") for _ in range(3)]
        wait_until(lambda: "no room for another process" in home.log, what="the worker to say so")
        took, before = elapsed(), cpu_seconds(process.pid)
        wait_until(lambda: took() > 1)
        assert cpu_seconds(process.pid) - before < 0.5
        assert not any(home.job(id).state in states.TERMINAL for id in ids)
        (group.path / "pids.max").write_text("80")
        home.ended(*ids)
        assert all((home.job(id).state, home.job(id).attempts) == (states.COMPLETED, 1) for id in ids)
        assert process.poll() is None
