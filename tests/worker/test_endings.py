"""Every way in which a command can end or fail to begin, and what its size may be."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.fields import MAX_ARGUMENT_BYTES, MAX_ENV_BYTES
from queuectl.errors import InvalidInput
from tests.support.systems import both_systems, both_systems_shared
from tests.support.worker_home import WorkerHome

# Ignored by default, or only stopping: whoever gets one of these lives on.
HARMLESS = {signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT}
CODES = (1, 2, 64, 75, 126, 127, *range(128, 160), 192, 254, 255)  # with those that shells make of signals
STOPPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}


def test_every_exit_code_and_signal_is_told_from_the_others(shared_home: WorkerHome) -> None:
    """All signals, real-time ones too; that an exit code of 137 is no SIGKILL is the point."""
    codes = {shared_home.enqueue(f"exit {code}", max_retries=0): code for code in CODES}
    deadly = sorted(signal.valid_signals() - HARMLESS - STOPPING)
    signals = {shared_home.enqueue(f"kill -{int(one)} $$", max_retries=0): int(one) for one in deadly}
    shared_home.ended(*codes, *signals, timeout=60)
    assert {id: (shared_home.job(id).exit_code, shared_home.job(id).signal) for id in codes} == {
        id: (code, None) for id, code in codes.items()
    }
    assert {id: (shared_home.job(id).exit_code, shared_home.job(id).signal) for id in signals} == {
        id: (None, number) for id, number in signals.items()
    }
    assert all(shared_home.attempt(id).outcome == kinds.FAILED for id in (*codes, *signals))


def test_a_core_dump_changes_nothing(home: WorkerHome) -> None:
    """The status has a bit for it, next to the signal."""
    _, hardest = resource.getrlimit(resource.RLIMIT_CORE)
    if hardest == 0:
        pytest.skip("NO CORE DUMPS HERE: the hard limit is 0")
    home.serve()
    job = home.run("ulimit -c unlimited 2>/dev/null || ulimit -c $(ulimit -H -c); kill -QUIT $$")
    assert (job.exit_code, job.signal, job.last_error) == (None, signal.SIGQUIT, "killed by SIGQUIT")


def test_killed_by_us_is_told_from_killed_by_somebody(shared_home: WorkerHome) -> None:
    theirs, ours = shared_home.run("kill -TERM $$"), shared_home.run("exec sleep 60", timeout="200ms")
    assert theirs.signal == ours.signal == signal.SIGTERM
    assert [shared_home.attempt(job.id).outcome for job in (theirs, ours)] == [kinds.FAILED, kinds.TIMEOUT]


# --- the beginning ------------------------------------------------------------------------------------------


@both_systems
def test_a_shell_that_is_gone_fails_the_attempt_and_not_the_worker(home: WorkerHome) -> None:
    shell = home.work / "sh"
    os.symlink("/bin/sh", shell)
    home.config(shell=shell)
    process = home.serve()
    assert home.run("true").state == states.COMPLETED
    shell.unlink()
    job = home.run("true")
    assert (job.state, home.attempt(job.id).outcome) == (states.DEAD, kinds.SPAWN_ERROR)
    assert job.last_error == f"cannot start {shell}: No such file or directory"
    os.symlink("/bin/sh", shell)
    assert home.run("true").state == states.COMPLETED
    assert process.poll() is None


@both_systems_shared
def test_a_script_without_its_interpreter_cannot_be_started(shared_home: WorkerHome, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    attempt = shared_home.attempt(shared_home.run([str(script)]).id)
    assert attempt.outcome == kinds.SPAWN_ERROR
    assert attempt.error == f"cannot start {script}: No such file or directory"


def test_a_job_may_be_told_to_read(shared_home: WorkerHome) -> None:
    """Whoever asks a person finds nobody, and does not hang."""
    job = shared_home.run(["python3", "-c", "input('your name? ')"], timeout="20s")
    assert shared_home.attempt(job.id).outcome == kinds.FAILED
    assert "EOFError" in str(job.last_error)


# --- sizes --------------------------------------------------------------------------------------------------


@both_systems_shared
def test_the_longest_command_runs(shared_home: WorkerHome) -> None:
    line = ": " + "x" * (MAX_ARGUMENT_BYTES - 2 - len("; echo ran")) + "; echo ran"
    assert len(line) == MAX_ARGUMENT_BYTES
    assert shared_home.stdout(shared_home.run(line).id) == b"ran\n"
    wide = ": " + "ü" * ((MAX_ARGUMENT_BYTES - 2) // 2)
    assert shared_home.run(wide).state == states.COMPLETED
    word = "x" * MAX_ARGUMENT_BYTES
    assert shared_home.stdout(shared_home.run(["printf", "%s", word]).id) == word.encode()


@pytest.mark.parametrize("size", [MAX_ARGUMENT_BYTES + 1, 1_048_576, 1_048_577])
def test_a_longer_one_is_refused_and_nothing_stored(shared_home: WorkerHome, size: int) -> None:
    before = shared_home.jobs.stats().counts
    for command in ("x" * size, ["true", "x" * size]):
        with pytest.raises(InvalidInput, match=f"{size:,} bytes long"):
            shared_home.enqueue(command)
    assert shared_home.jobs.stats().counts == before


def test_an_environment_beyond_its_bound_is_refused(shared_home: WorkerHome) -> None:
    with pytest.raises(InvalidInput, match="env"):
        shared_home.enqueue("true", env={f"V{n}": "x" * 100_000 for n in range(MAX_ENV_BYTES // 100_000 + 1)})


def test_the_largest_environment_arrives(shared_home: WorkerHome) -> None:
    variables = {f"V{n}": "x" * 99_000 for n in range(MAX_ENV_BYTES // 100_000)}
    job = shared_home.run("printf %s $V0$V9 | wc -c", env=variables)
    assert int(shared_home.stdout(job.id)) == 198_000
