"""How a command ended is stored exactly: exit code and signal apart, errors of starting it told."""

from __future__ import annotations

import os
import signal

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from tests.support.systems import both_systems_shared
from tests.support.worker_home import WorkerHome

# Errors of the start are told by whoever starts the command: `posix_spawn` on other systems.


@both_systems_shared
def test_exit_code_zero_completes_the_job(shared_home: WorkerHome) -> None:
    job = shared_home.run("exit 0")
    assert (job.state, job.exit_code, job.signal, job.last_error) == (states.COMPLETED, 0, None, None)
    attempt = shared_home.attempt(job.id)
    assert (attempt.outcome, attempt.exit_code, attempt.signal) == (kinds.SUCCEEDED, 0, None)
    assert attempt.error is None
    assert attempt.started_at is not None
    assert attempt.finished_at >= attempt.started_at


@both_systems_shared
@pytest.mark.parametrize("code", [1, 127, 137])  # all of them: test_endings.py
def test_exit_codes_are_kept_as_they_are(shared_home: WorkerHome, code: int) -> None:
    job = shared_home.run(f"exit {code}")
    assert (job.state, job.exit_code, job.signal) == (states.DEAD, code, None)
    attempt = shared_home.attempt(job.id)
    assert (attempt.outcome, attempt.exit_code, attempt.signal) == (kinds.FAILED, code, None)
    assert attempt.error == job.last_error == f"exit code {code}"


@both_systems_shared
@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_death_by_a_signal_is_no_exit_code(shared_home: WorkerHome, name: str) -> None:
    number = int(signal.Signals[f"SIG{name}"])
    job = shared_home.run(f"kill -{name} $$")
    assert (job.state, job.exit_code, job.signal) == (states.DEAD, None, number)
    attempt = shared_home.attempt(job.id)
    assert (attempt.outcome, attempt.exit_code, attempt.signal) == (kinds.FAILED, None, number)
    assert attempt.error == f"killed by SIG{name}"


def test_the_last_line_of_stderr_becomes_part_of_the_error(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo first >&2; printf 'no \\377 such thing' >&2; exit 3")
    assert job.last_error == "exit code 3: no \\xff such thing"


@both_systems_shared
def test_a_missing_directory_is_told_by_its_name(shared_home: WorkerHome) -> None:
    job = shared_home.run("true", cwd="/nonexistent/place")
    attempt = shared_home.attempt(job.id)
    assert (job.state, attempt.outcome) == (states.DEAD, kinds.SPAWN_ERROR)
    assert (attempt.exit_code, attempt.signal) == (None, None)
    assert attempt.error == "cannot enter the directory /nonexistent/place: No such file or directory"


@both_systems_shared
def test_a_missing_program_is_told_by_its_name(shared_home: WorkerHome) -> None:
    job = shared_home.run(["no-such-program", "x"])
    attempt = shared_home.attempt(job.id)
    assert attempt.outcome == kinds.SPAWN_ERROR
    assert attempt.error == "cannot start no-such-program: No such file or directory"


def test_a_missing_program_in_a_shell_line_is_the_shells_127(shared_home: WorkerHome) -> None:
    job = shared_home.run("no-such-program")
    assert (job.exit_code, shared_home.attempt(job.id).outcome) == (127, kinds.FAILED)
    assert "not found" in str(job.last_error)


@both_systems_shared
def test_a_file_that_is_no_program_cannot_be_started(shared_home: WorkerHome) -> None:
    plain = shared_home.work / "plain.txt"
    plain.write_text("no program")
    plain.chmod(0o644)
    attempt = shared_home.attempt(shared_home.run([str(plain)]).id)
    assert attempt.outcome == kinds.SPAWN_ERROR
    assert attempt.error == f"cannot start {plain}: Permission denied"


def test_a_directory_is_no_program(shared_home: WorkerHome) -> None:
    attempt = shared_home.attempt(shared_home.run([str(shared_home.work)]).id)
    assert attempt.outcome == kinds.SPAWN_ERROR


@both_systems_shared
def test_more_words_than_a_program_can_be_given_cannot_be_started(shared_home: WorkerHome) -> None:
    # Each of them is short enough; together they are not.
    job = shared_home.run(["true"] + ["x" * 130_000] * 30, env={"LARGE": "y" * 130_000})
    attempt = shared_home.attempt(job.id)
    assert attempt.outcome == kinds.SPAWN_ERROR
    assert attempt.error == "cannot start true: Argument list too long"


def test_a_command_that_cannot_be_started_is_retried_like_any_failure(shared_home: WorkerHome) -> None:
    job = shared_home.run("true", cwd="/nonexistent/place", max_retries=2)
    assert (job.state, job.attempts) == (states.DEAD, 3)
    assert [attempt.outcome for attempt in shared_home.attempts(job.id)] == [kinds.SPAWN_ERROR] * 3


@both_systems_shared
def test_what_it_cost_is_recorded(shared_home: WorkerHome) -> None:
    job = shared_home.run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
    attempt = shared_home.attempt(job.id)
    assert attempt.cpu_ms is not None
    assert attempt.cpu_ms > 0
    assert attempt.host == os.uname().nodename
    assert attempt.worker_id == shared_home.worker().id
