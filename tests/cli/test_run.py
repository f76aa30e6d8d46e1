"""run: enqueue, follow, and exit as the command did, with or without a worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.support.counts import check_counts
from tests.support.home import Home

from queuectl.testing import wait_until

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def home_with_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    it = Home(tmp_path_factory.mktemp("run") / "home")
    it.start(concurrency=2)
    yield it
    it.close()
    check_counts(it.location)


@pytest.fixture(params=["alone", "with a worker"])
def place(request: pytest.FixtureRequest) -> Home:
    """Both ways of running a job: by itself, and by a worker in the background, the same for all tests."""
    found = request.getfixturevalue("home" if request.param == "alone" else "home_with_worker")
    assert isinstance(found, Home)
    return found


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--", "true"], 0),
        (["exit 3"], 3),
        (["kill -9 $$"], 137),
        (["kill -TERM $$"], 143),
        (["--timeout", "200ms", "sleep 60"], 124),
        (["--", "no-such-program-anywhere"], 127),
        (["--cwd", "/no/such/directory", "--", "true"], 127),
    ],
)
def test_exits_as_the_command_did(place: Home, words: list[str], code: int) -> None:
    assert place.q("run", *words).returncode == code


def test_prints_what_the_command_prints_where_it_prints_it(place: Home) -> None:
    result = place.q("run", "echo out; echo err >&2; sleep 0.4; echo later")
    assert (result.returncode, result.stdout, result.stderr) == (0, "out\nlater\n", "err\n")


def test_does_not_retry_unless_told_to(place: Home) -> None:
    command = "echo x >> tries; test $(wc -l < tries) -ge 2"
    assert place.q("run", command).returncode == 1
    assert (place.work / "tries").read_text() == "x\n"
    again = place.q("run", "--max-retries", "2", "--backoff-base", "0.1", "--id", "again", command)
    assert again.returncode == 0


def test_json_is_one_document_with_output_and_history(place: Home) -> None:
    result = place.q("run", "--json", "echo out; exit 4")
    document = json.loads(result.stdout)
    assert result.returncode == document["run_exit_code"] == 4
    assert (document["state"], document["exit_code"], document["stdout"]) == ("dead", 4, "out\n")
    assert [attempt["outcome"] for attempt in document["history"]] == ["failed"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_timeout_end_the_job(place: Home, how: signal.Signals) -> None:
    place.ok("init")
    id = how.name
    with subprocess.Popen(
        [sys.executable, "-m", "queuectl", "run", "--id", id, "sleep 60"],
        env=place.env,
        cwd=place.work,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: _state(place, id) == "processing", what="the job to run")
        process.send_signal(how)
        try:
            assert process.wait(timeout=20) == 130
        finally:
            process.kill()  # or another test would be told of it
    place.wait_for(id, "cancelled")  # a worker may take a moment longer than we were waited for


def test_ctrl_c_right_after_the_job_was_stored_ends_it_too(place: Home) -> None:
    halt = {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "enqueue.committed=stop"}
    with subprocess.Popen(
        [sys.executable, "-m", "queuectl", "run", "--id", "long", "sleep 60"],
        env=place.env | halt,
        cwd=place.work,
        stderr=subprocess.PIPE,
    ) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"cancelling job long" in errors
    place.wait_for("long", "cancelled")


def test_in_a_paused_queue_it_waits(place: Home) -> None:
    place.ok("queue", "pause", "mail", "--reason", "moving")
    command = ["run", "--queue", "mail", "--id", "waits", "echo ran"]
    with subprocess.Popen(
        [sys.executable, "-m", "queuectl", *command],
        env=place.env,
        cwd=place.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        note = process.stderr.readline()
        assert note.startswith("note: queue mail is paused until somebody resumes it (moving).")
        assert _state(place, "waits") == "pending"
        place.ok("queue", "resume", "mail")
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "ran\n")


def test_a_reader_that_goes_away_ends_the_job(place: Home) -> None:
    """`queuectl run … | head -1`"""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "queuectl", "run", "--id", "chatty", "while echo x; do sleep 0.05; done"],
        env=place.env,
        cwd=place.work,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert os.read(reading, 1) == b"x"
    os.close(reading)
    _, errors = process.communicate(timeout=30)
    assert "Traceback" not in errors
    place.wait_for("chatty", "cancelled")  # as above


@pytest.mark.parametrize("command", [["run"], ["map", "--wait"]])
def test_who_works_here_ends_when_that_worker_is_stopped(home: Home, command: list[str]) -> None:
    """Nobody may wait for a job that nobody runs any more, and be deaf to Ctrl+C meanwhile."""
    with home.popen(*command, "touch began; sleep 60", *([":::", "1"] * (command != ["run"]))) as process:
        wait_until((home.work / "began").exists, what="the command to run")
        assert "1 worker stopped" in home.ok("worker", "stop", "--now")
        output, errors = process.communicate(timeout=20)
    assert process.returncode == (143 if command == ["run"] else 1)
    assert "completed" not in output
    assert "has not ended" in errors or "the worker here was stopped" in errors
    with home.queue() as queue:
        assert [job.state for job in queue.list()] == ["pending"]


def test_nothing_is_left_in_the_run_directory_afterwards(home: Home) -> None:
    home.ok("run", "true")
    assert os.listdir(home.location.run_dir) == []


def _state(home: Home, id: str) -> str | None:
    with home.queue() as queue:
        job = queue.store.get(id)
        return None if job is None else job.state
