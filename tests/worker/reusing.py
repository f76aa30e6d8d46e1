"""Run as process 1 of a pid namespace: workers die, and their numbers are given to other processes.

`python -m tests.worker.reusing HOME SCENE`. There a number can be had again for certain (`ns_last_pid`), and
when we end, so does everything. Ends with 0 if none of these was harmed and the job has run again.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

from queuectl import system
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive, kill
from tests.support.worker_home import WorkerHome

births: dict[int, int] = {}  # when the first owners of the numbers began
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
# Leads a session under its number, and starts one of its groups under the number that it is told.
LEADER = """
import os, sys, time
wanted = int(sys.argv[1])
while True:
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(wanted - 1))
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        if os.getpid() == wanted:
            os.execvp("sleep", ["sleep", "300"])
        os._exit(0)
    if pid == wanted:
        break
    os.waitpid(pid, 0)
time.sleep(300)
"""


def reuse(pid: int, command: list[str], *, session: bool = False) -> None:
    """Start another process under that number, not in the hundredth of a second in which its owner began."""
    old = births[pid]

    def take() -> bool:
        LAST_PID.write_text(str(pid - 1))
        other = subprocess.Popen(command, start_new_session=session, process_group=None if session else 0)
        if other.pid == pid and system.birth_mark(pid) != old:
            return True
        other.kill()
        other.wait()
        return False

    wait_until(take, timeout=60, what=f"the number {pid} to be had again")


def bury(pids: list[int]) -> None:
    """Kill them and be the init that they come to."""
    for pid in pids:
        kill(pid)

    def gone() -> bool:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        return not any(os.path.exists(f"/proc/{pid}") for pid in pids)

    wait_until(gone, what="the dead to be buried")


def hang(home: WorkerHome) -> tuple[str, int]:
    """A job in the middle of its first run; its id and its process. The second run ends at once."""
    id = home.enqueue('echo $$; test "$QUEUECTL_ATTEMPT" -gt 1 || exec sleep 300')
    job = home.running(id)
    (ledger,) = (home.path / "run").glob("*.ledger")
    pid = int(home.live(job))
    bare = struct.pack("<qq", job.seq, pid)
    wait_until(lambda: bare not in ledger.read_bytes(), what="its worker to note when it began")
    return id, pid


def in_the_background(home: WorkerHome) -> list[int]:
    """Supervisor, worker and command: all three numbers mean others, even in a session of the same number."""
    home.start()
    id, command = hang(home)
    supervisor, worker = home.supervisors()[0], home.worker().pid
    note_births(supervisor, worker, command)
    bury([supervisor, worker, command])
    reuse(worker, ["sleep", "300"])
    reuse(supervisor, [sys.executable, "-I", "-S", "-c", LEADER, str(command)], session=True)
    wait_until(lambda: "sleep" in comm(command), what="the other process in place of the command")
    assert os.getsid(command) == supervisor
    return after(home, id, [supervisor, worker, command])


def in_the_foreground(home: WorkerHome) -> list[int]:
    """The command's number means another process of the terminal that the worker was started in."""
    worker = home.serve().pid
    id, command = hang(home)
    note_births(worker, command)
    bury([worker, command])
    reuse(worker, ["sleep", "300"])
    reuse(command, ["sleep", "300"])
    assert os.getsid(command) == os.getsid(0)
    return after(home, id, [worker, command])


def note_births(*pids: int) -> None:
    births.update({pid: system.birth_mark(pid) for pid in pids})


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def after(home: WorkerHome, id: str, others: list[int]) -> list[int]:
    """All that signals: a stop, a cancel, a rescue by the next worker, its own stop."""
    home.jobs.cancel(home.enqueue("true"))
    assert home.ok("worker", "stop", "--now") == "No workers are running\n"
    assert all(map(alive, others)), "harmed by a stop"
    home.start()
    job = home.ended(id)
    assert (job.state, job.attempts) == (states.COMPLETED, 2)
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    assert "1 worker stopped" in home.ok("worker", "stop")
    return [pid for pid in others if not alive(pid)]


def main() -> None:
    os.setsid()  # the session that we came with has no number in here
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    home = WorkerHome(Path(sys.argv[1]))
    harmed = {"background": in_the_background, "foreground": in_the_foreground}[sys.argv[2]](home)
    sys.exit(f"other processes were harmed: {harmed}" if harmed else 0)


if __name__ == "__main__":
    main()
