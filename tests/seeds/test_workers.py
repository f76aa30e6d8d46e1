"""Workers as the descriptions want them: they survive the terminal, finish what they do, add up."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

from tests.support.user_commands import Queuectl, wait_for_state

from queuectl.core.job import Job
from queuectl.queue import Queue
from queuectl.testing import wait_until


def test_a_stop_lets_the_current_job_finish(queuectl: Queuectl, queue: Queue, tmp_path: Path) -> None:
    queuectl.start()
    queuectl("enqueue", "--id", "current", "touch begun; until [ -e go ]; do sleep 0.05; done")
    wait_until((tmp_path / "begun").exists, what="the job to begin")
    queuectl("enqueue", "--id", "next", "touch next")

    stop = subprocess.Popen(
        [sys.executable, "-m", "queuectl", "worker", "stop"], stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: queue.store.workers()[0].control, what="the worker to be asked to stop")
    (tmp_path / "go").touch()
    printed, _ = stop.communicate(timeout=60)

    assert (stop.returncode, printed) == (0, "✓ 1 worker stopped\n")
    assert queue.get("current").state == "completed"
    assert (queue.get("next").state, queue.get("next").attempts) == ("pending", 0)
    assert not (tmp_path / "next").exists()
    assert queuectl.running() == []


def test_a_stop_at_once_gives_the_job_back(queuectl: Queuectl, queue: Queue, tmp_path: Path) -> None:
    queuectl.start()
    queuectl("enqueue", "--id", "long", "touch begun; sleep 600")
    wait_until((tmp_path / "begun").exists, what="the job to begin")

    queuectl("worker", "stop", "--now")

    assert (queue.get("long").state, queue.get("long").attempts) == ("pending", 0)


def test_stopping_nobody_is_no_failure(queuectl: Queuectl) -> None:
    assert queuectl("worker", "stop") == "No workers are running\n"


def test_starting_twice_adds_workers(queuectl: Queuectl) -> None:
    queuectl.start()
    queuectl.start("--count", "2")

    assert len(queuectl.json("worker", "list")) == 3
    assert queuectl("status").startswith("Active Workers: 3\n")
    assert len(queuectl.running()) == 5, "three workers and two supervisors"
    assert queuectl("worker", "stop") == "✓ 3 workers stopped\n"
    assert queuectl.running() == []


def test_data_survives_a_restart_of_the_workers(queuectl: Queuectl, queue: Queue) -> None:
    queuectl("config", "set", "max-retries", "7")
    queuectl("enqueue", "--id", "done", "echo kept")
    queuectl("enqueue", "--id", "dead", "--max-retries", "0", "exit 5")
    queuectl("enqueue", "--id", "later", "--delay", "1h", "true")
    queuectl.start()
    wait_for_state(queue, "done", "completed")
    wait_for_state(queue, "dead", "dead")
    before = queuectl.json("show", "done", "dead", "later")
    queuectl("worker", "stop")
    queuectl("enqueue", "--id", "meanwhile", "echo new")

    queuectl.start()

    assert queuectl("wait", "meanwhile") == "✓ 1 job completed\n"
    assert queuectl.json("show", "done", "dead", "later") == before
    assert queuectl("logs", "done") == "kept\n"
    assert queuectl("config", "get", "max-retries") == "7\n"


def test_jobs_are_picked_up_without_delay(queuectl: Queuectl, queue: Queue) -> None:
    """Before the next look for jobs, which is an hour away: only the doorbell can wake the workers."""
    queuectl("config", "set", "poll-interval", "1h")
    queuectl.start("--count", "2")

    queuectl("enqueue", "--id", "quick", "true")

    wait_for_state(queue, "quick", "completed")


# --- settings -----------------------------------------------------------------------------------------


def test_max_retries_holds_for_new_jobs(queuectl: Queuectl, queue: Queue) -> None:
    queuectl.start()
    queuectl("enqueue", "--id", "old", "--delay", "1h", "exit 1")

    queuectl("config", "set", "max-retries", "0")
    queuectl("enqueue", "--id", "new", "exit 1")

    assert wait_for_state(queue, "new", "dead").attempts == 1
    assert queue.get("old").max_retries == 3


def test_a_job_timeout_reaches_running_workers(queuectl: Queuectl, queue: Queue) -> None:
    """A moment later: a job that starts before keeps the timeout that it started with."""
    queuectl("config", "set", "max-retries", "0")
    queuectl.start()
    numbers = count()

    def half_a_second() -> Job:
        id = f"job{next(numbers)}"
        queuectl("enqueue", "--id", id, "sleep 0.5")
        return wait_for_state(queue, id, "completed", "dead")

    queuectl("config", "set", "job-timeout", "0.2")
    wait_until(lambda: half_a_second().state == "dead", what="the timeout to be known")
    assert "timed out after 0.2 s" in (half_a_second().last_error or "")

    queuectl("config", "unset", "job-timeout")
    wait_until(lambda: half_a_second().state == "completed", what="the timeout to be forgotten")


# --- the terminal -------------------------------------------------------------------------------------

# A session of its own on that terminal, as a window has it; then a shell that stays in front.
WINDOW = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp("sh", ["sh", "-c", sys.argv[1]])
"""


def test_workers_survive_their_terminal(queuectl: Queuectl, queue: Queue) -> None:
    leader, follower = os.openpty()
    shell = subprocess.Popen(
        [sys.executable, "-c", WINDOW, f"'{sys.executable}' -m queuectl worker start && sleep 600"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    try:
        seen = read_until(leader, b"running in the background")
        queuectl.remember_workers()
    finally:
        os.close(leader)  # the window is closed: everything in its session gets a SIGHUP
        shell.wait(timeout=30)

    assert b"Worker " in seen  # root is warned before
    assert len(queuectl.running()) == 2
    queuectl("enqueue", "--id", "after", "echo still here")
    assert wait_for_state(queue, "after", "completed").attempts == 1
    assert queuectl("logs", "after") == "still here\n"


def read_until(fd: int, text: bytes) -> bytes:
    seen = b""
    deadline = time.monotonic() + 30
    while text not in seen:
        assert select.select([fd], [], [], deadline - time.monotonic())[0], seen
        seen += os.read(fd, 65536)
    return seen


def test_the_callers_pipe_is_let_go_at_once(queuectl: Queuectl) -> None:
    """`worker start | cat` must end, though the workers live on: they hold neither stdout nor stderr."""
    command = f"'{sys.executable}' -m queuectl worker start 2>&1 | cat"

    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)

    queuectl.remember_workers()
    assert b"started" in done.stdout
    assert len(queuectl.running()) == 2
