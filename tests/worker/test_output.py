"""What a command prints: both streams, in order, every byte, within bounds, visible while it runs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from queuectl.core import states
from queuectl.core.chunks import GAP, STDERR, STDOUT
from queuectl.testing import wait_until
from tests.support.processes import alive, descriptors, kill, resident_kb
from tests.support.worker_home import WorkerHome


def test_both_streams_are_kept_apart(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo out; echo err >&2")
    assert shared_home.stdout(job.id) == b"out\n"
    assert shared_home.stderr(job.id) == b"err\n"
    assert shared_home.attempt(job.id).output_bytes == 8


def test_pieces_come_in_order_with_their_times(shared_home: WorkerHome) -> None:
    step = "while ! test -e seen$n; do sleep 0.01; done; n=$((n + 1))"
    id = shared_home.enqueue(f"n=1; echo 1; {step}; echo 2 >&2; {step}; echo 3; {step}; echo 4 >&2")
    job = shared_home.running(id)
    for n in range(1, 4):
        wait_until(lambda n=n: len(shared_home.live(job).split()) == n, what="the next piece")  # type: ignore[misc]
        (shared_home.work / f"seen{n}").touch()
    shared_home.ended(id)
    chunks = shared_home.chunks(id)
    assert [(c.stream, c.data) for c in chunks] == [
        (STDOUT, b"1\n"),
        (STDERR, b"2\n"),
        (STDOUT, b"3\n"),
        (STDERR, b"4\n"),
    ]
    times = [chunk.offset_ms for chunk in chunks]
    assert times == sorted(times)


def test_a_silent_command_has_no_output(shared_home: WorkerHome) -> None:
    attempt = shared_home.attempt(shared_home.run("true").id)
    assert (attempt.output, attempt.log, attempt.output_bytes, attempt.output_dropped) == (None, None, 0, 0)


def test_bytes_that_are_no_text_are_kept(shared_home: WorkerHome) -> None:
    job = shared_home.run("printf '\\377\\376\\000\\033[31m\\200ok'; printf '\\303\\050' >&2")
    assert shared_home.stdout(job.id) == b"\xff\xfe\0\x1b[31m\x80ok"
    assert shared_home.stderr(job.id) == b"\xc3("


def test_progress_bars_and_a_missing_last_newline_are_kept(shared_home: WorkerHome) -> None:
    job = shared_home.run("printf '10%%\\r50%%\\r100%%'")
    assert shared_home.stdout(job.id) == b"10%\r50%\r100%"


def test_output_that_fills_the_pipe_is_read_to_the_last_byte(shared_home: WorkerHome) -> None:
    job = shared_home.run("head -c 1000000 /dev/zero | tr '\\0' x; printf END")
    assert shared_home.stdout(job.id) == b"x" * 1_000_000 + b"END"
    assert shared_home.attempt(job.id).output_bytes == 1_000_003


def test_long_output_goes_to_a_private_file(shared_home: WorkerHome) -> None:
    job = shared_home.run("yes | head -c 40000")
    attempt = shared_home.attempt(job.id)
    assert attempt.output is None
    assert attempt.log is not None
    path = Path(shared_home.logs_dir, attempt.log)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for directory in (path.parent, path.parent.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert shared_home.stdout(job.id) == b"y\n" * 20_000


def test_short_output_leaves_no_file(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo slow; sleep 0.4")  # long enough to be shown while it ran
    assert shared_home.attempt(job.id).log is None
    assert shared_home.stdout(job.id) == b"slow\n"
    assert not Path(shared_home.logs_dir, f"{job.seq % 256:02x}", f"{job.seq}-1.log").exists()


def test_output_of_a_running_command_can_be_seen(shared_home: WorkerHome) -> None:
    id = shared_home.enqueue("echo early; while ! test -e go; do sleep 0.02; done; echo late; rm go")
    job = shared_home.running(id)
    assert shared_home.live(job) == b"early\n"
    (shared_home.work / "go").touch()
    assert shared_home.ended(id).state == states.COMPLETED
    assert shared_home.stdout(id) == b"early\nlate\n"


def test_a_flood_keeps_its_head_and_its_tail(home: WorkerHome) -> None:
    home.config(output_max="400k")
    home.serve()
    job = home.run("seq 1 400000")
    attempt = home.attempt(job.id)
    chunks = home.chunks(job.id)
    kept = [chunk for chunk in chunks if chunk.stream != GAP]
    text = b"".join(chunk.data for chunk in kept)
    assert text.startswith(b"1\n2\n3\n")
    assert text.endswith(b"\n399999\n400000\n")
    assert sum(chunk.stream == GAP for chunk in chunks) == 1
    assert attempt.output_bytes == sum(len(str(n)) + 1 for n in range(1, 400_001))
    assert attempt.output_dropped == attempt.output_bytes - len(text)
    assert attempt.log is not None
    assert sum(file.stat().st_size for file in Path(home.logs_dir).glob(attempt.log + "*")) <= 400 * 1024


def test_a_small_bound_holds_too(home: WorkerHome) -> None:
    home.config(output_max="20000", output_inline="1000")
    home.serve()
    job = home.run("yes | head -c 3000000")
    attempt = home.attempt(job.id)
    assert attempt.log is not None
    assert sum(file.stat().st_size for file in Path(home.logs_dir).glob(attempt.log + "*")) <= 20_000
    assert attempt.output_bytes == 3_000_000
    assert attempt.output_dropped == 3_000_000 - len(home.stdout(job.id))


@pytest.mark.long
def test_a_flood_does_not_grow_the_worker(home: WorkerHome) -> None:
    home.serve()
    pid = home.worker().pid
    home.run("head -c 2000000 /dev/zero")
    before = resident_kb(pid)
    id = home.enqueue("head -c 200000000 /dev/zero; echo end")
    highest = before
    while home.job(id).state != states.COMPLETED:
        highest = max(highest, resident_kb(pid))
    assert highest - before < 16 * 1024
    assert home.attempt(id).output_bytes == 200_000_004


def test_one_endless_line_does_not_grow_the_worker(home: WorkerHome) -> None:
    home.serve()
    pid = home.worker().pid
    home.run("true")
    before = resident_kb(pid)
    home.run("head -c 50000000 /dev/zero | tr '\\0' x >&2; false")
    assert resident_kb(pid) - before < 16 * 1024


def test_many_tiny_writes_do_not_grow_the_worker_or_its_files(home: WorkerHome) -> None:
    home.serve()
    job = home.run("i=0; while [ $i -lt 3000 ]; do printf x; i=$((i+1)); done")
    assert home.stdout(job.id) == b"x" * 3000


def test_a_command_that_closes_its_output_runs_on(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo last words; exec >&- 2>&-; sleep 0.3; exit 4")
    assert (job.exit_code, shared_home.stdout(job.id)) == (4, b"last words\n")


def test_a_process_left_behind_with_the_pipe_is_not_waited_for(shared_home: WorkerHome) -> None:
    job = shared_home.run("sleep 300 & echo $!")
    assert job.state == states.COMPLETED
    left = int(shared_home.stdout(job.id))
    assert alive(left)  # its command ended by itself, so it may stay
    kill(left)


def test_a_process_left_behind_that_keeps_writing_is_not_waited_for(shared_home: WorkerHome) -> None:
    job = shared_home.run("yes & echo $! >&2")
    assert job.state == states.COMPLETED
    left = int(shared_home.stderr(job.id))
    kill(left)
    wait_until(lambda: not alive(left))


def test_a_log_that_cannot_be_written_costs_the_output_and_not_the_job(home: WorkerHome) -> None:
    process = home.serve("--concurrency", "2")
    (home.path / "logs").mkdir(exist_ok=True)
    for number in range(256):
        (home.path / "logs" / f"{number:02x}").touch()  # a file where a directory should be
    slow = home.enqueue("echo hidden; sleep 0.5; echo more")
    long = home.enqueue("yes | head -c 100000; echo end")
    job = home.ended(slow, long)
    assert job.state == home.job(slow).state == states.COMPLETED
    attempt = home.attempt(long)
    assert (attempt.output_bytes, attempt.output_dropped) == (100_004, 100_004)
    assert home.stdout(slow) == b"hidden\nmore\n"  # short enough for the store after all
    assert process.poll() is None


def test_log_files_are_closed_again(home: WorkerHome) -> None:
    home.serve("--concurrency", "2")
    pid = home.worker().pid
    home.run("true")
    before = descriptors(pid)
    home.ended(*[home.enqueue("yes | head -c 50000; sleep 0.3") for _ in range(4)])
    wait_until(lambda: descriptors(pid) == before, what="descriptors to be closed")
    assert os.path.isdir(home.logs_dir)


def test_a_worker_whose_own_log_cannot_be_written_works_on(home: WorkerHome) -> None:
    process = home.serve(prefix=["sh", "-c", 'exec "$@" 2>/dev/full', "sh"])
    jobs = [home.run("true"), home.run("false")]
    assert [job.state for job in jobs] == [states.COMPLETED, states.DEAD]
    process.terminate()
    assert process.wait(20) == 0


def test_a_worker_whose_own_log_nobody_reads_any_more_works_on(home: WorkerHome) -> None:
    command = [sys.executable, "-m", "queuectl", "worker", "start", "--foreground"]
    process = subprocess.Popen(command, env=home.env, cwd=home.work, stderr=subprocess.PIPE)
    home._foreground.append(process)
    assert process.stderr is not None
    assert b"started" in process.stderr.readline()
    process.stderr.close()  # as after `queuectl worker start --foreground 2>&1 | head -1`
    for _ in range(3):
        assert home.run("false").state == states.DEAD
    process.terminate()
    assert process.wait(20) == 0
