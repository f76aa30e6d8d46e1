"""Real workers: what a command reads, and who is told of its end."""

from __future__ import annotations

import json
import socket
import sys
from base64 import b64decode

import pytest

from queuectl import queues
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.systems import both_systems_shared
from tests.support.worker_home import WorkerHome

AWKWARD = 'it\'s "$HOME" `x` \\ ß 😀 \x1b[1m\x07\r'


@both_systems_shared
@pytest.mark.parametrize("limits", [{}, {"nice": 5}], ids=["free", "limited"])
def test_a_command_reads_its_input_and_then_the_end(shared_home: WorkerHome, limits: dict[str, int]) -> None:
    text = AWKWARD + "x" * 200_000 + "\n"  # more than a pipe holds
    job = shared_home.run("cat | wc -c; cat | wc -c", input=text, **limits)
    assert shared_home.stdout(job.id).split() == [str(len(text.encode())).encode(), b"0"]


def test_each_attempt_reads_it_from_the_beginning(shared_home: WorkerHome) -> None:
    job = shared_home.run(
        'read line; echo "$line"; test "$QUEUECTL_ATTEMPT" = 3', input="first\n", max_retries=2
    )
    assert (job.state, job.attempts) == (states.COMPLETED, 3)
    assert shared_home.stdout(job.id) == b"first\n"


def test_without_input_there_is_nothing_to_read(shared_home: WorkerHome) -> None:
    assert shared_home.stdout(
        shared_home.run("wc -c; ls -l /proc/$$/fd/0 | grep -c /dev/null").id
    ).split() == [
        b"0",
        b"1",
    ]


def test_commands_that_never_start_leave_no_file_open(shared_home: WorkerHome) -> None:
    for _ in range(3):
        shared_home.run("true", input="x", cwd="/nowhere")
    pid = shared_home.worker().pid
    assert shared_home.stdout(shared_home.run(f"ls -l /proc/{pid}/fd | grep -c queuectl-input").id) == b"0\n"


def test_text_of_any_kind_arrives_as_json_and_in_the_environment(shared_home: WorkerHome) -> None:
    state = 'printf " %s" "$SECRET$QUEUECTL_NOTIFY_STATE"'
    tell = f'cat; printf "%s" "$QUEUECTL_NOTIFY_COMMAND" | base64 -w0; {state}'
    command = f"true # {AWKWARD}\n# more"
    job = shared_home.run(command, notify=tell, env={"SECRET": "hidden"})
    told = shared_home.ended(f"{job.id}:notify-1")
    line, rest = shared_home.stdout(told.id).decode().split("\n")
    assert json.loads(line) == shared_home.job(job.id).to_dict()
    assert json.loads(line)["command"] == command
    encoded, state = rest.split(" ")
    assert (b64decode(encoded).decode(), state) == (command, "completed")


def test_a_command_that_keeps_failing_dies_and_leaves_the_job_alone(shared_home: WorkerHome) -> None:
    job = shared_home.run("true", notify="exit 9")
    told = shared_home.ended(f"{job.id}:notify-1")
    assert (told.state, told.attempts, told.about) == (states.DEAD, 4, job.id)
    after = shared_home.job(job.id)
    assert (after.state, after.updated_at, len(shared_home.attempts(job.id))) == (
        states.COMPLETED,
        job.updated_at,
        1,
    )


def test_a_target_that_never_answers_delays_no_job(shared_home: WorkerHome) -> None:
    """B70: it is the notification that waits and is ended; the job has ended for everybody before."""
    with socket.create_server(("127.0.0.1", 0)) as mute:  # takes the connection, and says nothing
        ask = f"import socket; socket.create_connection(('127.0.0.1', {mute.getsockname()[1]})).recv(1)"
        queues.configure(shared_home.jobs, "notifications", timeout="1s", max_retries=0)
        job = shared_home.run("true", notify=f'{sys.executable} -c "{ask}"')
        assert job.state == states.COMPLETED
        told = shared_home.ended(f"{job.id}:notify-1")
    assert told.state == states.DEAD
    assert str(told.last_error).startswith("timed out after ")
    assert shared_home.job(job.id).updated_at == job.updated_at


def test_a_setting_reaches_workers_that_run(home: WorkerHome) -> None:
    """The heart hears of it; the worker's next end goes by it, without a restart."""
    home.serve()
    home.config(notify=f"echo $QUEUECTL_NOTIFY_ID >> {home.work}/told")

    def is_told() -> bool:
        job = home.run("exit 1")
        return bool(home.jobs.store.notices().about(job.id))

    wait_until(is_told, what="the setting to arrive")


@pytest.mark.long
def test_a_thousand_ends_are_told_of_once_each(home: WorkerHome) -> None:
    home.config(notify=f"echo $QUEUECTL_NOTIFY_ID >> {home.work}/told")
    home.config(**{"notify-on": "any"})
    ids = [f"j{n}" for n in range(1_000)]
    home.jobs.enqueue_many([{"id": id, "command": "true", "max_retries": 0} for id in ids])
    home.serve("--concurrency", "4")
    home.ended(*ids, timeout=60)
    home.ended(*[f"{id}:notify-1" for id in ids], timeout=60)
    assert sorted((home.work / "told").read_text().split()) == sorted(ids)
    assert len(home.jobs.list(limit=3_000)) == 2_000
