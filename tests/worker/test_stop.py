"""Stopping workers: what runs may finish for a while, then goes back to the queue as if it never ran."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from queuectl.worker.supervisor import supervisors
from tests.worker.systems import both_systems
from tests.worker.workshop import Workshop, alive, cpu_seconds, elapsed, switches

UNTIL_GO = "echo up; while ! test -e go; do sleep 0.02; done"
DEAF = "trap '' TERM; echo up; while :; do sleep 0.05; done"


def released(site: Workshop, id: str) -> None:
    """The job is back in the queue, its attempt was given back, and its history says why."""
    job = site.job(id)
    assert (job.state, job.attempts, job.lost) == (states.PENDING, 0, 0)
    assert [attempt.outcome for attempt in site.attempts(id)] == [kinds.RELEASED]
    assert not site.job_processes()


def test_a_drain_lets_running_jobs_finish(site: Workshop) -> None:
    process = site.serve()
    id, waiting = site.enqueue(UNTIL_GO), site.enqueue("true")
    site.running(id)
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: "is stopping (drain)" in site.log)
    assert process.poll() is None
    (site.work / "go").touch()
    assert process.wait(20) == 0
    assert site.job(id).state == states.COMPLETED
    assert site.job(waiting).state == states.PENDING
    assert site.registered() == []


@both_systems
@pytest.mark.parametrize("command", [UNTIL_GO, DEAF], ids=["obedient", "deaf"])
def test_after_the_grace_the_job_goes_back_and_its_attempt_with_it(site: Workshop, command: str) -> None:
    site.config(stop_grace="200ms")
    process = site.serve()
    id = site.enqueue(command)
    site.running(id)
    took = elapsed()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert took() < 10
    released(site, id)
    assert site.attempt(id).signal == (9 if command == DEAF else 15)


def test_a_released_job_runs_again_and_keeps_all_its_retries(site: Workshop) -> None:
    site.config(stop_grace="0")
    for _ in range(2):
        process = site.serve()
        id = site.enqueue(UNTIL_GO, id="again", max_retries=0, if_exists="skip")
        site.running(id)
        process.terminate()
        assert process.wait(20) == 0
    (site.work / "go").touch()
    site.serve()
    job = site.ended(id)
    assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 3)
    assert [a.outcome for a in site.attempts(id)] == [kinds.RELEASED, kinds.RELEASED, kinds.SUCCEEDED]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_means_now(site: Workshop, signum: int) -> None:
    process = site.serve()
    id = site.enqueue(UNTIL_GO)
    site.running(id)
    process.send_signal(signum)
    wait_until(lambda: "is stopping (drain)" in site.log)
    process.send_signal(signum)
    assert process.wait(20) == 0
    released(site, id)


def test_ctrl_c_in_a_terminal_stops_gently(site: Workshop) -> None:
    leader, process = site.in_a_terminal(sys.executable, "-m", "queuectl", "worker", "start", "--foreground")
    id = site.enqueue(UNTIL_GO)
    site.running(id)
    os.write(leader, b"\x03")
    seen = b""
    while b"is stopping" not in seen:
        seen += os.read(leader, 4096)
    (site.work / "go").touch()
    assert process.wait(20) == 0
    os.close(leader)
    assert site.job(id).state == states.COMPLETED  # Ctrl+C reached the worker, not the command


def test_a_closed_terminal_is_nothing_to_a_worker(site: Workshop) -> None:
    process = site.serve()
    id = site.enqueue(UNTIL_GO)
    site.running(id)
    process.send_signal(signal.SIGHUP)
    (site.work / "go").touch()
    assert site.ended(id).state == states.COMPLETED
    assert process.poll() is None


def test_workers_in_the_background_survive_the_terminal_they_came_from(site: Workshop) -> None:
    command = f"{sys.executable} -m queuectl worker start; cat"
    leader, start = site.in_a_terminal("sh", "-c", command)
    seen = b""
    while b"running in the background" not in seen:
        seen += os.read(leader, 4096)
    os.close(leader)  # which hangs up on everybody in that session
    start.wait(20)
    assert site.run("true").state == states.COMPLETED


def test_a_storm_of_signals_is_one_stop(site: Workshop) -> None:
    process = site.serve()
    id = site.enqueue("trap 'exit 0' TERM; " + UNTIL_GO)
    site.running(id)
    for number in range(50):
        try:
            os.kill(process.pid, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[number % 3])
        except ProcessLookupError:
            break
    assert process.wait(20) == 0
    released(site, id)


def test_a_storm_of_signals_at_a_supervisor_is_one_stop(site: Workshop) -> None:
    process = site.serve(count=2)
    ids = [site.enqueue("trap 'sleep 0.2; exit 0' TERM; " + UNTIL_GO) for _ in range(2)]
    for id in ids:
        site.running(id)
    for number in range(50):
        process.send_signal((signal.SIGTERM, signal.SIGINT)[number % 2])
    assert process.wait(20) == 0
    for id in ids:
        released(site, id)
    assert site.registered() == []


def test_jobs_claimed_ahead_are_given_back_as_they_were(site: Workshop) -> None:
    # Short jobs teach the worker to claim ahead; the stop comes in the middle of them.
    ids = site.jobs.enqueue_many([{"command": "true", "cwd": str(site.work)}] * 400)
    process = site.serve()
    wait_until(lambda: site.job(ids[60]).state == states.COMPLETED)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    for id in ids:
        job = site.job(id)
        if job.state == states.COMPLETED:
            assert (job.attempts, job.runs) == (1, 1)
        else:
            assert (job.state, job.attempts, job.runs, job.lost) == (states.PENDING, 0, 0, 0)
            assert site.attempts(id) == []
            assert job.started_at is None


# --- queuectl worker stop ---------------------------------------------------------------------------------


def test_stop_without_workers_is_fine(site: Workshop) -> None:
    result = site.q("worker", "stop")
    assert (result.returncode, result.stdout) == (0, "No workers are running\n")


@both_systems
def test_stop_ends_workers_and_supervisor(site: Workshop) -> None:
    site.start(count=2)
    pids = site.workers() + site.supervisors()
    assert len(pids) == 3
    assert "2 workers stopped" in site.ok("worker", "stop")
    assert not any(alive(pid) for pid in pids)
    assert site.registered() == []
    assert os.listdir(site.home / "run") == []


def test_stop_waits_for_running_jobs(site: Workshop) -> None:
    site.start()
    id = site.enqueue(UNTIL_GO)
    site.running(id)
    stop = subprocess.Popen(
        [sys.executable, "-m", "queuectl", "worker", "stop"],
        env=site.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: site.worker().control is not None)
    assert site.job(id).state == states.PROCESSING
    (site.work / "go").touch()
    assert stop.wait(20) == 0
    assert site.job(id).state == states.COMPLETED


def test_stop_now_does_not_wait(site: Workshop) -> None:
    site.start()
    id = site.enqueue(UNTIL_GO)
    site.running(id)
    site.ok("worker", "stop", "--now")
    released(site, id)


@pytest.mark.parametrize("time", range(2))
def test_stop_with_a_timeout_of_its_own_keeps_to_it(site: Workshop, time: int) -> None:
    site.start()  # the configured grace is 20 s
    id = site.enqueue(UNTIL_GO)
    site.running(id)
    took = elapsed()
    answer = json.loads(site.ok("worker", "stop", "--timeout", "100ms", "--json"))
    assert answer == {"stopped": 1, "killed": []}
    assert took() < 5
    released(site, id)


def test_a_second_stop_is_no_more_urgent_than_the_first(site: Workshop) -> None:
    site.start(count=2)
    ids = [site.enqueue(UNTIL_GO) for _ in range(2)]
    for id in ids:
        site.running(id)
    stops = [gentle_stop(site, seconds) for seconds in (20, 21, 22, 23)]
    assert all(site.job(id).state == states.PROCESSING for id in ids)
    (site.work / "go").touch()
    assert [stop.wait(20) for stop in stops] == [0] * 4
    for id in ids:
        job = site.job(id)
        assert (job.state, job.runs) == (states.COMPLETED, 1)


def gentle_stop(site: Workshop, seconds: int) -> subprocess.Popen[bytes]:
    """A `worker stop` that has said all it has to say, and waits."""
    stop = subprocess.Popen(
        [sys.executable, "-m", "queuectl", "worker", "stop", "--timeout", f"{seconds}s"],
        env=site.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: all(w.control == f"drain {seconds}000" for w in site.registered()))
    naps = switches(stop.pid)
    wait_until(lambda: switches(stop.pid) > naps + 10)
    return stop


@pytest.mark.parametrize("lease", ["30s", "1s"])
def test_a_worker_that_stands_still_is_killed_and_its_jobs_are_freed(site: Workshop, lease: str) -> None:
    site.config(worker_heartbeat_interval="200ms", stop_grace="100ms")
    site.config(worker_lease=lease)
    site.start()
    id = site.enqueue("echo up; sleep 60")
    site.running(id)
    pid, supervisor = site.worker().pid, site.supervisors()[0]
    site.freeze(pid)
    answer = json.loads(site.ok("worker", "stop", "--json"))
    assert len(answer["killed"]) == 1
    wait_until(lambda: not alive(pid) and not alive(supervisor))
    assert not site.job_processes()
    job = site.job(id)
    assert (job.state, job.attempts, job.lost) == (states.PENDING, 1, 1)
    assert site.attempt(id).outcome == kinds.LOST


def test_stop_by_id_ends_that_worker_alone(site: Workshop) -> None:
    site.start(count=2)
    first, second = site.registered()
    site.ok("worker", "stop", first.id)
    assert [worker.id for worker in site.registered()] == [second.id]
    assert alive(second.pid)
    assert not alive(first.pid)
    assert len(site.supervisors()) == 1
    assert site.q("worker", "stop", first.id).returncode == 1  # it is not there any more
    assert site.run("true").state == states.COMPLETED


def test_restart_brings_the_same_workers_anew(site: Workshop) -> None:
    site.start(count=2, concurrency=3)
    before = {worker.id for worker in site.registered()}
    site.ok("worker", "restart")
    after = site.registered()
    assert len(after) == 2
    assert not before & {worker.id for worker in after}
    assert [worker.concurrency for worker in after] == [3, 3]


UNTIL_NAMED = "echo up; while ! test -e $QUEUECTL_JOB_ID; do sleep 0.02; done"


def half_way(site: Workshop) -> tuple[subprocess.Popen[str], list[str], list[str]]:
    """A restart that waits for the job of the first of two workers; the jobs of both, and both workers."""
    site.start(count=2)
    held = [site.enqueue(UNTIL_NAMED) for _ in range(2)]
    for id in held:
        site.running(id)
    before = [worker.id for worker in site.registered()]
    restart = site.popen("worker", "restart", "--json")
    wait_until(
        lambda: [w.control for w in site.registered() if w.id in before].count("drain") == 1,
        what="the first of them to be asked",
    )
    return restart, held, before


def release(site: Workshop, held: list[str]) -> None:
    for id in held:
        (site.work / id).touch()
    site.ended(*held)
    assert {(site.job(id).state, site.job(id).attempts) for id in held} == {(states.COMPLETED, 1)}


def test_a_restart_replaces_one_after_the_other_and_the_queue_never_stands_still(site: Workshop) -> None:
    restart, held, before = half_way(site)
    # One new worker is there already, and takes what comes; the second old one knows of nothing yet.
    assert len(site.registered()) == 3
    assert site.run("true").state == states.COMPLETED
    release(site, held)
    out, err = restart.communicate(timeout=60)
    assert restart.returncode == 0, err
    pairs = json.loads(out)["replaced"]
    assert [pair["old"] for pair in pairs] == before
    after = site.registered()
    assert {worker.id for worker in after} == {pair["new"] for pair in pairs}
    assert len({worker.supervisor for worker in after}) == 1
    wait_until(lambda: len(site.supervisors()) == 1, what="the old supervisor to leave")


def test_a_restart_that_is_killed_half_way_leaves_as_many_workers_as_there_were(site: Workshop) -> None:
    restart, held, before = half_way(site)
    restart.kill()
    restart.communicate()
    release(site, held)
    wait_until(lambda: len(site.registered()) == 2, what="the first to leave")
    new = {worker.id for worker in site.registered()} - set(before)
    assert len(new) == 1
    assert site.run("true").state == states.COMPLETED


def test_a_restart_whose_new_supervisor_dies_says_so(site: Workshop) -> None:
    """Its closed pipe is not that of somebody who has read enough of what we print."""
    restart, held, before = half_way(site)
    (old,) = {worker.supervisor for worker in site.registered() if worker.id in before}
    (new,) = set(site.supervisors()) - {old}
    os.kill(new, signal.SIGKILL)
    release(site, held)
    _, err = restart.communicate(timeout=60)
    assert (restart.returncode, "the workers did not start" in err) == (1, True), err
    assert len(site.registered()) == 2


@pytest.mark.parametrize("command", ["start", "restart"])
def test_ctrl_c_before_the_workers_are_there_leaves_none_of_them(site: Workshop, command: str) -> None:
    if command == "restart":
        site.start()
    before = {worker.id for worker in site.registered()}
    known = set(site.supervisors())
    slow = {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "register.before_commit=sleep:1"}
    process = site.popen("worker", command, env=slow)
    wait_until(lambda: set(site.supervisors()) - known, what="a supervisor")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, "interrupted")
    wait_until(lambda: set(site.supervisors()) == known, what="the supervisor to end")
    assert {worker.id for worker in site.registered()} == before


def test_what_runs_in_the_foreground_is_not_for_a_restart(site: Workshop) -> None:
    process = site.serve(count=2)
    before = {worker.id for worker in site.registered()}
    done = site.q("worker", "restart")
    assert (done.returncode, done.stderr.count("runs in the foreground")) == (1, 2)
    assert site.q("worker", "restart", min(before)).returncode == 4
    assert {worker.id for worker in site.registered()} == before
    assert process.poll() is None


def test_scale_goes_up_and_down(site: Workshop) -> None:
    site.ok("worker", "scale", "2")
    assert len(site.registered()) == 2
    site.ok("worker", "scale", "1")
    assert len(site.registered()) == 1
    assert site.run("true").state == states.COMPLETED
    site.ok("worker", "scale", "0")
    assert site.registered() == []
    wait_until(lambda: not site.supervisors())


def test_a_worker_that_cannot_report_waits_for_the_store_without_spinning(site: Workshop) -> None:
    process = site.serve()
    id = site.enqueue(UNTIL_GO)
    site.running(id)
    with site.locked():
        (site.work / "go").touch()
        wait_until(lambda: not site.job_processes())
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        began, before = elapsed(), cpu_seconds(process.pid)
        wait_until(lambda: began() > 1.5)
        used = cpu_seconds(process.pid) - before
    assert process.wait(20) == 0
    assert used < 0.5
    assert site.job(id).state == states.COMPLETED


def stay(site: Workshop, count: int) -> bool:
    """So many workers, each with a supervisor that wants no more than it has."""
    cards = [card for _, card in supervisors(str(site.home / "run"))]
    return len(site.registered()) == count == sum(int(str(card["wanted"])) for card in cards)


def test_a_worker_that_has_to_be_killed_in_a_restart_gets_no_heir(site: Workshop) -> None:
    """Its supervisor takes the kill for a crash, and starts another."""
    site.start()
    hung = site.worker()
    os.kill(hung.pid, signal.SIGSTOP)
    done = json.loads(site.ok("worker", "restart", "--timeout", "0", "--json"))
    assert done["killed"] == [hung.id]
    wait_until(lambda: stay(site, 1), what="one worker, and nobody who wants more")
    assert site.worker().id == done["replaced"][0]["new"]
    wait_until(lambda: len(site.supervisors()) == 1, what="the old supervisor to leave")


@pytest.mark.parametrize("which", ["asked", "other"])
def test_a_worker_that_crashes_during_a_restart_gets_no_heir(site: Workshop, which: str) -> None:
    """The one that was asked to end, or the one whose turn comes later."""
    restart, held, before = half_way(site)
    asked = {worker.id: worker.control == "drain" for worker in site.registered() if worker.id in before}
    (victim,) = [w for w in site.registered() if w.id in before and asked[w.id] == (which == "asked")]
    os.kill(victim.pid, signal.SIGKILL)
    for id in held:
        (site.work / id).touch()
    out, err = restart.communicate(timeout=90)
    assert restart.returncode == 0, err
    wait_until(lambda: stay(site, 2), what="two workers, and nobody who wants more")
    pairs = json.loads(out)["replaced"]
    assert {worker.id for worker in site.registered()} == {pair["new"] for pair in pairs}
    site.ended(*held)
    assert {site.job(id).state for id in held} == {states.COMPLETED}
