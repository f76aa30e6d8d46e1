"""A worker is killed with -9 at every step between claim and finish; nothing is lost, nothing done twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from queuectl.testing import wait_until
from tests.crash.checker import RECORD, check, runs, settle
from tests.site import Site

POINTS = [
    "claim.before_commit",
    "claim.committed",
    "run.marked",
    "run.spawned",
    "run.running",
    "run.exited",
    "run.reaped",
    "run.output_flushed",
    "complete.before_commit",
    "complete.committed",
    "heartbeat.before",
    "heartbeat.before_commit",
    "heartbeat.committed",
    "heartbeat.after",
    "register.committed",
]


def armed(site: Site, point: str) -> dict[str, str]:
    return {
        "QUEUECTL_ENABLE_FAILPOINTS": "1",
        "QUEUECTL_FAILPOINT": f"{point}=kill9",
        "QUEUECTL_FAILPOINT_ONCE": str(site.work / "fired"),
    }


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at_any_step_loses_nothing(site: Site, point: str) -> None:
    ids = [f"job{n}" for n in range(6)]
    for id in ids:
        site.ok("enqueue", "--id", id, "--command", RECORD + "echo done")
    site.q("worker", "start", "--count", "1", "--concurrency", "2", env=armed(site, point))
    settle(site)
    assert (site.work / "fired").exists(), "the failpoint was never reached"
    check(site, ids)


BETWEEN_CLAIM_AND_FINISH = POINTS[:10]


@pytest.mark.parametrize("victims", ["supervisor", "both"])
@pytest.mark.parametrize("point", BETWEEN_CLAIM_AND_FINISH)
def test_a_supervisor_killed_at_any_step_of_its_worker_loses_nothing(
    site: Site, point: str, victims: str
) -> None:
    """The worker is held still at the step; then its supervisor is killed, alone or with it."""
    ids = [f"job{n}" for n in range(4)]
    for id in ids:
        site.ok("enqueue", "--id", id, "--command", RECORD + "echo done")
    env = armed(site, point)
    env["QUEUECTL_FAILPOINT"] = f"{point}=stop"
    site.ok("worker", "start", "--concurrency", "2", env=env)
    worker = wait_until(
        lambda: next(filter(is_stopped, site.workers()), None), what="the worker to stand still"
    )
    (supervisor,) = site.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    if victims == "both":
        os.kill(worker, signal.SIGKILL)
        site.start()
    else:
        os.kill(worker, signal.SIGCONT)
    settle(site)
    check(site, ids)


def is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("point", ["run.spawned", "run.running"])
def test_the_job_runs_again_within_two_seconds(site: Site, point: str) -> None:
    site.ok("enqueue", "--id", "slow", "--command", RECORD + 'test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60')
    site.q("worker", "start", "--count", "2", env=armed(site, point))
    settle(site)
    killed = os.stat(site.work / "fired").st_mtime
    with site.queue() as queue:
        lost, again = queue.attempts(queue.get("slow"))
    assert lost.outcome == "lost"
    assert again.started_at is not None
    assert again.started_at / 1000 - killed < 2.0
    check(site, ["slow"])


def test_a_result_that_was_not_stored_is_run_again(site: Site) -> None:
    """At least once, and said so: the command had ended well, but nobody knew."""
    site.ok("enqueue", "--id", "twice", "--command", RECORD)
    site.q("worker", "start", env=armed(site, "run.exited"))
    settle(site)
    assert runs(site)["twice"] == 2
    check(site, ["twice"])


def test_jobs_claimed_ahead_by_a_dead_worker_lose_no_attempt(site: Site) -> None:
    """Only what was started counts: a bystander with a single try must not die of its neighbour."""
    ids = [f"j{n:03}" for n in range(300)]
    lines = "".join(f'{{"id":"{id}","command":"true","max_retries":0}}\n' for id in ids)
    site.ok("enqueue", "-f", "-", input=lines)
    env = armed(site, "complete.before_commit")
    env["QUEUECTL_FAILPOINT"] = "complete.before_commit@3=kill9"
    site.q("worker", "start", "--concurrency", "2", env=env)
    settle(site)
    with site.queue() as queue:
        jobs = [queue.get(id) for id in ids]
        dead = [job.id for job in jobs if job.state == "dead"]
        # Those whose commands had begun are lost with their only attempt; nobody else is.
        begun = [job.id for job in jobs for a in queue.attempts(job) if a.outcome == "lost"]
    assert sorted(dead) == sorted(begun)
    assert len(dead) <= 140
    assert len(dead) < len(ids)


@pytest.mark.parametrize("point", ["enqueue.before_commit", "enqueue.committed", "enqueue.acked"])
def test_an_enqueue_that_dies_leaves_the_job_absent_or_whole(site: Site, point: str) -> None:
    site.ok("init")
    died = site.q("enqueue", "--id", "one", "--command", RECORD, env=armed(site, point))
    assert died.returncode == -9
    again = site.q("enqueue", "--id", "one", "--command", RECORD, "--if-exists", "skip")
    assert again.returncode == 0
    with site.queue() as queue:
        assert [job.id for job in queue.list()] == ["one"]
    site.start()
    settle(site)
    check(site, ["one"])
    assert runs(site)["one"] == 1


@pytest.mark.parametrize(
    "point", ["bury.committed", "reap.selected", "finish.before_commit", "reap.committed"]
)
def test_a_rescuer_that_dies_is_no_worse_than_none(site: Site, point: str) -> None:
    """A worker dies, and so does the one that was freeing its jobs."""
    site.ok("enqueue", "--id", "job", "--command", RECORD + 'test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60')
    site.start()
    wait_until(lambda: runs(site)["job"] == 1, what="the first run")
    for pid in site.supervisors() + site.workers():
        os.kill(pid, 9)
    site.q("worker", "start", "--count", "2", env=armed(site, point))
    settle(site)
    assert (site.work / "fired").exists()
    check(site, ["job"])
