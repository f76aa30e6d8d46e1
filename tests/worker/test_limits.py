"""Limits of a command's process, with real commands: in force from the start, or it does not run."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from queuectl.worker import cgroups
from queuectl.worker.limits import NAMES, processes_bind
from tests.support.processes import kill
from tests.support.systems import both_systems_shared
from tests.support.worker_home import WorkerHome

MB = 1024 * 1024
OTHER_USER = 61_234  # a user with no other process


def has_cgroup(controller: str) -> bool:
    """Whether workers here limit that by a cgroup. Asked as they do, which may prepare our own cgroup."""
    try:
        return controller in cgroups.find(frozenset({"memory", "pids"})).controllers
    except cgroups.Unavailable:
        return False


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


SHOW = """
import os, resource
for name in ("AS", "CPU", "NOFILE"):
    print(name, *resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
print("NICE", os.getpriority(os.PRIO_PROCESS, 0))
"""


@both_systems_shared
def test_limits_are_those_that_the_job_has(shared_home: WorkerHome) -> None:
    job = shared_home.run(python(SHOW), memory="1G", cpu_time="90s", files=100, nice=7)
    assert job.state == states.COMPLETED, job.last_error
    found = dict(line.split(" ", 1) for line in shared_home.stdout(job.id).decode().splitlines())
    assert found["CPU"] == "90 91"
    assert found["NOFILE"] == "100 100"
    assert found["NICE"] == "7"
    if not has_cgroup("memory"):
        assert found["AS"] == f"{1024 * MB} {1024 * MB}"


def test_a_job_without_limits_has_those_of_its_worker(shared_home: WorkerHome) -> None:
    job = shared_home.run(python(SHOW), ok_codes="3")
    lines = shared_home.stdout(job.id).decode()
    for name in ("AS", "CPU", "NOFILE"):
        soft, hard = resource.getrlimit(getattr(resource, "RLIMIT_" + name))
        assert f"{name} {soft} {hard}\n" in lines
    assert f"NICE {os.getpriority(os.PRIO_PROCESS, 0)}\n" in lines


def test_whoever_takes_more_memory_fails_and_is_told_the_limit(shared_home: WorkerHome) -> None:
    job = shared_home.run(python("bytearray(600_000_000); print('too much')"), memory="256M")
    assert (job.state, shared_home.stdout(job.id)) == (states.DEAD, b"")
    if has_cgroup("memory"):
        assert job.last_error == "killed: out of memory (limit 256M)"
    else:
        assert job.last_error == "exit code 1: MemoryError (while limited to 256M of memory)"


def test_whoever_needs_less_memory_does_not_notice(shared_home: WorkerHome) -> None:
    job = shared_home.run(python("bytearray(50_000_000); print('enough')"), memory="256M")
    assert (job.state, shared_home.stdout(job.id)) == (states.COMPLETED, b"enough\n")


def test_a_failure_of_another_kind_is_not_blamed_on_the_limits(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo wrong >&2; exit 4", memory="1G", files=50, cpu_time="1h")
    assert job.last_error == "exit code 4: wrong"


@pytest.mark.skipif(has_cgroup("memory"), reason="memory is limited by cgroups here")
@pytest.mark.parametrize("memory", ["4K", "1M"])
def test_too_little_memory_to_start_at_all_is_told_as_such(shared_home: WorkerHome, memory: str) -> None:
    job = shared_home.run("true", memory=memory, env={"LARGE": "x" * 100_000})
    assert job.state == states.DEAD
    assert job.last_error is not None
    assert job.last_error.endswith(f"(while limited to {memory} of memory)")


def test_less_memory_than_applying_it_takes_is_no_obstacle(shared_home: WorkerHome) -> None:
    job = shared_home.run("echo small", memory="8M", env={"LARGE": "x" * 100_000})
    assert (job.state, shared_home.stdout(job.id)) == (states.COMPLETED, b"small\n"), job.last_error


BURN = "while True: pass"


def test_used_up_processor_time_is_told(shared_home: WorkerHome) -> None:
    job = shared_home.run(python(BURN), cpu_time="1s", timeout="60s")
    assert (job.state, job.signal) == (states.DEAD, int(signal.SIGXCPU))
    assert job.last_error == "used up its 1s of processor time"
    assert shared_home.attempt(job.id).outcome == kinds.FAILED


@pytest.mark.long
def test_also_if_the_shell_has_seen_it(shared_home: WorkerHome) -> None:
    line = f"{sys.executable} -I -S -c '{BURN}'; exit $?"
    job = shared_home.run(line, cpu_time="1s", timeout="60s")
    assert job.exit_code == 128 + signal.SIGXCPU
    assert job.last_error == "used up its 1s of processor time"


@pytest.mark.long
def test_whoever_does_not_heed_the_signal_is_killed(shared_home: WorkerHome) -> None:
    code = f"import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n{BURN}"
    job = shared_home.run(python(code), cpu_time="1s", timeout="60s")
    assert job.signal == signal.SIGKILL
    assert job.last_error == "killed by SIGKILL (while limited to 1s of processor time)"


def test_no_more_files_can_be_opened(shared_home: WorkerHome) -> None:
    code = "opened = []\nwhile True: opened.append(open('/dev/null')); print(len(opened), flush=True)"
    job = shared_home.run(python(code), files=20)
    assert shared_home.stdout(job.id).split()[-1] == b"17"  # and the three standard ones
    assert job.last_error is not None
    assert "Too many open files" in job.last_error
    assert job.last_error.endswith("(while limited to 20 open files)")


def test_more_files_than_the_worker_may_have_are_an_error(home: WorkerHome) -> None:
    # Whoever may exceed its limits is no test of this.
    home.serve(prefix=["sh", "-c", 'ulimit -n 512; exec "$@"', "sh"])
    job = home.run("echo ran", files=1000)
    if home.attempt(job.id).outcome == kinds.SUCCEEDED:
        pytest.skip("this user may exceed its limits")
    assert home.attempt(job.id).outcome == kinds.SPAWN_ERROR
    assert (job.exit_code, home.stdout(job.id)) == (None, b"")
    assert job.last_error is not None
    assert job.last_error.startswith("cannot apply the limit files=1000: ")
    assert "512" in job.last_error


def test_a_tighter_limit_of_the_worker_stays(home: WorkerHome) -> None:
    home.serve(prefix=["sh", "-c", 'ulimit -t 50; exec "$@"', "sh"])
    job = home.run(python(SHOW), cpu_time="1h")
    assert b"CPU 50 50\n" in home.stdout(job.id), job.last_error


def test_what_the_kernel_does_not_enforce_is_an_error(shared_home: WorkerHome) -> None:
    if has_cgroup("pids") or processes_bind():
        pytest.skip("processes can be limited here")
    job = shared_home.run("echo ran", processes=10, id="uncounted")
    assert (job.state, shared_home.stdout(job.id)) == (states.DEAD, b"")
    attempt = shared_home.attempt(job.id)
    assert attempt.outcome == kinds.SPAWN_ERROR
    assert attempt.error is not None
    assert attempt.error.startswith("cannot apply the limit processes=10: ")
    assert "cgroup" in attempt.error


@pytest.fixture
def common_home() -> Iterator[WorkerHome]:
    """A home of a user that the kernel does not exempt."""
    with tempfile.TemporaryDirectory() as directory:
        home = WorkerHome(Path(directory) / "home")
        prefix: list[str] = []
        if not processes_bind():
            for path in (Path(directory), *Path(directory).rglob("*")):
                os.chown(path, OTHER_USER, OTHER_USER)
            prefix = ["setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
            # Our Python may be where only root can read.
            prefix += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--"]
        home.serve(prefix=prefix)
        yield home
        assert not home.close()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, to become another user")
def test_processes_of_the_user_are_counted_where_there_is_no_cgroup(common_home: WorkerHome) -> None:
    line = "for i in $(seq 40); do sleep 0.1 & echo $i; done; wait"
    job = common_home.run(line, processes=12)
    assert job.state == states.DEAD, common_home.log
    assert job.last_error is not None
    assert job.last_error.endswith("(while limited to 12 processes)")
    # If we are no root it is our own user, whose other processes, the tests among them, count too.
    least = 1 if os.getuid() == 0 else 0
    assert least <= len(common_home.stdout(job.id).split()) < 12
    assert common_home.run("echo 1").state == states.COMPLETED
    # What a command leaves in the background is not waited for; these end by themselves.
    wait_until(lambda: not common_home.job_processes(), what="the sleeps to end")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to take a privilege away")
def test_a_niceness_that_takes_privileges_is_an_error_without_them(home: WorkerHome) -> None:
    home.serve(prefix=[sys.executable, "-I", "-c", WITHOUT_CAPABILITIES])
    job = home.run("echo ran", nice=-5)
    assert (job.state, home.stdout(job.id)) == (states.DEAD, b"")
    assert home.attempt(job.id).outcome == kinds.SPAWN_ERROR
    assert job.last_error == (
        "cannot apply the limit nice=-5: Permission denied (less than the worker's own takes privileges)"
    )
    assert home.run("echo ran", nice=5).state == states.COMPLETED


# Root without any capability that survives an exec: PR_SET_SECUREBITS NOROOT, and an empty bounding set.
WITHOUT_CAPABILITIES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for capability in range(64):
    libc.prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


# --- the start itself ---------------------------------------------------------------------------------------

GENEROUS = {"memory": "8G", "files": 200, "cpu_time": "1h", "nice": 1}


def test_exit_codes_stay_the_commands_own(shared_home: WorkerHome) -> None:
    """Also those that a program would use which applies the limits and then starts the command."""
    for code in (1, 3, 75, 126, 127, 255):
        job = shared_home.run(f"exit {code}", **GENEROUS)
        assert (job.exit_code, job.last_error) == (code, f"exit code {code}")


@both_systems_shared
def test_the_process_is_as_it_would_be_without_limits(shared_home: WorkerHome) -> None:
    line = (
        "env | grep -v -e ^QUEUECTL_ -e ^_= | sort; ls /proc/self/fd; pwd; "
        "grep -e SigIgn -e SigBlk /proc/self/status; umask; "
        "test $$ = $(cut -d' ' -f5 /proc/$$/stat) && echo leads"
    )
    fields = {"env": {"COLOUR": "blue", "EMPTY": "", "PYTHONPATH": "/x", "LC_ALL": "C"}}
    plain = shared_home.run(line, **fields)
    limited = shared_home.run(line, **fields, **GENEROUS)
    assert limited.state == states.COMPLETED, limited.last_error
    assert shared_home.stdout(limited.id) == shared_home.stdout(plain.id)
    assert b"leads" in shared_home.stdout(limited.id)


def test_arguments_come_through_as_they_are(shared_home: WorkerHome) -> None:
    words = ["printf", "%s|", "", " a\nb ", "ü", "-c", "$HOME", ".", ""]
    job = shared_home.run(words, **GENEROUS)
    assert shared_home.stdout(job.id).decode() == "|".join(words[2:]) + "|"


@both_systems_shared
def test_a_program_that_is_missing_is_told_as_without_limits(shared_home: WorkerHome) -> None:
    job = shared_home.run(["no-such-program"], **GENEROUS)
    attempt = shared_home.attempt(job.id)
    assert (attempt.outcome, attempt.exit_code) == (kinds.SPAWN_ERROR, None)
    assert attempt.error == "cannot start no-such-program: No such file or directory"


def test_so_are_a_missing_directory_and_a_file_that_is_no_program(
    shared_home: WorkerHome, tmp_path: Path
) -> None:
    job = shared_home.run("true", cwd="/nonexistent/place", **GENEROUS)
    assert job.last_error == "cannot enter the directory /nonexistent/place: No such file or directory"
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    job = shared_home.run([str(text)], **GENEROUS)
    assert job.last_error == f"cannot start {text}: Exec format error"
    text.chmod(0o644)
    job = shared_home.run([str(text)], **GENEROUS)
    assert job.last_error == f"cannot start {text}: Permission denied"


@both_systems_shared
def test_a_limited_command_ends_with_its_tree(shared_home: WorkerHome) -> None:
    id = shared_home.enqueue("sleep 300 & setsid sleep 301 & echo up; wait", **GENEROUS)
    shared_home.running(id)
    shared_home.jobs.cancel(id)
    assert shared_home.ended(id).state == states.CANCELLED
    assert not shared_home.job_processes()


def test_no_descriptor_is_lost(home: WorkerHome) -> None:
    home.serve()
    home.run("true", **GENEROUS)
    pid = home.worker().pid
    before = sorted(os.listdir(f"/proc/{pid}/fd"))
    for command in ("true", "exit 3", "kill -9 $$"):
        home.run(command, **GENEROUS)
    home.run(["no-such-program"], **GENEROUS)
    home.run("true", cwd="/nonexistent", **GENEROUS)
    if not has_cgroup("pids") and not processes_bind():
        home.run("true", processes=3)
    assert sorted(os.listdir(f"/proc/{pid}/fd")) == before


# --- cgroups ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(
    not has_cgroup("memory"), reason="NO CGROUP V2 WITH MEMORY FOR US: not tested with a kernel"
)
def test_memory_is_counted_over_the_whole_tree(shared_home: WorkerHome) -> None:
    child = f"{sys.executable} -I -S -c 'b = bytearray(90_000_000); import time; time.sleep(60)'"
    job = shared_home.run(f"{child} & {child} & {child} & wait; echo all", memory="200M", timeout="50s")
    assert job.last_error == "killed: out of memory (limit 200M)"
    assert shared_home.stdout(job.id) == b""


@pytest.mark.skipif(not has_cgroup("pids"), reason="NO CGROUP V2 WITH PIDS FOR US: not tested with a kernel")
def test_processes_are_counted_over_the_whole_tree(shared_home: WorkerHome) -> None:
    job = shared_home.run("for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & echo $i; done", processes=5)
    for pid in shared_home.job_processes():  # what a command leaves behind when it ends by itself may stay
        kill(pid)
    assert len(shared_home.stdout(job.id).split()) < 9
    assert job.last_error is not None
    assert job.last_error.endswith("(while limited to 5 processes)")


DAMAGED = ["NaN", "-1e400", "[]", "1" + "0" * 400, "-21", "true"]


def test_a_damaged_limit_takes_no_worker_down(home: WorkerHome) -> None:
    """Nor does the command run without the limit that it should have."""
    ids = {}
    for name in NAMES:
        for value in DAMAGED:
            ids[home.enqueue("touch ran-$QUEUECTL_JOB_ID", max_retries=0)] = f'{{"{name}": {value}}}'
    with apsw.Connection(str(home.path / "queue.db")) as db:
        for id, rules in ids.items():
            db.execute("UPDATE jobs SET rules = ? WHERE id = ?", (rules, id))
    worker = home.serve("--concurrency", "4")
    home.ended(*ids)
    assert worker.poll() is None
    assert len(home.registered()) == 1
    for id, rules in ids.items():
        job = home.job(id)
        assert (job.state, job.lost) == (states.DEAD, 0), (rules[:80], job.last_error)
    assert not list(home.work.glob("ran-*"))
