"""What a command finds: its variables, its directory, its descriptors, signals and group."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.systems import both_systems, both_systems_shared
from tests.support.worker_home import WorkerHome


def text(shared_home: WorkerHome, command: str | list[str], **fields: Any) -> str:
    job = shared_home.run(command, **fields)
    assert job.state == states.COMPLETED, job.last_error
    return shared_home.stdout(job.id).decode()


def test_a_job_knows_its_id_attempt_and_queue(shared_home: WorkerHome) -> None:
    line = 'echo "$QUEUECTL_JOB_ID $QUEUECTL_ATTEMPT $QUEUECTL_QUEUE"; test "$QUEUECTL_ATTEMPT" = 2'
    job = shared_home.run(line, id="known", queue="mail", max_retries=1)
    assert job.state == states.COMPLETED
    assert shared_home.stdout("known") == b"known 2 mail\n"


@both_systems_shared
def test_a_job_carries_the_token_of_its_claim(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo $QUEUECTL_ATTEMPT_TOKEN")
    attempt = shared_home.attempt(job.id)
    assert shared_home.stdout(job.id).decode().strip() == f"{attempt.claim}.{job.seq}"


@both_systems_shared
def test_given_variables_are_set_and_win(shared_home: WorkerHome) -> None:
    assert text(shared_home, 'echo "$COLOUR $PATH"', env={"COLOUR": "dark blue", "PATH": "/bin"}) == (
        "dark blue /bin\n"
    )


def test_nothing_of_the_enqueuers_environment_is_taken(shared_home: WorkerHome) -> None:
    shared_home.ok("enqueue", "--id", "secretive", "--command", "env", env={"SECRET_OF_MINE": "42"})
    shared_home.ended("secretive")
    assert b"SECRET_OF_MINE" not in shared_home.stdout("secretive")


def test_queuectl_in_a_job_means_the_same_store(shared_home: WorkerHome) -> None:
    assert text(shared_home, "echo $QUEUECTL_DB").strip() == str(shared_home.path / "queue.db")


@both_systems_shared
def test_a_job_runs_in_its_directory_and_pwd_says_so(shared_home: WorkerHome, tmp_path: Path) -> None:
    place = tmp_path / "a place with blanks"
    place.mkdir()
    assert text(shared_home, "pwd; echo $PWD; pwd -P", cwd=str(place)) == f"{place}\n{place}\n{place}\n"


def test_a_job_enqueued_on_the_command_line_runs_where_that_was(shared_home: WorkerHome) -> None:
    shared_home.ok("enqueue", "--id", "here", "--command", "pwd")
    shared_home.ended("here")
    assert shared_home.stdout("here").decode() == f"{shared_home.work}\n"


@both_systems_shared
def test_a_directory_made_anew_is_the_new_one(shared_home: WorkerHome, tmp_path: Path) -> None:
    place = tmp_path / "remade"
    place.mkdir()
    text(shared_home, "touch first", cwd=str(place))
    shutil.rmtree(place)
    place.mkdir()
    text(shared_home, "touch second", cwd=str(place))
    assert os.listdir(place) == ["second"]


@both_systems_shared
def test_a_directory_that_is_gone_is_missed_even_by_who_was_there(
    shared_home: WorkerHome, tmp_path: Path
) -> None:
    place = tmp_path / "removed"
    place.mkdir()
    text(shared_home, "true", cwd=str(place))
    shutil.rmtree(place)
    assert shared_home.attempt(shared_home.run("true", cwd=str(place)).id).outcome == kinds.SPAWN_ERROR


@both_systems_shared
def test_a_link_is_followed_at_every_start(shared_home: WorkerHome, tmp_path: Path) -> None:
    link = tmp_path / "current"
    for release in ("one", "two"):
        (tmp_path / release).mkdir()
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / release)
        text(shared_home, "touch here", cwd=str(link))
        assert (tmp_path / release / "here").exists()


@both_systems_shared
def test_an_idle_worker_keeps_no_directory_busy(shared_home: WorkerHome, tmp_path: Path) -> None:
    text(shared_home, "true", cwd=str(tmp_path))
    at = Path(f"/proc/{shared_home.worker().pid}/cwd")
    wait_until(lambda: os.readlink(at) != str(tmp_path), what="the worker to leave the directory")


@both_systems_shared
def test_standard_input_is_at_its_end(shared_home: WorkerHome) -> None:
    assert text(shared_home, "cat; read x || echo end") == "end\n"


@both_systems_shared
def test_only_the_three_standard_descriptors_are_open(shared_home: WorkerHome) -> None:
    # The fourth is that of ls itself, for the listing.
    assert text(shared_home, "ls /proc/self/fd").split() == ["0", "1", "2", "3"]


@both_systems
def test_descriptors_that_the_worker_was_started_with_stay_its_own(home: WorkerHome) -> None:
    reading, writing = os.pipe()
    try:
        home.serve(pass_fds=[writing])
        assert text(home, "ls /proc/self/fd").split() == ["0", "1", "2", "3"]
    finally:
        os.close(reading)
        os.close(writing)


@both_systems
def test_a_worker_without_standard_descriptors_serves_as_well(home: WorkerHome) -> None:
    home.serve(prefix=["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
    job = home.run("cat; echo out; echo err >&2; ls /proc/self/fd")
    assert job.state == states.COMPLETED, job.last_error
    assert home.stdout(job.id).split() == [b"out", b"0", b"1", b"2", b"3"]
    assert home.stderr(job.id) == b"err\n"


@both_systems_shared
def test_a_reader_that_stops_ends_its_writer(shared_home: WorkerHome) -> None:
    assert text(shared_home, "yes | head -1", timeout=20) == "y\n"


def _ignored(status: str) -> set[int]:
    mask = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn"))
    # 32 and 33 are the C library's own; it ignores them in whatever it spawns.
    return {n + 1 for n in range(64) if mask >> n & 1} - {32, 33}


# Ignored as under nohup and in the background of a script; blocked as by a careless parent.
CARELESS = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR2])
os.execv(sys.argv[1], sys.argv[1:])
"""


@both_systems
def test_no_signal_is_ignored_or_blocked(home: WorkerHome) -> None:
    process = home.serve(prefix=[sys.executable, "-c", CARELESS])
    status = text(home, ["cat", "/proc/self/status"])  # a shell would change the mask itself
    assert _ignored(status) == set()
    blocked = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
    assert int(blocked, 16) == 0
    process.terminate()
    assert process.wait(20) == 0


@both_systems_shared
def test_a_job_leads_a_process_group_of_its_own(shared_home: WorkerHome) -> None:
    pid, group = text(shared_home, "echo $$; ps -o pgid= -p $$ || cut -d' ' -f5 /proc/$$/stat").split()
    assert pid == group
    assert int(group) != os.getpgid(shared_home.worker().pid)


@pytest.mark.parametrize("mask", [0o027])
def test_the_workers_umask_is_the_jobs(home: WorkerHome, mask: int) -> None:
    home.serve(prefix=["sh", "-c", f'umask {mask:o}; exec "$@"', "sh"])
    assert int(text(home, "umask"), 8) == mask
