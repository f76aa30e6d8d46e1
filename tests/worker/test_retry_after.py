"""A command that ends with 75 can say when to try it again, in the file that it is given."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.chunks import unpack
from queuectl.core.job import Attempt
from queuectl.testing import wait_until
from queuectl.worker.retry_after import SWEEP_EVERY, RetryFiles
from tests.support.processes import kill
from tests.support.worker_home import WorkerHome

HOUR = 3_600_000


def tried(home: WorkerHome, command: str, id: str, **fields: object) -> None:
    """Wait until its first attempt has failed."""
    home.enqueue(command, id=id, max_retries=3, **fields)
    wait_until(lambda: len(home.attempts(id)) == 1, what=f"the first attempt at {id}")


def waits(home: WorkerHome, id: str) -> int:
    """How long it waits after its only attempt, in milliseconds."""
    job = home.job(id)
    assert job.state == states.FAILED
    return job.run_at - home.attempt(id).finished_at


def directories(home: WorkerHome) -> list[Path]:
    return sorted(home.path.glob("run/retry-*"))


def _printed(attempt: Attempt) -> Path:
    (chunk,) = unpack(attempt.output or b"")
    return Path(chunk.data.decode().strip())


def files(home: WorkerHome) -> list[str]:
    return [path.name for directory in directories(home) for path in directory.iterdir()]


def test_the_next_retry_is_when_the_command_wants_it(shared_home: WorkerHome) -> None:
    tried(shared_home, 'echo 1h > "$QUEUECTL_RETRY_AFTER"; exit 75', "later")
    assert waits(shared_home, "later") == HOUR
    attempt = shared_home.attempt("later")
    assert (attempt.outcome, attempt.exit_code, attempt.error) == (kinds.FAILED, 75, "exit code 75")
    assert shared_home.job("later").attempts == 1
    assert files(shared_home) == []


def test_a_time_can_be_given_too(shared_home: WorkerHome) -> None:
    tried(shared_home, 'date -u -d "+2 hours" +%FT%TZ > $QUEUECTL_RETRY_AFTER; exit 75', "dated")
    assert waits(shared_home, "dated") == pytest.approx(2 * HOUR, abs=60_000)


def test_without_a_file_the_backoff_decides(shared_home: WorkerHome) -> None:
    tried(shared_home, "exit 75", "plain", retry_delay="30m", backoff_strategy="fixed")
    assert waits(shared_home, "plain") == HOUR // 2


def test_with_another_code_the_backoff_decides(shared_home: WorkerHome) -> None:
    tried(
        shared_home,
        "echo 1h > $QUEUECTL_RETRY_AFTER; exit 74",
        "other",
        retry_delay="30m",
        backoff_strategy="fixed",
    )
    assert waits(shared_home, "other") == HOUR // 2


@pytest.mark.parametrize(
    ("id", "line", "told"),
    [
        ("garbage", "echo later > $QUEUECTL_RETRY_AFTER", "ignored QUEUECTL_RETRY_AFTER 'later'"),
        ("pipe", "mkfifo $QUEUECTL_RETRY_AFTER", "ignored QUEUECTL_RETRY_AFTER '(not a file)'"),
        ("link", "ln -s /etc/hostname $QUEUECTL_RETRY_AFTER", "cannot read its QUEUECTL_RETRY_AFTER"),
        ("binary", "head -c 100000 /dev/zero > $QUEUECTL_RETRY_AFTER", "ignored QUEUECTL_RETRY_AFTER"),
    ],
)
def test_what_cannot_be_understood_is_told_and_ignored(
    shared_home: WorkerHome, id: str, line: str, told: str
) -> None:
    tried(shared_home, f"{line}; exit 75", id, retry_delay="30m", backoff_strategy="fixed")
    assert waits(shared_home, id) == HOUR // 2
    error = shared_home.job(id).last_error
    assert error is not None
    assert error.startswith(f"exit code 75 ({told}")


def test_it_runs_again_at_once_if_it_wants_to(shared_home: WorkerHome) -> None:
    line = 'test $QUEUECTL_ATTEMPT = 2 && exit 0; echo 0 > "$QUEUECTL_RETRY_AFTER"; exit 75'
    shared_home.enqueue(line, id="again", max_retries=1, retry_delay="1h", backoff_strategy="fixed")
    assert shared_home.ended("again").state == states.COMPLETED


def test_each_attempt_has_a_file_of_its_own_that_we_do_not_make(shared_home: WorkerHome) -> None:
    line = 'test -e "$QUEUECTL_RETRY_AFTER" && exit 9; echo "$QUEUECTL_RETRY_AFTER"; exit 1'
    shared_home.enqueue(line, id="named", max_retries=1, retry_delay=0, backoff_strategy="fixed")
    shared_home.ended("named")
    first, second = (_printed(attempt) for attempt in shared_home.attempts("named"))
    assert first.name != second.name
    assert not first.exists()
    (directory,) = directories(shared_home)
    assert first.parent == second.parent == directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_codes_that_are_not_to_be_retried_go_first(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo 1h > $QUEUECTL_RETRY_AFTER; exit 75", max_retries=3, no_retry_on="75")
    assert job.state == states.DEAD
    assert job.last_error == "exit code 75 (exit code 75 is not to be retried)"


def test_ok_codes_are_successes_and_kept(shared_home: WorkerHome) -> None:
    job = shared_home.run("exit 3", ok_codes="3")
    attempt = shared_home.attempt(job.id)
    assert (job.state, job.exit_code, job.last_error) == (states.COMPLETED, 3, None)
    assert (attempt.outcome, attempt.exit_code, attempt.error) == (kinds.SUCCEEDED, 3, None)


# --- leftovers ----------------------------------------------------------------------------------------------


def test_a_worker_that_leaves_takes_its_files_along(home: WorkerHome) -> None:
    process = home.serve()
    home.run("echo 1h > $QUEUECTL_RETRY_AFTER")
    assert len(files(home)) == 1
    process.terminate()
    assert process.wait(20) == 0
    assert directories(home) == []


def test_those_of_a_worker_that_died_go_with_the_next_start(home: WorkerHome) -> None:
    process = home.serve()
    home.run("echo 1h > $QUEUECTL_RETRY_AFTER")
    kill(process.pid)
    process.wait(20)
    (left,) = directories(home)
    home.serve()
    assert not left.exists()
    assert len(directories(home)) == 1


def test_those_of_a_living_worker_stay(tmp_path: Path) -> None:
    mine = RetryFiles(str(tmp_path))
    path = Path(os.fsdecode(mine.entry("token").partition(b"=")[2]))
    path.write_text("5m")
    RetryFiles(str(tmp_path)).close()
    assert mine.take("token", 1000) == (301_000, None)
    assert not path.exists()
    mine.close()
    assert os.listdir(tmp_path) == []


def test_a_sweep_removes_what_is_old_and_of_nobody_that_runs(tmp_path: Path) -> None:
    mine = RetryFiles(str(tmp_path))
    paths = {name: Path(os.fsdecode(mine.entry(name).partition(b"=")[2])) for name in ("old", "runs", "new")}
    for path in paths.values():
        path.write_text("5m")
    for name in ("old", "runs"):
        os.utime(paths[name], (1000, 1000))
    mine.issued = SWEEP_EVERY
    mine.sweep({"runs"}, int(paths["new"].stat().st_mtime * 1000))
    assert [name for name, path in paths.items() if path.exists()] == ["runs", "new"]
    assert mine.issued == 0
    mine.close()
