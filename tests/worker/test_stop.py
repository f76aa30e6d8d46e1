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
from tests.support.processes import alive, cpu_seconds, elapsed, switches
from tests.support.systems import both_systems
from tests.support.worker_home import WorkerHome, failpoints

UNTIL_GO = "echo up; while ! test -e go; do sleep 0.02; done"
DEAF = "trap '' TERM; echo up; while :; do sleep 0.05; done"


def released(home: WorkerHome, id: str) -> None:
    """The job is back in the queue, its attempt was given back, and its history says why."""
    job = home.job(id)
    assert (job.state, job.attempts, job.lost) == (states.PENDING, 0, 0)
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.RELEASED]
    assert not home.job_processes()


def test_a_drain_lets_running_jobs_finish(home: WorkerHome) -> None:
    process = home.serve()
    id, waiting = home.enqueue(UNTIL_GO), home.enqueue("true")
    home.running(id)
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: "is stopping (drain)" in home.log)
    assert process.poll() is None
    (home.work / "go").touch()
    assert process.wait(20) == 0
    assert home.job(id).state == states.COMPLETED
    assert home.job(waiting).state == states.PENDING
    assert home.registered() == []


@pytest.mark.parametrize(
    ("home", "command"),
    [("linux", UNTIL_GO), ("linux", DEAF), ("portable", DEAF)],
    ids=["obedient", "deaf", "deaf-portable"],
    indirect=["home"],
)
def test_after_the_grace_the_job_goes_back_and_its_attempt_with_it(home: WorkerHome, command: str) -> None:
    home.config(stop_grace="200ms")
    process = home.serve()
    id = home.enqueue(command)
    home.running(id)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    released(home, id)
    assert home.attempt(id).signal == (9 if command == DEAF else 15)


def test_a_released_job_runs_again_and_keeps_all_its_retries(home: WorkerHome) -> None:
    home.config(stop_grace="0")
    for _ in range(2):
        process = home.serve()
        id = home.enqueue(UNTIL_GO, id="again", max_retries=0, if_exists="skip")
        home.running(id)
        process.terminate()
        assert process.wait(20) == 0
    (home.work / "go").touch()
    home.serve()
    job = home.ended(id)
    assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 3)
    assert [a.outcome for a in home.attempts(id)] == [kinds.RELEASED, kinds.RELEASED, kinds.SUCCEEDED]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_means_now(home: WorkerHome, signum: int) -> None:
    process = home.serve()
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    process.send_signal(signum)
    wait_until(lambda: "is stopping (drain)" in home.log)
    process.send_signal(signum)
    assert process.wait(20) == 0
    released(home, id)


def test_ctrl_c_in_a_terminal_stops_gently(home: WorkerHome) -> None:
    leader, process = home.in_a_terminal(sys.executable, "-m", "queuectl", "worker", "start", "--foreground")
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    os.write(leader, b"\x03")
    seen = b""
    while b"is stopping" not in seen:
        seen += os.read(leader, 4096)
    (home.work / "go").touch()
    assert process.wait(20) == 0
    os.close(leader)
    assert home.job(id).state == states.COMPLETED  # Ctrl+C reached the worker, not the command


def test_a_closed_terminal_is_nothing_to_a_worker(home: WorkerHome) -> None:
    process = home.serve()
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    process.send_signal(signal.SIGHUP)
    (home.work / "go").touch()
    assert home.ended(id).state == states.COMPLETED
    assert process.poll() is None


def test_workers_in_the_background_survive_the_terminal_they_came_from(home: WorkerHome) -> None:
    command = f"{sys.executable} -m queuectl worker start; cat"
    leader, start = home.in_a_terminal("sh", "-c", command)
    seen = b""
    while b"running in the background" not in seen:
        seen += os.read(leader, 4096)
    os.close(leader)  # which hangs up on everybody in that session
    start.wait(20)
    assert home.run("true").state == states.COMPLETED


def test_a_storm_of_signals_is_one_stop(home: WorkerHome) -> None:
    process = home.serve()
    id = home.enqueue("trap 'exit 0' TERM; " + UNTIL_GO)
    home.running(id)
    for number in range(50):
        try:
            os.kill(process.pid, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[number % 3])
        except ProcessLookupError:
            break
    assert process.wait(20) == 0
    released(home, id)


