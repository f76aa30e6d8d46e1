"""Where the output goes: terminals that know no ✓, readers that leave early, full and closed ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli

from queuectl.queue import Queue

QUEUECTL = [sys.executable, "-m", "queuectl"]


def buffered(**more: str) -> dict[str, str]:
    """As users have it: their output is buffered, so that some errors come at the very end."""
    return {**{k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}, **more}


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_a_stdout_that_knows_no_check_mark(home_dir: Path, encoding: str) -> None:
    environment = buffered(PYTHONIOENCODING=encoding)
    command = [*QUEUECTL, "enqueue", "--id", "job1", "echo ✓"]

    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    assert b"Job job1 enqueued successfully" in done.stdout
    listing = subprocess.run([*QUEUECTL, "list"], capture_output=True, env=environment, check=False)
    assert (listing.returncode, b"echo" in listing.stdout) == (0, True)
    assert b"Traceback" not in done.stderr + listing.stderr


@pytest.mark.process
@pytest.mark.parametrize("count", [3, 5_000])
def test_a_reader_that_leaves_early(queue: Queue, count: int) -> None:
    queue.enqueue_many([f"echo {number}" for number in range(count)])
    command = " ".join(map(_quoted, QUEUECTL)) + " list | head -1; exit ${PIPESTATUS[0]}"

    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, env=buffered(), check=False, timeout=60
    )

    assert done.stdout.startswith(b"ID ")
    assert len(done.stdout.splitlines()) == 1
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.process
def test_a_reader_that_is_gone_before_we_write(queue: Queue) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*QUEUECTL, "status", "--json"],
            stdout=writer,
            stderr=subprocess.PIPE,
            env=buffered(),
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.process
def test_a_full_disk_behind_stdout_is_told(queue: Queue) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*QUEUECTL, "config"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=buffered(),
            check=False,
            timeout=60,
        )

    assert done.returncode == 1
    assert done.stderr.startswith(b"error: No space left on device\n")
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.process
def test_a_closed_stdout_is_no_hindrance(queue: Queue) -> None:
    command = " ".join(map(_quoted, QUEUECTL)) + " enqueue --id job1 true >&- 2>&-"

    done = subprocess.run(["sh", "-c", command], env=buffered(), check=False, timeout=60)

    assert done.returncode == 0
    assert queue.get("job1").state == "pending"


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("wait -", 0),
        ("cancel -", 0),
        ("enqueue --stdin - cat", 0),
        ("demo --step", 2),
        ("enqueue --file -", 0),
        ("map 'echo {}'", 0),
    ],
)
def test_a_closed_stdin_is_an_empty_one(queue: Queue, words: str, code: int) -> None:
    queue.enqueue("true")
    command = " ".join(map(_quoted, QUEUECTL))
    for source in ("<&-", "</dev/null"):
        done = subprocess.run(
            ["bash", "-c", f"{command} {words} {source}"], capture_output=True, env=buffered(), check=False
        )
        assert (done.returncode, b"internal error" in done.stderr) == (code, False), done


def test_data_goes_to_stdout_and_everything_else_to_stderr(cli: Cli) -> None:
    result = cli("enqueue", "--json", "--delay", "1h", '{"command":"true","state":"dead"}')

    assert result.json()["state"] == "scheduled"
    assert "note: field 'state'" in result.err
    assert "runs " in result.err
    assert "no worker is running" in result.err


def test_a_traceback_is_shown_only_when_asked_for(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in cli("show", "nosuch").err
    assert "Traceback" in cli("show", "nosuch", "--debug").err

    monkeypatch.setenv("QUEUECTL_DEBUG", "1")

    assert "Traceback" in cli("show", "nosuch").err


def _quoted(word: str) -> str:
    return f"'{word}'"
