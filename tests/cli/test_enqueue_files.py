"""`queuectl enqueue --file`: many jobs, in every form that a file can have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.cli import Cli, Terminal
from tests.support.fake_worker import FakeWorker

from queuectl.queue import Queue
from queuectl.testing import wait_until

LINES = '{"id":"a","command":"echo a"}\n{"id":"b","command":"echo b","priority":3}\n'


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return tmp_path / "jobs.jsonl"


def stored(queue: Queue) -> list[tuple[str, str]]:
    return [(job.id, job.command) for job in queue.list()]


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        LINES.rstrip("\n"),
        "\n\n" + LINES.replace("\n", "\n\n"),
        LINES.replace("\n", "\r\n"),
        "\ufeff" + LINES,
        "[" + LINES.replace("}\n{", "},\n{") + "]",
        "\ufeff\n [\n" + LINES.replace("}\n{", "},\n{") + "]\n",
        json.dumps([json.loads(line) for line in LINES.splitlines()], indent=4),
    ],
    ids=[
        "lines",
        "no newline at the end",
        "blank lines",
        "CRLF",
        "BOM",
        "array",
        "BOM and array",
        "pretty array",
    ],
)
def test_many_jobs_in_any_form(cli: Cli, queue: Queue, jobs: Path, text: str) -> None:
    jobs.write_text(text, encoding="utf-8", newline="")

    result = cli("enqueue", "--file", str(jobs))

    assert result.code == 0
    assert stored(queue) == [("a", "echo a"), ("b", "echo b")]
    assert queue.get("b").priority == 3


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "id": "a",\n  "command": "echo a"\n}\n',
        '{"id": "a",\n "command": "echo a"}',
        f"[{LINES.splitlines()[0]}]",
    ],
    ids=["pretty", "by hand", "array of one"],
)
def test_a_single_object(cli: Cli, queue: Queue, jobs: Path, text: str) -> None:
    jobs.write_text(text)

    assert cli("enqueue", f"@{jobs}").code == 0
    assert stored(queue) == [("a", "echo a")]


def test_from_stdin(cli: Cli, queue: Queue) -> None:
    assert cli("enqueue", "-f", "-", stdin=LINES).code == 0
    assert stored(queue) == [("a", "echo a"), ("b", "echo b")]


def test_a_command_per_line(cli: Cli, queue: Queue, jobs: Path) -> None:
    jobs.write_bytes(b"\xef\xbb\xbfecho a\r\n\n   \n# a comment\n  # another\necho 'b # c'\n  echo d")

    assert cli("enqueue", "--lines", "-f", str(jobs)).code == 0
    assert [job.command for job in queue.list()] == ["echo a", "echo 'b # c'", "  echo d"]


def test_commands_from_stdin(cli: Cli, queue: Queue) -> None:
    assert cli("enqueue", "-f", "-", "--lines", stdin="echo a\necho b\n").code == 0
    assert [job.command for job in queue.list()] == ["echo a", "echo b"]


@pytest.mark.parametrize(("lines", "text"), [((), LINES), (("--lines",), "echo a\necho b\n")])
def test_flags_hold_for_every_job(
    cli: Cli, queue: Queue, jobs: Path, lines: tuple[str, ...], text: str
) -> None:
    jobs.write_text(text)

    cli("enqueue", *lines, "-f", str(jobs), "--queue", "mail", "-p", "9", "--env", "A=1")

    assert {(job.queue, job.priority, job.env) for job in queue.list()} == {("mail", 9, '{"A": "1"}')}


def test_five_thousand_jobs(cli: Cli, queue: Queue, jobs: Path) -> None:
    jobs.write_text("true\n" * 5_000)

    result = cli("enqueue", "--lines", "--file", str(jobs))

    assert result.out == "✓ 5,000 jobs enqueued\n"
    assert queue.stats().counts["pending"] == 5_000


def test_quiet_prints_all_ids_in_order(cli: Cli, queue: Queue, jobs: Path) -> None:
    jobs.write_text(LINES + '{"command":"echo c"}\n')

    result = cli("enqueue", "--quiet", "-f", str(jobs))

    assert result.out == "".join(f"{job.id}\n" for job in queue.list())
    assert result.out.startswith("a\nb\n")


def test_json_prints_all_jobs(cli: Cli, queue: Queue, jobs: Path) -> None:
    jobs.write_text(LINES)

    assert cli("enqueue", "--json", "-f", str(jobs)).json() == [job.to_dict() for job in queue.list()]


def test_an_empty_file_holds_no_job(cli: Cli, queue: Queue, jobs: Path) -> None:
    jobs.write_text("\n\n")

    result = cli("enqueue", "-f", str(jobs))

    assert (result.code, stored(queue)) == (0, [])


def test_the_same_file_again_only_adds_what_is_new(cli: Cli, queue: Queue, jobs: Path) -> None:
    jobs.write_text(LINES)
    cli("enqueue", "-f", str(jobs))
    jobs.write_text(LINES + '{"id":"c","command":"echo c"}\n{"id":"c","command":"echo c"}\n')

    result = cli("enqueue", "--if-exists", "skip", "-f", str(jobs))

    assert result.code == 0
    assert [job.id for job in queue.list()] == ["a", "b", "c"]


def test_what_the_queue_sets_itself_is_noted_once(cli: Cli, fake_worker: FakeWorker, jobs: Path) -> None:
    jobs.write_text('{"command":"x","state":"dead"}\n' * 3)

    result = cli("enqueue", "-f", str(jobs))

    assert len(result.err.splitlines()) == 1


def test_a_listing_can_be_enqueued_again(cli: Cli, queue: Queue, jobs: Path) -> None:
    jobs.write_text(LINES)
    cli("enqueue", "-f", str(jobs))
    listing = jobs.with_suffix(".json")
    listing.write_text(cli("list", "--json").out)
    cli("rm", "a", "b")

    assert cli("enqueue", "-f", str(listing)).code == 0
    assert stored(queue) == [("a", "echo a"), ("b", "echo b")]


def test_a_terminal_shows_progress(terminal: Terminal, tmp_path: Path) -> None:
    """More is written than a FIFO holds: when that is through, the command counts. Then it has to wait."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    lines = b'{"command":"true","tags":["a","b"]}\n' * 5_000

    def write() -> None:
        with open(fifo, "wb", buffering=0) as file:
            file.write(lines)
            since = time.monotonic()
            wait_until(lambda: time.monotonic() - since > 0.2, what="a line of progress to be due")
            file.write(lines)

    with ThreadPoolExecutor(1) as threads:
        written = threads.submit(write)
        seen = terminal("enqueue", "-f", str(fifo)).out
        written.result()

    assert " enqueued (" in seen
    assert "/s)\x1b[K" in seen
    assert "\r\x1b[K✓ 10,000 jobs enqueued" in seen


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_a_pipe_shows_none(cli: Cli, jobs: Path, quiet: tuple[str, ...]) -> None:
    jobs.write_text('{"command":"true","tags":["a","b"]}\n' * 30_000)

    result = cli("enqueue", *quiet, "-f", str(jobs))

    assert "/s)" not in result.err
    assert "\x1b" not in result.out + result.err


@pytest.mark.process
def test_a_slow_writer_on_stdin_holds_no_lock(cli: Cli, queue: Queue) -> None:
    """Somebody types jobs into a pipe; meanwhile others can enqueue."""
    command = [sys.executable, "-m", "queuectl", "enqueue", "--quiet", "-f", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as slow:
        assert slow.stdin is not None
        slow.stdin.write(b'{"id":"slow","command":"x"}\n')
        slow.stdin.flush()

        assert cli("enqueue", "--id", "fast", "true").code == 0

        assert slow.communicate(timeout=60)[0] == b"slow\n"
    assert [job.id for job in queue.list()] == ["fast", "slow"]