@pytest.mark.long
def test_a_storm_of_signals_at_a_supervisor_is_one_stop(home: WorkerHome) -> None:
    process = home.serve(count=2)
    ids = [home.enqueue("trap 'sleep 0.2; exit 0' TERM; " + UNTIL_GO) for _ in range(2)]
    for id in ids:
        home.running(id)
    for number in range(50):
        process.send_signal((signal.SIGTERM, signal.SIGINT)[number % 2])
    assert process.wait(20) == 0
    for id in ids:
        released(home, id)
    assert home.registered() == []


def test_jobs_claimed_ahead_are_given_back_as_they_were(home: WorkerHome) -> None:
    # Short jobs teach the worker to claim ahead; the stop comes in the middle of them.
    ids = home.jobs.enqueue_many([{"command": "true", "cwd": str(home.work)}] * 400)
    process = home.serve()
    wait_until(lambda: home.job(ids[60]).state == states.COMPLETED)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    for id in ids:
        job = home.job(id)
        if job.state == states.COMPLETED:
            assert (job.attempts, job.runs) == (1, 1)
        else:
            assert (job.state, job.attempts, job.runs, job.lost) == (states.PENDING, 0, 0, 0)
            assert home.attempts(id) == []
            assert job.started_at is None


# --- queuectl worker stop ---------------------------------------------------------------------------------


def test_stop_without_workers_is_fine(home: WorkerHome) -> None:
    result = home.q("worker", "stop")
    assert (result.returncode, result.stdout) == (0, "No workers are running\n")


@both_systems
def test_stop_ends_workers_and_supervisor(home: WorkerHome) -> None:
    home.start(count=2)
    pids = home.workers() + home.supervisors()
    assert len(pids) == 3
    assert "2 workers stopped" in home.ok("worker", "stop")
    assert not any(alive(pid) for pid in pids)
    assert home.registered() == []
    assert os.listdir(home.path / "run") == []


def test_stop_waits_for_running_jobs(home: WorkerHome) -> None:
    home.start()
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    stop = subprocess.Popen(
        [sys.executable, "-m", "queuectl", "worker", "stop"],
        env=home.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: home.worker().control is not None)
    assert home.job(id).state == states.PROCESSING
    (home.work / "go").touch()
    assert stop.wait(20) == 0
    assert home.job(id).state == states.COMPLETED


def test_stop_now_does_not_wait(home: WorkerHome) -> None:
    home.start()
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    home.ok("worker", "stop", "--now")
    released(home, id)


def test_stop_with_a_timeout_of_its_own_keeps_to_it(home: WorkerHome) -> None:
    home.config(stop_grace="1h")
    home.start()
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    answer = json.loads(home.ok("worker", "stop", "--timeout", "100ms", "--json"))
    assert answer == {"stopped": 1, "killed": []}
    released(home, id)


@pytest.mark.long
def test_a_second_stop_is_no_more_urgent_than_the_first(home: WorkerHome) -> None:
    home.start(count=2)
    ids = [home.enqueue(UNTIL_GO) for _ in range(2)]
    for id in ids:
        home.running(id)
    stops = [gentle_stop(home, seconds) for seconds in (20, 21, 22, 23)]
    assert all(home.job(id).state == states.PROCESSING for id in ids)
    (home.work / "go").touch()
    assert [stop.wait(20) for stop in stops] == [0] * 4
    for id in ids:
        job = home.job(id)
        assert (job.state, job.runs) == (states.COMPLETED, 1)


def gentle_stop(home: WorkerHome, seconds: int) -> subprocess.Popen[bytes]:
    """A `worker stop` that has said all it has to say, and waits."""
    stop = subprocess.Popen(
        [sys.executable, "-m", "queuectl", "worker", "stop", "--timeout", f"{seconds}s"],
        env=home.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: all(w.control == f"drain {seconds}000" for w in home.registered()))
    naps = switches(stop.pid)
    wait_until(lambda: switches(stop.pid) > naps + 10)
    return stop


@pytest.mark.parametrize("lease", ["holds", "is over"])
def test_a_worker_that_stands_still_is_killed_and_its_jobs_are_freed(home: WorkerHome, lease: str) -> None:
    home.config(stop_grace="100ms")
    home.start()
    id = home.enqueue("echo up; sleep 60")
    home.running(id)
    pid, supervisor = home.worker().pid, home.supervisors()[0]
    home.freeze(pid)
    if lease == "is over":
        home.jobs.store.heartbeat(home.worker().id, 1, 1, home.jobs.clock.now(), None)  # for a millisecond
    answer = json.loads(home.ok("worker", "stop", "--json"))
    assert len(answer["killed"]) == 1
    wait_until(lambda: not alive(pid) and not alive(supervisor))
    assert not home.job_processes()
    job = home.job(id)
    assert (job.state, job.attempts, job.lost) == (states.PENDING, 1, 1)
    assert home.attempt(id).outcome == kinds.LOST


def test_stop_by_id_ends_that_worker_alone(home: WorkerHome) -> None:
    home.start(count=2)
    first, second = home.registered()
    home.ok("worker", "stop", first.id)
    assert [worker.id for worker in home.registered()] == [second.id]
    assert alive(second.pid)
    assert not alive(first.pid)
    assert len(home.supervisors()) == 1
    assert home.q("worker", "stop", first.id).returncode == 1  # it is not there any more
    assert home.run("true").state == states.COMPLETED


def test_restart_brings_the_same_workers_anew(home: WorkerHome) -> None:
    home.start(count=2, concurrency=3)
    before = {worker.id for worker in home.registered()}
    home.ok("worker", "restart")
    after = home.registered()
    assert len(after) == 2
    assert not before & {worker.id for worker in after}
    assert [worker.concurrency for worker in after] == [3, 3]


UNTIL_NAMED = "echo up; while ! test -e $QUEUECTL_JOB_ID; do sleep 0.02; done"


def half_way(home: WorkerHome) -> tuple[subprocess.Popen[str], list[str], list[str]]:
    """A restart that waits for the job of the first of two workers; the jobs of both, and both workers."""
    home.start(count=2)
    held = [home.enqueue(UNTIL_NAMED) for _ in range(2)]
    for id in held:
        home.running(id)
    before = [worker.id for worker in home.registered()]
    restart = home.popen("worker", "restart", "--json")
    wait_until(
        lambda: [w.control for w in home.registered() if w.id in before].count("drain") == 1,
        what="the first of them to be asked",
    )
    return restart, held, before


def release(home: WorkerHome, held: list[str]) -> None:
    for id in held:
        (home.work / id).touch()
    home.ended(*held)
    assert {(home.job(id).state, home.job(id).attempts) for id in held} == {(states.COMPLETED, 1)}


def test_a_restart_replaces_one_after_the_other_and_the_queue_never_stands_still(home: WorkerHome) -> None:
    restart, held, before = half_way(home)
    # One new worker is there already, and takes what comes; the second old one knows of nothing yet.
    assert len(home.registered()) == 3
    assert home.run("true").state == states.COMPLETED
    release(home, held)
    out, err = restart.communicate(timeout=60)
    assert restart.returncode == 0, err
    pairs = json.loads(out)["replaced"]
    assert [pair["old"] for pair in pairs] == before
    after = home.registered()
    assert {worker.id for worker in after} == {pair["new"] for pair in pairs}
    assert len({worker.supervisor for worker in after}) == 1
    wait_until(lambda: len(home.supervisors()) == 1, what="the old supervisor to leave")


@pytest.mark.long
def test_a_restart_that_is_killed_half_way_leaves_as_many_workers_as_there_were(home: WorkerHome) -> None:
    restart, held, before = half_way(home)
    restart.kill()
    restart.communicate()
    release(home, held)
    wait_until(lambda: len(home.registered()) == 2, what="the first to leave")
    new = {worker.id for worker in home.registered()} - set(before)
    assert len(new) == 1
    assert home.run("true").state == states.COMPLETED


@pytest.mark.long
def test_a_restart_whose_new_supervisor_dies_says_so(home: WorkerHome) -> None:
    """Its closed pipe is not that of somebody who has read enough of what we print."""
    restart, held, before = half_way(home)
    (old,) = {worker.supervisor for worker in home.registered() if worker.id in before}
    (new,) = set(home.supervisors()) - {old}
    os.kill(new, signal.SIGKILL)
    release(home, held)
    _, err = restart.communicate(timeout=60)
    assert (restart.returncode, "the workers did not start" in err) == (1, True), err
    assert len(home.registered()) == 2


@pytest.mark.parametrize("command", ["start", pytest.param("restart", marks=pytest.mark.long)])
def test_ctrl_c_before_the_workers_are_there_leaves_none_of_them(home: WorkerHome, command: str) -> None:
    if command == "restart":
        home.start()
    before = {worker.id for worker in home.registered()}
    known = set(home.supervisors())
    go = home.work / "go"
    process = home.popen("worker", command, env=failpoints(f"register.before_commit=wait:{go}"))
    wait_until(lambda: set(home.supervisors()) - known, what="a supervisor")
    process.send_signal(signal.SIGINT)
    go.touch()
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, "interrupted")
    wait_until(lambda: set(home.supervisors()) == known, what="the supervisor to end")
    assert {worker.id for worker in home.registered()} == before


def test_what_runs_in_the_foreground_is_not_for_a_restart(home: WorkerHome) -> None:
    process = home.serve(count=2)
    before = {worker.id for worker in home.registered()}
    done = home.q("worker", "restart")
    assert (done.returncode, done.stderr.count("runs in the foreground")) == (1, 2)
    assert home.q("worker", "restart", min(before)).returncode == 4
    assert {worker.id for worker in home.registered()} == before
    assert process.poll() is None


def test_scale_goes_up_and_down(home: WorkerHome) -> None:
    home.ok("worker", "scale", "2")
    assert len(home.registered()) == 2
    home.ok("worker", "scale", "1")
    assert len(home.registered()) == 1
    assert home.run("true").state == states.COMPLETED
    home.ok("worker", "scale", "0")
    assert home.registered() == []
    wait_until(lambda: not home.supervisors())


@pytest.mark.proof
def test_a_worker_that_cannot_report_waits_for_the_store_without_spinning(home: WorkerHome) -> None:
    process = home.serve()
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    with home.locked():
        (home.work / "go").touch()
        wait_until(lambda: not home.job_processes())
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        began, before = elapsed(), cpu_seconds(process.pid)
        wait_until(lambda: began() > 1.5)
        used = cpu_seconds(process.pid) - before
    assert process.wait(20) == 0
    assert used < 0.5
    assert home.job(id).state == states.COMPLETED


def stay(home: WorkerHome, count: int) -> bool:
    """So many workers, each with a supervisor that wants no more than it has."""
    cards = [card for _, card in supervisors(str(home.path / "run"))]
    return len(home.registered()) == count == sum(int(str(card["wanted"])) for card in cards)


def test_a_worker_that_has_to_be_killed_in_a_restart_gets_no_successor(home: WorkerHome) -> None:
    """Its supervisor takes the kill for a crash, and starts another."""
    home.start()
    hung = home.worker()
    os.kill(hung.pid, signal.SIGSTOP)
    done = json.loads(home.ok("worker", "restart", "--timeout", "0", "--json"))
    assert done["killed"] == [hung.id]
    wait_until(lambda: stay(home, 1), what="one worker, and nobody who wants more")
    assert home.worker().id == done["replaced"][0]["new"]
    wait_until(lambda: len(home.supervisors()) == 1, what="the old supervisor to leave")


@pytest.mark.parametrize("which", [pytest.param("asked", marks=pytest.mark.long), "other"])
def test_a_worker_that_crashes_during_a_restart_gets_no_successor(home: WorkerHome, which: str) -> None:
    """The one that was asked to end, or the one whose turn comes later."""
    restart, held, before = half_way(home)
    asked = {worker.id: worker.control == "drain" for worker in home.registered() if worker.id in before}
    (victim,) = [w for w in home.registered() if w.id in before and asked[w.id] == (which == "asked")]
    os.kill(victim.pid, signal.SIGKILL)
    for id in held:
        (home.work / id).touch()
    out, err = restart.communicate(timeout=90)
    assert restart.returncode == 0, err
    wait_until(lambda: stay(home, 2), what="two workers, and nobody who wants more")
    pairs = json.loads(out)["replaced"]
    assert {worker.id for worker in home.registered()} == {pair["new"] for pair in pairs}
    home.ended(*held)
    assert {home.job(id).state for id in held} == {states.COMPLETED}
